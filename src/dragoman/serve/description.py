"""The description of the interface: OpenAPI, with the errors of any request in its dialect, and as a page."""

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from fastapi import FastAPI

from dragoman.serve.answers import QUOTA, dialect_of
from dragoman.serve.http.problems import PROBLEM


def _error_as(name: str) -> dict[str, Any]:
    """An error of a dialect: an object with a text of this name."""
    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    return {"description": "An error", "content": {"application/json": {"schema": schema}}}


# By the guard, the parsers, the queue, the engine and the store; a route may have any of them.
STATUSES = (400, 401, 403, 404, 405, 409, 410, 411, 413, 415, 429, 500, 501, 503, 504, 507)
_ERRORS = {"libretranslate": _error_as("error"), "deepl": _error_as("message")}


class DescribedApp(FastAPI):
    """An application whose description has every error of every route."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema:
            return self.openapi_schema
        schema = super().openapi()
        if root := self.state.public.root:
            schema["servers"] = [{"url": root}]
        for path, operations in schema["paths"].items():
            answer = _ERRORS.get(dialect_of(path), PROBLEM)
            for operation in operations.values():
                responses = operation["responses"]
                responses.pop("422", None)  # of FastAPI: ours is 400
                for status in (*STATUSES, QUOTA) if dialect_of(path) == "deepl" else STATUSES:
                    responses.setdefault(str(status), answer)
        return schema


def reference_page(schema: Mapping[str, Any]) -> str:
    """The paths of an OpenAPI schema, what each takes and gives, as HTML without scripts, styles or other files."""
    title = escape(f"{schema['info']['title']} {schema['info']['version']}")
    parts = [
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{title}</title><h1>{title}</h1>',
        '<p>The same for programs: <a href="/openapi.json">/openapi.json</a>.</p>',
    ]
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            parts.append(
                f"<h2>{escape(method.upper())} {escape(path)}</h2><p>{escape(operation.get('description', ''))}</p>"
            )
            body = operation.get("requestBody", {}).get("content", {})
            parts += [_schema(f"Takes {media}", content.get("schema", {})) for media, content in body.items()]
            answer = operation["responses"].get("200", {}).get("content", {})
            parts += [_schema(f"Gives {media}", content.get("schema", {})) for media, content in answer.items()]
    named = schema.get("components", {}).get("schemas", {})
    parts += [f'<h3 id="{escape(name)}">{escape(name)}</h3>{_pre(part)}' for name, part in named.items()]
    return "".join(parts) + "</html>"


def _schema(what: str, schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = escape(str(schema["$ref"]).rpartition("/")[2])
        return f'<p>{escape(what)}: <a href="#{name}">{name}</a></p>'
    return f"<p>{escape(what)}:</p>{_pre(schema)}" if schema else ""


def _pre(schema: Mapping[str, Any]) -> str:
    return f"<pre>{escape(json.dumps(schema, indent=2, ensure_ascii=False))}</pre>"
