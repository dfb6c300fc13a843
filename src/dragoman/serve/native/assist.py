"""What helps a person who translates, `/v1`: alternatives of a word, scores of a translation.

For alternatives, what is before a clicked word stays, and translations that continue with another word are offered. The
confidence of a score is what the model has learned from validation lines (`control.confidence.confidence`), by the same
features as for its own translations; a model that has learned none gives none.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from dragoman.control.faults.faults import Requirements, checked, detect_fault
from dragoman.errors import DataError
from dragoman.serve.http.access import Call, charged
from dragoman.serve.http.body import takes
from dragoman.serve.http.problems import malformed
from dragoman.serve.models.models import Models
from dragoman.serve.native.schema import Body, Warned, language_of
from dragoman.serve.work.service import TooLarge, check_size
from dragoman.serve.work.text import Choice, Prepare, TextRequest, choose
from dragoman.text.tokens.tokenizer import EOS
from dragoman.text.words.normalise import is_text, normalise
from dragoman.text.words.words import is_unspaced
from dragoman.translation import Candidate, Translation
from dragoman.translator import Translator

# Tokens of a line, or of its translation, that are scored: time and memory grow with the square of their number.
SCORED_TOKENS = 1024
# Translations that are searched for each word that is wanted: several tokens may begin one word.
WIDENING = 2
_WORD = re.compile(r"\s*\S+")


class AlternativesBody(Body):
    """A sentence, and the beginning of its translation that stays."""

    text: str
    """One line; a sentence is best, because the prefix belongs to the first sentence of the line."""
    prefix: str = ""
    """What the translation begins with. With a space at its end, its last word is whole."""
    source: str | None = None
    """Source language, BCP-47; `auto` or none: detected."""
    target: str | None = None
    """Target language, BCP-47; may be left out where there is only one."""
    model: str | None = None
    """Name of a model of `/v1/models`."""
    count: Annotated[int, Field(ge=1, le=32)] = 8
    """Words that are wanted, at most; there may be fewer."""


class Alternative(BaseModel):
    """A word that may come after the prefix, and the best translation that continues with it."""

    word: str
    """Up to the next space; "" where the translation ends with the prefix."""
    text: str
    """The whole translation; it begins with the prefix, its white space normalised."""
    score: float
    log_prob: float


class AlternativesAnswer(BaseModel):
    """The alternatives, best first."""

    alternatives: list[Alternative]
    source: str
    target: str
    model: str


class ScoreBody(Body):
    """Sources and their given translations."""

    text: str | list[str]
    """A line, or several."""
    translation: str | list[str]
    """The translation of the line, or of each line."""
    source: str | None = None
    """Source language, BCP-47; `auto` or none: detected."""
    target: str | None = None
    """Target language, BCP-47; may be left out where there is only one."""
    model: str | None = None
    """Name of a model of `/v1/models`."""


class TokenScore(BaseModel):
    """log P of one token in nats, given the source and the tokens before it."""

    piece: str
    log_prob: float


class ScoreOf(BaseModel):
    """The scores of one translation."""

    log_prob: float
    """The sum over its tokens and EOS."""
    per_token: float
    """The mean."""
    tokens: list[TokenScore]
    """The last one is EOS, the end of the sentence."""
    confidence: float | None = None
    """The probability that a person would accept it, if the model has learned that."""
    warnings: list[Warned] = []
    source: str
    target: str
    model: str
    detected: float | None = None


class ScoreAnswer(BaseModel):
    """The scores, one for each line, in order."""

    scores: list[ScoreOf]


router = APIRouter(prefix="/v1", tags=["native"])


@router.post("/alternatives", openapi_extra=takes(AlternativesBody))
async def alternatives(call: Call) -> AlternativesAnswer:
    """The words that may come after the beginning of a translation, each with the best translation that has it.

    A text that is found to be in the target language already has none.
    """
    body = await call.body(AlternativesBody)
    if len(body.text.splitlines()) > 1 or len(body.prefix.splitlines()) > 1:
        raise malformed("text, prefix: line breaks; give one line, best a sentence of `/v1/translate/stream`")
    if not is_text(body.prefix):
        raise malformed("prefix: contains an unpaired surrogate (invalid Unicode); fix the encoding")
    check_size(TextRequest([body.text, body.prefix]), call.service.limits)
    request = TextRequest([body.text], language_of(body.source), body.target, body.model)

    def work(prepare: Prepare) -> AlternativesAnswer:
        (chosen,) = choose(counted, call.service.models)
        if chosen is None:
            target = str(body.target)
            return AlternativesAnswer(alternatives=[], source=target, target=target, model="")
        translator = prepare(call.service.models.translator(chosen.model, chosen.pair))
        words = _next_words(translator, body.text, body.prefix, body.count)
        pair = chosen.pair
        return AlternativesAnswer(alternatives=words, source=pair.source, target=pair.target, model=chosen.model.name)

    async with charged(call, request, [body.prefix]) as counted:
        return await call.ask(work)


@router.post("/score", openapi_extra=takes(ScoreBody))
async def score_translations(call: Call) -> ScoreAnswer:
    """How probable given translations are, token by token.

    A line is scored as a whole; it and its translation have at most 1,024 tokens each.
    """
    body = await call.body(ScoreBody)
    texts, translations = _listed(body.text), _listed(body.translation)
    if len(texts) != len(translations):
        raise malformed(f"{len(texts):,} texts and {len(translations):,} translations; give one translation of each")
    for number, text in enumerate(translations, 1):
        if not is_text(text):
            raise malformed(f"translation {number}: contains an unpaired surrogate (invalid Unicode); fix the encoding")
    request = TextRequest(texts, language_of(body.source), body.target, body.model)
    check_size(TextRequest(translations), call.service.limits)
    async with charged(call, request, translations) as counted:
        scores = await call.ask(partial(_scores, counted, translations, call.service.models))
    return ScoreAnswer(scores=scores)


def _listed(texts: str | list[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else texts


def _next_words(translator: Translator, text: str, prefix: str, count: int) -> list[Alternative]:
    """Up to `count` translations of a line with different words after the `prefix`, best first; blocks.

    A prefix that ends with a space has whole words; without one, its last word may be continued. Raises what
    `Translator.alternatives` raises.
    """
    beginning = normalise(prefix)
    beginning += " " if beginning and prefix[-1].isspace() else ""
    words: dict[str, Alternative] = {}
    for candidate in translator.alternatives(text, prefix, WIDENING * count) if text.strip() else ():
        if candidate.text.startswith(beginning):
            word = _first_word(candidate.text[len(beginning) :])
            alternative = Alternative(
                word=word, text=candidate.text, score=candidate.score, log_prob=candidate.log_prob
            )
            words.setdefault(word, alternative)
    return list(words.values())[:count]


def _first_word(rest: str) -> str:
    """The rest up to the next space; of a script without spaces its first character, and "" at the end."""
    match = _WORD.match(rest)
    word = match.group().strip() if match else ""
    return word[:1] if word and is_unspaced(word[0]) else word


def _scores(request: TextRequest, translations: Sequence[str], models: Models, prepare: Prepare) -> list[ScoreOf]:
    """The scores of the translation of each text of a request, in order; blocks.

    Raises what `choose` and `Translator.score` raise, TooLarge for too many tokens, and DataError for a text that is
    found to be in the target language, of which no model translates.
    """
    chosen = list[Choice]()
    for number, choice in enumerate(choose(request, models), 1):
        if choice is None:
            raise DataError(f"text {number}: seems to be in {request.target} already; name its language as source")
        chosen.append(choice)
    scores: dict[int, ScoreOf] = {}
    for model, pair in dict.fromkeys((choice.model, choice.pair) for choice in chosen):
        members = [n for n, choice in enumerate(chosen) if (choice.model, choice.pair) == (model, pair)]
        pairs = [(normalise(request.texts[n]), normalise(translations[n])) for n in members]
        translator = prepare(models.translator(model, pair))
        _check_lengths(translator, pairs, members)
        for n, texts, log_probs in zip(members, pairs, translator.score(pairs), strict=True):
            scores[n] = _score(chosen[n], translator, texts, log_probs)
    return [scores[n] for n in range(len(chosen))]


def _check_lengths(translator: Translator, pairs: Sequence[tuple[str, str]], numbers: Sequence[int]) -> None:
    """Raises TooLarge for a text, or a translation, of more tokens than are scored."""
    encode = translator.tokenizer.encode
    for number, (source, target) in zip(numbers, translator.symbols.mask_pairs(pairs), strict=True):
        for what, [ids] in (("text", encode([source], "source")), ("translation", encode([target], "target"))):
            if len(ids) > SCORED_TOKENS:
                raise TooLarge(f"{what} {number + 1}: {len(ids):,} tokens; send at most {SCORED_TOKENS:,}, divide it")


def _score(choice: Choice, translator: Translator, pair: tuple[str, str], log_probs: list[float]) -> ScoreOf:
    """The scores of a translation whose tokens, and EOS, have these log-probabilities."""
    [(source, target)] = translator.symbols.mask_pairs([pair])
    tokenizer = translator.tokenizer
    [source_ids], [ids] = tokenizer.encode([source], "source"), tokenizer.encode([target], "target")
    total = sum(log_probs)
    candidate = Candidate(pair[1], total, total, tuple(ids))
    fault = detect_fault(source_ids, source, ids)
    translation = checked(
        Translation(pair[0], (candidate,), (fault,) if fault else ()),
        Requirements.of(pair[0], translator.options, languages=translator.languages),
    )
    learned = translator.confidence
    pieces = zip(tokenizer.pieces([*ids, EOS], "target"), log_probs, strict=True)
    return ScoreOf(
        log_prob=total,
        per_token=total / len(log_probs),
        tokens=[TokenScore(piece=piece, log_prob=log_prob) for piece, log_prob in pieces],
        confidence=learned.probability(translation) if learned and pair[0] and pair[1] else None,
        warnings=[Warned(kind=flag.kind, text=flag.text) for flag in translation.warnings],
        source=choice.pair.source,
        target=choice.pair.target,
        model=choice.model.name,
        detected=choice.detected,
    )
