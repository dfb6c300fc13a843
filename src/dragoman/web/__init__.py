"""The engine in JavaScript that runs in a page: translation without a network, a service or an installation.

`engine/` has modules that share one scope, in the order of `SCRIPTS`; they need no DOM. `look/` watches and changes
them from outside, and `client.js` is the side of a page that asks them. `kernels.c` is compiled to WebAssembly by
`make kernels`, and what came of it is checked in as `kernels.wasm`.
"""

import base64
from functools import cache
from importlib.resources import files

from dragoman.system.pages import static

SCRIPTS = (
    "unicode.js",
    "charmap.js",
    "pieces.js",
    "bpe.js",
    "sentences.js",
    "kernels.js",
    "wasm.js",
    "weights.js",
    "positions.js",
    "network.js",
    "search.js",
    "direction.js",
    "checks.js",
    "glossary.js",
    "worker.js",
)
# Modules that watch the engine and change parts of it, for the page of `look`.
LOOK = ("watch.js", "surgery.js", "tree.js", "roles.js", "gather.js", "attribution.js", "rival.js", "inside.js")
PACKAGE = "dragoman.web"


@cache
def engine_script(*, watched: bool = False) -> str:
    """The whole engine as one script, which runs in a worker, in a page and in Node; `watched`: with `LOOK`."""
    code = base64.b64encode(files(PACKAGE).joinpath("kernels.wasm").read_bytes()).decode()
    names = [f"engine/{name}" for name in SCRIPTS] + [f"look/{name}" for name in LOOK if watched]
    scripts = [static(PACKAGE, name).replace('"use strict";\n', "", 1) for name in names]
    return "\n".join(['"use strict";', *scripts, f'const KERNELS = "{code}";\n'])


def client_script() -> str:
    """What a page asks the engine with; the engine's script is its element `engine`."""
    return static(PACKAGE, "client.js")
