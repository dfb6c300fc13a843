"""The verbs of `dragoman`, their arguments, their help. Heavy imports happen inside them: `--help` answers at once."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman import __version__
from dragoman.errors import ConfigError

app = typer.Typer(
    name="dragoman",
    help="Two files of parallel text in, a Transformer translation system of your own out.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
data_app = typer.Typer(help="Look after parallel text.", no_args_is_help=True)
model_app = typer.Typer(help="Look at trained models.", no_args_is_help=True)
app.add_typer(data_app, name="data")
app.add_typer(model_app, name="model")

Config = Annotated[Path, typer.Argument(help="Configuration of the run, as `dragoman init` writes it.")]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(help="Values for this time, as in train.max_steps=1000.", metavar="[KEY=VALUE]..."),
]
Models = Annotated[list[Path], typer.Option("--model", "-m", help="Folder of a trained model; several are averaged.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-O", metavar="KEY=VALUE", help="A key of [decode], as in -O method=mbr -O seed=7."),
]
Penalty = Annotated[float | None, typer.Option(min=0.0, help="α of the length penalty.")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON to stdout, for programs.")]
Beam = Annotated[int | None, typer.Option(min=1, help="Hypotheses kept per sentence; 1 is greedy.")]
Engine = Annotated[str, typer.Option(help="auto, torch, ctranslate2, or an export by its name, as ct2-int8.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")]


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback with an error.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", "-V", help="Print the version.", is_eager=True, callback=lambda v: _version(v)),
    ] = False,
) -> None:
    """`debug` stands here for the help: `main` takes it out, as an error may come before anything is understood."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dragoman {__version__}")
        raise typer.Exit


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--output", "-o", help="Where the demo writes.")] = Path("dragoman-demo"),
    minutes: Annotated[float, typer.Option(min=0.05, help="Minutes of training.")] = 4.0,
) -> None:
    """The whole journey on the embedded text.

    English → Korean in about five minutes, without a network: check, learn pieces, train, score, translate.
    """
    from dragoman.cli.demo import run_demo

    run_demo(folder, minutes)


@app.command()
def init(
    name: Annotated[str, typer.Argument(help="Name of the project; its folder is made here.")],
    pair: Annotated[str, typer.Option(help="Languages, source-target, as in ko-en or pt-BR:en.")] = "ko-en",
) -> None:
    """Write NAME/run.toml, commented."""
    from dragoman.cli.init import write_project

    write_project(Path(name), pair)


@data_app.command("check")
def data_check(config: Config, overrides: Overrides = None, as_json: Json = False) -> None:
    """Tell what is wrong or doubtful in the text."""
    from dragoman.cli.data import check

    check(config, overrides or [], as_json)


@data_app.command("split")
def data_split(
    config: Config,
    source: Annotated[Path, typer.Argument(help="Source sentences (or a .tsv or .jsonl of both sides).")],
    target: Annotated[Path | None, typer.Argument(help="Their translations, line by line.")] = None,
    held_out: Annotated[int | None, typer.Option(min=1, help="Pairs for each of valid and test.")] = None,
) -> None:
    """Divide two files into train, valid and test.

    The parts are written where the configuration names them; repeats of a sentence stay together.
    """
    from dragoman.cli.data import split

    split(config, source, target, held_out)


@app.command()
def train(
    config: Config,
    overrides: Overrides = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on exactly where the run stopped.")] = False,
) -> None:
    """From text files to a model.

    Checks the text, learns the pieces, trains, scores, writes the model. Ctrl-C saves; --resume goes on.
    """
    from dragoman.cli.train import run_train

    run_train(config, overrides or [], resume)


@app.command()
def distill(
    teacher: Annotated[Path, typer.Argument(help="Folder of the trained model that translates.")],
    config: Annotated[Path, typer.Argument(help="Configuration of the student's run: its shape, its text.")],
    overrides: Overrides = None,
    preset: Annotated[str | None, typer.Option(help="Shape of the student; model.preset for this time.")] = None,
    keep_original: Annotated[
        bool, typer.Option("--keep-original", help="Learn from people's translations too.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where it stopped, translating or training.")] = False,
) -> None:
    """A small model that learns from a large one.

    The teacher translates the training text, the student learns that, and is tested on people's translations.
    """
    from dragoman.cli.distill import run_distill

    changes = [*(overrides or []), *([f"model.preset={preset}"] if preset else [])]
    run_distill(teacher, config, changes, keep_original, resume)


@app.command()
def translate(
    text: Annotated[list[str] | None, typer.Argument(help="Sentences; none, or -, reads lines from stdin.")] = None,
    models: Annotated[
        list[Path] | None,
        typer.Option("--model", "-m", help="Folder of a trained model; several are averaged; without, one in the box."),
    ] = None,
    input: Annotated[Path | None, typer.Option("--input", "-i", help="Read lines from this file.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write lines to this file; - is stdout.")
    ] = None,
    beam: Beam = None,
    n_best: Annotated[int | None, typer.Option(min=1, help="Translations per line, with scores.")] = None,
    length_penalty: Penalty = None,
    glossary: Annotated[
        Path | None, typer.Option(help="Terms and their translations, a term a line, parted by tabs.")
    ] = None,
    target_prefix: Annotated[str, typer.Option(help="Text that every translation begins with.")] = "",
    options: Options = None,
    engine: Engine = "auto",
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Translate lines.

    As many come out as went in, in order; an empty line stays empty. -m given twice averages two models. Without -m a
    small model that comes with Dragoman answers: the one whose source is written as the first line is.
    """
    from dragoman.cli.translate import Request, changes, run_translate

    request = Request(models or (), tuple(text or ()), input, output, glossary, target_prefix, engine, device, as_json)
    run_translate(request, changes(options, beam=beam, n_best=n_best, length_penalty=length_penalty))


@app.command()
def look(
    model: Annotated[Path, typer.Option("--model", "-m", help="Folder of a trained model, with its weights.")],
    text: Annotated[str, typer.Argument(help="One sentence.")],
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="Look at this translation instead of the model's own.")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the page with every step here.")] = None,
    npz: Annotated[Path | None, typer.Option("--npz", help="Write every array here, for NumPy.")] = None,
    run: Annotated[
        Path | None, typer.Option("--run", help="Folder of a run: the page shows the sentence through its checkpoints.")
    ] = None,
    layers: Annotated[
        str, typer.Option(help="Layers to show in full on the page of a large model, from 1, as in 2,5.")
    ] = "",
    beam: Beam = None,
    length_penalty: Penalty = None,
    as_json: Json = False,
) -> None:
    """Look inside: every step of the paper on your own sentence.

    Tells each word's probability and what could have been said instead; --html shows all that led to it.
    """
    from dragoman.cli.look import Request, numbers, run_look

    request = Request(model, text, target, html, npz, run, numbers(layers), as_json)
    run_look(request, {"beam": beam, "length_penalty": length_penalty})


@app.command()
def evaluate(
    models: Models,
    source: Annotated[Path, typer.Argument(help="Source sentences (or a .tsv or .jsonl of both sides).")],
    reference: Annotated[Path | None, typer.Argument(help="Their reference translations, line by line.")] = None,
    score: Annotated[
        bool, typer.Option("--score", help="Translate nothing: tell log P of each reference, in nats, a line a pair.")
    ] = False,
    beam: Beam = None,
    length_penalty: Penalty = None,
    tokenize: Annotated[str | None, typer.Option(help="sacreBLEU's tokeniser for BLEU.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the translations here; - is stdout.")
    ] = None,
    options: Options = None,
    engine: Engine = "auto",
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Score a model on a test set.

    BLEU, chrF and TER by sacreBLEU, with signatures and 95 % intervals, beside copying the source.
    """
    from dragoman.cli.evaluate import Request, run_evaluate, run_score
    from dragoman.cli.translate import changes

    wanted = changes(options, beam=beam, length_penalty=length_penalty)
    request = Request(models, source, reference, (), False, tokenize, output, engine, device, as_json)
    (run_score if score else run_evaluate)(request, wanted)


@app.command()
def export(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.")],
    source: Annotated[Path | None, typer.Argument(help="Text to verify with; the run's validation text else.")] = None,
    reference: Annotated[Path | None, typer.Argument(help="Its reference translations, line by line.")] = None,
    to: Annotated[str, typer.Option(help="The runtime; there is ctranslate2.")] = "ctranslate2",
    quantization: Annotated[str, typer.Option("--quantization", "-q", help="int8, int8_bfloat16 or float32.")] = "int8",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new model folder, without the weights of training.")
    ] = None,
    lines: Annotated[int, typer.Option(min=1, help="Sentences to verify with, at the most.")] = 1000,
    force: Annotated[bool, typer.Option("--force", help="Replace an export that is there.")] = False,
) -> None:
    """Make a model fast, and usable without torch.

    The export is verified before it is written: float32 translates as the model does; int8 as well, by BLEU.
    """
    from dragoman.cli.export import run_export

    if to != "ctranslate2":
        raise ConfigError(f"--to {to}: there is ctranslate2")
    run_export(model, (source, reference), quantization, output, lines, force)


@model_app.command("glossary")
def model_glossary(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.")],
    glossary: Annotated[Path, typer.Argument(help="Terms and their translations, a term a line, parted by tabs.")],
) -> None:
    """Give a model a glossary of its own, for every line it translates; an empty file takes it away."""
    from dragoman.cli.model import attach_glossary

    attach_glossary(model, glossary)


@model_app.command("show")
def model_show(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.")], as_json: Json = False
) -> None:
    """Verify a model and tell what it is."""
    from dragoman.cli.model import show

    show(model, as_json)


@model_app.command("shortlist")
def model_shortlist(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.")],
    source: Annotated[Path, typer.Argument(help="Source sentences (or a .tsv or .jsonl of both sides).")],
    target: Annotated[Path | None, typer.Argument(help="Their translations, line by line.")] = None,
    per_piece: Annotated[int, typer.Option(min=1, help="Candidates that a source piece adds at the most.")] = 50,
    frequent: Annotated[int, typer.Option(min=0, help="Most frequent pieces, allowed whatever the source.")] = 1000,
    pairs: Annotated[int, typer.Option(min=2, help="Pairs drawn to learn from at the most.")] = 100_000,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Learn which target pieces a source may need, for faster translation.

    From pairs the model was trained on; written into the model as shortlist.txt.
    """
    from dragoman.cli.shortlist import run_shortlist

    run_shortlist(
        model, source, target, per_piece=per_piece, frequent=frequent, pairs=pairs, device=device, as_json=as_json
    )
