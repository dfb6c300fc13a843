"""The engine in JavaScript that runs in a page: translation without a network, a service or an installation.

`engine/` has modules that share one scope, in the order of `SCRIPTS`; they need no DOM. `kernels.c` is compiled to
WebAssembly by `make kernels`, and what came of it is checked in as `kernels.wasm`.
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
PACKAGE = "dragoman.web"


@cache
def engine_script() -> str:
    """The whole engine as one script, which runs in a worker, in a page and in Node."""
    code = base64.b64encode(files(PACKAGE).joinpath("kernels.wasm").read_bytes()).decode()
    scripts = [static(PACKAGE, f"engine/{name}").replace('"use strict";\n', "", 1) for name in SCRIPTS]
    return "\n".join(['"use strict";', *scripts, f'const KERNELS = "{code}";\n'])
