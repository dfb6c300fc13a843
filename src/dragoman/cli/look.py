"""`dragoman look`: what a model did with one sentence, told in the terminal, on a page or in a file of arrays."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.bundle import open_bundle
from dragoman.cli.console import print_json, say
from dragoman.cli.translate import refuse_unwritable
from dragoman.configfile import build_section

if TYPE_CHECKING:
    from dragoman.inspection.look import Inspection

# Other words told for each word, in the terminal and to a program.
INSTEAD = {False: 3, True: 10}


@dataclass(frozen=True)
class Request:
    """What the command line asked for."""

    model: Path
    text: str
    target: str | None
    html: Path | None
    npz: Path | None
    run: Path | None
    as_json: bool


def run_look(request: Request, changes: Mapping[str, Any]) -> None:
    """Translate, watch, tell. Raises DataError for a blank sentence, ModelError for a model without weights."""
    for output in (request.html, request.npz):
        if output:
            refuse_unwritable(output)
    bundle = open_bundle(request.model)
    given = {key: value for key, value in changes.items() if value is not None}
    options = build_section(bundle.config.decode, given, "decode")
    network = bundle.load_model()  # says what to install where torch is not
    from dragoman.inspection.look import inspect_model

    inspection = inspect_model(network, bundle.tokenizer, request.text, request.target, options)
    longest = bundle.config.data.max_length
    if len(inspection.source_tokens) > longest:
        say(
            f"dragoman: {len(inspection.source_tokens)} tokens, and the model was trained on {longest} at the most; "
            "`translate` would take the sentence in parts"
        )
    if request.npz:
        inspection.to_npz(request.npz)
        say(f"{request.npz}: {len(inspection)} arrays")
    if request.as_json:
        print_json(_record(inspection))
    else:
        _tell(inspection)


def _record(inspection: "Inspection") -> dict[str, Any]:
    hypotheses = inspection.tree.hypotheses if inspection.tree else ()
    texts = inspection.tokenizer.decode([hypothesis.tokens for hypothesis in hypotheses], "target")
    return {
        "schema": "dragoman.look/1",
        "source": inspection.source,
        "translation": inspection.text,
        "log_prob": float(inspection.log_probs.sum()),
        "pieces": inspection.pieces,
        "steps": [asdict(step) for step in inspection.steps(INSTEAD[True])],
        "hypotheses": [
            {"text": text, "score": hypothesis.score, "log_prob": hypothesis.log_prob}
            for text, hypothesis in zip(texts, hypotheses, strict=True)
        ],
    }


def _tell(inspection: "Inspection") -> None:
    """The translation piece by piece, then what else the search found."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    out = Console(highlight=False, markup=False, emoji=False)
    out.print(Text(inspection.source))
    out.print(Text(f"→ {inspection.text}"), Text(f"(log P {float(inspection.log_probs.sum()):.2f})", style="dim"))
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("piece", "P", "instead"):
        table.add_column(heading, justify="right" if heading == "P" else "left")
    for step in inspection.steps(INSTEAD[False]):
        instead = "  ".join(f"{_shown(piece)} {probability:.3f}" for piece, probability in step.instead)
        table.add_row(Text(_shown(step.piece)), f"{step.probability:.3f}", Text(instead, style="dim"))
    out.print(table)
    if inspection.tree:
        others = inspection.tree.hypotheses[1:]
        texts = inspection.tokenizer.decode([hypothesis.tokens for hypothesis in others], "target")
        for hypothesis, text in zip(others, texts, strict=True):
            out.print(Text(f"{hypothesis.score:8.3f}  {text}", style="dim"))


def _shown(piece: str) -> str:
    """A piece on a line of its own: what would move the cursor is spelt out."""
    return "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in piece)
