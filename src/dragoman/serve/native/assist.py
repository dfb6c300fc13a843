"""What helps a person who translates, `/v1`: alternatives of a word, scores of a translation."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from dragoman.serve.http.access import Call, charged
from dragoman.serve.http.body import takes
from dragoman.serve.http.problems import PROBLEMS, malformed
from dragoman.serve.native.schema import Body, Warned, language_of
from dragoman.serve.work.alternatives import NextWord, next_words
from dragoman.serve.work.score import Scored, score
from dragoman.serve.work.service import check_size
from dragoman.serve.work.text import Prepare, TextRequest, choose
from dragoman.text.words.normalise import is_text


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


router = APIRouter(prefix="/v1", tags=["native"], responses=PROBLEMS)


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
        words = next_words(translator, body.text, body.prefix, body.count)
        pair = chosen.pair
        return AlternativesAnswer(
            alternatives=list(map(_alternative, words)), source=pair.source, target=pair.target, model=chosen.model.name
        )

    async with charged(call, request) as counted:
        return await call.ask(work)


@router.post("/score", openapi_extra=takes(ScoreBody))
async def score_translations(call: Call) -> ScoreAnswer:
    """How probable given translations are, token by token; a line is scored as a whole, whatever its length."""
    body = await call.body(ScoreBody)
    texts, translations = _listed(body.text), _listed(body.translation)
    if len(texts) != len(translations):
        raise malformed(f"{len(texts):,} texts and {len(translations):,} translations; give one translation of each")
    for number, text in enumerate(translations, 1):
        if not is_text(text):
            raise malformed(f"translation {number}: contains an unpaired surrogate (invalid Unicode); fix the encoding")
    request = TextRequest(texts, language_of(body.source), body.target, body.model)
    check_size(TextRequest(translations), call.service.limits)
    async with charged(call, request) as counted:
        scores = await call.ask(partial(score, counted, translations, call.service.models))
    return ScoreAnswer(scores=list(map(_score, scores)))


def _listed(texts: str | list[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else texts


def _score(scored: Scored) -> ScoreOf:
    total, pair = sum(scored.log_probs), scored.choice.pair
    tokens = zip(scored.pieces, scored.log_probs, strict=True)
    return ScoreOf(
        log_prob=total,
        per_token=total / len(scored.log_probs),
        tokens=[TokenScore(piece=piece, log_prob=log_prob) for piece, log_prob in tokens],
        confidence=scored.confidence,
        warnings=[Warned(kind=flag.kind, text=flag.text) for flag in scored.warnings],
        source=pair.source,
        target=pair.target,
        model=scored.choice.model.name,
        detected=scored.choice.detected,
    )


def _alternative(word: NextWord) -> Alternative:
    return Alternative(word=word.word, text=word.text, score=word.score, log_prob=word.log_prob)
