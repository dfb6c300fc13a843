"""Import: a model of another toolkit → a bundle, verified before it appears.

The bundle is made in a temporary folder next to the output, opened and tried there as any other, and moved into place
only then: whatever fails, an output that existed is unchanged and one that did not does not exist.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle, add_files, open_bundle, write_bundle
from dragoman.config import PairConfig
from dragoman.config.sections.project import ProjectConfig, parse_pair
from dragoman.data.corpus.corpus import embedded_pairs, read_pairs
from dragoman.errors import ConfigError, DataError, DragomanError, ModelError, QualityError, checked_path
from dragoman.evaluation import Score, bleu, chrf
from dragoman.exporting.golden import COUNT, golden_sentences, golden_text
from dragoman.exporting.golden import FILE as GOLDEN
from dragoman.importing.files.foreign import UNKNOWN, Foreign, Origin, is_non_commercial, name_of
from dragoman.importing.files.hub import Hub, Repository, origin_on_hub, parse_name
from dragoman.importing.files.kinds import WITHOUT_WEIGHTS, check_files, kind_of, reader_of
from dragoman.importing.trial import ImportTrial, check_pieces, try_pairs
from dragoman.system.files import atomic_folder, folder_next_to, refuse_unwritable_folder
from dragoman.system.parsing import parse_json
from dragoman.text.words.language import detect_language, primary_language
from dragoman.translator import Translator
from dragoman.version import __version__
from dragoman.workflows.data.check import corpus_of
from dragoman.workflows.evaluate.evaluate import translate_all
from dragoman.workflows.listener import Listener, Listeners
from dragoman.workflows.models.export import QUANTIZATIONS, ExportResult, export
from dragoman.workflows.models.origin import KEY, TITLE, origin_section

# Lines that are translated and scored, for the card.
LINES = 200
# The languages of the embedded text, and the words of its English sentences that are used.
EMBEDDED, WORDS = ("en", "ko"), range(4, 16)


@dataclass(frozen=True)
class TrialText:
    """Pairs, and what they are called; `remedy` says what to do if there are none."""

    name: str
    pairs: tuple[tuple[str, str], ...] = ()
    remedy: str = ""


def text_of_files(source: str | PathLike[str], reference: str | PathLike[str] | None) -> TrialText:
    """The first pairs of two files, or of one .tsv or .jsonl file. Raises ConfigError and DataError."""
    pairs = tuple((pair.source, pair.target) for pair in islice(read_pairs(corpus_of(source, reference)), LINES))
    if not pairs:
        raise DataError(f"{fspath(source)}: no lines to try the model on; give some pairs")
    return TrialText(Path(source).name, pairs)


def embedded_text(project: ProjectConfig) -> TrialText:
    """Pairs of the embedded text in a direction of the model; none if it has other languages."""
    directions = (tuple(map(primary_language, (pair.source, pair.target))) for pair in project.all_pairs)
    pair = next((pair for pair in directions if sorted(pair) == sorted(EMBEDDED)), None)
    if pair is None:
        remedy = f"give SOURCE REFERENCE, some pairs of {project.source} and {project.target}, to try it"
        return TrialText("no text", remedy=f"To know, import it again: {remedy}")
    short = ((line.source, line.target) for line in embedded_pairs("valid") if len(line.source.split()) in WORDS)
    lines = tuple(islice(short, LINES))
    pairs = lines if pair == EMBEDDED else tuple(line[::-1] for line in lines)
    return TrialText("the embedded text (LibreOffice's help)", pairs)


def pair_of_text(project: ProjectConfig, text: TrialText) -> PairConfig:
    """The pair of the languages of the text, or else whose target is that of the references, or else the first."""
    if len(project.pairs) < 2 or not text.pairs:
        return project.all_pairs[0]
    sources, references = (" ".join(side) for side in zip(*text.pairs[:COUNT], strict=True))
    (source, _), (target, _) = detect_language(sources), detect_language(references)
    return max(  # the first of equal ones
        project.pairs,
        key=lambda pair: (primary_language(pair.target) == target, primary_language(pair.source) == source),
    )


NOT_TRIED = "It was not tried whether the model translates."


@dataclass(frozen=True)
class ImportResult:
    """A model that was imported."""

    model_path: Path
    """Folder of the bundle."""
    origin: Origin
    """Where it comes from, with its licence."""
    trial: ImportTrial | None = None
    """Whether it translates; None if there was no text to try it on."""
    scores: tuple[Score, ...] = ()
    """BLEU and chrF on up to 200 pairs."""
    copying: tuple[Score, ...] = ()
    """The scores of the source text itself."""
    export: ExportResult | None = None
    """The export that was asked for."""
    targets: tuple[str, ...] = ()
    """The languages that it translates into, in the order of its pairs."""

    @property
    def non_commercial(self) -> bool:
        """Whether the licence forbids commercial use."""
        return is_non_commercial(self.origin.license)


def import_model(
    model: str | PathLike[str],
    output: str | PathLike[str],
    source: str | PathLike[str] | None = None,
    reference: str | PathLike[str] | None = None,
    *,
    pair: str | None = None,
    license: str | None = None,
    kind: str | None = None,
    quantization: str | None = None,
    weights: bool = False,
    trial: bool = True,
    force: bool = False,
    hub: Hub | None = None,
    listeners: Iterable[Listener] = (),
) -> ImportResult:
    """Turn the model of another toolkit, a folder, a file or `hf:NAME[@REVISION]`, into the bundle `output`.

    It is tried on the pairs of `source` and `reference` (or of one .tsv or .jsonl file), or on the embedded English and
    Korean text, unless `trial` is false. `pair`, as "en-ko", and `license` are needed where the files do not name them;
    `kind` where they could be of several. With `weights` a model of CTranslate2 or Argos is dequantised, so that it can
    be trained. With `quantization` the model is exported too. `force` replaces a bundle that was imported
    before. `hub` is where `hf:` downloads from, huggingface.co unless given.

    Raises ConfigError, ModelError for what cannot be imported, QualityError for a model that does not translate;
    nothing is written then.
    """
    path, target = checked_path("model", model), checked_path("output", output)
    named = parse_name(fspath(model))
    if license is not None and not (license.strip() and license.isprintable()):
        raise ConfigError(f"license {license!r}: give its name in one line, such as cc-by-4.0")
    if quantization is not None and quantization not in QUANTIZATIONS:
        raise ConfigError(f"quantization {quantization}: choose one of {', '.join(QUANTIZATIONS)}")
    languages = parsed_pair(pair)
    refuse_existing(target, force)
    user_text = None if source is None else text_of_files(source, reference)
    listener = Listeners(listeners)
    with folder_next_to(target) as temporary:
        scratch, bundle = temporary / "scratch", temporary / "model"
        scratch.mkdir()
        repository = (hub or Hub()).look_up(*named) if named else None
        folder = _download(hub or Hub(), repository, listener) if repository else path
        foreign = _read(folder, kind, languages, scratch, weights, listener)
        foreign = _identified(foreign, path, target, repository, license, listener)
        project = foreign.config.project
        text = user_text or embedded_text(project)
        if quantization:
            _refuse_export(path, foreign, text)
        try:
            _write(foreign, bundle)
            result = _try(bundle, path, foreign, text if trial else TrialText("no text"), listener)
        except DragomanError as error:  # the user knows the output, not where it is made
            raise type(error)(str(error).replace(str(bundle), str(target))) from None
        pair_name = pair_of_text(project, text).name if project.pairs else ""
        exported = _export(bundle, quantization, text, pair_name, target, listener) if quantization else None
        with atomic_folder(target) as partial:
            for entry in bundle.iterdir():
                entry.rename(partial / entry.name)
    targets = dict.fromkeys(pair.target for pair in project.pairs) or (project.target,)
    return replace(result, model_path=target, export=exported, targets=tuple(targets))


def parsed_pair(pair: str | None) -> tuple[str, str] | None:
    """`en-ko` or `pt-BR:en` as two languages; None for none. Raises ConfigError."""
    if pair is None:
        return None
    languages = parse_pair(pair)
    if languages is None:
        raise ConfigError(
            f'--pair {pair}: not two languages; give, for example, "ko-en", or "pt-BR:en" for longer tags'
        )
    return languages


def refuse_existing(target: Path, force: bool) -> None:
    """Raise ConfigError if the output exists, except for an imported bundle that `force` replaces."""
    refuse_unwritable_folder(target)
    if not target.exists() and not target.is_symlink():
        return
    try:
        manifest = parse_json((target / "bundle.json").read_bytes())
    except (OSError, ValueError):
        raise ConfigError(f"{target}: already exists and is not a model folder; choose another folder") from None
    if not isinstance(manifest, dict) or "origin" not in manifest or "training" in manifest:
        raise ConfigError(f"{target}: holds a model of training, which is never replaced; choose another folder")
    if not force:
        raise ConfigError(f"{target}: already exists; --force replaces it")


def _download(hub: Hub, repository: Repository, listener: Listeners) -> Path:
    """A folder with the files of the repository that are needed; they are listed first."""
    for line in repository.describe():
        listener.notice(line)
    total = sum(repository.files[name] or 0 for name in repository.needed)
    return hub.download(repository, listener.counter("downloading", "bytes", total))


def _read(
    path: Path, kind: str | None, pair: tuple[str, str] | None, scratch: Path, weights: bool, listener: Listeners
) -> Foreign:
    """The model at `path`, by the reader of its kind."""
    if kind is None:
        kind = kind_of(path)
    else:
        check_files(path)
    if weights and kind not in WITHOUT_WEIGHTS:
        raise ConfigError(f"--weights: a model of kind {kind} has weights anyway; leave it out")
    listener.notice(f"reading {path}, a model of kind {kind}")
    try:
        options = {"weights": True} if weights else {}
        foreign = reader_of(kind)(path, pair=pair, scratch=scratch, **options)
    except FileNotFoundError as error:
        raise ModelError(f"{error.filename or path}: missing; fetch the file too, or check --as {kind}") from None
    for note in foreign.notes:
        listener.notice(note)
    return foreign


def _identified(
    foreign: Foreign, path: Path, target: Path, repository: Repository | None, license: str | None, listener: Listeners
) -> Foreign:
    """`foreign` with the name of its output, and its licence: `license` before that of its files."""
    origin = origin_on_hub(foreign.origin, repository) if repository else foreign.origin
    if license:
        if origin.license_from and origin.license.lower() != license.lower():
            listener.on_warning(f"{origin.license_from}: names the licence {origin.license}, --license {license}")
        origin = replace(origin, license=license, license_from="--license")
    if origin.license_from is None:
        listener.on_warning(
            f"{path}: names no licence, so the card says {UNKNOWN}; find it out, and import again with --license"
        )
    project = foreign.config.project.model_copy(update={"name": name_of(target), "license": origin.license})
    return replace(foreign, origin=origin, config=foreign.config.model_copy(update={"project": project}))


def _refuse_export(path: Path, foreign: Foreign, text: TrialText) -> None:
    """Raise ConfigError if there is nothing to export, or nothing to verify an export with."""
    if foreign.tensors is None:
        raise ConfigError(f"{path}: is of CTranslate2 already, and nothing can be exported; leave --quantization out")
    if not text.pairs:
        raise ConfigError("--quantization: needs text to verify the export with; give SOURCE REFERENCE")


def _write(foreign: Foreign, folder: Path) -> None:
    """The bundle in its temporary folder, without a card: the trial adds it."""
    config, tokenizer, origin = foreign.config, foreign.tokenizer, foreign.origin
    check_pieces(tokenizer, config.tokenizer.shared, origin.name)
    facts: dict[str, Any] = {KEY: origin.facts()}
    if foreign.tensors is None:
        facts["parameters"] = foreign.parameters
        network = None
    else:
        from dragoman.importing.marian.layers import network_of

        network = network_of(foreign)
    write_bundle(
        folder,
        config=config,
        tokenizer=tokenizer,
        model=network,
        card="",
        facts=facts,
        engine_folder=foreign.engine_folder,
    )


def _try(folder: Path, path: Path, foreign: Foreign, text: TrialText, listener: Listeners) -> ImportResult:
    """Whether the bundle in `folder` translates, and how well; both go into it. Raises QualityError."""
    bundle, result = open_bundle(folder), ImportResult(folder, foreign.origin)
    golden, outcome, pair_name = "", NOT_TRIED, ""
    if text.pairs:
        pair = pair_of_text(bundle.config.project, text)
        pair_name = pair.name if len(bundle.config.project.pairs) > 1 else ""
        translator = Translator.of_bundle(bundle).to(pair.target, pair.source)
        trial = _passed_trial(translator, text, path, pair_name)
        outcome = f"Tried on {text.name}{pair_name and f' as {pair_name}'}: {trial.summary}."
        listener.notice(outcome)
        for warning in trial.warnings:
            listener.on_warning(warning)
        sources = [source for source, _ in text.pairs]
        scores, copying = _measured(translator, sources, text, listener)
        result = replace(result, trial=trial, scores=scores, copying=copying)
        if bundle.has_weights:
            options, marks = bundle.config.decode, translator.marks
            golden = golden_text(
                golden_sentences(bundle.tokenizer, translator.engine, options, sources[:COUNT], pair_name, marks=marks)
            )
    else:
        listener.on_warning(f"{outcome} {text.remedy}".strip())
    card = import_card(bundle, outcome, result.scores, result.copying, text.name)
    facts = {
        "trial": result.trial.facts() if result.trial else None,
        "scores": [
            ({"pair": pair_name} if pair_name else {})
            | {"on": text.name, "metric": score.name, "value": score.value, "signature": score.signature}
            for score in result.scores
        ],
    }
    add_files(bundle, {"README.md": card} | ({GOLDEN: golden} if golden else {}), facts)
    return result


def _passed_trial(translator: Translator, text: TrialText, path: Path, pair: str) -> ImportTrial:
    """What the trial measured; `pair` is that of a model of several. Raises QualityError if it does not translate."""
    trial = try_pairs(translator.engine, translator.tokenizer, text.pairs, translator.marks)
    if trial is None:
        raise DataError(f"{text.name}: no pair is short enough to try the model on; give sentences")
    try:
        trial.require()
    except QualityError as error:
        remedy = f"it was tried as {pair}, --pair names another, " if pair else ""
        raise QualityError(f"{path}: not imported: {error}; {remedy}--no-trial imports it untried") from None
    return trial


def _measured(
    translator: Translator, sources: Sequence[str], text: TrialText, listener: Listeners
) -> tuple[tuple[Score, ...], tuple[Score, ...]]:
    references = [target for _, target in text.pairs]
    translations = translate_all(translator, sources, listener)
    scores, copying = ((bleu(lines, references), chrf(lines, references)) for lines in (translations, sources))
    for score, copied in zip(scores, copying, strict=True):
        listener.notice(f"  {score.name} {score.value:.1f} (copying the source: {copied.value:.1f})")
    return scores, copying


def _export(
    bundle: Path, quantization: str, text: TrialText, pair: str, target: Path, listener: Listeners
) -> ExportResult:
    """Export the bundle in its temporary folder. Raises QualityError if the export translates worse."""
    lines = [[side.replace("\t", " ") for side in pair] for pair in text.pairs]
    file = bundle.with_name("text.tsv")
    file.write_text("".join("\t".join(pair) + "\n" for pair in lines), encoding="utf-8")
    try:
        result = export(bundle, file, quantization=quantization, languages=pair, listeners=listener.listeners)
    except QualityError as error:
        raise QualityError(str(error).replace(str(bundle), str(target))) from None
    return replace(result, model_path=target)


def import_card(bundle: Bundle, trial: str, scores: Sequence[Score], copying: Sequence[Score], text: str) -> str:
    """Markdown; `trial` is a sentence, `text` the name of what was scored."""
    project, origin, parameters = bundle.config.project, bundle.manifest["origin"], bundle.manifest["parameters"]
    return f"""---
language: [{_quoted(project.source)}, {_quoted(project.target)}]
license: {_quoted(project.license)}
pipeline_tag: translation
---

# {project.name}: {project.source} → {project.target}

A Transformer that was trained elsewhere and imported by Dragoman {__version__}: {parameters:,} parameters.

## {TITLE}

{origin_section(origin)}
## Scores

{_scores(scores, copying, text)}{trial}

## Limits

Dragoman has not trained this model and knows its training text only from its origin. It may omit, add or mistranslate
words, names and numbers. Score it on text of your own with `dragoman evaluate`, and have a person check what matters.

## Licence

{_licence(origin)}
"""


def _licence(origin: Mapping[str, Any]) -> str:
    if origin.get("license_from") is None:
        return (
            "unknown: the files name no licence. Ask the author before you use or pass on this model; "
            "`dragoman import --license` writes what you find."
        )
    text = f"{origin['license']}, from {origin['license_from']}."
    return text + (" **Not for commercial use.**" if is_non_commercial(str(origin["license"])) else "")


def _scores(scores: Sequence[Score], copying: Sequence[Score], text: str) -> str:
    if not scores:
        return "None measured; `dragoman evaluate` measures them.\n\n"
    rows = "".join(
        f"| {score.name} | {score.value:.1f} | {copied.value:.1f} | `{score.signature.replace('|', chr(92) + '|')}` |\n"
        for score, copied in zip(scores, copying, strict=True)
    )
    head = "| metric | score | copying the source | signature |\n| --- | --- | --- | --- |\n"
    return f"On {text}:\n\n{head}{rows}\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
