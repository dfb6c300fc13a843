"""One live server with the bundled models for each module, and the offline translators that it must equal.

All with `decode.exact`: in int8 a near tie may fall differently with other sentences in the batch, offline too.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dragoman.serve.models.models import Models
from dragoman.serve.work.service import Service, ServiceLimits
from dragoman.translator import Translator
from live_server import live


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Models(threads=1, exact=True), ServiceLimits(characters=20_000, texts=100, body_bytes=1 << 18))


@pytest.fixture(scope="module")
def url(service: Service) -> Iterator[str]:
    with live(service) as found:
        yield found


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=120) as found:
        yield found


@pytest.fixture(scope="session")
def offline() -> dict[str, Translator]:
    found = {name: Translator.load(name, threads=1) for name in ("en-ko", "ko-en")}
    for translator in found.values():
        translator.options = translator.options.model_copy(update={"exact": True})
    return found


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
        "word " * 150,
    ]
    return found[:24] + more
