"""Who sends a request, and what the key allows: the call of every router, and what its texts cost.

A key is required as soon as there is one in the store, unless the service was started with `--no-auth`. It comes as
`Authorization: Bearer KEY`, `Authorization: DeepL-Auth-Key KEY`, LibreTranslate's `api_key`, or `auth_key` of
DeepL's old clients.
"""

import math
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import Request

from dragoman.errors import DragomanError
from dragoman.serve.http.body import FORMS, media_of
from dragoman.serve.http.call import ServiceCall, service_of
from dragoman.serve.http.problems import Problem, too_large
from dragoman.serve.models.models import Models, ServedModel
from dragoman.serve.requests.record import current_record
from dragoman.serve.store.keys import ApiKey, BadKey, OverQuota
from dragoman.serve.work.service import Service, check_size
from dragoman.serve.work.text import TextRequest

SCHEMES = ("bearer", "deepl-auth-key")
# Of LibreTranslate, what its clients ask before they know whether a key is needed.
OPEN = ("/languages", "/health", "/frontend/settings")
# Where a body is a file, which is not read for its key alone: `with_key` is called once it was read.
UPLOADED = ("/translate_file", "/v2/document")
PROBLEMS: dict[int | str, dict[str, Any]] = {
    401: {"description": "No key, or one that is not accepted"},
    403: {"description": "The key may not do this"},
    429: {"description": "The key has used what it may; `Retry-After` has the seconds"},
}


async def authorise(request: Request) -> ServiceCall:
    """The call that a request is, with its key, of which one request is taken. Raises Problem."""
    call = ServiceCall(request, service_of(request))
    if request.url.path in OPEN or not await needs_key(call.service):
        return call
    text = _header_key(request) or await _field_key(call)
    follows = request.url.path in UPLOADED and media_of(request) == FORMS[1]
    return call if follows and not text else await _accepted(call, text)


Call = Annotated[ServiceCall, Depends(authorise)]
"""The parameter of a route: FastAPI calls `authorise` once a request."""


async def with_key(call: ServiceCall, text: str) -> ServiceCall:
    """The call with the key that is in the form of an upload, unless there was one before it. Raises Problem."""
    return await _accepted(call, text) if call.key is None and await needs_key(call.service) else call


async def allowed_models(call: ServiceCall, request: TextRequest) -> tuple[str, ...]:
    """What `TextRequest.allowed` is for a document, whose characters count once it is translated. Raises Problem."""
    service, key = call.service, call.key
    if key and key.characters_per_day is not None:
        service.keys.give_back(key.id, 1, await _used(service, key, 1))
    return permitted(request, key, service.models).allowed


async def needs_key(service: Service) -> bool:
    """Whether requests need a key."""
    if service.open_to_all:
        return False
    known = service.keys.known_to_be_required()
    return await service.run(service.keys.are_required) if known is None else known


async def _accepted(call: ServiceCall, text: str) -> ServiceCall:
    """The call with its key, of which one request is taken. Raises Problem if it is not accepted."""
    service = call.service
    if not text:
        raise _unauthorised("the service needs a key: Authorization: Bearer KEY")
    key = service.keys.known(text)
    if key is None:
        try:
            key = await call.run(service.keys.check, text)
        except BadKey as error:
            raise _unauthorised(str(error)) from None
    if record := current_record():
        record.key = key.id
    if key.per_minute and (seconds := await service.take(key.id, key.per_minute)):
        wait = math.ceil(seconds)  # a client that comes earlier is refused again
        raise _limited(f"the key has {key.per_minute:,} requests per minute; wait {wait} s", wait)
    return replace(call, key=key, key_text=text)


@asynccontextmanager
async def charged(
    call: ServiceCall, request: TextRequest, more: Sequence[str] = (), sent: Sequence[str] = ()
) -> AsyncIterator[TextRequest]:
    """The request with the models that its key may use. Its texts and `more` are counted, unless the block fails.

    Then only those that were `sent` with their translations, which a stream adds to while it runs, stay counted.

    Raises TooLarge beyond the limits of the service, Problem beyond those of the key.
    """
    service, key = call.service, call.key
    check_size(request, service.limits)
    if key is None:
        yield request
        return
    characters = sum(map(len, (*request.texts, *more)))
    if key.characters is not None and characters > key.characters:
        raise too_large(f"{characters:,} characters; the key may send at most {key.characters:,} at a time")
    request = permitted(request, key, service.models)
    day = await _used(service, key, characters)
    try:
        yield request
    except BaseException:
        service.keys.give_back(key.id, max(0, characters - sum(map(len, sent))), day)
        raise


async def _used(service: Service, key: ApiKey, characters: int) -> str:
    """The day for which these characters of the key are now counted. Raises Problem if they are more than it has."""
    use = partial(service.keys.use, key.id, characters, key.characters_per_day)
    try:
        return use() if key.characters_per_day is None else await service.run(use)
    except OverQuota as error:
        raise _limited(str(error), 86_400 - time.time() % 86_400, "quota") from None


def permitted(request: TextRequest, key: ApiKey | None, models: Models) -> TextRequest:
    """The request with the models that its key allows, of which its languages choose one. Raises Problem."""
    if key is None or not key.models:
        return request
    if request.model and request.model not in key.models:
        raise _forbidden(f"the key may not use {request.model!r:.60}; it may use: {', '.join(key.models)}")
    if not request.model:  # else its own error says what it has
        try:
            models.matching(request.source, request.target, key.models)
        except DragomanError:
            detail = f"no model of the key has these languages; it may use: {', '.join(key.models)}"
            raise _forbidden(detail) from None
    return replace(request, allowed=key.models)


def named_models(call: ServiceCall, names: Sequence[str]) -> list[ServedModel]:
    """The models of these names, or the first that the key allows with the first of the other direction.

    Raises UnknownModel, QueueFull if there are no models any more, and Problem for a model that the key may not use.
    """
    models = call.service.models
    allowed = call.key.models if call.key else ()
    for name in names:
        if allowed and name not in allowed:
            raise _forbidden(f"the key may not use {name!r:.60}; it may use: {', '.join(allowed)}")
    if names:
        return [models.named(name) for name in dict.fromkeys(names)]
    _ = models.first_pair  # without any model the service is busy, not the key at fault
    served = [model for model in models.models.values() if not allowed or model.name in allowed]
    if not served:
        raise _forbidden(f"no model of the key is served; it may use: {', '.join(allowed)}")
    first, *others = served
    back = {(pair.target, pair.source) for pair in first.pairs} - {(pair.source, pair.target) for pair in first.pairs}
    return [first, *(model for model in others if {(pair.source, pair.target) for pair in model.pairs} <= back)][:2]


def _header_key(request: Request) -> str:
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() in SCHEMES else ""


async def _field_key(call: ServiceCall) -> str:
    """The key in the query or the body: `api_key` of LibreTranslate, `auth_key` of DeepL, there in forms only."""
    path = call.request.url.path
    if path.startswith("/v1/"):
        return ""
    is_deepl = path.startswith(("/v2/", "/v3/"))
    name = "auth_key" if is_deepl else "api_key"
    if path in UPLOADED or (is_deepl and media_of(call.request) not in FORMS):
        return call.request.query_params.get(name, "")
    key = (await call.fields()).get(name, "")
    return key if isinstance(key, str) else ""


def _unauthorised(detail: str) -> Problem:
    return Problem(401, "unauthorised", "A key is needed", detail)


def _forbidden(detail: str) -> Problem:
    return Problem(403, "forbidden", "The key does not allow it", detail)


def _limited(detail: str, seconds: float, kind: str = "limit") -> Problem:
    return Problem(429, kind, "The key has used what it may", detail, max(1, math.ceil(seconds)))
