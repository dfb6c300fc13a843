"""Reports on data → one HTML file in Korean and English that needs no network, and the words for each kind of fault."""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman.data.corpus.report import CorpusFinding, CorpusReport, FaultExample, is_alarming, problems
from dragoman.system.files import write_text_atomically
from dragoman.system.pages import fill, in_languages, labels, static, visible

LANGUAGES = ("ko", "en")
_BAR, _HEIGHT = 26, 90


def texts(language: str) -> dict[str, Any]:
    """The texts of the page in this language: the name and a remedy of each kind, and labels."""
    return labels(__package__, language)


def kind_name(kind: str) -> str:
    """The English name of a kind of fault."""
    return str(texts("en")["kinds"][kind][0])


def write_page(path: Path, name: str, reports: Sequence[CorpusReport]) -> None:
    """Write the page. Raises DragomanError if writing fails."""
    title = _both(lambda texts: texts["title"])
    write_text_atomically(path, framed(name, title, static(__package__, "style.css"), "\n".join(map(_corpus, reports))))


def framed(name: str, title: str, style: str, body: str) -> str:
    """A page with this title, of HTML, and body, whose reader chooses the language and light or dark."""
    values = {"name": html.escape(name), "title": title, "style": style, "body": body}
    return fill(static(__package__, "page.html"), values)


def kind_label(kind: str) -> str:
    """The name of a kind of fault in both languages, as HTML."""
    return _both(lambda texts: texts["kinds"][kind][0])


def _both(pick: Any) -> str:
    return in_languages({language: str(pick(texts(language))) for language in LANGUAGES})


def _label(name: str) -> str:
    return _both(lambda texts: texts["labels"][name])


def _corpus(report: CorpusReport) -> str:
    state = "usable" if report.usable else "unusable"
    facts = [
        (_label("pairs"), f"{report.pairs:,}"),
        (_label("characters"), f"{report.source_characters:,} + {report.target_characters:,}"),
        (_label("usual_ratio"), f"{report.ratio:.2f}"),
        (_label("files"), html.escape(", ".join(Path(name).name for name in report.files))),
    ]
    facts += [(_label("unseen") + ": " + _label(kind), f"{100 * share:.2f} %") for kind, share in report.unseen.items()]
    listed = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts)
    findings = "".join(_finding(kind, finding) for _, kind, finding in problems([report]))
    unequal = f'<p class="alarm">{html.escape(report.unequal)}</p>' if report.unequal else ""
    plots = "".join(_histogram(kind, report.histograms.get(kind, [])) for kind in ("source", "target", "ratio"))
    return (
        f'<section><h2>{html.escape(report.name)} <small class="{state}">{_label(state)}</small></h2>{unequal}'
        f"<dl>{listed}</dl><div class=plots>{plots}</div>{findings or '<p>' + _label('none') + '</p>'}</section>"
    )


def _finding(kind: str, finding: CorpusFinding) -> str:
    alarm = f"<strong class=alarm>{_label('alarming')}</strong>" if is_alarming(kind, finding) else ""
    examples = "".join(map(_example, finding.examples))
    return (
        f"<details><summary><b>{kind_label(kind)}</b> "
        f"<span class=count>{finding.count:,}</span> <span class=share>{100 * finding.share:.2f} %</span> {alarm}"
        f"</summary><p>{_both(lambda texts: texts['kinds'][kind][1])}</p><table>{examples}</table></details>"
    )


def _example(example: FaultExample) -> str:
    """One row; every text is escaped, and characters that cannot be seen are written out."""
    texts = "".join(f"<td dir=auto>{visible(text)}</td>" for text in (example.source, example.target) if text)
    detail = f"<td>{visible(example.detail)}</td>" if example.detail else ""
    return f"<tr><td class=where>{html.escape(Path(example.location).name)}</td>{texts}{detail}</tr>"


def _histogram(kind: str, counts: Sequence[int]) -> str:
    """Bars as SVG, from the first to the last class that has pairs."""
    used = [index for index, count in enumerate(counts) if count]
    if not used:
        return ""
    first, last, most = used[0], used[-1], max(counts)
    bars = []
    for position, index in enumerate(range(first, last + 1)):
        height = max(_HEIGHT * counts[index] / most, 1.0 if counts[index] else 0.0)
        x, name = position * _BAR, _class_name(kind, index)
        bars.append(
            f"<g><title>{name}: {counts[index]:,}</title>"
            f'<rect x="{x}" y="{_HEIGHT - height:.1f}" width="{_BAR - 3}" height="{height:.1f}"/>'
            f'<text x="{x + _BAR / 2 - 1}" y="{_HEIGHT + 12}">{name}</text></g>'
        )
    width = (last - first + 1) * _BAR
    svg = f'<svg viewBox="0 0 {width} {_HEIGHT + 18}" role="img" width="{width}">{"".join(bars)}</svg>'
    return f"<figure>{svg}<figcaption>{_label(kind)}</figcaption></figure>"


def _class_name(kind: str, index: int) -> str:
    """The lower end of a class of lengths, or the middle of a class of ratios."""
    if kind == "ratio":
        return f"{2 ** (-3.5 + index / 2):.2g}"
    return "0" if not index else f"{2 ** (index - 1):,}"
