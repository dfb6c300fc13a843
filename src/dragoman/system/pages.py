"""HTML pages: a template and its values → one page, texts in several languages, and what the page may do.

Templates have names in double braces. Static files come from the folder of a package; every text of a person or a
model is escaped by the caller or here.
"""

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from dragoman.errors import ConfigError

# The line of every template that says who wrote the page, and how far from its beginning it is looked for.
GENERATOR, NEAR = b'<meta name="generator" content="dragoman">', 512


@cache
def static(package: str, name: str) -> str:
    """The text of a file in the folder of a package; `name` may have folders: "web/style.css"."""
    return files(package).joinpath(*name.split("/")).read_text(encoding="utf-8")


@cache
def labels(package: str, language: str, folder: str = "") -> dict[str, Any]:
    """The texts of a page in one language, of the file `texts.LANGUAGE.json`."""
    return dict(json.loads(static(package, f"{folder}texts.{language}.json")))


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with `values` in place of the names in double braces."""
    before, *pieces = template.split("{{")
    page = [before]
    for piece in pieces:  # in one pass: a value may itself contain "{{"
        name, _, rest = piece.partition("}}")
        page += [values[name], rest]
    return "".join(page)


def refuse_other_file(path: Path, remedy: str = "choose another name") -> None:
    """Raise ConfigError if a page would replace a file that is no page written here."""
    if not path.is_file():  # writing will show why not, if it is a folder
        return
    try:
        with path.open("rb") as file:
            is_page = GENERATOR in file.read(NEAR)
    except OSError:
        is_page = False
    if not is_page:
        raise ConfigError(f"{path}: exists already and is no page that Dragoman wrote; {remedy}")


def in_languages(texts: Mapping[str, str], attributes: tuple[str, ...] = ("lang",)) -> str:
    """A text in several languages, of which the page shows one: a <span> for each, whose `attributes` name it."""
    spans = []
    for language, text in texts.items():
        named = " ".join(f'{attribute}="{language}"' for attribute in attributes)
        spans.append(f"<span {named}>{html.escape(text)}</span>")
    return "".join(spans)


def script_json(value: Any) -> str:
    """JSON that is safe inside <script>: it contains no "<" and so no tag or comment."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def visible(text: str, but: str = "") -> str:
    """A text, escaped, with characters written out that cannot be seen, `but` those."""
    shown = "".join(c if c.isprintable() or c in but else c.encode("unicode-escape").decode() for c in text)
    return html.escape(shown)


def content_policy(style: str, *scripts: str) -> str:
    """A Content-Security-Policy: this inline style and these scripts, by their hashes, and nothing else."""
    hashes = " ".join(f"'{_hash(script)}'" for script in scripts)
    return f"default-src 'none'; style-src '{_hash(style)}'; script-src {hashes}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
