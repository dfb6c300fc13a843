"""The description of the interface: OpenAPI, with the errors of any request in its dialect, and as a page."""

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from html import escape
from typing import Any

from fastapi import FastAPI

from dragoman.serve import page
from dragoman.serve.answers import QUOTA, dialect_of
from dragoman.serve.http.problems import PROBLEM
from dragoman.system.pages import static


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


# The order of the groups, and what each is.
GROUPS = {
    "native": "The interface of this service.",
    "documents": "Files, translated with their layout.",
    "LibreTranslate": "For programs that speak LibreTranslate.",
    "DeepL": "For programs that speak DeepL.",
    "operations": "For those who run it; no key is needed.",
}
# Bodies to begin with: a command that can be copied.
EXAMPLES = {
    "POST /v1/translate": """-d '{"text": "Where is the library?", "target": "ko"}'""",
    "POST /v1/detect": """-d '{"text": "Where is the library?"}'""",
    "POST /v1/documents": "-F file=@report.docx -F target=ko",
    "POST /v1/glossaries": """-d '{"name": "terms", "source": "en", "target": "ko", "entries": {"server": "서버"}}'""",
    "POST /v1/score": """-d '{"text": "Hello", "translation": "안녕하세요", "source": "en", "target": "ko"}'""",
    "POST /translate": "-d q=Hello -d source=en -d target=ko",
    "POST /v2/translate": "-d text=Hello -d target_lang=KO",
}


def reference_policy() -> str:
    """What the page may load: its own style sheet, which is in it, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; {page.SEALED}"


@cache
def _style() -> str:
    return static(__package__, "web/docs/docs.css")


def reference_page(schema: Mapping[str, Any]) -> str:
    """The paths of an OpenAPI schema by groups, what each takes and gives, as HTML without scripts or other files.

    The fields of bodies are tables; what is defined elsewhere in the schema is written in place.
    """
    title = escape(f"{schema['info']['title']} {schema['info']['version']}")
    groups = dict[str, list[tuple[str, str, Mapping[str, Any]]]]()
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            group = next(iter(operation.get("tags", ())), "others")
            groups.setdefault(group, []).append((method.upper(), path, operation))
    ordered = sorted(groups, key=lambda group: [*GROUPS, group].index(group))
    contents, parts = list[str](), list[str]()
    for group in ordered:
        links = [
            f'<li><a href="#{_anchor(method, path)}">{method} {escape(path)}</a></li>'
            for method, path, _ in groups[group]
        ]
        contents.append(f"<b>{escape(group)}</b><ul>{''.join(links)}</ul>")
        parts.append(
            f'<h2 id="{escape(group)}">{escape(group)}</h2><p class="soft">{escape(GROUPS.get(group, ""))}</p>'
        )
        parts += [_operation(method, path, operation, schema) for method, path, operation in groups[group]]
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" '
        f'content="light dark"><title>{title}: the interface</title><style>{_style()}</style></head><body>'
        f"<header><h1>{title}</h1><p>{escape(schema['info'].get('description', ''))} Where the service has keys: "
        "<code>Authorization: Bearer KEY</code>. Errors are problems after RFC 9457, in the dialects as their clients "
        'know them. For programs: <a href="openapi.json">openapi.json</a>.</p></header>'
        f'<nav aria-label="Contents">{"".join(contents)}</nav><main>{"".join(parts)}</main></body></html>'
    )


def _operation(method: str, path: str, operation: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """A path and a method, folded: what it does, a command, its parameters, body and answer."""
    text = operation.get("description", "")
    first = _prose(text.partition("\n")[0])
    parts = [f"<p>{_prose(text)}</p>"]
    if example := EXAMPLES.get(f"{method} {path}"):
        parts.append(f'<pre tabindex="0">curl localhost:8080{escape(path)} {escape(example)}</pre>')
    listed = operation.get("parameters", [])
    rows = [
        (parameter["name"], {**parameter["schema"], "description": parameter.get("description", "")}, parameter)
        for parameter in listed
    ]
    if rows:
        body = "".join(_row(name, field, bool(more.get("required")), schema) for name, field, more in rows)
        parts.append(f"<h3>Parameters</h3>{_table(body)}")
    taken = operation.get("requestBody", {}).get("content", {})
    if taken:
        parts.append(f"<h3>Takes {escape(', '.join(taken))}</h3>{_fields(next(iter(taken.values())), schema)}")
    for media, content in operation["responses"].get(_success(operation), {}).get("content", {}).items():
        parts.append(f"<h3>Gives {escape(media)}</h3>{_fields(content, schema)}")
    known = sorted(status for status in operation["responses"] if status >= "400")
    parts.append(f'<p class="soft">Errors: {escape(", ".join(known))}</p>')
    summary = f'<span class="method">{method}</span><code class="path">{escape(path)}</code>'
    return (
        f'<details id="{_anchor(method, path)}"><summary>{summary}<span class="what">{first}</span></summary>'
        f"{''.join(parts)}</details>"
    )


def _success(operation: Mapping[str, Any]) -> str:
    return min((status for status in operation["responses"] if status < "300"), default="200")


def _fields(content: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The fields of an object as a table; of an array those of its items."""
    whole = _resolved(content.get("schema", {}), schema)
    if whole.get("type") == "array":
        whole = _resolved(whole.get("items", {}), schema)
    properties, required = whole.get("properties", {}), whole.get("required", ())
    if not properties:
        return ""
    return _table("".join(_row(name, field, name in required, schema) for name, field in properties.items()))


def _table(rows: str) -> str:
    return f"<table><thead><tr><th>Field</th><th>Type</th><th>What</th></tr></thead><tbody>{rows}</tbody></table>"


def _row(name: str, field: Mapping[str, Any], required: bool, schema: Mapping[str, Any]) -> str:
    mark = " *" if required else ""
    default = f" Default: <code>{escape(json.dumps(field['default']))}</code>." if field.get("default") else ""
    what = f"{_prose(field.get('description') or _resolved(field, schema).get('description', ''))}{default}"
    return f"<tr><td><code>{escape(name)}</code>{mark}</td><td>{escape(_type(field, schema))}</td><td>{what}</td></tr>"


def _type(field: Mapping[str, Any], schema: Mapping[str, Any], depth: int = 0) -> str:
    """The type of a field in a few words."""
    field = _resolved(field, schema)
    if "anyOf" in field or "oneOf" in field:
        kinds = [_type(choice, schema, depth) for choice in (*field.get("anyOf", ()), *field.get("oneOf", ()))]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in field or "const" in field:
        return ", ".join(map(str, field.get("enum", [field.get("const")])))
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}), schema, depth)}"
    if field.get("type") == "object" and field.get("properties") and depth < 2:
        inside = (f"{name}: {_type(part, schema, depth + 1)}" for name, part in field["properties"].items())
        return "{" + ", ".join(inside) + "}"
    return str(field.get("format") or field.get("type") or "any")


def _resolved(field: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference names."""
    if "$ref" not in field:
        return field
    name = str(field["$ref"]).rpartition("/")[2]
    component: Mapping[str, Any] = schema.get("components", {}).get("schemas", {}).get(name, {})
    return component


def _prose(text: str) -> str:
    """A text of a docstring: what is between backticks is code."""
    parts = escape(" ".join(text.split())).split("`")
    return "".join(f"<code>{part}</code>" if n % 2 and n < len(parts) - 1 else part for n, part in enumerate(parts))


def _anchor(method: str, path: str) -> str:
    return escape(f"{method}{path}".replace("{", "").replace("}", ""))
