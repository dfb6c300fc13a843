"""What helps a person who translates, `/v1`: alternatives of a word, scores of a translation."""

from functools import partial

from fastapi import APIRouter, Request

from dragoman.serve.http.access import charged
from dragoman.serve.http.body import json_object, validated
from dragoman.serve.http.described import PROBLEMS, takes
from dragoman.serve.http.http import departure_of, sender_of, service_of
from dragoman.serve.http.problems import malformed
from dragoman.serve.native.assist_schema import (
    Alternative,
    AlternativesAnswer,
    AlternativesBody,
    ScoreAnswer,
    ScoreBody,
    ScoreOf,
    TokenScore,
)
from dragoman.serve.native.schema import Warned
from dragoman.serve.work.alternatives import NextWord, next_words
from dragoman.serve.work.score import Scored, score
from dragoman.serve.work.service import check_size
from dragoman.serve.work.text import Prepare, TextRequest, choose
from dragoman.text.words.normalise import is_text

router = APIRouter(prefix="/v1", tags=["native"], responses=PROBLEMS)


@router.post("/alternatives", openapi_extra=takes(AlternativesBody))
async def alternatives(request: Request) -> AlternativesAnswer:
    """The words that may come after the beginning of a translation, each with the best translation that has it.

    A text that is found to be in the target language already has none.
    """
    given = validated(AlternativesBody, await json_object(request))
    if len(given.text.splitlines()) > 1 or len(given.prefix.splitlines()) > 1:
        raise malformed("text, prefix: line breaks; give one line, best a sentence of `/v1/translate/stream`")
    if not is_text(given.prefix):
        raise malformed("prefix: contains an unpaired surrogate (invalid Unicode); fix the encoding")
    service = service_of(request)
    check_size(TextRequest([given.text, given.prefix]), service.limits)
    asked = TextRequest([given.text], _language(given.source), given.target, given.model)

    def work(prepare: Prepare) -> AlternativesAnswer:
        (chosen,) = choose(counted, service.models)
        if chosen is None:
            target = str(given.target)
            return AlternativesAnswer(alternatives=[], source=target, target=target, model="")
        translator = prepare(service.models.translator(chosen.model, chosen.pair))
        found = next_words(translator, given.text, given.prefix, given.count)
        pair = chosen.pair
        return AlternativesAnswer(
            alternatives=list(map(_alternative, found)), source=pair.source, target=pair.target, model=chosen.model.name
        )

    async with charged(request, asked) as counted:
        return await service.ask(work, sender_of(request), departure_of(request))


@router.post("/score", openapi_extra=takes(ScoreBody))
async def score_translations(request: Request) -> ScoreAnswer:
    """How probable given translations are, token by token; a line is scored as a whole, whatever its length."""
    given = validated(ScoreBody, await json_object(request))
    texts, translations = _listed(given.text), _listed(given.translation)
    if len(texts) != len(translations):
        raise malformed(f"{len(texts):,} texts and {len(translations):,} translations; give one translation of each")
    for number, text in enumerate(translations, 1):
        if not is_text(text):
            raise malformed(f"translation {number}: contains an unpaired surrogate (invalid Unicode); fix the encoding")
    service = service_of(request)
    asked = TextRequest(texts, _language(given.source), given.target, given.model)
    check_size(TextRequest(translations), service.limits)
    async with charged(request, asked) as counted:
        work = partial(score, counted, translations, service.models)
        found = await service.ask(work, sender_of(request), departure_of(request))
    return ScoreAnswer(scores=list(map(_score, found)))


def _listed(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


def _score(found: Scored) -> ScoreOf:
    total, pair = sum(found.log_probs), found.choice.pair
    tokens = zip(found.pieces, found.log_probs, strict=True)
    return ScoreOf(
        log_prob=total,
        per_token=total / len(found.log_probs),
        tokens=[TokenScore(piece=piece, log_prob=log_prob) for piece, log_prob in tokens],
        confidence=found.confidence,
        warnings=[Warned(kind=flag.kind, text=flag.text) for flag in found.warnings],
        source=pair.source,
        target=pair.target,
        model=found.choice.model.name,
        detected=found.choice.detected,
    )


def _language(given: str | None) -> str | None:
    return None if given in (None, "", "auto") else given


def _alternative(found: NextWord) -> Alternative:
    return Alternative(word=found.word, text=found.text, score=found.score, log_prob=found.log_prob)
