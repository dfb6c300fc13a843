"""The native dialect, `/v1`: JSON in, JSON or server-sent events out, errors as RFC 9457."""

import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from starlette.responses import Response

from dragoman.documents.markup.markup import Tags
from dragoman.serve.http.access import charged
from dragoman.serve.http.body import json_object, validated
from dragoman.serve.http.described import PROBLEMS, takes
from dragoman.serve.http.http import departure_of, kept_dictionaries, problem_for, sender_of, service_of
from dragoman.serve.http.problems import malformed
from dragoman.serve.models.detect import detect
from dragoman.serve.models.languages import language_name
from dragoman.serve.native.schema import (
    DetectAnswer,
    DetectBody,
    Detected,
    LanguageOf,
    LanguagesAnswer,
    LinkSpans,
    ModelOf,
    ModelsAnswer,
    PairOf,
    SentenceEvent,
    StreamEnd,
    TagsBody,
    TermUse,
    TranslateAnswer,
    TranslateBody,
    Translated,
    Warned,
)
from dragoman.serve.work.service import check_size
from dragoman.serve.work.stream import StreamedSentence
from dragoman.serve.work.text import TextAnswer, TextRequest
from dragoman.translation import Flag

EVENTS = "text/event-stream"

router = APIRouter(prefix="/v1", tags=["native"], responses=PROBLEMS)


@router.post("/translate", openapi_extra=takes(TranslateBody), response_model=TranslateAnswer)
async def translate(request: Request) -> Response | TranslateAnswer:
    """Translate a text or several; with `Accept: text/event-stream` as `/v1/translate/stream`."""
    asked = await _asked(request)
    if EVENTS in request.headers.get("accept", ""):
        return await _events(request, asked)
    service = service_of(request)
    async with charged(request, asked) as counted:
        answers = await service.translate(counted, sender_of(request), departure_of(request))
    return TranslateAnswer(translations=[_translated(one) for one in answers])


@router.post("/translate/stream", openapi_extra=takes(TranslateBody), response_class=StreamingResponse)
async def translate_stream(request: Request) -> Response:
    """Translate one plain text; each sentence is an event `sentence`, the whole an event `done`.

    An error after the first sentence is an event `problem`.
    """
    return await _events(request, await _asked(request))


@router.post("/detect", openapi_extra=takes(DetectBody))
async def detect_language(request: Request) -> DetectAnswer:
    """The language of a text, among the source languages that are served."""
    text = validated(DetectBody, await json_object(request)).text
    service = service_of(request)
    check_size(TextRequest([text]), service.limits)
    found = await service.run(lambda: detect(text, service.models.sources))
    return DetectAnswer(languages=[Detected(language=tag, probability=round(sure, 4)) for tag, sure in found])


@router.get("/models")
async def models(request: Request) -> ModelsAnswer:
    """The models that are served, with their pairs of languages."""
    return ModelsAnswer(
        models=[
            ModelOf(
                name=one.name,
                pairs=[PairOf(source=pair.source, target=pair.target) for pair in one.pairs],
                license=one.license,
                loaded=one.translator is not None,
            )
            for one in service_of(request).models.models.values()
        ]
    )


@router.get("/languages")
async def languages(request: Request) -> LanguagesAnswer:
    """The source languages, and those that each is translated into."""
    served = service_of(request).models
    return LanguagesAnswer(
        languages=[
            LanguageOf(code=code, name=language_name(code), targets=served.targets_of(code)) for code in served.sources
        ]
    )


async def _asked(request: Request) -> TextRequest:
    given = validated(TranslateBody, await json_object(request))
    texts = [given.text] if isinstance(given.text, str) else given.text
    if given.format != "text" and (given.alternatives or given.alignment):
        raise malformed(f"format: alternatives and alignment are only for plain text, not for {given.format}")
    if given.tags and given.format != "xml":
        raise malformed(f"tags: they are only for XML, not for {given.format}")
    source = None if given.source in (None, "", "auto") else given.source
    kept = None if given.glossary_id is None else await kept_dictionaries(request, [given.glossary_id])
    return TextRequest(
        texts,
        source,
        given.target,
        given.model,
        given.format,
        given.glossary,
        given.alternatives,
        given.alignment,
        given.memory,
        kept,
        _tags(given.tags or TagsBody()),
    )


def _tags(given: TagsBody) -> Tags:
    splitting, non_splitting, ignored = map(frozenset, (given.splitting, given.non_splitting, given.ignored))
    return Tags(splitting, non_splitting, ignored, given.outline)


def _translated(answer: TextAnswer) -> Translated:
    return Translated(
        text=answer.text,
        source=answer.source,
        target=answer.target,
        model=answer.model,
        detected=answer.detected,
        alternatives=list(answer.alternatives),
        warnings=_warned(answer.warnings),
        terms=[TermUse(source=one.source, target=one.target, satisfied=one.satisfied) for one in answer.terms],
        alignment=[
            LinkSpans(source=(one.source.begin, one.source.end), target=(one.target.begin, one.target.end))
            for one in answer.alignment
        ],
        normalised=answer.normalised,
        match=answer.match,
    )


def _warned(flags: tuple[Flag, ...]) -> list[Warned]:
    return [Warned(kind=flag.kind, text=flag.text) for flag in flags]


async def _events(request: Request, asked: TextRequest) -> Response:
    """The answer as events. It begins with the first sentence: until then an error has its status."""
    service = service_of(request)
    if len(asked.texts) != 1 or asked.format != "text" or asked.alternatives or asked.alignment:
        raise malformed("a stream is of one plain text, without alternatives and alignment")
    async with charged(request, asked) as counted:
        sentences = service.stream(counted, sender_of(request), departure_of(request))
        first = await anext(sentences)
    written = _written(request, first, sentences)
    return StreamingResponse(written, media_type=EVENTS, headers={"X-Accel-Buffering": "no"})


async def _written(
    request: Request, first: StreamedSentence, others: AsyncIterator[StreamedSentence]
) -> AsyncIterator[str]:
    async def sentences() -> AsyncIterator[StreamedSentence]:
        yield first
        async for one in others:
            yield one

    whole, index = "", 0
    try:
        async for one in sentences():
            whole += one.before + one.text
            if one.source:
                sentence = SentenceEvent(
                    index=index, before=one.before, source=one.source, text=one.text, warnings=_warned(one.warnings)
                )
                yield _event("sentence", sentence.model_dump())
                index += 1
            else:
                source, target = one.pair
                end = StreamEnd(text=whole, source=source, target=target, model=one.model, detected=one.detected)
                yield _event("done", end.model_dump())
    except Exception as error:  # the status has been sent
        yield _event("problem", problem_for(request, error).body())


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
