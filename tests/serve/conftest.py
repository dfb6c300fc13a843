"""One live server with the bundled models, for tests that leave nothing on it, and the offline translators of these.

A module that changes what is on the server, or counts it, has its own: `service, url, client = server_fixtures()`.

All with `decode.exact`: in int8 a near tie may fall differently with other sentences in the batch, offline too.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import httpx
import pytest

from dragoman.serve.store import keys
from dragoman.translator import Translator
from live_server import server_fixtures

service, url, client = server_fixtures("session")


@pytest.fixture(scope="session", autouse=True)
def certificates_are_read_once() -> Iterator[None]:
    """Not for each client: that is half of what a request costs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpx._transports.default.create_ssl_context", cache(httpx.create_ssl_context), raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_day_ends_within_a_test() -> Iterator[None]:
    """At midnight the characters that a key has had would be none again."""
    today = keys._today()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "_today", lambda: today)
        yield


@pytest.fixture(scope="session")
def offline() -> dict[str, Translator]:
    found = {name: Translator.load(name, threads=1) for name in ("en-ko", "ko-en")}
    for translator in found.values():
        translator.options = translator.options.model_copy(update={"exact": True})
    english, korean = found["en-ko"], found["ko-en"]
    return {"en-ko": english.with_reverse(korean), "ko-en": korean.with_reverse(english)}


@pytest.fixture(scope="session")
def lines() -> list[str]:
    """English lines of all lengths, with several sentences, numbers, placeholders and what is no text."""
    path = Path(__file__).parents[2] / "src" / "dragoman" / "bundled" / "en-ko" / "golden.jsonl"
    found = [json.loads(line)["source"] for line in path.read_text(encoding="utf-8").splitlines()]
    more = [
        "The weather is nice today. Let us go to the park! Do you have time after 3 o'clock?",
        "Open https://example.org/a?b=c and press {name}. Then wait. It takes %d seconds.",
        "1,234.5",
        "…",
        "Yes. No. Perhaps, said Dr. Smith. He left at 5 p.m. and never came back.",
        "The weather is nice today. Let us go to the park. We will bring bread and water. " * 5 + "word " * 20,
    ]
    return found[:24] + more
