"""Given translations → log P of each of their tokens, what is wrong with them, and whether a person would accept them.

The confidence is what the model has learned from validation lines (`control.confidence.confidence`), by the same
features as for its own translations; a model that has learned none gives none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.control.faults.faults import Requirements, checked, detect_fault
from dragoman.errors import DataError
from dragoman.serve.models.models import Models
from dragoman.serve.work.text import Choice, Prepare, TextRequest, choose
from dragoman.text.tokens.tokenizer import EOS
from dragoman.text.words.normalise import normalise
from dragoman.translation import Candidate, Flag, Translation
from dragoman.translator import Translator


@dataclass(frozen=True, slots=True)
class Scored:
    """A given translation by the model: `log_probs` are those of `pieces`, of which the last is EOS."""

    choice: Choice
    pieces: list[str]
    log_probs: list[float]
    confidence: float | None
    warnings: tuple[Flag, ...]


def score(request: TextRequest, translations: Sequence[str], models: Models, prepare: Prepare) -> list[Scored]:
    """The scores of the translation of each text of a request, in order; blocks.

    Raises what `choose` and `Translator.score` raise, and DataError for a text that is found to be in the target
    language, of which no model translates.
    """
    chosen = list[Choice]()
    for number, choice in enumerate(choose(request, models), 1):
        if choice is None:
            raise DataError(f"text {number}: seems to be in {request.target} already; name its language as source")
        chosen.append(choice)
    scores: dict[int, Scored] = {}
    for model, pair in dict.fromkeys((choice.model, choice.pair) for choice in chosen):
        members = [n for n, choice in enumerate(chosen) if (choice.model, choice.pair) == (model, pair)]
        pairs = [(normalise(request.texts[n]), normalise(translations[n])) for n in members]
        translator = prepare(models.translator(model, pair))
        for n, texts, log_probs in zip(members, pairs, translator.score(pairs), strict=True):
            scores[n] = _scored(chosen[n], translator, texts, log_probs)
    return [scores[n] for n in range(len(chosen))]


def _scored(choice: Choice, translator: Translator, pair: tuple[str, str], log_probs: list[float]) -> Scored:
    [(source, target)] = translator.symbols.mask_pairs([pair])
    tokenizer = translator.tokenizer
    [source_ids], [ids] = tokenizer.encode([source], "source"), tokenizer.encode([target], "target")
    total = sum(log_probs)
    candidate = Candidate(pair[1], total, total, tuple(ids))
    fault = detect_fault(source_ids, source, ids)
    given = Translation(pair[0], (candidate,), (fault,) if fault else ())
    translation = checked(given, Requirements.of(pair[0], translator.options))
    learned = translator.confidence
    sure = learned.probability(translation) if learned and pair[0] and pair[1] else None
    return Scored(choice, tokenizer.pieces([*ids, EOS], "target"), log_probs, sure, translation.warnings)
