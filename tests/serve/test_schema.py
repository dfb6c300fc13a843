"""The description of the interface holds for generated requests, valid and not: no failure, no undescribed answer.

Each part sends at least CASES requests to a live server, always the same ones; together they are more than 2,000.
"""

import math
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from dragoman.serve.models import Models
from dragoman.serve.service import Limits, Service
from live_server import live

PARTS, CASES = 4, 510
# Not described whole yet.
LATER = (
    "/v1/documents",
    "/v2/document",
    "/translate_file",
    "/download_file",
    "/v1/feedback",
    "/v1/inspect",
    "/suggest",
)
# A search for each of many words.
DEAR = ("POST /v1/alternatives",)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A service with small limits, so that they are met."""
    limits = Limits(characters=300, texts=4, body_bytes=1 << 14)
    with live(Service(Models(threads=1), limits)) as url:
        yield url


@pytest.mark.parametrize("part", range(PARTS))
def test_the_service_answers_as_it_is_described(part: int, address: str) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    described = requests.get(f"{address}/openapi.json", timeout=60).json()
    operations = [one.ok() for one in schemathesis.openapi.from_dict(described).get_all_operations()]
    operations = [one for one in operations if not one.path.startswith(LATER)]
    with_body = {one.label for one in operations if "requestBody" in described["paths"][one.path][one.method]}
    counts = dict.fromkeys(with_body, math.ceil(1.3 * CASES / len(with_body) / 2)) | dict.fromkeys(DEAR, 3)
    sent = 0
    with requests.Session() as session:
        for operation in operations:
            for valid in (True, False) if operation.label in with_body else (True,):  # any name is valid in a path
                sent += ask(operation, valid, counts.get(operation.label, 5), address, session, part)
    assert sent >= CASES


def ask(operation: Any, valid: bool, count: int, address: str, session: requests.Session, number: int) -> int:
    """Send up to `count` requests that are valid, or not, by the schema; check each answer. Output: how many."""
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesis.errors import Unsatisfiable
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    sent = 0
    mode = GenerationMode.POSITIVE if valid else GenerationMode.NEGATIVE
    wanted = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_headers_conformance,
        checks.response_schema_conformance,
    ]

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def answered(case: Any) -> None:
        nonlocal sent
        sent += 1
        case.call_and_validate(base_url=address, session=session, checks=wanted, timeout=120)

    try:
        answered()
    except Unsatisfiable:  # nothing is invalid where nothing is read
        assert not valid
    return sent
