"""The body of a request → an object of JSON or the fields of a form, or a Problem that says where it is malformed.

And what routes describe of their bodies in OpenAPI: they read them by the functions here, so that errors are ours.
"""

import json
from typing import Any, TypeVar
from urllib.parse import parse_qs

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from dragoman.serve.http.problems import Problem, malformed
from dragoman.system.parsing import Malformed, parse_json, plain_cause

Model = TypeVar("Model", bound=BaseModel)
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
# Fields of a form; a list has as many as it has texts.
MOST_FIELDS = 2000


class LenientBody(BaseModel):
    """A body of a dialect, of which what this service does not know is ignored."""

    model_config = ConfigDict(use_attribute_docstrings=True)


def media_of(request: Request) -> str:
    """The media type of a body, "" where there is none."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def refuse_untyped(request: Request) -> None:
    """Raises Problem for a body from a page that does not say that it is JSON."""
    media = media_of(request)
    if "origin" in request.headers and media != "application/json" and not media.endswith("+json"):
        raise Problem(415, "media-type", "The type of the body is not known", f"{media!r:.60}: send application/json")


async def json_object(request: Request) -> dict[str, Any]:
    """The object of a body of JSON. Raises Problem."""
    try:
        value = unicode_json(await request.body())
    except Malformed as error:
        raise malformed(f"the body is {error}") from None
    if not isinstance(value, dict):
        raise malformed('the body is JSON, but not an object; write {"text": "…"}, for example')
    return value


def unicode_json(content: bytes) -> Any:
    """The value of JSON whose texts are valid Unicode. Raises Malformed: an unpaired surrogate cannot be answered."""
    value = parse_json(content)
    if b"\\ud" in content.lower():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Malformed("not valid Unicode: it has an unpaired surrogate") from None
        except RecursionError:
            raise Malformed("not JSON: its brackets are nested too deeply") from None
    return value


async def fields(request: Request, part_bytes: int) -> dict[str, Any]:
    """The fields of JSON, of a form or of the query, by the type of the body; a repeated one is a list.

    Raises Problem.
    """
    media = media_of(request)
    sent = request.query_params
    query: dict[str, Any] = {name: _single(sent.getlist(name)) for name in sent}
    content = await request.body()
    if media == FORMS[0]:
        return query | _urlencoded(content)
    if media == FORMS[1]:
        return query | await _multipart(request, content, part_bytes)
    if media in ("", "application/json") or media.endswith("+json"):
        if content:
            refuse_untyped(request)
        return query | (await json_object(request) if content else {})
    known = ", ".join(("application/json", *FORMS))
    raise Problem(415, "media-type", "The type of the body is not known", f"{media!r:.60}: send one of {known}")


def _urlencoded(content: bytes) -> dict[str, Any]:
    try:
        lists = parse_qs(content.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except UnicodeDecodeError as error:
        raise malformed(f"the form is not UTF-8: byte 0x{error.object[error.start]:02x}") from None
    except ValueError:
        raise malformed(f"the form has more than {MOST_FIELDS:,} fields") from None
    return {name: _single(values) for name, values in lists.items()}


def _single(values: list[str]) -> str | list[str]:
    return values if len(values) > 1 else values[0]


async def _multipart(request: Request, content: bytes, part_bytes: int) -> dict[str, Any]:
    try:
        content.decode("utf-8")
        form = await request.form(max_part_size=part_bytes, max_files=1, max_fields=MOST_FIELDS)
    except UnicodeDecodeError as error:
        raise malformed(f"the form is not UTF-8 at byte {error.start}") from None
    except (HTTPException, ValueError) as error:
        raise malformed(f"the form cannot be read: {getattr(error, 'detail', error)}") from None
    lists = {name: [value for value in form.getlist(name) if isinstance(value, str)] for name in form}
    return {name: values if len(values) > 1 else "".join(values) for name, values in lists.items()}


def validated(model: type[Model], value: dict[str, Any], *others: str) -> Model:
    """The value as a model of pydantic; `others` are fields besides. Raises Problem that names the field at fault."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = str((*first["loc"], "body")[0])
        cause = plain_cause(first["msg"])
        if first["type"] == "extra_forbidden":
            cause = f"unknown field; known are {', '.join((*others, *model.model_fields))}"
        raise malformed(f"{name[:60]}: {cause}") from None


def takes(model: type[BaseModel], *forms: str) -> dict[str, Any]:
    """The body of a request as JSON, or of one of these media types, for OpenAPI."""
    schema = _inlined(model.model_json_schema())
    content = {media: {"schema": schema} for media in ("application/json", *forms)}
    return {"requestBody": {"required": True, "content": content}}


def takes_file(model: type[BaseModel]) -> dict[str, Any]:
    """The body of an upload, for OpenAPI: a field `file`, and those of the model."""
    schema = model.model_json_schema()
    file = {"type": "string", "format": "binary", "description": "The document"}
    schema["properties"] = {"file": file, **schema["properties"]}
    schema["required"] = ["file", *schema.get("required", ())]
    return {"requestBody": {"required": True, "content": {FORMS[1]: {"schema": schema}}}}


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with its definitions in place: within OpenAPI, references begin elsewhere."""
    definitions = schema.pop("$defs", {})

    def inline(value: Any) -> Any:
        if isinstance(value, dict):
            if "$ref" in value:
                return inline(definitions[value["$ref"].rpartition("/")[2]])
            return {name: inline(part) for name, part in value.items()}
        return [inline(part) for part in value] if isinstance(value, list) else value

    whole: dict[str, Any] = inline(schema)
    return whole
