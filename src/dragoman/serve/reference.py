"""The description of the interface as one page of HTML, without scripts, styles or anything from elsewhere."""

import json
from collections.abc import Mapping
from html import escape
from typing import Any


def reference_page(schema: Mapping[str, Any]) -> str:
    """The paths of an OpenAPI schema: what each takes and gives."""
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
            parts += [_schema(f"Takes {media}", one.get("schema", {})) for media, one in body.items()]
            answer = operation["responses"].get("200", {}).get("content", {})
            parts += [_schema(f"Gives {media}", one.get("schema", {})) for media, one in answer.items()]
    named = schema.get("components", {}).get("schemas", {})
    parts += [f'<h3 id="{escape(name)}">{escape(name)}</h3>{_pre(one)}' for name, one in named.items()]
    return "".join(parts) + "</html>"


def _schema(what: str, schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = escape(str(schema["$ref"]).rpartition("/")[2])
        return f'<p>{escape(what)}: <a href="#{name}">{name}</a></p>'
    return f"<p>{escape(what)}:</p>{_pre(schema)}" if schema else ""


def _pre(schema: Mapping[str, Any]) -> str:
    return f"<pre>{escape(json.dumps(schema, indent=2, ensure_ascii=False))}</pre>"
