"""What an improvement changed → an HTML file in Korean and English that needs no network, and a section of the card."""

import difflib
import html
import re
from collections.abc import Sequence
from pathlib import Path

from dragoman.system.files import write_text_atomically
from dragoman.system.pages import in_languages, labels, static
from dragoman.workflows.data.check_page import __package__ as check_page
from dragoman.workflows.data.check_page import framed, kind_label
from dragoman.workflows.improve.check import LEARNED, TEST, ChangedMetric, ChangedText, ImproveResult
from dragoman.workflows.improve.corrections import Fault

LANGUAGES = ("ko", "en")
# Changed sentences that the page shows of each text.
SHOWN = 500


def write_page(path: Path, name: str, base: str, result: ImproveResult) -> None:
    """Write the page about the version `name` and the version `base` before it. Raises DragomanError."""
    body = f"<p>{_label('base')}: {html.escape(base)}</p>" + "\n".join(map(_text, result.texts))
    body += f"<p><small>{_label('note')}</small></p>" + _left_out(result.left_out)
    style = static(check_page, "style.css") + static(__package__, "style.css")
    write_text_atomically(path, framed(name, _label("title"), style, body))


def card_section(base: str, result: ImproveResult) -> str:
    """The improvement as Markdown, for the model card; without any text."""
    rows = "".join(
        f"| {text.on.replace('_', ' ')} {text.pair} | {len(text.sources):,} | {metric.metric} | {metric.before:.1f} | "
        f"{metric.after:.1f} | {metric.p_value:.3f} |\n"
        for text in result.texts
        for metric in text.metrics
    )
    return (
        f"## Improved by corrections\n\nFrom the version `{base}`, by {result.corrections:,} corrections; the exports "
        "that translate were compared, p is that of the paired bootstrap test.\n\n"
        f"| text | sentences | metric | before | after | p |\n| --- | --- | --- | --- | --- | --- |\n{rows}"
    )


def _label(name: str) -> str:
    return in_languages({language: labels(__package__, language)[name] for language in LANGUAGES})


def _text(text: ChangedText) -> str:
    heading = f"<h2>{_label(text.on)} <small>{html.escape(text.pair)}</small></h2>"
    facts = f"<dt>{_label('changed')}</dt><dd>{text.changed:,} / {len(text.sources):,}</dd>"
    if text.on != TEST:
        facts += f"<dt>{_label('right')}</dt><dd>{text.right[0]:,} → {text.right[1]:,}</dd>"
    names = ("metric", "before", "interval", "after", "p")
    head = "".join(f'<th scope="col">{_label(name)}</th>' for name in names)
    rows = "".join(map(_metric, text.metrics))
    table = f"<div class=table><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    return f"<section>{heading}<dl>{facts}</dl>{table}{_sentences(text)}</section>"


def _metric(metric: ChangedMetric) -> str:
    interval = "" if metric.low is None else f"{metric.low:.1f}–{metric.high:.1f}"
    cells = (metric.metric, f"{metric.before:.1f}", interval, f"{metric.after:.1f}", f"{metric.p_value:.3f}")
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _sentences(text: ChangedText) -> str:
    """The sentences whose translation is another one now; of the corrections all of them."""
    rows = [*zip(text.sources, text.references, text.before, text.after, strict=True)]
    chosen = [row for row in rows if text.on == LEARNED or row[2] != row[3]]
    if not chosen:
        return f"<p>{_label('none')}</p>"
    more = f"<p>+ {len(chosen) - SHOWN:,} {_label('more')}</p>" if len(chosen) > SHOWN else ""
    return "".join(_sentence(text.on, *row) for row in chosen[:SHOWN]) + more


def _sentence(on: str, source: str, reference: str, before: str, after: str) -> str:
    old, new = _marked(before, after)
    label = "reference" if on == TEST else "correction"
    cells = (("source", html.escape(source)), (label, html.escape(reference)), ("before", old), ("after", new))
    rows = "".join(f'<tr><th scope="row">{_label(name)}</th><td dir="auto">{cell}</td></tr>' for name, cell in cells)
    summary = f'<summary dir="auto">{html.escape(source)}</summary>'
    table = f'<table class="texts"><colgroup><col style="width: 7rem"><col></colgroup><tbody>{rows}</tbody></table>'
    return f"<details{' open' if on == LEARNED else ''}>{summary}{table}</details>"


def _marked(before: str, after: str) -> tuple[str, str]:
    """Both texts as HTML, with what only one of them has marked, word by word."""
    words: list[list[str]] = [re.findall(r"\s+|\S+", text) for text in (before, after)]
    sides: tuple[list[str], list[str]] = ([], [])
    for kind, *spans in difflib.SequenceMatcher(None, words[0], words[1], autojunk=False).get_opcodes():
        for side, tag in enumerate(("del", "ins")):
            part = html.escape("".join(words[side][spans[2 * side] : spans[2 * side + 1]]))
            sides[side].append(part if kind == "equal" or not part else f"<{tag}>{part}</{tag}>")
    return "".join(sides[0]), "".join(sides[1])


def _left_out(faults: Sequence[Fault]) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(Path(fault.correction.where).name)}</td><td>{kind_label(fault.kind)}</td>"
        f'<td dir="auto">{html.escape(fault.correction.source)}</td>'
        f'<td dir="auto">{html.escape(fault.correction.target)}</td></tr>'
        for fault in faults
    )
    return f"<section><h2>{_label('left_out')}</h2><table>{rows}</table></section>" if rows else ""
