"""A payload → one HTML file that shows it: no network, no build step; `web/` holds the template, styles and scripts.

The scripts are plain and share one scope, in the order of `SCRIPTS`. What came from a sentence or a vocabulary enters
the page as JSON in which "<" is escaped, and reaches the document as text only.
"""

import base64
import html
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from dragoman.config import DecodeConfig
from dragoman.inspection.analyses import analyse
from dragoman.inspection.look import Inspection
from dragoman.inspection.payload import Payload, gather
from dragoman.inspection.times import Moment
from dragoman.storage import write_text_atomically

SCRIPTS = (
    "arrays.js",
    "dom.js",
    "colour.js",
    "matrix.js",
    "chart.js",
    "equations.js",
    "attention_steps.js",
    "walk_steps.js",
    "walk.js",
    "heads.js",
    "positions.js",
    "masks.js",
    "beam.js",
    "attribution.js",
    "stream.js",
    "checkpoints.js",
    "main.js",
)
LANGUAGES = ("en", "ko")


def size_limit(tokens: int) -> int:
    """The bytes a page may have: 3 MB up to a sentence of 24 tokens, then in proportion, 14 MB at most."""
    return min(14_000_000, max(2_950_000, 120_000 * tokens))


def write_page(
    inspection: Inspection,
    path: Path,
    *,
    name: str,
    languages: tuple[str, str],
    layers: Sequence[int] = (),
    options: DecodeConfig | None = None,
    times: Sequence[Moment] | None = None,
) -> None:
    """Write the page of `inspection` to `path`.

    Raises DragomanError if the disk refuses.

    `name` is the model's, `languages` are the source's and the target's; `layers`, counted from 1, are those to be
    shown in full before others; `times` is what `through_time` tells of a run.
    """
    facts, maps = analyse(inspection, times)
    tokens = max(len(inspection.source_tokens), len(inspection.target_tokens))
    room = size_limit(tokens) - sum(len(text.encode()) for text in (*_static().values(), _json(_texts())))
    payload = gather(
        inspection,
        name=name,
        languages=languages,
        room=room,
        layers=layers,
        options=options,
        analyses=facts,
        maps=maps,
    )
    write_text_atomically(path, render(payload))


def render(payload: Payload) -> str:
    """The whole page."""
    facts, parts = payload.facts, _static()
    model = facts["model"]["name"]
    filled = {
        "title": html.escape(f"{facts['source'][:80]} · {model}", quote=True),
        "style": parts["style.css"],
        "payload": _json(facts),
        "texts": _json(_texts()),
        "blob": base64.b64encode(payload.blob).decode("ascii"),
        "script": "\n".join(parts[script] for script in SCRIPTS),
    }
    before, *pieces = parts["template.html"].split("{{")
    page = [before]
    for piece in pieces:  # not one replacement after another: what is filled in may hold a mark itself
        key, _, rest = piece.partition("}}")
        page += [filled[key], rest]
    return "".join(page)


def _json(value: Any) -> str:
    """JSON that may stand in a <script>: no tag or comment can begin in it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


@cache
def _static() -> dict[str, str]:
    folder = files("dragoman.inspection") / "web"
    return {name: (folder / name).read_text(encoding="utf-8") for name in ("template.html", "style.css", *SCRIPTS)}


@cache
def _texts() -> dict[str, dict[str, str]]:
    folder = files("dragoman.inspection") / "web"
    return {code: json.loads((folder / f"texts.{code}.json").read_text(encoding="utf-8")) for code in LANGUAGES}
