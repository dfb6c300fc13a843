"""Improvement: corrections of people → a new version of a model, which translates as they do, and no worse elsewhere.

Input: a model and corrections. They are checked; the model is fine-tuned on them with a replay of other text, exported
and compared with the version before on its old test set. Output: a new folder and a page that shows what changed. A
version that translates the test set worse than the interval of the version before is discarded. Nothing is written
before the end but a working folder, which is removed. The versions of `news` are `news`, `news-2`, `news-3`, … in one
folder; those of a bundled model are installed models.
"""

import importlib.util
import re
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path

from dragoman.bundle import Bundle, add_files, open_bundle, update_bundle
from dragoman.bundled import bundled_folder
from dragoman.config import CorpusConfig
from dragoman.config.sections.project import is_name
from dragoman.errors import ConfigError, Interrupted, ModelError, QualityError, checked_path, counted
from dragoman.installed import models_folder
from dragoman.installed.opening import open_model
from dragoman.shortlist.file import NAME as SHORTLIST
from dragoman.system.files import (
    folder_next_to,
    locked,
    refuse_existing,
    refuse_unwritable_file,
    refuse_unwritable_folder,
)
from dragoman.system.pages import refuse_other_file
from dragoman.text.words.normalise import normalise
from dragoman.translator import GLOSSARY, Translator
from dragoman.workflows.data.check import corpus_of
from dragoman.workflows.data.check_page import kind_name
from dragoman.workflows.improve.check import ImproveResult, compare_versions, require_kept
from dragoman.workflows.improve.corrections import Corrections, read_corrections
from dragoman.workflows.improve.page import card_section, write_page
from dragoman.workflows.improve.run import check_keys, hold_out, refuse_own_keys, run_config
from dragoman.workflows.improve.text import NamedTexts, TextWriter, prepare_texts
from dragoman.workflows.listener import Listener, Listeners
from dragoman.workflows.models.dequantise import write_dequantised
from dragoman.workflows.models.export import export


def next_version(bundle: Bundle, output: Path | None = None) -> tuple[Path, str]:
    """Folder and name of the first version after `bundle` that does not exist, or of `output`.

    Raises ConfigError if that exists.
    """
    project_name = str(bundle.config.project.name)
    if output is not None:
        refuse_existing([output], "choose another folder with -o")
        return output, output.name if is_name(output.name) else project_name
    folder = bundle.folder.absolute()
    parent = models_folder() if folder == bundled_folder(folder.name) else folder.parent
    stem, number = _parsed(folder.name)
    while (version_folder := parent / f"{stem}-{number + 1}").exists():
        number += 1
    return version_folder, f"{_parsed(project_name)[0]}-{number + 1}"


def _parsed(name: str) -> tuple[str, int]:
    """`news-3` as `news` and 3; a name without a number is the first version."""
    match = re.fullmatch(r"(.+)-([1-9]\d{0,5})", name)
    return (match[1], int(match[2])) if match else (name, 1)


EXPORTS = ("int8", "float32")
# Lines that the export is verified with.
VERIFIED = 200


def improve(
    model: str | PathLike[str],
    corrections: str | PathLike[str],
    *,
    output: str | PathLike[str] | None = None,
    pair: str = "",
    replay: str | PathLike[str] | None = None,
    test: str | PathLike[str] | tuple[str | PathLike[str], str | PathLike[str]] | None = None,
    page: str | PathLike[str] | None = None,
    overrides: Sequence[str] = (),
    listeners: Iterable[Listener] = (),
) -> ImproveResult:
    """Fine-tune `model` on `corrections`, and write the result as a new version next to it, or to `output`.

    `corrections` is the database of a service or a .tsv or .jsonl file, of the languages `pair` in a model of several.
    The text of the model's run is replayed; if that is gone, `replay`, a file of pairs, or of sentences that the model
    translates itself. `test`, two files or one, replaces the test set of the run. `overrides` are KEY=VALUE of [train],
    and of data.replay_share. Raises QualityError if the test set drops below its interval, DataError for corrections
    that cannot be learned from, ModelError and ConfigError as `train` does.
    """
    if importlib.util.find_spec("torch") is None:
        raise ModelError('improve: training needs `pip install "dragoman[train]"`')
    refuse_own_keys(overrides)
    path, bundle = checked_path("corrections", corrections), open_model(model)
    listener = Listeners(listeners)
    read = read_corrections(path, bundle.config.project, pair)
    _report(read, listener)
    target, name = next_version(bundle, None if output is None else checked_path("output", output))
    page_path = target.with_name(f"{target.name}.html") if page is None else checked_path("page", page)
    refuse_other_file(page_path)
    refuse_unwritable_folder(target)
    named = NamedTexts(None if replay is None else checked_path("replay", replay), _test_of(test, bundle, pair), pair)
    with ExitStack() as stack:
        folder = stack.enter_context(folder_next_to(target))
        refuse_unwritable_file(page_path)  # now that its folder exists, unless `page` names another
        _lock(stack, target)
        try:
            return _improve(_Work(bundle, read, named, target, name, page_path, folder, overrides, listener))
        except (Interrupted, KeyboardInterrupt):
            raise Interrupted("improve: interrupted; nothing was written, start it again") from None


def _test_of(
    test: str | PathLike[str] | tuple[str | PathLike[str], str | PathLike[str]] | None, bundle: Bundle, pair: str
) -> CorpusConfig | None:
    if test is None:
        return None
    corpus = corpus_of(*test) if isinstance(test, tuple) else corpus_of(test)
    return corpus.model_copy(update={"languages": pair}) if bundle.config.project.pairs else corpus


def _report(corrections: Corrections, listener: Listeners) -> None:
    for fault in corrections.faults:
        listener.on_warning(f"{fault.correction.where}: {kind_name(fault.kind)}; left out")
    if corrections.elsewhere:
        listener.notice(f"{counted(corrections.elsewhere, 'correction')} of other languages left out")
    listener.notice(f"{counted(len(corrections.usable), 'correction')} to learn from")


def _lock(stack: ExitStack, folder: Path) -> None:
    """Keep other processes from writing the same version. Raises ConfigError if one does."""
    try:
        stack.enter_context(locked(folder.with_name(f".{folder.name}.improving"), wait=False))
    except BlockingIOError:
        raise ConfigError(f"{folder}: another process improves this model; wait for it") from None


@dataclass(frozen=True)
class _Work:
    """What is improved, with what, and where to."""

    bundle: Bundle
    corrections: Corrections
    texts: NamedTexts
    target: Path
    name: str
    page: Path
    folder: Path
    """For files on the way."""
    overrides: Sequence[str]
    listener: Listeners


def _improve(work: _Work) -> ImproveResult:
    from dragoman.workflows.train.train import train

    bundle, listener = work.bundle, work.listener
    check_keys(work.folder, bundle, work.name, work.overrides)
    before = _translator(bundle)
    learned, held_out = hold_out(work.corrections.usable)
    writer = TextWriter(work.folder, bundle, {normalise(correction.source) for correction in work.corrections.usable})
    pairs = [
        pair for pair in bundle.config.project.all_pairs if any(correction.pair == pair.name for correction in learned)
    ]
    texts = prepare_texts(bundle, writer, work.texts, pairs, before, listener)
    base = bundle.folder if bundle.has_weights else write_dequantised(bundle, work.folder / "base").folder
    learned_text = [
        writer.write_all(
            "corrections",
            pair,
            [(correction.source, correction.target) for correction in learned if correction.pair == pair.name],
        )
        for pair in pairs
    ]
    config, user_keys = run_config(
        work.folder, bundle, base, work.name, texts, learned_text, len(learned), work.overrides
    )
    trained = train(config, user_keys=user_keys, overrides=work.overrides, listeners=listener.listeners)
    carry_over(bundle, open_bundle(trained.model_path), listener)  # before the export, which has a shortlist's file
    made = _exported(trained.model_path, listener)
    after = _translator(made)
    compared = compare_versions(bundle, (before, after), texts.test, learned, held_out, listener)
    require_kept(compared, bundle.folder)
    result = ImproveResult(
        work.target, work.page, len(learned), len(held_out), work.corrections.faults, tuple(compared)
    )
    _publish(made, work, result)
    return result


def carry_over(before: Bundle, version: Bundle, listener: Listeners) -> None:
    """Add the glossary and the shortlist that are attached to `before`, if any, to the new `version` of it.

    A shortlist names pieces: with other pieces than those it was learned for it is left out, with a warning.
    """
    attached = {name for name in (GLOSSARY, SHORTLIST) if name in before.manifest["files"]}
    if SHORTLIST in attached and version.tokenizer.sha256 != before.tokenizer.sha256:
        attached.remove(SHORTLIST)
        listener.on_warning(
            f"{before.folder}: its shortlist is of other pieces than the new version's; "
            "`dragoman model shortlist` learns one"
        )
    if not attached:
        return
    files = {name: (before.folder / name).read_bytes().decode("utf-8") for name in attached}
    learned = before.manifest.get("shortlist") if SHORTLIST in attached else None
    facts = {"shortlist": learned} if learned else {}
    add_files(version, files, facts)
    listener.notice(f"the new version has the {' and the '.join(sorted(Path(name).stem for name in attached))}")


def _exported(folder: Path, listener: Listeners) -> Bundle:
    """The bundle with a verified export: in int8, or in float32 if int8 translates worse."""
    for kind in EXPORTS:
        try:
            export(folder, quantization=kind, lines=VERIFIED, listeners=listener.listeners)
            break
        except QualityError as error:
            if kind == EXPORTS[-1]:
                raise
            listener.on_warning(f"{error}; the new version is exported to {EXPORTS[-1]}")
    return open_bundle(folder)


def _translator(bundle: Bundle) -> Translator:
    """The one that serves the model, without confidence, which changes no translation."""
    translator = Translator.of_bundle(bundle)
    translator.options = translator.options.model_copy(update={"confidence": False})
    return translator


def _publish(made: Bundle, work: _Work, result: ImproveResult) -> None:
    """Write the version to its folder, with what it is in its `bundle.json` and on its card; and the page."""
    base = str(work.bundle.manifest["name"])
    facts = {
        "base": base,
        "corrections": result.corrections,
        "held_out": result.held_out,
        "left_out": len(result.left_out),
        "scores": [
            {"on": text.on, "pair": text.pair, **asdict(metric)} for text in result.texts for metric in text.metrics
        ],
    }
    with update_bundle(made, result.model_path, {"improvement": facts}) as partial:
        card = (partial / "README.md").read_text(encoding="utf-8")
        (partial / "README.md").unlink()
        (partial / "README.md").write_text(f"{card}\n{card_section(base, result)}", encoding="utf-8")
    write_page(work.page, work.name, base, result)
