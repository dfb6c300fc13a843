"""The description of the interface holds for generated requests, valid and not: no failure, no undescribed answer.

Each part sends at least CASES requests to a live server, always the same ones; together they are more than 1,000. Every
route is among them. Where a path names something that is kept, half of the requests name what is there.
"""

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from dragoman.bundle import write_bundle
from dragoman.config import RunConfig
from dragoman.model.transformer import Transformer
from dragoman.serve.models.models import Models
from dragoman.serve.work.service import Service, ServiceLimits
from dragoman.text.tokens.tokenizer import Tokenizer
from live_server import live

PARTS, CASES = 2, 510
# A search for each of many words; a document is waited for.
DEAR = dict.fromkeys(("POST /v1/alternatives", "POST /translate_file", "POST /v1/inspect", "GET /v1/inspect/page"), 4)
UPLOADS = {"/v1/documents": "target", "/v2/document": "target_lang", "/translate_file": "target"}
TEXT = "Good morning.\n"

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, toy_corpus: Path, toy_tokenizer: Tokenizer) -> Iterator[str]:
    """A service with small limits, so that they are met, and a model that can be looked into."""
    limits = ServiceLimits(characters=300, texts=4, body_bytes=1 << 14)
    tree = {
        "project": {"name": "toy", "source": "en", "target": "de"},
        "data": {"train": [str(toy_corpus / "train.tsv")], "valid": str(toy_corpus / "valid.tsv")},
        "model": {"layers": 1, "d_model": 32, "d_ff": 48, "heads": 2},
        "decode": {"beam": 2, "max_length": 8},
    }
    config, folder = RunConfig.model_validate(tree), tmp_path_factory.mktemp("model") / "toy"
    network = Transformer(config.model, len(toy_tokenizer.source), len(toy_tokenizer.target))
    write_bundle(folder, config=config, tokenizer=toy_tokenizer, model=network, card="", facts={})
    with live(Service(Models(["en-ko", "ko-en", folder], threads=1), limits)) as url:
        yield url


class Kept:
    """What requests make on a service, so that others can name it."""

    def __init__(self, address: str, session: requests.Session) -> None:
        self.address, self.session = address, session

    def post(self, path: str, **named: Any) -> dict[str, Any]:
        answer = self.session.post(f"{self.address}{path}", timeout=120, **named)
        assert answer.ok, answer.text
        return answer.json()

    def glossary(self) -> dict[str, str]:
        given = {"name": "a", "source": "en", "target": "ko", "entries": {"server": "서버"}}
        return {"glossary": self.post("/v1/glossaries", json=given)["id"]}

    def correction(self) -> dict[str, str]:
        given = {"text": "Hello", "correction": f"안녕 {time.time_ns()}", "source": "en", "target": "ko"}
        return {"id": str(self.post("/v1/feedback", json=given)["id"])}

    def document(self) -> dict[str, str]:
        """A document that is translated; the key is DeepL's."""
        file = {"file": ("a.txt", TEXT)}
        found = self.post("/v2/document", files=file, data={"target_lang": "KO", "source_lang": "EN"})
        name = found["document_id"]
        while self.session.get(f"{self.address}/v1/documents/{name}").json()["state"] not in ("done", "failed"):
            time.sleep(0.01)
        return {"name": name, "document_key": found["document_key"]}

    def download(self) -> dict[str, str]:
        file = {"file": ("a.txt", TEXT)}
        url = self.post("/translate_file", files=file, data={"source": "en", "target": "ko"})["translatedFileUrl"]
        return dict(zip(("name", "key", "file"), url.split("/")[-3:], strict=True))

    def forget_documents(self) -> None:
        """So that a sender's limit is not reached for good."""
        for one in self.session.get(f"{self.address}/v1/documents").json()["documents"]:
            self.session.delete(f"{self.address}/v1/documents/{one['id']}")

    def fill(self, case: Any) -> None:
        """Let a request name what is there."""
        path = case.operation.path
        if path.startswith("/v1/models/"):
            case.path_parameters = {"name": "en-ko"}
        elif "/glossaries/{" in path:
            case.path_parameters = self.glossary()
            if case.method in ("GET", "DELETE") and "{glossary}/" in path:
                names = ("source_lang", "target_lang") if path.startswith("/v3/") else ("source", "target")
                case.query = {**(case.query or {}), **dict(zip(names, ("en", "ko"), strict=True))}
        elif "/feedback/{" in path:
            case.path_parameters = {"correction": self.correction()["id"]}
        elif path.startswith("/download_file/"):
            case.path_parameters = self.download()
        elif "/document" in path:
            made = self.document()
            case.path_parameters = {"name": made["name"]}
            if path.startswith("/v2/"):
                case.body, case.media_type = {"document_key": made["document_key"]}, "application/json"


def as_document(case: Any, kwargs: dict[str, Any]) -> None:
    """Let an upload have a document's name and a language that is there."""
    language = UPLOADS[case.operation.path]
    others = [one for one in kwargs.get("files") or [] if one[0] not in ("file", language, "source", "filename")]
    sound = [(language, (None, "ko")), ("source", (None, "en")), ("file", ("a.txt", TEXT))]
    kwargs["files"] = [*(others if case.operation.path == "/translate_file" else []), *sound]


@pytest.mark.parametrize("part", range(PARTS))
def test_the_service_answers_as_it_is_described(part: int, address: str) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    described = requests.get(f"{address}/openapi.json", timeout=60).json()
    operations = [one.ok() for one in schemathesis.openapi.from_dict(described).get_all_operations()]
    with_body = {one.label for one in operations if "requestBody" in described["paths"][one.path][one.method]}
    counts = dict.fromkeys(with_body, math.ceil(1.3 * CASES / len(with_body) / 2)) | DEAR
    statuses: dict[str, set[int]] = {}
    sent = 0
    with requests.Session() as session:
        kept = Kept(address, session)
        for operation in operations:
            reached = statuses.setdefault(operation.label, set())
            for valid in (True, False) if operation.label in with_body else (True,):  # any name is valid in a path
                sent += ask(operation, valid, counts.get(operation.label, 6), kept, part, reached)
            kept.forget_documents()
    assert sent >= CASES
    unreached = [label for label, found in statuses.items() if not any(200 <= each < 300 for each in found)]
    print(sent, "cases; answered without a success:", unreached)
    assert all(found for found in statuses.values())
    named = ("/v1/documents", "/v2/document", "/download_file", "/v1/feedback", "/v1/glossaries/", "/v3/glossaries/")
    # A body that is generated rarely has languages that are served.
    unreached = [label for label in unreached if "{" in label and not label.startswith(("PUT", "PATCH"))]
    assert not [label for label in unreached if label.partition(" ")[2].startswith(named)]


def ask(operation: Any, valid: bool, count: int, kept: Kept, number: int, reached: set[int]) -> int:
    """Send up to `count` requests that are valid, or not, by the schema; check each answer. Output: how many."""
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesis.errors import Unsatisfiable
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    sent = 0
    mode = GenerationMode.POSITIVE if valid else GenerationMode.NEGATIVE
    wanted = [
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
        known = valid and sent % 2 == 0
        if known and case.path_parameters:
            kept.fill(case)
        kwargs = case.as_transport_kwargs(base_url=kept.address)
        if known and operation.path in UPLOADS:
            as_document(case, kwargs)
        answer = kept.session.request(**kwargs, timeout=120)
        reached.add(answer.status_code)
        described = answer.status_code in (501, 503)
        case.validate_response(answer, checks=wanted if described else [not_a_server_error, *wanted])

    try:
        answered()
    except Unsatisfiable:  # nothing is invalid where nothing is read
        assert not valid
    return sent
