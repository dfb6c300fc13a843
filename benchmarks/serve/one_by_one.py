"""A service that handles a request as LibreTranslate does: one call of the engine for each, in a thread.

A part of `serve/load.py`: the same model, HTTP server and answer, no batches of several requests, and no care for
placeholders and numbers. The engine has all processors, each for a request of its own.
"""

import sys

import uvicorn
from fastapi import FastAPI

from dragoman import Translator
from dragoman.serve.connection import Protocol
from dragoman.serve.run import Address, listen

app, translator = FastAPI(), Translator.load(sys.argv[1], threads=int(sys.argv[2]))


@app.post("/v1/translate")
def translate(asked: dict[str, str]) -> dict[str, list[dict[str, str]]]:
    """One text."""
    return {"translations": [{"text": translator.translate(asked["text"], placeholders=(), numbers=False).text}]}


if __name__ == "__main__":
    with listen(Address(port=0)) as listening:
        sys.stderr.write(f"at http://127.0.0.1:{listening.getsockname()[1]}, one by one\n")
        sys.stderr.flush()
        uvicorn.Server(uvicorn.Config(app, http=Protocol, log_config=None)).run([listening])
