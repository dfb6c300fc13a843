"""Who sends a request, and what the key allows: a dependency of every router, and what its texts cost.

A key is required as soon as there is one in the store, unless the service was started with `--no-auth`. It comes as
`Authorization: Bearer KEY`, `Authorization: DeepL-Auth-Key KEY`, or LibreTranslate's `api_key`.
"""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.requests import Request

from dragoman.errors import DragomanError
from dragoman.serve.http.body import fields
from dragoman.serve.http.http import key_of, service_of
from dragoman.serve.http.problems import Problem, too_large
from dragoman.serve.models.models import Models
from dragoman.serve.requests.record import current_record
from dragoman.serve.store.keys import ApiKey, BadKey, OverQuota
from dragoman.serve.work.service import Service, check_size
from dragoman.serve.work.text import TextRequest

SCHEMES = ("bearer", "deepl-auth-key")
# Of LibreTranslate, what its clients ask before they know whether a key is needed.
OPEN = ("/languages", "/health", "/frontend/settings")
# Where a body is a file, which is not read for its `api_key` alone: `require_key` is called once it was read.
UPLOADED = ("/translate_file",)
PROBLEMS: dict[int | str, dict[str, Any]] = {
    401: {"description": "No key, or one that is not accepted"},
    403: {"description": "The key may not do this"},
    429: {"description": "The key has used what it may; `Retry-After` has the seconds"},
}


async def authorise(request: Request) -> None:
    """Find the key of a request, and take one of its requests. Raises Problem."""
    service = service_of(request)
    request.state.key = None
    if request.url.path in OPEN or not await _needs_key(service):
        return
    text = _given(request) or await _field(request, service)
    if not text and request.url.path in UPLOADED:
        return
    await _accept(request, service, text)


async def require_key(request: Request, text: str) -> None:
    """Accept a key that is in the form of an upload, unless there was one before it. Raises Problem."""
    service = service_of(request)
    if request.state.key is None and await _needs_key(service):
        await _accept(request, service, text)


async def allowed_model(request: Request, asked: TextRequest) -> str | None:
    """The model of a document, whose characters are counted once it is translated. Raises Problem."""
    service, key = service_of(request), key_of(request)
    if key and key.characters_per_day is not None:
        service.keys.give_back(key.id, 1, await _used(service, key, 1))
    return model_of(key, service.models, asked)


async def _needs_key(service: Service) -> bool:
    if service.open_to_all:
        return False
    known = service.keys.known_to_be_required()
    return await service.run(service.keys.are_required) if known is None else known


async def _accept(request: Request, service: Service, text: str) -> None:
    """Take one of the requests of a key. Raises Problem if it is not accepted."""
    if not text:
        raise _unauthorised("the service needs a key: Authorization: Bearer KEY")
    key = service.keys.known(text)
    if key is None:
        try:
            key = await service.run(lambda: service.keys.check(text))
        except BadKey as error:
            raise _unauthorised(str(error)) from None
    request.state.key, request.state.key_text = key, text
    if record := current_record():
        record.key = key.id
    if key.per_minute and (seconds := await service.take(key.id, key.per_minute)):
        raise _limited(f"the key has {key.per_minute:,} requests per minute; wait {seconds:.0f} s", seconds)


@asynccontextmanager
async def charged(request: Request, asked: TextRequest) -> AsyncIterator[TextRequest]:
    """The request with a model that its key may use. Its texts are counted, unless the block fails.

    Raises TooLarge beyond the limits of the service, Problem beyond those of the key.
    """
    service, key = service_of(request), key_of(request)
    check_size(asked, service.limits)
    if key is None:
        yield asked
        return
    characters = sum(map(len, asked.texts))
    if key.characters is not None and characters > key.characters:
        raise too_large(f"{characters:,} characters; the key may send at most {key.characters:,} at a time")
    asked = replace(asked, model=model_of(key, service.models, asked))
    day = await _used(service, key, characters)
    try:
        yield asked
    except BaseException:
        service.keys.give_back(key.id, characters, day)
        raise


async def _used(service: Service, key: ApiKey, characters: int) -> str:
    """The day for which these characters of the key are now counted. Raises Problem if they are more than it has."""
    use = partial(service.keys.use, key.id, characters, key.characters_per_day)
    try:
        return use() if key.characters_per_day is None else await service.run(use)
    except OverQuota as error:
        raise _limited(str(error), 86_400 - time.time() % 86_400, "quota") from None


def model_of(key: ApiKey | None, models: Models, asked: TextRequest) -> str | None:
    """The model of a request: the one it names, or the first that its key allows. Raises Problem."""
    if key is None or not key.models:
        return asked.model
    if asked.model is not None and asked.model not in key.models:
        raise _forbidden(f"the key may not use {asked.model!r:.60}; it may use: {', '.join(key.models)}")
    names: Sequence[str] = key.models if asked.model is None else (asked.model,)
    for name in names:
        try:
            models.sources_to(asked.target, name)
            if asked.source:
                models.choose(asked.source, asked.target, name)
        except DragomanError:
            continue
        return name
    if asked.model is not None:
        return asked.model  # whose own error says what it has
    raise _forbidden(f"no model of the key has these languages; it may use: {', '.join(key.models)}")


def _given(request: Request) -> str:
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() in SCHEMES else ""


async def _field(request: Request, service: Service) -> str:
    """LibreTranslate's key, in the query or the body."""
    if request.url.path in UPLOADED:
        return request.query_params.get("api_key", "")
    if request.url.path.startswith(("/v1/", "/v2/", "/v3/")):
        return ""
    found = (await fields(request, service.limits.body_bytes)).get("api_key", "")
    return found if isinstance(found, str) else ""


def _unauthorised(detail: str) -> Problem:
    return Problem(401, "unauthorised", "A key is needed", detail)


def _forbidden(detail: str) -> Problem:
    return Problem(403, "forbidden", "The key does not allow it", detail)


def _limited(detail: str, seconds: float, kind: str = "limit") -> Problem:
    return Problem(429, kind, "The key has used what it may", detail, max(1, round(seconds)))
