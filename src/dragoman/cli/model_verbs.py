"""The verbs about models: their arguments and help. Heavy imports happen inside them, so that `--help` is fast."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.arguments import (
    MODEL_HELP,
    Base,
    Beam,
    Device,
    Engine,
    From,
    Json,
    Model,
    OptionalModel,
    Options,
    Penalty,
    Precision,
    Threads,
    To,
    app,
    decode_keys,
    model_first,
    search_keys,
    split_keys,
)
from dragoman.errors import ConfigError


@app.command()
def look(
    model: Model,
    arguments: Annotated[list[str], typer.Argument(help="One sentence.", metavar="TEXT KEY=VALUE")],
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="Inspect this translation instead of the model's own.")
    ] = None,
    to: To = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page that shows every step.")] = None,
    npz: Annotated[Path | None, typer.Option("--npz", help="Write every array, for NumPy.")] = None,
    run: Annotated[
        Path | None, typer.Option("--run", help="Folder of a run: the page shows the sentence at its checkpoints.")
    ] = None,
    layers: Annotated[
        str, typer.Option(help="Layers to show in full on the page of a large model, from 1, e.g. 2,5.")
    ] = "",
    beam: Beam = None,
    length_penalty: Penalty = None,
    threads: Threads = None,
    base: Base = None,
    as_json: Json = False,
) -> None:
    """Show how a model translates your sentence, step by step.

    Prints the probability of each piece and its alternatives; --html shows every quantity behind them.
    """
    from dragoman.cli.loading import changes
    from dragoman.cli.look import Request, numbers, run_look

    texts, keys = split_keys(arguments)
    if len(texts) != 1:
        raise ConfigError("look: give one sentence, in quotes")
    request = Request(model, texts[0], target, html, npz, run, numbers(layers), threads, as_json, base, to)
    run_look(request, changes(decode_keys(keys), beam=beam, length_penalty=length_penalty))


@app.command()
def evaluate(
    source: Annotated[Path, typer.Argument(help="Source sentences (or one .tsv or .jsonl file of both sides).")],
    rest: Annotated[
        list[str] | None,
        typer.Argument(help="Their reference translations, line by line; then keys.", metavar="REFERENCE KEY=VALUE"),
    ] = None,
    models: Annotated[
        list[Path] | None,
        typer.Option("--model", "-m", help=f"{MODEL_HELP} Several form an ensemble, or see --compare."),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Evaluate each model by itself, with paired tests against the first.")
    ] = False,
    translations: Annotated[
        list[Path] | None,
        typer.Option(
            "--translations", help="File of finished translations of any system, to score on the same test set."
        ),
    ] = None,
    score: Annotated[
        bool,
        typer.Option("--score", help="Do not translate: print log P (nats) of each reference, one line per pair."),
    ] = False,
    to: To = None,
    from_: From = None,
    beam: Beam = None,
    length_penalty: Penalty = None,
    tokenize: Annotated[str | None, typer.Option(help="sacreBLEU's tokeniser for BLEU.")] = None,
    suite: Annotated[
        str | None,
        typer.Option(help="robust: chrF of the test set in capitals, with typing errors, as one line, and so on."),
    ] = None,
    lines: Annotated[int, typer.Option(min=1, help="With --suite: maximum number of lines changed in each way.")] = 200,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the translations to this file; - is stdout.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print sacreBLEU's signature of each score.")
    ] = False,
    options: Options = None,
    engine: Engine = "auto",
    device: Device = "auto",
    precision: Precision = "auto",
    threads: Threads = None,
    base: Base = None,
    as_json: Json = False,
) -> None:
    """Score models on a test set.

    BLEU and chrF by sacreBLEU with 95 % intervals, and TER, next to those of copying the source; -v prints their
    signatures. Several systems, with --compare or --translations, are compared by paired bootstrap and approximate
    randomisation.
    """
    from dragoman.cli.evaluate import Request, run_evaluate, run_score
    from dragoman.cli.loading import EngineChoice, changes

    if score:
        unused = {"-o": output, "--compare": compare, "--translations": translations, "--tokenize": tokenize}
        for name in [name for name, value in unused.items() if value]:
            raise ConfigError(f"{name}: has no effect with --score, which translates nothing; leave it out")
    reference, keys = search_keys(rest, 1, "SOURCE REFERENCE")
    given = changes([*keys, *(options or ())], beam=beam, length_penalty=length_penalty)
    choice = EngineChoice(engine, device, precision, threads, base)
    target = reference[0] if reference else None
    if suite is not None:
        from dragoman.cli.quality import run_suite

        if suite != "robust":
            raise ConfigError(f"--suite {suite}: choose one of: robust")
        if compare or translations or score or tokenize or output:
            raise ConfigError("--suite robust: goes with models, text and keys of [decode] only; leave the others out")
        run_suite(models or (), source, target, lines=lines, choice=choice, changes=given, as_json=as_json)
        return
    request = Request(
        models or (),
        source,
        target,
        translations or (),
        compare,
        tokenize,
        output,
        choice,
        as_json,
        verbose,
        to,
        from_,
    )
    (run_score if score else run_evaluate)(request, given)


@app.command()
def export(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            help="Text to verify the export with; default: the validation text of the model's run.",
            metavar="SOURCE REFERENCE KEY=VALUE",
        ),
    ] = None,
    model: OptionalModel = None,
    to: Annotated[str, typer.Option(help="The format: ctranslate2.")] = "ctranslate2",
    quantization: Annotated[str, typer.Option("--quantization", "-q", help="int8, int8_bfloat16 or float32.")] = "int8",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new model folder, without the training weights.")
    ] = None,
    lines: Annotated[int, typer.Option(min=1, help="Maximum number of sentences to verify with.")] = 1000,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing export.")] = False,
    base: Base = None,
    languages: Annotated[
        str, typer.Option(help="Languages of SOURCE REFERENCE, in a model of several pairs, e.g. ko-en.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Export a model to CTranslate2, which needs no torch.

    An export translates faster. It is verified before it is written: float32 against the model's own log P and
    translations, int8 by BLEU.
    """
    from dragoman.cli.export import run_export

    if to != "ctranslate2":
        raise ConfigError(f"--to {to}: choose one of: ctranslate2")
    folder, rest = model_first(model, arguments)
    text, keys = search_keys(rest, 2, "SOURCE REFERENCE")
    run_export(folder, text, keys, quantization, output, lines, force, as_json, base, languages)
