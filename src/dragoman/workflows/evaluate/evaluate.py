"""Evaluation: models or finished translations on a test set → scores, intervals and paired tests."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath

from dragoman.control.search.request import price_of
from dragoman.data.check.check import looks_tokenised
from dragoman.data.corpus.corpus import read_lines, read_pairs
from dragoman.errors import ConfigError, DataError, checked_path, counted
from dragoman.evaluation import RESAMPLES, Comparison, Score, bleu, check_resamples, compare, score_all
from dragoman.text.words.lines import WINDOW
from dragoman.text.words.normalise import lines_of
from dragoman.translator import Translator
from dragoman.workflows.data.check import corpus_of
from dragoman.workflows.listener import Listener, Listeners, Progress


@dataclass(frozen=True)
class SystemScores:
    """The scores of one system on a test set."""

    name: str
    scores: tuple[Score, ...]
    """BLEU, chrF and TER."""
    translations: tuple[str, ...]

    @property
    def bleu(self) -> Score:
        """BLEU with its signature and interval."""
        return self.scores[0]

    @property
    def chrf(self) -> Score:
        """chrF with its signature and interval."""
        return self.scores[1]

    @property
    def ter(self) -> Score:
        """TER with its signature; lower is better."""
        return self.scores[2]


@dataclass(frozen=True)
class Evaluation(SystemScores):
    """The scores of a system, and those of further systems that it is compared with."""

    copying: tuple[Score, ...] = ()
    """The scores of the source text itself: what a system that translates nothing would get."""
    others: tuple[SystemScores, ...] = ()
    comparison: Comparison | None = None
    """Paired tests of the others against the first system; None if there are no others."""


@dataclass(frozen=True)
class TestSet:
    """Sources and their references, line by line."""

    __test__ = False  # pytest takes it for a class of tests otherwise

    sources: tuple[str, ...]
    references: tuple[str, ...]
    name: str = "test set"


def evaluate(
    model: Translator | str | PathLike[str],
    source: str | PathLike[str] | Sequence[str],
    reference: str | PathLike[str] | Sequence[str] | None = None,
    *,
    compare: Translator | str | PathLike[str] | Sequence[Translator | str | PathLike[str]] = (),
    translations: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    tokenize: str | None = None,
    resamples: int = RESAMPLES,
    listeners: Iterable[Listener] = (),
) -> Evaluation:
    """Translate a test set with a model and score the translations with BLEU, chrF and TER.

    `model` is a translator, a folder or the name of a bundled model. `source` and `reference` are files (or `source` is
    one .tsv or .jsonl file of both sides), or two sequences of lines. Further models in `compare` and files of finished
    translations of any system in `translations` are scored on the same test set, with paired tests against `model`.
    `tokenize` is a tokeniser of sacreBLEU for BLEU; `resamples` are those of the bootstrap, 0 for no intervals.

    Raises DataError for an unusable test set, ModelError for an unusable model.
    """
    listener, test_set = Listeners(listeners), read_test_set(source, reference)
    check_tokenizer(tokenize)
    check_resamples(resamples)
    warn_if_tokenised(test_set, tokenize, listener)
    named: dict[str, Sequence[str]] = {}
    paths = [translations] if isinstance(translations, str | PathLike) else translations
    files = [(str(checked_path("translations", path)), read_translations(path, test_set)) for path in paths]
    others = [compare] if isinstance(compare, Translator | str | PathLike) else compare
    for system in (model, *others):
        checked_model = system if isinstance(system, Translator) else checked_path("model", system)
        name = "translator" if isinstance(system, Translator) else fspath(system)
        translator = checked_model if isinstance(checked_model, Translator) else Translator.load(checked_model)
        named[unused(name, named)] = translate_all(translator, test_set.sources, listener)
    for name, lines in files:
        named[unused(name, named)] = lines
    return score_systems(named, test_set, tokenize=tokenize, resamples=resamples, listener=listener)


def score_systems(
    systems: Mapping[str, Sequence[str]],
    test_set: TestSet,
    *,
    tokenize: str | None = None,
    resamples: int = RESAMPLES,
    listener: Listeners,
) -> Evaluation:
    """Score the translations of one system or several; the first is the baseline of the paired tests."""
    scored = []
    for name, lines in listener.follow(systems.items(), "scoring", "systems", total=len(systems)):
        scores = score_all(lines, test_set.references, tokenize=tokenize, bootstrap=resamples)
        scored.append(SystemScores(name, tuple(scores), tuple(lines)))
    comparison = None
    if len(systems) > 1:
        listener.on_progress(Progress("testing the differences", 0, None, "tests"))
        comparison = compare(systems, test_set.references, tokenize=tokenize, resamples=resamples or RESAMPLES)
        listener.on_progress(Progress("testing the differences", 2, 2, "tests"))
    first, *others = scored
    copying = tuple(score_all(test_set.sources, test_set.references, tokenize=tokenize))
    return Evaluation(first.name, first.scores, first.translations, copying, tuple(others), comparison)


def read_test_set(
    source: str | PathLike[str] | Sequence[str], reference: str | PathLike[str] | Sequence[str] | None = None
) -> TestSet:
    """The test set of two files, of one .tsv or .jsonl file, or of two sequences of lines. Raises DataError."""
    if isinstance(source, str | PathLike):
        if reference is not None and not isinstance(reference, str | PathLike):
            raise ConfigError("give the source and the reference both as files or both as lines")
        pairs = list(read_pairs(corpus_of(source, reference)))
        test_set = TestSet(
            tuple(pair.source for pair in pairs),
            tuple(pair.target for pair in pairs),
            fspath(source if reference is None else reference),
        )
    else:
        if reference is None or isinstance(reference, str | PathLike):
            raise ConfigError("give the source and the reference both as files or both as lines")
        test_set = TestSet(tuple(lines_of(source)), tuple(lines_of(reference)))
        if len(test_set.sources) != len(test_set.references):
            raise DataError(
                f"{len(test_set.sources):,} sources, but {len(test_set.references):,} references; give pairs"
            )
    if not test_set.sources:
        name = fspath(source) if isinstance(source, str | PathLike) else test_set.name
        raise DataError(f"{name}: no lines; a test set needs text")
    return test_set


def read_translations(path: str | PathLike[str], test_set: TestSet) -> list[str]:
    """The lines of a file of translations. Raises DataError unless there is one for each source."""
    lines = list(read_lines(checked_path("translations", path)))
    if len(lines) != len(test_set.sources):
        raise DataError(
            f"{fspath(path)}: {counted(len(lines), 'line')} for the {len(test_set.sources):,} of the test set; "
            "give one translation for each source line"
        )
    return lines


def translate_all(translator: Translator, sources: Sequence[str], listener: Listeners) -> list[str]:
    """The best translation of each source, with progress."""
    if price := price_of(translator.engine, translator.options, len(sources)):
        listener.on_warning(price)
    stream = translator.stream(sources)
    translations = listener.follow(stream, "translating", "lines", total=len(sources), every=WINDOW)
    return [translation.text for translation in translations]


def warn_if_tokenised(test_set: TestSet, tokenize: str | None, listener: Listeners) -> None:
    """A warning if BLEU would tokenise text that looks tokenised already."""
    if tokenize is None and looks_tokenised(test_set.references):
        remedy = "score raw text, or give --tokenize none"
        listener.on_warning(f"{test_set.name}: looks pre-tokenised; sacreBLEU tokenises internally; {remedy}")


def check_tokenizer(tokenize: str | None) -> None:
    """Raises ConfigError, before anything is translated, for a tokeniser of BLEU that is unknown or cannot be used."""
    from sacrebleu.metrics.bleu import BLEU

    if tokenize is None:
        return
    if tokenize not in BLEU.TOKENIZERS:
        raise ConfigError(f"--tokenize {tokenize}: choose one of {', '.join(sorted(BLEU.TOKENIZERS))}")
    try:
        bleu(["a word"], ["a word"], tokenize=tokenize)
    except OSError:
        remedy = "go online, or choose another"
        raise ConfigError(f"--tokenize {tokenize}: sacreBLEU cannot download what it needs; {remedy}") from None
    except (ValueError, ImportError, RuntimeError) as error:
        named = re.search(r"pip install (?P<extra>\S*\[\w+\])", str(error))
        cause = f'needs `pip install "{named["extra"]}"`' if named else str(error)
        raise ConfigError(f"--tokenize {tokenize}: {cause}") from None


def unused(name: str, taken: Iterable[str]) -> str:
    """`name`, with a number if it is taken: a system may be compared with itself under other options."""
    names, number = set(taken), 2
    while (numbered := name if number == 2 else f"{name} ({number - 1})") in names:
        number += 1
    return numbered
