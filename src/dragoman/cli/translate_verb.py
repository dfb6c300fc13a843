"""`dragoman translate`: its arguments and help, for documents and for lines. Heavy imports happen inside it."""

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
    Options,
    Penalty,
    Precision,
    RayAddress,
    Threads,
    To,
    app,
    refuse_useless,
    split_keys,
)


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
    memory: Annotated[
        Path | None, typer.Option(help="Translation memory, asked first: .db, .tmx, .tsv, .po or .xliff.")
    ] = None,
    memory_threshold: Annotated[
        int, typer.Option(help="Documents: percent from which similar sources are named, in PO and XLIFF.")
    ] = 75,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 6 if a translation has a warning.")] = False,
    ray: Annotated[
        bool, typer.Option("--ray", help="Lines of -i FILE: on a Ray cluster, to the same bytes as in one process.")
    ] = False,
    ray_address: RayAddress = None,
    shard_lines: Annotated[
        int | None,
        typer.Option(min=1, help="With --ray: lines that a worker gets at a time; about 8,000 unless given."),
    ] = None,
) -> None:
    """Translate documents, or lines.

    An argument that names a file is a document, which keeps its format; `dragoman documents` lists them. Of lines there
    are as many in the output as in the input, in the same order; an empty line stays empty. Without -m a bundled model
    that reads the script of the text is used. A key is one of [decode], e.g. decode.method=mbr.
    """
    from dragoman.cli.documents import DocumentsRequest, documents_among, run_translate_documents
    from dragoman.cli.loading import EngineChoice, changes
    from dragoman.cli.translate import Request, run_translate
    from dragoman.cli.translate_on_ray import RayChoice

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
    only_lines |= {"ray": ray}
    if not ray:
        refuse_useless({"ray-address": ray_address, "shard-lines": shard_lines}, "one process; add --ray")
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
            memory,
            memory_threshold,
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
        strict,
        memory,
        RayChoice(ray_address, shard_lines) if ray else None,
    )
    run_translate(request, given)
