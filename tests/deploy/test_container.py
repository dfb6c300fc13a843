"""The container file, followed step by step: its size, that it has no PyTorch, and that it serves without root."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from deploy.container import Stage, build, instructions, needs_namespaces
from ports import held_port

ROOT = Path(__file__).parents[2]
FILE = ROOT / "deploy" / "Containerfile"
# Of python:3.11-slim-bookworm: Debian without packages, Python and pip. It is counted as published, and not measured.
BASE = 131_000_000
MOST = 420_000_000


def test_its_last_stage_is_small_without_root_and_checks_its_health() -> None:
    given = instructions(FILE)
    last = given[max(n for n, (word, _) in enumerate(given) if word == "FROM") :]
    found = dict(last)
    assert sum(word == "FROM" for word, _ in given) == 2
    assert "slim" in found["FROM"]
    assert int(found["USER"].partition(":")[0]) > 0
    assert "/healthz" in found["HEALTHCHECK"]
    assert not any("pip" in rest for word, rest in last if word == "RUN")


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    needs_namespaces()
    return build(FILE, ROOT, tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="module")
def served(image: Stage) -> Iterator[tuple[str, str]]:
    """The address of the container, and a key."""
    key = image.run([*image.entry, "keys", "create", "tests"]).split()[-1]
    with held_port() as port:
        process = image.popen([*image.entry, *image.command, "--port", str(port)])
        yield f"http://127.0.0.1:{port}", key
        process.terminate()
        process.communicate(timeout=90)
    assert process.returncode == 0


@pytest.mark.slow
def test_it_has_less_than_420_megabytes_and_no_pytorch(image: Stage) -> None:
    packages = next((image.root / "app" / "lib").glob("python3*")) / "site-packages"
    names = {one.name for one in packages.iterdir()}
    assert {"ctranslate2", "dragoman", "fastapi", "psycopg", "lxml"} <= names
    assert not names & {"torch", "pip", "setuptools", "pytest", "ray"}
    app = image.size("app")
    print(f"application {app / 1e6:.0f} MB, its base image {BASE / 1e6:.0f} MB")
    assert app + BASE < MOST


@pytest.mark.slow
def test_it_serves_without_root_and_translates(image: Stage, served: tuple[str, str]) -> None:
    url, key = served
    end = time.monotonic() + 120
    while True:
        try:
            if httpx.get(f"{url}/readyz", timeout=60).status_code == 200:
                break
        except httpx.HTTPError:
            pass
        assert time.monotonic() < end, "it is not ready"
        time.sleep(0.2)
    asked = {"text": "Where is the library?", "target": "ko"}
    assert httpx.post(f"{url}/v1/translate", json=asked, timeout=60).status_code == 401
    answer = httpx.post(f"{url}/v1/translate", json=asked, headers={"authorization": f"Bearer {key}"}, timeout=60)
    assert answer.json()["translations"][0]["text"]
    port = url.rpartition(":")[2]
    image.run([word.replace(":8080", f":{port}") for word in image.health])
    running = [each for each in Path("/proc").glob("[0-9]*") if port.encode() in _command(each)]
    owners = {each.stat().st_uid for each in running if b"python" in _command(each).split(b"\0")[0]}
    assert owners == {int(image.user.partition(":")[0])}


def _command(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""
