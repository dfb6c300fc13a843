"""A comparison → one HTML file in English and Korean, without network; the folder holds its template and texts."""

import html
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dragoman.system.files import write_text_atomically
from dragoman.system.pages import content_policy, fill, in_languages, labels, static
from dragoman.workflows.compare.measures import CurvePoint
from dragoman.workflows.compare.page.charts import Points, line_chart, short, weight_map
from dragoman.workflows.compare.result import ComparedRun, RunComparison

LANGUAGES = ("en", "ko")


def write_page(comparison: RunComparison, path: Path) -> None:
    """Write the page. Raises DragomanError if the file cannot be written."""
    write_text_atomically(path, render(comparison))


def render(comparison: RunComparison) -> str:
    """The whole page."""
    style, script = static(__package__, "style.css").strip(), static(__package__, "script.js").strip()
    names = [run.name for run in comparison.runs]
    values = {
        "policy": content_policy(style, script),
        "name": html.escape(", ".join(names)),
        "title": _both("title"),
        "intro": _both("intro"),
        "test": f"{html.escape(comparison.test_set.name)}, {len(comparison.test_set.sources):,} {_both('lines')}",
        "equal": _both(f"equal_{comparison.equal}") if comparison.equal else "",
        "legend": "".join(f'<li><b class="key s{n % 8}"></b> {html.escape(name)}</li>' for n, name in enumerate(names)),
        "quality": _table(_quality(comparison), comparison.runs),
        "signatures": "<br>".join(
            html.escape(f"{metric}: {'; '.join(both)}") for metric, both in comparison.tests.signatures.items()
        ),
        "cost": _table(COST, comparison.runs),
        "charts": _charts(comparison.runs),
        "lengths": _lengths(comparison.runs),
        "chains": _chains(comparison.runs),
        "example": _example(comparison),
        "configs": "".join(
            f"<details><summary>{html.escape(run.name)}</summary><pre>{html.escape(run.config)}</pre></details>"
            for run in comparison.runs
        ),
        "style": style,
        "script": script,
        **{key: _both(key) for key in _texts("en") if key.startswith(("h_", "p_"))},
    }
    return fill(static(__package__, "page.html").strip(), values)


Column = tuple[str, Callable[[ComparedRun], str]]
COST: tuple[Column, ...] = (
    ("architecture", lambda run: html.escape(run.architecture)),
    ("parameters", lambda run: f"{run.parameters / 1e6:.2f} M"),
    ("steps", lambda run: f"{run.cost.steps:,}"),
    ("minutes", lambda run: f"{run.cost.seconds / 60:.1f}"),
    ("flops", lambda run: short(run.cost.flops)),
    ("formula", lambda run: short(run.cost.formula_flops)),
    ("rate", lambda run: short(run.cost.flops / max(run.cost.seconds, 1e-9) / 1e9)),
    ("train_speed", lambda run: f"{run.cost.tokens_per_second:,.0f}"),
    ("decode_speed", lambda run: f"{run.target_tokens_per_second:,.0f}"),
    ("memory", lambda run: f"{run.cost.peak_bytes / 2**20:,.1f}"),
)


def _table(columns: Sequence[Column], runs: Sequence[ComparedRun]) -> str:
    rows = [(html.escape(run.name), [cell(run) for _, cell in columns]) for run in runs]
    return _wide_table([_both("system"), *(_both(label) for label, _ in columns)], rows)


def _wide_table(head: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """A table of HTML: its head, and the name and the cells of each row."""
    columns = "".join(f'<th scope="col">{label}</th>' for label in head)
    body = "".join(
        f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>' for name, cells in rows
    )
    return _wide(f"<table><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>")


def _wide(body: str, label: str = "table") -> str:
    """What may be wider than the page: it scrolls, by the keyboard too."""
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{label}">{body}</div>'


def _quality(comparison: RunComparison) -> list[Column]:
    def score(index: int) -> Callable[[ComparedRun], str]:
        def cell(run: ComparedRun) -> str:
            score = run.scores[index]
            return f"{score.value:.1f} <small>[{score.low:.1f}–{score.high:.1f}]</small>"

        return cell

    def p_value(index: int) -> Callable[[ComparedRun], str]:
        def cell(run: ComparedRun) -> str:
            value = comparison.tests.systems[run.name][index].p_bootstrap
            return _both("baseline") if value is None else f"{value:.4f}"

        return cell

    ter: Column = ("ter", lambda run: f"{run.scores[2].value:.1f}")
    return [("bleu", score(0)), ("p", p_value(0)), ("chrf", score(1)), ("p", p_value(1)), ter]


def _charts(runs: Sequence[ComparedRun]) -> str:
    kinds: tuple[tuple[str, Callable[[CurvePoint], float]], ...] = (
        ("by_flops", lambda point: point.flops),
        ("by_minutes", lambda point: point.seconds / 60),
        ("by_steps", lambda point: point.step),
    )
    return "".join(
        _figure(label, [[(x(point), point.loss) for point in run.curve] for run in runs], "loss") for label, x in kinds
    )


def _lengths(runs: Sequence[ComparedRun]) -> str:
    series: list[Points] = [
        [((part.low + (part.high or part.low + 20)) / 2, part.bleu) for part in run.by_length] for run in runs
    ]
    ranges = (f"{part.low}–{part.high}" if part.high else f"{part.low}+" for part in runs[0].by_length)
    head = [_both("words"), *ranges]
    rows = [(_both("sentences"), [f"{part.sentences:,}" for part in runs[0].by_length])]
    rows += [(html.escape(run.name), [f"{part.bleu:.1f}" for part in run.by_length]) for run in runs]
    return _wide_table(head, rows) + _figure("words", series, "bleu")


def _chains(runs: Sequence[ComparedRun]) -> str:
    head = [_both("system"), *(f"n = {chain.n}" for chain in runs[0].chains)]
    rows = [
        (html.escape(run.name), [f"{chain.forward:,} <small>({chain.encoder:,})</small>" for chain in run.chains])
        for run in runs
    ]
    series: list[Points] = [[(chain.n, chain.forward) for chain in run.chains] for run in runs]
    return _wide_table(head, rows) + _figure("n", series, "chain", log=True)


def _figure(x: str, series: Sequence[Points], y: str, log: bool = False) -> str:
    """A chart in both languages, of which the page shows one."""
    return "".join(
        f'<figure data-in="{language}" lang="{language}"><figcaption>{html.escape(_texts(language)[y])}</figcaption>'
        f"{line_chart(series, _texts(language)[x], _texts(language)[y], log)}</figure>"
        for language in LANGUAGES
    )


def _example(comparison: RunComparison) -> str:
    at, test = comparison.example, comparison.test_set
    parts = [
        f"<p><b>{_both('source')}</b> {html.escape(test.sources[at])}<br>"
        f"<b>{_both('reference')}</b> {html.escape(test.references[at])}</p>"
    ]
    for number, run in enumerate(comparison.runs):
        label = html.escape(run.name)
        seen = run.attention
        drawn = weight_map(seen.source, seen.target, seen.weights, label) if seen else f"<p>{_both('no_attention')}</p>"
        parts.append(
            f'<section class="one"><h3><b class="key s{number % 8}"></b> {label}</h3>'
            f"<p>{html.escape(run.translations[at])}</p>{_wide(drawn, label) if seen else drawn}</section>"
        )
    return "".join(parts)


def _both(label: str) -> str:
    return in_languages({language: _texts(language)[label] for language in LANGUAGES}, ("data-in", "lang"))


def _texts(language: str) -> dict[str, Any]:
    return labels(__package__, language)
