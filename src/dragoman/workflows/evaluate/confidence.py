"""The confidence of a model: learned from pairs that it was not trained on, and written into its bundle and card."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle, add_files, open_bundle
from dragoman.config import DecodeConfig
from dragoman.control.confidence.calibration import BINS, FOLDS
from dragoman.control.confidence.confidence import NAME, Confidence, Fitted, draw
from dragoman.control.confidence.learning import ACCEPT, learn_confidence, learn_from_judgements
from dragoman.data.corpus.corpus import read_lines, read_pairs
from dragoman.errors import ConfigError, DataError
from dragoman.installed import changeable_model
from dragoman.text.words.lines import WINDOW, WindowSize, chunks_of
from dragoman.translation import Translation
from dragoman.translator import Translator
from dragoman.workflows.data.check import corpus_of
from dragoman.workflows.listener import Listener, Listeners

JUDGEMENTS = ("usable", "partly", "wrong")
"""What a person says of a translation: the first is accepted."""


@dataclass(frozen=True)
class ConfidenceResult:
    """A confidence that was learned and written."""

    path: Path
    confidence: Confidence


def learn_model_confidence(
    model: str | PathLike[str],
    source: str | PathLike[str],
    reference: str | PathLike[str] | None = None,
    *,
    accept: float = ACCEPT,
    samples: int = 8,
    lines: int = 2000,
    to: str | None = None,
    from_: str | None = None,
    listeners: Iterable[Listener] = (),
) -> ConfidenceResult:
    """Learn the confidence of the bundle `model` from at most `lines` validation pairs, and write it into the bundle.

    A translation counts as accepted from a sentence-level chrF of `accept` against the reference. With `samples` random
    translations of each line their agreement is a feature too, for `decode.confidence_samples`; 0 draws none. `to` and
    `from_` are the languages of the pairs, for a model of several where the letters of the sources leave several.
    Raises DataError if there is too little text, ConfigError unless one pair of languages is left.
    """
    if not 0 < accept <= 100:
        raise ConfigError(f"accept: {accept:g} is not above 0 and at most 100, a chrF")
    if samples < 0 or lines < 1:
        raise ConfigError(f"samples {samples}, lines {lines}: give at least 0 samples and 1 line")
    bundle, listener = open_bundle(changeable_model(model)), Listeners(listeners)
    pairs = [(pair.source, pair.target) for pair in islice(read_pairs(corpus_of(source, reference)), lines)]
    translator = Translator.of_bundle(bundle).to(to, from_, [text for text, _ in pairs])
    learned = calibrate(translator, pairs, accept=accept, samples=samples, listener=listener)
    return _written(bundle, learned)


def learn_judged_confidence(
    model: str | PathLike[str],
    judged: str | PathLike[str],
    *,
    reverse: str | PathLike[str] | None = None,
    to: str | None = None,
    from_: str | None = None,
    listeners: Iterable[Listener] = (),
) -> ConfidenceResult:
    """Learn the confidence of the bundle `model` from what people judged, and below which confidence a translation is
    to be called doubtful; write both into the bundle.

    `judged` is a TSV file: source, translation, judgement (JUDGEMENTS). Its translations are the model's own, or those
    that it makes with the help of the `reverse` model; other lines are left out. `to` and `from_` are as for
    `learn_model_confidence`. Raises DataError if too few are left.
    """
    bundle, listener = open_bundle(changeable_model(model)), Listeners(listeners)
    rows = list(_judgements(Path(judged)))
    helper = None if reverse is None else Translator.load(reverse)
    translator = Translator.of_bundle(bundle).with_reverse(helper).to(to, from_, [source for source, _, _ in rows])
    options = translator.options.model_copy(update={"confidence": False, "doubtful": False, "n_best": 1})
    translations = translator.stream([source for source, _, _ in rows], options=options)
    judgements = [
        (translation, usable)
        for translation, (_, text, usable) in zip(translations, rows, strict=True)
        if translation.text == text and text.strip()
    ]
    if others := len(rows) - len(judgements):
        listener.notice(f"{others:,} of {len(rows):,} judgements are of translations that the model does not make now")
    learned = learn_from_judgements([row[0] for row in judgements], [row[1] for row in judgements])
    return _written(bundle, learned)


def _judgements(path: Path) -> Iterator[tuple[str, str, bool]]:
    """Source, translation, and whether it is usable."""
    for number, line in enumerate(read_lines(path), 1):
        columns = line.split("\t")
        if len(columns) != 3 or columns[2] not in JUDGEMENTS:
            raise DataError(
                f"{path}:{number}: not a judgement; each line is SOURCE, TRANSLATION and one of "
                f"{', '.join(JUDGEMENTS)}, with tabs between"
            )
        yield columns[0], columns[1], columns[2] == JUDGEMENTS[0]


def _written(bundle: Bundle, learned: Confidence) -> ConfidenceResult:
    """Write what was learned into the bundle and its card."""
    files = {NAME: learned.text()}
    if (card := bundle.folder / "README.md").name in bundle.manifest["files"]:
        files[card.name] = with_section(card.read_text(encoding="utf-8"), confidence_section(learned))
    add_files(bundle, files, {"confidence": confidence_facts(learned)})
    return ConfidenceResult(bundle.folder / NAME, learned)


def calibrate(
    translator: Translator,
    pairs: Sequence[tuple[str, str]],
    *,
    accept: float = ACCEPT,
    samples: int = 0,
    listener: Listeners,
) -> Confidence:
    """Translate the sources with the model's own options and learn from the references. Raises DataError."""
    sources = [source for source, _ in pairs]
    translator = translator.to(texts=sources)  # one pair of languages for all
    options = translator.options.model_copy(update={"confidence": False, "n_best": 1})
    stream = translator.stream(sources, options=options)
    translations = list(listener.follow(stream, "translating", "lines", total=len(sources), every=WINDOW))
    drawn: list[list[str]] | None = None
    if samples:
        drawn = []
        progress = listener.counter("sampling", "lines", len(sources))
        for chunk in chunks_of(sources, WindowSize()):
            drawn += draw(options, samples, partial(_translate, translator, chunk))
            progress(len(chunk))
    return learn_confidence(translations, [reference for _, reference in pairs], accept, drawn)


def _translate(translator: Translator, lines: Sequence[str], options: DecodeConfig) -> list[Translation]:
    return translator.translate(lines, options=options)


def confidence_facts(learned: Confidence) -> dict[str, Any]:
    """What `bundle.json` has about it."""
    measured = {"plain": asdict(learned.plain.calibration)}
    if learned.sampled:
        measured["sampled"] = asdict(learned.sampled.calibration)
    if learned.doubts:
        measured["doubtful"] = {"limit": learned.doubtful, **asdict(learned.doubts)}
    return {"accept": learned.accept, "lines": learned.lines, "accepted": learned.accepted, "measured": measured}


def with_section(card: str, body: str) -> str:
    """The card with a section on confidence: in the place of the old one, otherwise before the limits."""
    section = f"## Confidence\n\n{body.strip()}\n\n"
    old = re.compile(r"^## Confidence\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    if old.search(card):
        return old.sub(lambda _: section, card, count=1)
    before, heading, after = card.partition("## Limits\n")
    return before + section + heading + after if heading else f"{card.rstrip()}\n\n{section}"


def confidence_section(learned: Confidence) -> str:
    """How well the confidence of the model is calibrated."""
    rows = [("log P and lengths", learned.plain)]
    if learned.sampled:
        rows.append((f"with the agreement of {learned.samples} samples", learned.sampled))
    share = f"{100 * learned.accepted:.1f} %"
    if learned.accept:
        origin = f"""\
No person judged the lines that it was learned from. "Accepted" is a proxy: sentence-level chrF of at least
{learned.accept:g} against the reference. Lines: {learned.lines:,} of the validation text, {share} accepted;
measured by {FOLDS}-fold cross-validation, with {BINS} bins."""
    else:
        origin = f"""\
It was learned from {learned.lines:,} translations that were judged, {share} of them usable; measured by {FOLDS}-fold
cross-validation, with {BINS} bins."""
    return f"""\
With `translate --confidence` each translation has a confidence: the probability that a person would accept it.
{origin}

| features | expected calibration error | Brier score | area under the ROC curve |
| --- | --- | --- | --- |
{"".join(_confidence_row(name, fitted) for name, fitted in rows)}
{_doubts(learned)}It holds for text like that which it was learned from.
"""


def _doubts(learned: Confidence) -> str:
    if not (doubts := learned.doubts):
        return ""
    return (
        f"A translation below {learned.doubtful:.2f} has the warning `doubtful`: {doubts.lines:,} of these lines, of\n"
        f"which {100 * doubts.wrong:.0f} % were not usable; of the others, {100 * doubts.others_wrong:.0f} %.\n"
    )


def _confidence_row(name: str, fitted: Fitted) -> str:
    calibration = fitted.calibration
    return f"| {name} | {calibration.ece:.3f} | {calibration.brier:.3f} | {calibration.auc:.3f} |\n"
