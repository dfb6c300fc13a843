"""`dragoman look`: how a model translates one sentence, in the terminal, on a page or as a file of arrays."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.shared import arguments as args
from dragoman.cli.shared.console import Output, print_json, say
from dragoman.errors import ConfigError, DataError, ModelError

if TYPE_CHECKING:
    from dragoman.inspection.inspect import BundleInspection
    from dragoman.inspection.inspection import Inspection

# Alternatives printed for each piece.
IN_TERMINAL, IN_JSON = 3, 10


@dataclass(frozen=True)
class LookOptions:
    """The arguments of the verb."""

    model: args.Model
    arguments: Annotated[list[str], typer.Argument(help="One sentence.", metavar="TEXT KEY=VALUE")]
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="Inspect this translation instead of the model's own.")
    ] = None
    to: args.To = None
    html: Annotated[Path | None, typer.Option("--html", help="Write a page that shows every step.")] = None
    npz: Annotated[Path | None, typer.Option("--npz", help="Write every array, for NumPy.")] = None
    force: Annotated[bool, typer.Option("--force", help="Replace the files of --html and --npz if they exist.")] = False
    run: Annotated[
        Path | None, typer.Option("--run", help="Folder of a run: the page shows the sentence at its checkpoints.")
    ] = None
    layers: Annotated[
        str, typer.Option(help="Layers to show in full on the page of a large model, from 1, e.g. 2,5.")
    ] = ""
    beam: args.Beam = None
    length_penalty: args.Penalty = None
    threads: args.Threads = None
    base: args.Base = None
    as_json: args.Json = False


@args.app.command()
@args.verb_of(LookOptions)
def look(options: LookOptions) -> None:
    """Show how a model translates your sentence, step by step.

    Prints the probability of each piece and its alternatives; --html shows every quantity behind them.
    """
    from dragoman.cli.shared.loading import changes
    from dragoman.config.file import build_section
    from dragoman.control.languages import LanguageCheck
    from dragoman.installed import resolve_model
    from dragoman.installed.opening import open_models
    from dragoman.translator import GLOSSARY

    texts, keys = args.split_keys(options.arguments)
    if len(texts) != 1:
        raise ConfigError("look: give one sentence, in quotes")
    layers = _numbers(options.layers)
    changed = changes(args.decode_keys(keys), beam=options.beam, length_penalty=options.length_penalty)
    _refuse_outputs(options, layers)
    if len(texts[0].strip().splitlines()) > 1:
        raise DataError("look: takes one sentence, without line breaks; give one line")
    (bundle,) = open_models([options.model], options.base)
    if resolve_model(options.model) != options.model and not bundle.has_weights:
        raise ModelError(
            f"{options.model}: bundled without the weights that look needs; train one with `dragoman demo`"
        )
    depths = bundle.config.model.encoder_layers, bundle.config.model.decoder_layers
    if max(layers, default=0) > max(depths):
        has = f"the model has {depths[0]} + {depths[1]} layers"
        raise ConfigError(f"--layers {max(layers)}: {has}; give numbers from 1 to {max(depths)}")
    search = build_section(bundle.config.decode, changed, "decode")
    network = bundle.load_model()  # without torch its error names what to install
    from dragoman.inspection.checkpoints import check_run
    from dragoman.inspection.inspect import inspect_bundle
    from dragoman.inspection.summary import summary

    if options.run:
        check_run(options.run, bundle.tokenizer)
    if options.threads:
        import torch

        torch.set_num_threads(options.threads)
    inspection = inspect_bundle(bundle, network, texts[0], options.target, search, options.to)
    longest = bundle.config.data.max_length
    if len(inspection.source_ids) > longest:
        say(
            f"dragoman: {len(inspection.source_ids)} tokens, but the model was trained on at most {longest}; "
            "`translate` would split the sentence"
        )
    for flag in LanguageCheck(bundle.tokenizer, *inspection.languages).flags(
        texts[0], inspection.source_ids, inspection.text
    ):
        say(f"dragoman: {flag.text}", style="yellow")
    if GLOSSARY in bundle.manifest["files"]:
        say("dragoman: this shows the model alone, without its glossary")
    if options.html:  # before anything is printed: who reads that may not read to its end
        _write_page(options.html, options, layers, texts[0], inspection)
    if options.npz:
        inspection.to_npz(options.npz)
        say(f"{options.npz}: {len(inspection)} arrays")
    if options.as_json:
        print_json(summary(inspection, IN_JSON))
    else:
        _print(inspection)


def _refuse_outputs(options: LookOptions, layers: tuple[int, ...]) -> None:
    """Check, before the work, that the outputs can be written. Raises ConfigError or DragomanError."""
    from dragoman.cli.shared.output import STDOUT, refuse_unwritable
    from dragoman.system.files import refuse_existing
    from dragoman.system.pages import refuse_other_file

    html, npz, run = options.html, options.npz, options.run
    if run and not (run / "checkpoints").is_dir():
        raise ModelError(f"{run}: holds no checkpoint; give the folder of a run, which contains `checkpoints`")
    if not html and (run or layers):
        raise ConfigError("--run and --layers change the page; give --html FILE too")
    if html and npz and html.resolve() == npz.resolve():
        raise ConfigError(f"{html}: --html and --npz name the same file; give each its own")
    for output in (html, npz):
        if output == STDOUT:
            raise ConfigError("-: a page or arrays are written to a file; give its name")
        if output:
            refuse_unwritable(output)
    if html and not options.force:
        refuse_other_file(html, "--force replaces it")
    if npz and not options.force:
        refuse_existing([npz])


def _numbers(layers: str) -> tuple[int, ...]:
    """The numbers of a list such as "2,5". Raises ConfigError."""
    try:
        numbers = tuple(int(number) for number in layers.split(",") if number.strip())
    except ValueError:
        numbers = (0,)
    if any(number < 1 for number in numbers):
        raise ConfigError(f"--layers {layers!r}: give layer numbers, from 1, e.g. 2,5")
    return numbers


def _write_page(
    html: Path, options: LookOptions, layers: tuple[int, ...], text: str, inspection: "BundleInspection"
) -> None:
    from dragoman.inspection.checkpoints import across_checkpoints

    views = None
    if options.run:
        views = across_checkpoints(options.run, text, options=inspection.options, to=options.to)
    for view in views or ():
        if view.problem:
            say(f"dragoman: step {view.step:,} is left out: {view.problem}")
    inspection.to_html(html, layers=layers, checkpoints=views)
    say(f"{html}: {html.stat().st_size / 1e6:.1f} MB, a page to open in a browser")


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
