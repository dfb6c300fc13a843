"""The native dialect, `/v1`: JSON in, JSON or server-sent events out, errors as RFC 9457; what models there are."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse, StreamingResponse
from starlette.responses import Response

from dragoman.documents.markup.markup import Tags
from dragoman.serve.http.access import Call, charged, named_models
from dragoman.serve.http.body import takes
from dragoman.serve.http.call import ServiceCall, problem_for
from dragoman.serve.http.problems import Problem, malformed
from dragoman.serve.models.detect import detect
from dragoman.serve.native.schema import (
    DetectAnswer,
    DetectBody,
    Detected,
    LanguageOf,
    LanguagesAnswer,
    ModelsAnswer,
    SentenceEvent,
    StreamEnd,
    TagsBody,
    TranslateAnswer,
    TranslateBody,
    language_of,
)
from dragoman.serve.work.service import check_size
from dragoman.serve.work.stream import StreamedSentence
from dragoman.serve.work.text import TextRequest
from dragoman.text.words.language import language_name

EVENTS, MARKDOWN = "text/event-stream", "text/markdown"

router = APIRouter(prefix="/v1", tags=["native"])


@router.post("/translate", openapi_extra=takes(TranslateBody), response_model=TranslateAnswer)
async def translate(call: Call) -> Response:
    """Translate a text or several; with `Accept: text/event-stream` as `/v1/translate/stream`."""
    request = await _request(call)
    if EVENTS in call.request.headers.get("accept", ""):
        return await _events(call, request)
    async with charged(call, request) as counted:
        answers = await call.translate(counted)
    answer = TranslateAnswer.model_validate({"translations": answers}, from_attributes=True)
    return Response(answer.model_dump_json(), media_type="application/json")  # FastAPI would validate it once more


@router.post("/translate/stream", openapi_extra=takes(TranslateBody), response_class=StreamingResponse)
async def translate_stream(call: Call) -> Response:
    """Translate one plain text; each sentence is an event `sentence`, the whole an event `done`.

    An error after the first sentence is an event `problem`.
    """
    return await _events(call, await _request(call))


@router.post("/detect", openapi_extra=takes(DetectBody))
async def detect_language(call: Call) -> DetectAnswer:
    """The language of a text, among the source languages that are served."""
    text = (await call.body(DetectBody)).text
    check_size(TextRequest([text]), call.service.limits)
    languages = await call.run(detect, text, call.service.models.sources)
    return DetectAnswer(languages=[Detected(language=tag, probability=round(sure, 4)) for tag, sure in languages])


@router.get("/models")
async def models(call: Call) -> ModelsAnswer:
    """The models that are served, with their pairs of languages."""
    return ModelsAnswer.model_validate({"models": [*call.service.models.models.values()]}, from_attributes=True)


@router.get("/models/{name}/card", response_class=Response, responses={200: {"content": {MARKDOWN: {}}}})
async def card(call: Call, name: str) -> Response:
    """What a model was trained on, its scores and its limits: the `README.md` of its bundle."""
    path = call.service.models.named(name).folder / "README.md"
    try:
        text = await call.run(path.read_bytes)
    except OSError:
        raise Problem(404, "no-card", "The model has no card", f"the model {name} has no README.md") from None
    return Response(text, media_type=MARKDOWN)


@router.get("/translator", response_class=FileResponse, responses={200: {"content": {"text/html": {}}}})
async def translator(
    call: Call, model: Annotated[list[str] | None, Query(description="Names of models; at most one a direction")] = None
) -> FileResponse:
    """One HTML file that translates offline, as `dragoman export --to html` writes it.

    It has the models that are named, else the first one and one of the other direction. 501 if no page can run a model.
    """
    models = named_models(call, model or [])
    path = await call.run(call.service.html_files.file, models)
    name = "-".join(re.sub(r"[^\w.-]", "_", model.name, flags=re.ASCII) for model in models)
    return FileResponse(path, media_type="text/html", filename=f"translator-{name}.html")


@router.get("/languages")
async def languages(call: Call) -> LanguagesAnswer:
    """The source languages, and those that each is translated into."""
    served = call.service.models
    return LanguagesAnswer(
        languages=[
            LanguageOf(code=code, name=language_name(code), targets=served.targets_of(code)) for code in served.sources
        ]
    )


async def _request(call: ServiceCall) -> TextRequest:
    body = await call.body(TranslateBody)
    texts = [body.text] if isinstance(body.text, str) else body.text
    if body.format != "text" and (body.alternatives or body.alignment):
        raise malformed(f"format: alternatives and alignment are only for plain text, not for {body.format}")
    if body.tags and body.format != "xml":
        raise malformed(f"tags: they are only for XML, not for {body.format}")
    dictionaries = None if body.glossary_id is None else await call.dictionaries([body.glossary_id])
    return TextRequest(
        texts,
        language_of(body.source),
        body.target,
        body.model,
        body.format,
        body.glossary,
        body.alternatives,
        body.alignment,
        body.memory,
        dictionaries,
        _tags(body.tags or TagsBody()),
        tuple(body.keep),
    )


def _tags(tags: TagsBody) -> Tags:
    splitting, non_splitting, ignored = map(frozenset, (tags.splitting, tags.non_splitting, tags.ignored))
    return Tags(splitting, non_splitting, ignored, tags.outline)


async def _events(call: ServiceCall, request: TextRequest) -> Response:
    """The answer as events. It begins with the first sentence: until then an error has its status."""
    if len(request.texts) != 1 or request.format != "text" or request.alternatives or request.alignment:
        raise malformed("a stream is of one plain text, without alternatives and alignment")
    sent = list[str]()
    async with AsyncExitStack() as stack:
        counted = await stack.enter_async_context(charged(call, request, sent=sent))
        sentences = call.service.stream(counted, call.sender, call.departure)
        first = await anext(sentences)
        written = _written(call, first, sentences, stack.pop_all(), sent)
    return StreamingResponse(written, media_type=EVENTS, headers={"X-Accel-Buffering": "no"})


async def _written(
    call: ServiceCall,
    first: StreamedSentence,
    others: AsyncIterator[StreamedSentence],
    charge: AsyncExitStack,
    sent: list[str],
) -> AsyncIterator[str]:
    """The events. An error, and a client that leaves, end `charge`, which gives back what is not among the `sent`."""

    async def sentences() -> AsyncIterator[StreamedSentence]:
        yield first
        async for other in others:
            yield other

    whole, index = "", 0
    try:
        async with charge:
            async for sentence in sentences():
                whole += sentence.before + sentence.text
                if sentence.source:
                    sent.append(sentence.source)
                    yield _event("sentence", SentenceEvent(**asdict(sentence), index=index).model_dump())
                    index += 1
                else:
                    source, target = sentence.pair
                    end = StreamEnd(
                        text=whole, source=source, target=target, model=sentence.model, detected=sentence.detected
                    )
                    yield _event("done", end.model_dump())
    except Exception as error:  # the status has been sent
        yield _event("problem", problem_for(call.request, error).body())


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
