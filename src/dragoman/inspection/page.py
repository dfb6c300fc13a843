"""An inspection → one HTML file, without network or build step; `web/` holds its template, styles and scripts.

The scripts are plain JavaScript and share one scope, in the order of `SCRIPTS`. Text from a sentence or a vocabulary is
put into the page as JSON in which "<" is escaped, and into the document as text nodes only. With the recorded arrays
the page shows head roles, attribution, the logit lens, norms and checkpoints (`analyse`).
"""

import base64
import html
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from torch import Tensor

from dragoman.inspection.attribution import attribute
from dragoman.inspection.checkpoints import CheckpointView
from dragoman.inspection.heads import roles
from dragoman.inspection.inspection import Array, Inspection
from dragoman.inspection.lens import logit_lens, norm_statistics
from dragoman.inspection.payload import Facts, Payload, rounded
from dragoman.model.parts.norm import EPSILON
from dragoman.system.pages import fill, labels, script_json, static
from dragoman.web import client_script, engine_script

SCRIPTS = (
    "arrays.js",
    "dom.js",
    "colour.js",
    "matrix.js",
    "inputs.js",
    "stream_inputs.js",
    "linear_inputs.js",
    "words.js",
    "chart.js",
    "light.js",
    "steps.js",
    "stage.js",
    "equations.js",
    "attention_steps.js",
    "walk_steps.js",
    "walk.js",
    "heads.js",
    "positions.js",
    "masks.js",
    "beam.js",
    "rival.js",
    "attribution.js",
    "stream.js",
    "film.js",
    "checkpoints.js",
    "engine.js",
    "live.js",
    "switches.js",
    "examples.js",
    "main.js",
)
STYLES = ("style.css", "reading.css", "stage.css", "print.css")
LANGUAGES = ("en", "ko")
PACKAGE = "dragoman.inspection"


# The page draws by its own scripts and style, and asks for nothing.
POLICY = "default-src 'none'; script-src 'unsafe-inline'{scripts}; style-src 'unsafe-inline'; img-src data:{rest}"


@dataclass(frozen=True)
class LiveModel:
    """A model that the page runs, so that its views follow what a reader types."""

    facts: Mapping[str, Any]
    """What the engine knows of the model (`exporting.page.embedded`); `pair` is the number of the direction."""
    weights: bytes
    """As base64."""


def size_limit(tokens: int) -> int:
    """The largest size of a page in bytes: 3 MB up to 24 tokens, then in proportion to the tokens, up to 14 MB."""
    return min(14_000_000, max(2_950_000, 120_000 * tokens))


def free_bytes(tokens: int, sentences: int = 1, live: LiveModel | None = None) -> int:
    """The bytes that a page of this number of `sentences` has for one of them, by its tokens on the longer side.

    A page that runs the model has what shows before the model is ready; the rest it computes.
    """
    if live:
        return (250_000 + len(live.weights) // 25) * max(tokens, 24) // 24 // sentences
    size = min(size_limit(tokens), size_limit(sys.maxsize) // sentences)
    return size - sum(len(text.encode()) for text in (*_static().values(), script_json(_texts())))


def render(payloads: Sequence[Payload], live: LiveModel | None = None) -> str:
    """The whole page, of one sentence or more."""
    facts, parts = payloads[0].facts, _static()
    model = facts["model"]["name"]
    weights = f'<script type="application/octet-stream" id="weights">{live.weights.decode()}</script>\n' if live else ""
    values = {
        "policy": _policy(live),
        "title": html.escape(f"{facts['source'][:80]} · {model}", quote=True),
        "style": "\n".join(parts[style] for style in STYLES),
        "payload": script_json([payload.facts for payload in payloads]),
        "texts": script_json(_texts()),
        "blob": " ".join(base64.b64encode(payload.blob).decode("ascii") for payload in payloads),
        "engine": _engine(live) if live else "",
        "script": "\n".join([*([client_script()] if live else []), *(parts[script] for script in SCRIPTS)]),
        "weights": weights,
    }
    return fill(parts["template.html"], values)


def render_parts(payloads: Sequence[Payload], live: LiveModel) -> tuple[bytes, bytes, bytes]:
    """What `render` returns in UTF-8: before the weights, `live.weights` itself, not copied, and behind them."""
    before, mark, behind = render(payloads, replace(live, weights=b"")).rpartition('id="weights">')
    return (before + mark).encode(), live.weights, behind.encode()


def _policy(live: LiveModel | None) -> str:
    """Besides the scripts: WebAssembly and a worker where the page runs the model, and nothing over a network."""
    return (
        POLICY.format(scripts=" 'wasm-unsafe-eval'", rest="; worker-src blob:")
        if live
        else POLICY.format(scripts="", rest="")
    )


def _engine(live: LiveModel) -> str:
    """Engine and facts; the weights come after all scripts, so that a file that was cut still draws."""
    facts = f'<script type="application/json" id="model">{script_json(live.facts)}</script>\n'
    return f'{facts}<script id="engine">{engine_script(watched=True)}</script>\n'


def _static() -> dict[str, str]:
    return {name: static(PACKAGE, f"web/{name}") for name in ("template.html", *STYLES, *SCRIPTS)}


def _texts() -> dict[str, dict[str, str]]:
    return {code: labels(PACKAGE, code, "web/") for code in LANGUAGES}


# --- the facts and maps of the views --------------------------------------------------------------------------------


def analyse(
    inspection: Inspection, checkpoints: Sequence[CheckpointView] | None = None
) -> tuple[Facts, dict[str, Array]]:
    """The facts and maps of every view of the page."""
    attribution = attribute(inspection)
    source, output = inspection.pieces["source"], inspection.pieces["output"]
    maps = {
        f"attribution.{name}": _map(values, ("position", "key"), output, source)
        for name, values in (("erasure", attribution.erasure), ("gradient", attribution.gradient))
        if values is not None
    }
    for index, view in enumerate(checkpoints or ()):
        if view.attention is not None:
            attention = _map(view.attention, ("layer", "position", "key"), view.pieces, view.source)
            maps[f"checkpoints.{index}.attention"] = attention
    facts: Facts = {
        "heads": [asdict(role) for role in roles(inspection, attribution.erasure)],
        "attribution": {
            "attention": {"where": attribution.where, "head": attribution.head, "links": attribution.links},
            "agreement": {pair: asdict(agreement) for pair, agreement in attribution.agreement.items()},
        },
        "lens": logit_lens(inspection),
        "norms": [asdict(norm) for norm in norm_statistics(inspection)],
        "norm_parameters": _norm_parameters(inspection),
        "initial_gradients": json.loads(static(PACKAGE, "initial_gradients.json")),  # of `reproduce/gradient_norms.py`
        "checkpoints": None if checkpoints is None else [_view(index, view) for index, view in enumerate(checkpoints)],
    }
    return rounded(facts), maps


def _norm_parameters(inspection: Inspection) -> dict[str, tuple[float, float | None, float]]:
    """γ₁, β₁ (None without β) and ε of each Add & Norm: the first component, with which the page reckons."""
    first = {
        name: float(tensor.detach()[0]) for name, tensor in inspection.model.named_parameters() if tensor.dim() == 1
    }
    names = [name.removesuffix(".norm.weight") for name in first if name.endswith(".norm.weight")]
    epsilon = EPSILON[inspection.model.config.norm]
    return {name: (first[f"{name}.norm.weight"], first.get(f"{name}.norm.bias"), epsilon) for name in names}


def _map(values: Tensor, axes: tuple[str, ...], output: tuple[str, ...], source: tuple[str, ...]) -> Array:
    return Array(values.float().numpy(), axes, {"position": output, "key": source})


def _view(index: int, view: CheckpointView) -> Facts:
    facts = {"step": view.step, "translation": view.translation, "pieces": view.pieces}
    name = None if view.attention is None else f"checkpoints.{index}.attention"
    return facts | {"log_prob": view.log_prob, "attention": name, "problem": view.problem}
