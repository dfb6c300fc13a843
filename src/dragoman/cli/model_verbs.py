"""The verbs about models: their arguments and help. Heavy imports happen inside them, so that `--help` is fast."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.arguments import (
    GLOSSARY_HELP,
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
    refuse_useless,
    search_keys,
    split_keys,
)
from dragoman.errors import ConfigError


@app.command()
def translate(
    text: Annotated[
        list[str] | None,
        typer.Argument(
            help="Documents or folders, or sentences; none, or -, reads lines from stdin.",
            metavar="FILE|TEXT KEY=VALUE",
        ),
    ] = None,
    models: Annotated[
        list[Path] | None,
        typer.Option("--model", "-m", help=f"{MODEL_HELP} Several form an ensemble. Default: a bundled model."),
    ] = None,
    input: Annotated[Path | None, typer.Option("--input", "-i", help="Read lines from this file.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write to this file, - is stdout; for several documents a folder."),
    ] = None,
    to: To = None,
    from_: From = None,
    beam: Beam = None,
    n_best: Annotated[int | None, typer.Option(min=1, help="Translations per line, with scores.")] = None,
    length_penalty: Penalty = None,
    glossary: Annotated[Path | None, typer.Option(help=GLOSSARY_HELP)] = None,
    target_prefix: Annotated[str, typer.Option(help="Text that every translation begins with.")] = "",
    confidence: Annotated[
        bool,
        typer.Option("--confidence", help="Add a column: the probability that a person would accept the translation."),
    ] = False,
    alignment: Annotated[
        bool,
        typer.Option("--alignment", help="Add a column: which source word each word comes from, as 0-0 1-2."),
    ] = False,
    options: Options = None,
    engine: Engine = "auto",
    device: Device = "auto",
    precision: Precision = "auto",
    threads: Threads = None,
    base: Base = None,
    as_json: Json = False,
    jsonl: Annotated[
        bool,
        typer.Option("--jsonl", help='Read one JSON object per line, with a "text" and options; implied by .jsonl.'),
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the translation to -o FILE that was interrupted.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of -o if it exists.")] = False,
    as_text: Annotated[
        bool, typer.Option("--text", help="An argument is a sentence even if a file has its name.")
    ] = False,
    update: Annotated[
        bool, typer.Option("--update", help="Documents: keep their translations, translate what has none.")
    ] = False,
    columns: Annotated[
        str, typer.Option(help="Tables: the columns to translate, by name or number, e.g. title,3.", metavar="NAMES")
    ] = "",
    mark: Annotated[
        bool, typer.Option("--mark", help="Documents: mark translations as unreviewed, as fuzzy in PO.")
    ] = False,
    max_chars: Annotated[
        int | None, typer.Option(min=1, help="Documents: the most characters of each translation.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 6 if a translation has a warning.")] = False,
) -> None:
    """Translate documents, or lines.

    An argument that names a file is a document, which keeps its format; `dragoman documents` lists them. Of lines there
    are as many in the output as in the input, in the same order; an empty line stays empty. Without -m a bundled model
    that reads the script of the text is used. A key is one of [decode], e.g. decode.method=mbr.
    """
    from dragoman.cli.documents import DocumentsRequest, documents_among, run_translate_documents
    from dragoman.cli.loading import EngineChoice, changes
    from dragoman.cli.translate import Request, run_translate

    sentences = [one for one in text or () if not one.startswith("decode.") or not split_keys([one])[1]]
    keys = [one for one in text or () if one not in sentences]
    choice = EngineChoice(engine, device, precision, threads, base)
    given = changes(
        [*keys, *(options or ())],
        beam=beam,
        n_best=n_best,
        length_penalty=length_penalty,
        confidence=confidence or None,
        alignment=alignment or None,
    )
    files = () if as_text or input else documents_among(sentences)
    only_documents = {"update": update, "columns": columns, "mark": mark, "max-chars": max_chars}
    only_lines = {"n-best": n_best, "target-prefix": target_prefix, "confidence": confidence, "jsonl": jsonl}
    only_lines["alignment"] = alignment
    refuse_useless(only_lines if files else only_documents, "documents" if files else "lines")
    if files:
        names = tuple(name.strip() for name in columns.split(",") if name.strip())
        asked = DocumentsRequest(
            tuple(models or ()),
            files,
            output,
            glossary,
            choice,
            as_json,
            to,
            from_,
            update,
            names,
            mark,
            max_chars,
            strict,
            resume,
            force,
        )
        run_translate_documents(asked, given)
        return
    request = Request(
        tuple(models or ()),
        tuple(sentences),
        input,
        output,
        glossary,
        target_prefix,
        choice,
        as_json,
        jsonl,
        resume,
        force,
        to,
        from_,
    )
    run_translate(request, given)


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

    BLEU, chrF and TER by sacreBLEU, with signatures and 95 % intervals, next to those of copying the source. Several
    systems, with --compare or --translations, are compared by paired bootstrap and approximate randomisation.
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
