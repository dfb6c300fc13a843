"""An inspection → one HTML file, without network or build step; `web/` holds its template, styles and scripts.

The scripts are plain JavaScript and share one scope, in the order of `SCRIPTS`. Text from a sentence or a vocabulary is
put into the page as JSON in which "<" is escaped, and into the document as text nodes only.
"""

import base64
import html
import os
from collections.abc import Sequence
from pathlib import Path

from dragoman.config import DecodeConfig
from dragoman.inspection.analyses import analyse
from dragoman.inspection.checkpoints import CheckpointView
from dragoman.inspection.inspection import Inspection
from dragoman.inspection.payload import Payload, gather
from dragoman.system.files import write_text_atomically
from dragoman.system.pages import fill, labels, script_json, static

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
PACKAGE = "dragoman.inspection"


def size_limit(tokens: int) -> int:
    """The largest size of a page in bytes: 3 MB up to 24 tokens, then in proportion to the tokens, up to 14 MB."""
    return min(14_000_000, max(2_950_000, 120_000 * tokens))


def write_page(
    inspection: Inspection,
    path: str | os.PathLike[str],
    *,
    name: str,
    languages: tuple[str, str],
    layers: Sequence[int] = (),
    options: DecodeConfig | None = None,
    checkpoints: Sequence[CheckpointView] | None = None,
) -> None:
    """Write the page of `inspection` to `path`. Raises DragomanError if the file cannot be written.

    `name` is the name of the model, `languages` are source and target (BCP-47). `layers`, counted from 1, are shown in
    full before the others. `checkpoints` comes from `across_checkpoints`.
    """
    facts, maps = analyse(inspection, checkpoints)
    tokens = max(len(inspection.source_ids), len(inspection.target_ids))
    byte_budget = size_limit(tokens) - sum(len(text.encode()) for text in (*_static().values(), script_json(_texts())))
    payload = gather(
        inspection,
        name=name,
        languages=languages,
        byte_budget=byte_budget,
        layers=layers,
        options=options,
        analyses=facts,
        maps=maps,
    )
    write_text_atomically(Path(path), render(payload))


def render(payload: Payload) -> str:
    """The whole page."""
    facts, parts = payload.facts, _static()
    model = facts["model"]["name"]
    values = {
        "title": html.escape(f"{facts['source'][:80]} · {model}", quote=True),
        "style": parts["style.css"],
        "payload": script_json(facts),
        "texts": script_json(_texts()),
        "blob": base64.b64encode(payload.blob).decode("ascii"),
        "script": "\n".join(parts[script] for script in SCRIPTS),
    }
    return fill(parts["template.html"], values)


def _static() -> dict[str, str]:
    return {name: static(PACKAGE, f"web/{name}") for name in ("template.html", "style.css", *SCRIPTS)}


def _texts() -> dict[str, dict[str, str]]:
    return {code: labels(PACKAGE, code, "web/") for code in LANGUAGES}
