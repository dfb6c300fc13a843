"""The body of a request → an object of JSON or the fields of a form, or a Problem that says where it is malformed."""

from typing import Any, TypeVar
from urllib.parse import parse_qs

from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from dragoman.serve.http.problems import Problem, malformed
from dragoman.system.parsing import Malformed, parse_json, plain_cause

Model = TypeVar("Model", bound=BaseModel)
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
# Fields of a form; a list has as many as it has texts.
MOST_FIELDS = 2000


async def json_object(request: Request) -> dict[str, Any]:
    """The object of a body of JSON. Raises Problem."""
    try:
        found = parse_json(await request.body())
    except Malformed as error:
        raise malformed(f"the body is {error}") from None
    if not isinstance(found, dict):
        raise malformed('the body is JSON, but not an object; write {"text": "…"}, for example')
    return found


async def fields(request: Request, part_bytes: int) -> dict[str, Any]:
    """The fields of JSON, of a form or of the query, by the type of the body; a repeated one is a list.

    Raises Problem.
    """
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    found: dict[str, Any] = dict(request.query_params)
    content = await request.body()
    if media == FORMS[0]:
        return found | _urlencoded(content)
    if media == FORMS[1]:
        return found | await _multipart(request, content, part_bytes)
    if media in ("", "application/json") or media.endswith("+json"):
        return found | (await json_object(request) if content else {})
    known = ", ".join(("application/json", *FORMS))
    raise Problem(415, "media-type", "The type of the body is not known", f"{media!r:.60}: send one of {known}")


def _urlencoded(content: bytes) -> dict[str, Any]:
    try:
        found = parse_qs(content.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except UnicodeDecodeError as error:
        raise malformed(f"the form is not UTF-8: byte 0x{error.object[error.start]:02x}") from None
    except ValueError:
        raise malformed(f"the form has more than {MOST_FIELDS:,} fields") from None
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


async def _multipart(request: Request, content: bytes, part_bytes: int) -> dict[str, Any]:
    try:
        content.decode("utf-8")
        form = await request.form(max_part_size=part_bytes, max_files=1, max_fields=MOST_FIELDS)
    except UnicodeDecodeError as error:
        raise malformed(f"the form is not UTF-8 at byte {error.start}") from None
    except (HTTPException, ValueError) as error:
        raise malformed(f"the form cannot be read: {getattr(error, 'detail', error)}") from None
    lists = {name: [one for one in form.getlist(name) if isinstance(one, str)] for name in form}
    return {name: values if len(values) > 1 else "".join(values) for name, values in lists.items()}


def validated(model: type[Model], value: dict[str, Any]) -> Model:
    """The value as a model of pydantic. Raises Problem that names the field."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = str((*first["loc"], "body")[0])
        cause = plain_cause(first["msg"])
        if first["type"] == "extra_forbidden":
            cause = f"unknown field; known are {', '.join(model.model_fields)}"
        raise malformed(f"{name[:60]}: {cause}") from None
