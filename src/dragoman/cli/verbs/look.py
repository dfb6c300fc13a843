"""`dragoman look`: how a model translates one sentence, in the terminal, on a page or as a file of arrays."""

import contextlib
import os
import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.shared import arguments as args
from dragoman.cli.shared.console import Output, print_json, say
from dragoman.errors import ConfigError, DataError, ModelError

if TYPE_CHECKING:
    from dragoman.bundle import Bundle
    from dragoman.inspection.inspect import BundleInspection
    from dragoman.inspection.inspection import Inspection
    from dragoman.inspection.page import LiveModel

# Alternatives printed for each piece.
IN_TERMINAL, IN_JSON = 3, 10
# They belong to the spelling of many languages.
JOINERS = "\u200c\u200d"
# Sentences of a text that one page shows.
SENTENCES = 12


@dataclass(frozen=True)
class LookOptions:
    """The arguments of the verb."""

    arguments: Annotated[list[str], typer.Argument(help="A text, of a sentence or a few.", metavar="TEXT KEY=VALUE")]
    model: args.OptionalModel = None
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="Inspect this translation instead of the model's own.")
    ] = None
    to: args.To = None
    source: args.From = None
    html: Annotated[Path | None, typer.Option("--html", help="Write a page that shows every step.")] = None
    npz: Annotated[Path | None, typer.Option("--npz", help="Write every array, for NumPy.")] = None
    force: Annotated[bool, typer.Option("--force", help="Replace the files of --html and --npz if they exist.")] = False
    run: Annotated[
        Path | None,
        typer.Option("--run", help="Folder of a run: the page shows the sentence through it."),
    ] = None
    layers: Annotated[
        str, typer.Option(help="Layers to show in full on the page of a large model, from 1, e.g. 2,5.")
    ] = ""
    static: Annotated[
        bool,
        typer.Option("--static", help="A page of recorded values only, without the model: smaller, for one sentence."),
    ] = False
    opens: Annotated[
        bool,
        typer.Option("--open/--no-open", help="In a terminal, without --html, --npz and --json: open the page."),
    ] = True
    beam: args.Beam = None
    length_penalty: args.Penalty = None
    threads: args.Threads = None
    base: args.Base = None
    as_json: args.Json = False


@args.app.command()
@args.verb_of(LookOptions)
def look(options: LookOptions) -> None:
    """Show how a model translates your text, step by step.

    Prints the probability of each piece and its alternatives; the page shows every quantity behind them. Without -m the
    model is the bundled one that `translate` would use.
    """
    from dragoman.cli.shared.loading import changes
    from dragoman.config.file import build_section
    from dragoman.control.languages import LanguageCheck
    from dragoman.installed.opening import open_models
    from dragoman.translator import GLOSSARY

    texts, keys = args.split_keys(options.arguments)
    if len(texts) != 1:
        raise ConfigError("look: give one text, in quotes")
    layers = _numbers(options.layers)
    changed = changes(args.decode_keys(keys), beam=options.beam, length_penalty=options.length_penalty)
    _refuse_outputs(options, layers)
    if len(texts[0].strip().splitlines()) > 1:
        raise DataError("look: takes one line, without line breaks; give one line")
    (bundle,) = open_models([options.model or _bundled(texts[0])], options.base)
    depths = bundle.config.model.encoder_layers, bundle.config.model.decoder_layers
    if max(layers, default=0) > max(depths):
        has = f"the model has {depths[0]} + {depths[1]} layers"
        raise ConfigError(f"--layers {max(layers)}: {has}; give numbers from 1 to {max(depths)}")
    search = build_section(bundle.config.decode, changed, "decode")
    from dragoman.workflows.models.dequantise import dequantised

    opened = bundle
    bundle, network = dequantised(opened)  # without torch its error names what to install
    from dragoman.inspection.checkpoints import check_run
    from dragoman.inspection.inspect import inspect_bundle
    from dragoman.inspection.summary import summary

    if options.run:
        check_run(options.run, bundle.tokenizer)
    if options.threads:
        import torch

        torch.set_num_threads(options.threads)
    sentences = _sentences(bundle, texts[0], options)
    inspections = [
        inspect_bundle(bundle, network, sentence, options.target, search, options.to, options.source)
        for sentence in sentences
    ]
    check = LanguageCheck(bundle.tokenizer, *inspections[0].languages)
    for flag in check.flags(inspections[0].source, inspections[0].source_ids, inspections[0].text):
        say(f"dragoman: {flag.text}", style="yellow")
    if GLOSSARY in bundle.manifest["files"]:
        say("dragoman: this shows the model alone, without its glossary")
    if options.html:  # before anything is printed: who reads that may not read to its end
        _write_page(options.html, options, layers, inspections, opened)
    if options.npz:
        inspections[0].to_npz(options.npz)
        say(f"{options.npz}: {len(inspections[0])} arrays")
    if options.as_json:
        summaries = [summary(inspection, IN_JSON) for inspection in inspections]
        whole = {"schema": "dragoman.look.sentences/1", "sentences": summaries}
        print_json(summaries[0] if len(summaries) == 1 else whole)
        return
    for inspection in inspections:
        _print(inspection)
    if _opens_page(options):
        _open_page(options, layers, inspections, opened)


def _bundled(text: str) -> Path:
    """The bundled model that `translate` would use, which is named."""
    from dragoman.bundled import bundled_model_for

    model = bundled_model_for(text)
    say(f"Looking into the bundled model {model.name}; -m MODEL chooses another")
    return model.folder


def _sentences(bundle: "Bundle", text: str, options: LookOptions) -> list[str]:
    """What is looked into, one by one. Raises DataError for several where only one can be shown."""
    from dragoman.workflows.models.look import sentences_of

    if options.target is not None:
        if not options.target.strip():
            raise DataError("--target: is empty; give the translation to look into")
        return [text]
    sentences = sentences_of(bundle, text, options.to, options.source)
    if len(sentences) == 1:
        return sentences
    for name, value in (("--npz", options.npz), ("--run", options.run)):
        if value:
            raise DataError(
                f"{name}: is of one sentence, and `translate` makes {len(sentences)} of this text; give one"
            )
    say(f"{len(sentences)} sentences, translated one by one")
    if len(sentences) > SENTENCES:
        say(f"dragoman: the first {SENTENCES} are shown")
    return sentences[:SENTENCES]


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
    if options.static and not html and not _opens_page(options):
        raise ConfigError("--static changes the page; give --html FILE too")
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


def _opens_page(options: LookOptions) -> bool:
    """Whether a page is shown that no option names."""
    return options.opens and not (options.html or options.npz or options.as_json) and sys.stdout.isatty()


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
    html: Path,
    options: LookOptions,
    layers: tuple[int, ...],
    inspections: Sequence["BundleInspection"],
    bundle: "Bundle",
) -> None:
    from dragoman.inspection.checkpoints import across_checkpoints
    from dragoman.inspection.inspect import write_page
    from dragoman.training.resume.snapshots import snapshots

    live, why = (None, "") if options.static else _live_model(bundle, inspections[0])
    inspections = [replace(inspection, why_recorded=why) for inspection in inspections]
    if options.run and snapshots(options.run):
        write_page(html, [replace(inspections[0], run=options.run)], layers=layers, live=live)
    elif options.run:
        [inspection] = inspections
        views = across_checkpoints(
            options.run, inspection.source, options=inspection.options, to=options.to, source=options.source
        )
        for view in views:
            if view.problem:
                say(f"dragoman: step {view.step:,} is left out: {view.problem}")
        inspection.to_html(html, layers=layers, checkpoints=views, live=live)
    else:
        write_page(html, inspections, layers=layers, live=live)
    say(f"{html}: {html.stat().st_size / 1e6:.1f} MB, a page to open in a browser")


def _live_model(bundle: "Bundle", inspection: "BundleInspection") -> tuple["LiveModel | None", str]:
    """The model for the page; where a page cannot have it, None and the reason, after a message."""
    from dragoman.workflows.models.look import live_model

    try:
        return live_model(bundle, inspection), ""
    except (ConfigError, ModelError) as error:
        say(f"dragoman: the page has recorded values only, and nothing can be typed there: {error}", style="yellow")
        return None, str(error)


def _open_page(
    options: LookOptions, layers: tuple[int, ...], inspections: Sequence["BundleInspection"], bundle: "Bundle"
) -> None:
    """Write the page into a new folder, and open it if there is a browser."""
    html = Path(tempfile.mkdtemp(prefix="dragoman-look-")) / "look.html"
    _write_page(html, options, layers, inspections, bundle)
    if not sys.platform.startswith("linux") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        with contextlib.suppress(webbrowser.Error):  # without a display it would be a browser of the terminal
            webbrowser.open(html.as_uri())


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
    """The text with characters that are not printable, which could move the cursor, as escapes; joiners stay."""
    return "".join(
        character if character.isprintable() or character in JOINERS else f"\\u{ord(character):04x}"
        for character in text
    )
