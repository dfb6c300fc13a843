"""Models → one HTML file that translates in a browser, without a network; `web/` has template, style, scripts.

The file has the engine (`dragoman.web`), the weights as base64, and facts as JSON in which "<" is escaped. What
the page may do is in its Content-Security-Policy: run these scripts and a worker of the engine, and no
requests.
"""

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from dragoman.config import RunConfig
from dragoman.errors import ConfigError, ModelError
from dragoman.exporting.packing import Tensor, pack
from dragoman.exporting.vocabulary import vocabularies
from dragoman.system.pages import content_policy, fill, labels, script_json, static
from dragoman.text.tokens.marks import Marks
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.version import __version__
from dragoman.web import client_script, engine_script

PACKAGE = "dragoman.exporting"
SCRIPTS = ("dom.js", "browser.js", "po.js", "documents.js", "output.js", "facts.js", "main.js")
LANGUAGES = ("en", "ko")
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' "
    "height='16' rx='4' fill='%230b6b62'/%3E%3Cpath d='M4 5h6M4 8h8M4 11h5' stroke='white' stroke-width='1.5'/%3E"
    "%3C/svg%3E"
)
# A block of more bytes is too long a text for browsers, and too much memory for a tab.
LARGEST = 192 * 1024**2
# The keys of [decode] that the engine of a page has.
SEARCH = ("beam", "length_penalty", "min_length", "max_length", "extra_length", "no_repeat_ngram")
SHAPE = (
    *("encoder_layers", "decoder_layers", "d_model", "heads", "d_k", "d_v", "norm_order", "norm", "feed_forward"),
    *("positions", "position_base", "first_position"),
)


@dataclass(frozen=True)
class PageModel:
    """A model to put into a page."""

    name: str
    config: RunConfig
    tokenizer: Tokenizer
    tensors: Mapping[str, Tensor]
    """By the names of `Transformer.named_parameters`, each tied matrix by all of its names."""
    shape: Mapping[str, Any]
    """The keys of [model], `epsilon` of the norms, and `position_halves` if all sines are before all cosines."""
    card: str
    """Text of the model card."""


def render(models: Sequence[PageModel], *, served: bool = False) -> str:
    """The whole page. Raises ConfigError for weights that are too large, ModelError for a tokenizer it cannot have.

    A page that is `served` has `service_worker` next to it, as `worker.js`: a browser can install it.
    """
    facts, blocks = [], []
    for number, model in enumerate(models):
        description, encoded = embedded(model, LARGEST)
        facts.append(description)
        blocks.append(f'<script type="application/octet-stream" id="weights-{number}">{encoded}</script>\n')
    engine = engine_script()
    style = static(PACKAGE, "web/style.css")
    script = "\n".join([client_script(), *(static(PACKAGE, f"web/{name}") for name in SCRIPTS)])
    title = " · ".join(dict.fromkeys(pair for model in facts for pair in _arrows(model)))
    return fill(
        static(PACKAGE, "web/template.html"),
        {
            "policy": _policy(style, script, engine, served),
            "title": html.escape(title),
            "icon": ICON,
            "manifest": _manifest(title),
            "worker": "worker.js" if served else "",
            "megabytes": f"{sum(map(len, blocks)) / 1e6:.1f}",
            "style": style,
            "engine": engine,
            "script": script,
            "facts": script_json({"version": __version__, "models": facts}),
            "texts": script_json({language: labels(PACKAGE, language, "web/") for language in LANGUAGES}),
            "weights": "".join(blocks),
        },
    )


def embedded(model: PageModel, largest: int = LARGEST) -> tuple[dict[str, Any], str]:
    """What the engine reads of a model: facts, and the weights as base64.

    Raises ConfigError for weights of more than `largest` bytes, ModelError for a tokenizer that a page cannot have.
    """
    block = pack(model.tensors)
    refuse_too_large(model.name, len(block.content), largest)
    where = {"index": block.index, "bytes": len(block.content), "checksum": block.checksum}
    try:
        facts = _facts(model) | where
    except ModelError as error:
        raise ModelError(f"{model.name}: no page can run it: {error}; `dragoman serve` can") from None
    return facts, base64.b64encode(block.content).decode("ascii")


def refuse_too_large(name: str, size: int, largest: int | None = None) -> None:
    """Raise ConfigError if the weights of a model have more bytes than a page may hold."""
    largest = LARGEST if largest is None else largest
    if size > largest:
        raise ConfigError(
            f"{name}: its weights are {size / 1e6:,.0f} MB, and a page holds {largest / 1e6:,.0f} MB; "
            "distil it into a smaller model (`dragoman distill`), or run `dragoman serve`"
        )


def _facts(model: PageModel) -> dict[str, Any]:
    project, decode = model.config.project, model.config.decode
    return {
        "name": model.name,
        "licence": project.license,
        "parameters": sum(tensor.values.size for tensor in {id(t): t for t in model.tensors.values()}.values()),
        "card": model.card,
        "shape": {key: model.shape[key] for key in (*SHAPE, "epsilon", "position_halves")},
        "decode": {key: getattr(decode, key) for key in SEARCH},
        "longest": model.config.data.max_length,
        "pairs": [_pair(pair.source, pair.target, Marks.of(pair, model.tokenizer)) for pair in project.all_pairs],
        "vocabularies": vocabularies(model.tokenizer),
    }


def _pair(source: str, target: str, marks: Marks) -> dict[str, Any]:
    return {"languages": [source, target], "marks": {"source": [*marks.source], "target": [*marks.target]}}


def _arrows(facts: Mapping[str, Any]) -> list[str]:
    return ["{} → {}".format(*pair["languages"]) for pair in facts["pairs"]]


def service_worker(page: str) -> str:
    """The script that stores this page in a browser, so that it opens there without a network."""
    version = hashlib.sha256(page.encode()).hexdigest()[:16]
    return fill(static(PACKAGE, "web/worker.js"), {"version": version})


def _manifest(title: str) -> str:
    """The address, data itself, of what a browser asks before it installs the page as an app."""
    icon = {"src": ICON, "sizes": "any", "type": "image/svg+xml", "purpose": "any"}
    facts = {"name": title, "short_name": title.partition(" · ")[0], "display": "standalone", "icons": [icon]}
    colours = {"background_color": "#f6f7f5", "theme_color": "#0b6b62"}
    return f"data:application/manifest+json,{quote(json.dumps(facts | colours, ensure_ascii=False))}"


def _policy(style: str, script: str, engine: str, served: bool) -> str:
    """Besides its own scripts: a worker of the engine, WebAssembly, an icon, and nothing over a network.

    A page that is served may have the service worker that is next to it.
    """
    allowed = content_policy(style, script, engine).replace("script-src ", "script-src 'wasm-unsafe-eval' ")
    workers = "blob: 'self'" if served else "blob:"
    return f"{allowed}; worker-src {workers}; img-src data:; manifest-src data:"
