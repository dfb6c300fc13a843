"""`dragoman model glossary | show | perplexity | merge | shortlist | confidence`: one model, and what it learns."""

import sys
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.shared.arguments import (
    GLOSSARY_HELP,
    Base,
    Device,
    From,
    Json,
    OptionalModel,
    To,
    model_first,
    only_model,
)
from dragoman.cli.shared.console import print_json, program, quoted, say
from dragoman.cli.verbs.model import model_app
from dragoman.errors import ConfigError, ModelError, counted
from dragoman.system.processes import sigterm_interrupts

if TYPE_CHECKING:
    from dragoman.bundle import Bundle


@model_app.command("glossary")
def glossary(
    arguments: Annotated[list[str], typer.Argument(help=GLOSSARY_HELP, metavar="GLOSSARY")],
    model: OptionalModel = None,
) -> None:
    """Attach a glossary to a model.

    It applies to every line that the model translates; an empty file removes it.
    """
    from dragoman.bundle import add_files, open_bundle
    from dragoman.installed import changeable_model
    from dragoman.text.terms.glossary import as_tsv
    from dragoman.text.terms.tbx import TermBase, read_glossary
    from dragoman.translator import GLOSSARY

    folder, rest = model_first(model, arguments)
    if len(rest) != 1:
        raise ConfigError("model glossary: give -m MODEL and one glossary")
    bundle = open_bundle(changeable_model(folder))
    terms = read_glossary(Path(rest[0]))  # once: it may be a pipe
    if isinstance(terms, TermBase):
        terms = terms.glossary(bundle.config.project.source, bundle.config.project.target)
    with sigterm_interrupts():
        add_files(bundle, {GLOSSARY: as_tsv(terms.entries)}, {})
    count = len(terms.entries)
    done = f"attached a glossary of {counted(count, 'term')}" if count else "it has no glossary now: this one is empty"
    say(f"{folder}: {done}")


@model_app.command("show")
def show(
    arguments: Annotated[list[str] | None, typer.Argument(help="The model, without -m.", metavar="MODEL")] = None,
    model: OptionalModel = None,
    base: Base = None,
    as_json: Json = False,
) -> None:
    """Verify a model and describe it."""
    from dragoman.installed.opening import open_models

    folder = only_model(model, arguments)
    (bundle,) = open_models([folder], base)
    try:
        lines = description(bundle)
    except (AttributeError, LookupError, TypeError, ValueError):
        raise ModelError(f"{folder}/bundle.json: malformed; copy the bundle again") from None
    if as_json:
        print_json({"schema": "dragoman.model.show/1", **bundle.manifest})
    else:
        print("\n".join(lines))  # data: stdout


def description(bundle: "Bundle") -> list[str]:
    """What a model is, one fact per line."""
    from dragoman.config import PairConfig
    from dragoman.config.sections.architectures.known import NAMES, summary

    manifest, model, tokenizer = bundle.manifest, bundle.config.model, bundle.tokenizer
    first = PairConfig.model_validate({side: manifest["languages"][side] for side in ("source", "target")})
    pairs = bundle.config.project.pairs or (first,)
    pieces = f"{len(tokenizer.source):,}" + ("" if tokenizer.joint else f" source, {len(tokenizer.target):,} target")
    size = sum(file["bytes"] for file in manifest["files"].values())
    rows = {
        "name": manifest["name"],
        "languages": ", ".join(f"{pair.source} → {pair.target}" for pair in pairs),
        "architecture": f"{NAMES[model.architecture]}, {manifest['parameters']:,} parameters, {_runs_on(bundle)}",
        **_adapter(bundle),
        **summary(model),
        "pieces": f"{pieces} ({bundle.config.tokenizer.kind})",
        "search": f"beam {bundle.config.decode.beam}, length penalty {bundle.config.decode.length_penalty:g}",
        "data": "; ".join(
            f"{corpus['corpus']} {counted(corpus['pairs'], 'pair')}" for corpus in manifest.get("data", [])
        ),
        "files": f"{len(manifest['files'])} verified, {size / 1e6:.1f} MB",
        "licence": bundle.config.project.license,
        **_origin(manifest),
    }
    scores = [
        f"{score['metric']:13} {score['value']:.1f} on {' '.join(filter(None, (score['on'], score.get('pair'))))}"
        for score in manifest.get("scores", [])
    ]
    return [f"{key:13} {value}" for key, value in rows.items() if value] + scores + _quality(manifest)


def _adapter(bundle: "Bundle") -> dict[str, str]:
    """What an adapter adds to which model; nothing for a whole model."""
    if not bundle.base:
        return {}
    facts, base = bundle.manifest["adapter"], bundle.manifest["base"]
    numbers = f"LoRA of rank {facts['rank']}, α {facts['alpha']:g}, {facts['parameters']:,} of these parameters"
    return {"adapter": numbers, "base": f"{base['name']} in {bundle.base.folder}, weights {base['sha256'][:12]}…"}


def _runs_on(bundle: "Bundle") -> str:
    from dragoman.bundle import CTRANSLATE2

    if bundle.manifest.get("architecture") == CTRANSLATE2:
        return "imported from CTranslate2, which alone runs it"
    return f"preset {bundle.config.model.preset or 'none'}"


def _origin(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Where an imported model, or the one that it descends from, was found."""
    from dragoman.workflows.models.origin import licence, origin_of

    origin = origin_of(manifest)
    if origin is None:
        return {}
    where = " ".join(str(origin[key]) for key in ("name", "url", "revision") if origin.get(key))
    return {"origin": f"{where}, licence {licence(origin)}", "changed": " ".join(origin.get("changes", ()))}


def _quality(manifest: Mapping[str, Any]) -> list[str]:
    """A line for robustness and one for confidence, if they were measured."""
    lines = []
    if robustness := manifest.get("robustness"):
        share = f"{robustness['score']:.2f}, the share of chrF kept under {len(robustness['rows'])} changes"
        lines.append(f"{'robustness':13} {share}")
    if confidence := manifest.get("confidence"):
        error = confidence["measured"]["plain"]["ece"]
        lines.append(f"{'confidence':13} calibration error {error:.3f} on {confidence['lines']:,} lines")
    return lines


@model_app.command("perplexity")
def perplexity(
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Files of lines; without any, stdin.", metavar="FILE")
    ] = None,
    model: OptionalModel = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Print the perplexity of each line to a language model.

    Per piece, one number a line: to find unlikely text, or text like that of the model.
    """
    from dragoman.data.corpus.corpus import decode_lines, read_lines
    from dragoman.installed.opening import open_model
    from dragoman.text.words.lines import WINDOW
    from dragoman.workflows.train.language_model import LineScorer

    folder, files = model_first(model, arguments)
    scorer, number = LineScorer(open_model(folder), device), 0
    texts: Iterable[Iterable[str]] = (read_lines(Path(file)) for file in files)
    for lines in map(iter, texts if files else [decode_lines(sys.stdin.buffer, "stdin")]):
        while window := list(islice(lines, WINDOW)):
            for value in scorer.perplexities(window):
                number += 1
                if as_json:
                    print_json({"line": number, "perplexity": value})
                else:
                    print(f"{value:.3f}")


@model_app.command("merge")
def merge(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the whole model.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="The adapter, without -m.", metavar="ADAPTER")] = None,
    model: OptionalModel = None,
    base: Base = None,
) -> None:
    """Merge an adapter and its base model into a whole model."""
    from dragoman.workflows.models.merge import merge_adapter

    with sigterm_interrupts():
        whole = merge_adapter(only_model(model, arguments, "adapter"), output, base=base)
    say(f"{whole}: the whole model; `{program()} export -m {quoted(whole)}` makes it fast")


@model_app.command("shortlist")
def shortlist(
    arguments: Annotated[
        list[str],
        typer.Argument(
            help="Source sentences and their translations, line by line (or one .tsv or .jsonl file).",
            metavar="SOURCE TARGET",
        ),
    ],
    model: OptionalModel = None,
    per_piece: Annotated[int, typer.Option(min=1, help="Maximum number of candidates that a source piece adds.")] = 50,
    frequent: Annotated[int, typer.Option(min=0, help="Most frequent pieces, allowed for every source.")] = 1000,
    pairs: Annotated[
        int, typer.Option(min=2, help="Maximum number of pairs to learn from, drawn at random.")
    ] = 100_000,
    to: To = None,
    from_: From = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Learn a shortlist, for faster translation.

    It lists the target pieces that a source may need. It is learned from pairs that the model was trained on, and
    written into the model as shortlist.txt.
    """
    from dragoman.cli.shared.progress import Display
    from dragoman.workflows.models.shortlist import learn_model_shortlist

    folder, text = model_first(model, arguments)
    if not 1 <= len(text) <= 2:
        raise ConfigError("model shortlist: give -m MODEL and the text: SOURCE TARGET, or one .tsv or .jsonl file")
    with sigterm_interrupts(), Display() as display:
        result = learn_model_shortlist(
            folder,
            *map(Path, text),
            per_piece=per_piece,
            frequent=frequent,
            pairs=pairs,
            to=to,
            from_=from_,
            device=device,
            listeners=[display],
        )
    if as_json:
        print_json({"schema": "dragoman.model.shortlist/1", "model": str(folder), **result.facts})
        return
    coverage = result.coverage
    print(
        f"covers {100 * coverage.share:.2f} % of the target tokens of {coverage.pairs:,} held-out pairs, "
        f"with {coverage.size:,.0f} of {coverage.vocabulary:,} pieces per sentence"
    )
    languages = result.facts.get("languages")
    only = f"; it is for {languages} alone, do not use it for other languages" if languages else ""
    say(f"{result.path} is written; `translate decode.shortlist=true` uses it{only}")


@model_app.command("confidence")
def confidence(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            help="Validation text: source sentences and their reference translations (or one .tsv or .jsonl file).",
            metavar="[SOURCE REFERENCE]",
        ),
    ] = None,
    model: OptionalModel = None,
    judged: Annotated[
        Path | None,
        typer.Option(
            help="Instead of references: a .tsv file of source, translation by this model, and what people judged it: "
            "usable, partly or wrong. Learns too below which confidence a translation has the warning `doubtful`.",
        ),
    ] = None,
    reverse: Annotated[
        Path | None,
        typer.Option(help="With --judged: the model that helped to choose the translations.", metavar="MODEL"),
    ] = None,
    accept: Annotated[float, typer.Option(help="Sentence-level chrF of a translation that counts as accepted.")] = 50.0,
    samples: Annotated[
        int, typer.Option(min=0, help="Random translations of each line, whose agreement is learned from too.")
    ] = 8,
    lines: Annotated[int, typer.Option(min=100, help="Maximum number of lines to learn from.")] = 2000,
    to: To = None,
    from_: From = None,
    as_json: Json = False,
) -> None:
    """Learn how probable it is that a person accepts a translation.

    Needs text that the model was not trained on; writes confidence.json into the model, and a section into its card.
    """
    from dragoman.cli.shared.progress import Display
    from dragoman.workflows.evaluate.confidence import (
        confidence_facts,
        learn_judged_confidence,
        learn_model_confidence,
    )

    folder, text = model_first(model, arguments or [])
    if not 1 - bool(judged) <= len(text) <= (0 if judged else 2):
        raise ConfigError(
            "model confidence: give -m MODEL and SOURCE REFERENCE, or one .tsv or .jsonl file of both, or --judged FILE"
        )
    if reverse and not judged:
        raise ConfigError("--reverse: has no effect without --judged; leave it out")
    with sigterm_interrupts(), Display() as display:
        if judged:
            result = learn_judged_confidence(folder, judged, reverse=reverse, to=to, from_=from_, listeners=[display])
        else:
            result = learn_model_confidence(
                folder,
                *map(Path, text),
                accept=accept,
                samples=samples,
                lines=lines,
                to=to,
                from_=from_,
                listeners=[display],
            )
    learned = result.confidence
    if as_json:
        facts = confidence_facts(learned)
        print_json({"schema": "dragoman.model.confidence/1", "model": str(folder), **facts})
        return
    how = f"accepted (chrF of at least {learned.accept:g})" if learned.accept else "usable"
    share = f"{100 * learned.accepted:.1f} % of them {how}"
    print(f"{counted(learned.lines, 'line')}, {share}")
    fits = {"log P and lengths": learned.plain}
    if learned.sampled:
        fits[f"with {learned.samples} samples"] = learned.sampled
    for name, fitted in fits.items():
        measured = fitted.calibration
        ranking = f"area under the ROC curve {measured.auc:.3f}"
        print(f"{name:20} calibration error {measured.ece:.3f}, Brier {measured.brier:.3f}, {ranking}")
    if doubts := learned.doubts:
        print(
            f"{'doubtful':20} under {learned.doubtful:.2f}: {counted(doubts.lines, 'line')}, "
            f"{100 * doubts.wrong:.0f} % of them not usable; of the others, {100 * doubts.others_wrong:.0f} %"
        )
    say(f"{result.path} is written; `translate --confidence` uses it")
