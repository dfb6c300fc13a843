"""`dragoman look`: how a model translates one sentence, in the terminal, on a page or as a file of arrays."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import Output, print_json, say
from dragoman.cli.output import STDOUT, refuse_unwritable
from dragoman.config.file import build_section
from dragoman.errors import ConfigError, DataError, ModelError
from dragoman.installed import resolve_model
from dragoman.installed.opening import open_models
from dragoman.translator import GLOSSARY

if TYPE_CHECKING:
    from dragoman.inspection.inspect import BundleInspection
    from dragoman.inspection.inspection import Inspection

# Alternatives printed for each piece.
IN_TERMINAL, IN_JSON = 3, 10


@dataclass(frozen=True)
class Request:
    """What the command line asked for."""

    model: Path
    text: str
    target: str | None
    html: Path | None
    npz: Path | None
    run: Path | None
    layers: tuple[int, ...]
    threads: int | None
    as_json: bool
    base: Path | None = None
    to: str | None = None


def run_look(request: Request, changes: Mapping[str, Any]) -> None:
    """Translate, record, print. Raises ConfigError, and as `inspect` and `across_checkpoints` do."""
    _refuse_outputs(request)
    if len(request.text.strip().splitlines()) > 1:
        raise DataError("look: takes one sentence, without line breaks; give one line")
    (bundle,) = open_models([request.model], request.base)
    if resolve_model(request.model) != request.model and not bundle.has_weights:
        raise ModelError(
            f"{request.model}: bundled without the weights that look needs; train one with `dragoman demo`"
        )
    depths = bundle.config.model.encoder_layers, bundle.config.model.decoder_layers
    if max(request.layers, default=0) > max(depths):
        has = f"the model has {depths[0]} + {depths[1]} layers"
        raise ConfigError(f"--layers {max(request.layers)}: {has}; give numbers from 1 to {max(depths)}")
    given = {key: value for key, value in changes.items() if value is not None}
    options = build_section(bundle.config.decode, given, "decode")
    network = bundle.load_model()  # without torch its error names what to install
    from dragoman.inspection.checkpoints import check_run
    from dragoman.inspection.inspect import inspect_bundle
    from dragoman.inspection.summary import summary

    if request.run:
        check_run(request.run, bundle.tokenizer)
    if request.threads:
        import torch

        torch.set_num_threads(request.threads)
    inspection = inspect_bundle(bundle, network, request.text, request.target, options, request.to)
    longest = bundle.config.data.max_length
    if len(inspection.source_ids) > longest:
        say(
            f"dragoman: {len(inspection.source_ids)} tokens, but the model was trained on at most {longest}; "
            "`translate` would split the sentence"
        )
    if GLOSSARY in bundle.manifest["files"]:
        say("dragoman: this shows the model alone, without its glossary")
    if request.html:  # before anything is printed: who reads that may not read to its end
        _write_page(request, inspection)
    if request.npz:
        inspection.to_npz(request.npz)
        say(f"{request.npz}: {len(inspection)} arrays")
    if request.as_json:
        print_json(summary(inspection, IN_JSON))
    else:
        _print(inspection)


def _refuse_outputs(request: Request) -> None:
    """Check, before the work, that the outputs can be written. Raises ConfigError or DragomanError."""
    if request.run and not (request.run / "checkpoints").is_dir():
        raise ModelError(f"{request.run}: holds no checkpoint; give the folder of a run, which contains `checkpoints`")
    if not request.html and (request.run or request.layers):
        raise ConfigError("--run and --layers change the page; give --html FILE too")
    if request.html and request.npz and request.html.resolve() == request.npz.resolve():
        raise ConfigError(f"{request.html}: --html and --npz name the same file; give each its own")
    for output in (request.html, request.npz):
        if output == STDOUT:
            raise ConfigError("-: a page or arrays are written to a file; give its name")
        if output:
            refuse_unwritable(output)


def numbers(layers: str) -> tuple[int, ...]:
    """The numbers of a list such as "2,5". Raises ConfigError."""
    try:
        found = tuple(int(number) for number in layers.split(",") if number.strip())
    except ValueError:
        found = (0,)
    if any(number < 1 for number in found):
        raise ConfigError(f"--layers {layers!r}: give layer numbers, from 1, e.g. 2,5")
    return found


def _write_page(request: Request, inspection: "BundleInspection") -> None:
    from dragoman.inspection.checkpoints import across_checkpoints

    assert request.html
    options = inspection.options
    views = across_checkpoints(request.run, request.text, options=options, to=request.to) if request.run else None
    for view in views or ():
        if view.problem:
            say(f"dragoman: step {view.step:,} is left out: {view.problem}")
    inspection.to_html(request.html, layers=request.layers, checkpoints=views)
    say(f"{request.html}: {request.html.stat().st_size / 1e6:.1f} MB, a page to open in a browser")


def _print(inspection: "Inspection") -> None:
    """Print the translation piece by piece, then the other hypotheses of the search."""
    from rich.table import Table
    from rich.text import Text

    out = Output(highlight=False, markup=False, emoji=False)
    out.print(Text(_printable(inspection.source)), soft_wrap=True)
    log_prob = Text(f"(log P {float(inspection.log_probs.sum()):.2f})", style="dim")
    out.print(Text(f"→ {_printable(inspection.text)}"), log_prob, soft_wrap=True)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("piece", "P", "instead"):
        table.add_column(heading, justify="right" if heading == "P" else "left")
    for step in inspection.predictions(IN_TERMINAL):
        instead = "  ".join(f"{_printable(piece)} {probability:.3f}" for piece, probability in step.alternatives)
        table.add_row(Text(_printable(step.piece)), f"{step.probability:.3f}", Text(instead, style="dim"))
    out.print(table)
    if inspection.tree:
        others = inspection.tree.hypotheses[1:]
        texts = inspection.texts(others)
        for hypothesis, text in zip(others, texts, strict=True):
            out.print(Text(f"{hypothesis.score:8.3f}  {_printable(text)}", style="dim"), soft_wrap=True)


def _printable(text: str) -> str:
    """The text with characters that are not printable, which could move the cursor, as escapes."""
    return "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in text)
