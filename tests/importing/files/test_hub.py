"""`hf:NAME`: the commit is recorded, files are listed before they are fetched, and only those that are needed are."""

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.bundle import open_bundle
from dragoman.errors import ConfigError, DragomanError, ModelError
from dragoman.importing.files import hub as module
from dragoman.importing.files.hub import Hub, Repository, parse_name
from dragoman.workflows.importing import import_model as workflow
from dragoman.workflows.importing.import_model import import_model
from importing.foreign_models import bundled_reader

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "config.json": 1_400,
    "generation_config.json": 300,
    "pytorch_model.bin": 298_000_000,
    "source.spm": 790_000,
    "target.spm": 800_000,
    "vocab.json": 1_500_000,
    "tokenizer_config.json": 42,
    "README.md": 5_000,
    "tf_model.h5": 298_000_000,
    "rust_model.ot": 298_000_000,
    "training_args.bin": 5_000,
    ".gitattributes": 445,
    "onnx/encoder_model.onnx": 100_000_000,
}


class FolderHub(Hub):
    """A hub whose downloads come from a folder; what was asked for is kept."""

    def __init__(self, folder: Path, repository: Repository) -> None:
        self.folder, self.repository = folder, repository
        self.asked: list[tuple[str, str | None]] = []
        self.fetched: list[str] = []

    def look_up(self, name: str, revision: str | None) -> Repository:
        self.asked.append((name, revision))
        return self.repository

    def download(self, repository: Repository, progress: Callable[[int], None]) -> Path:
        for name in repository.needed:
            self.fetched.append(name)
            progress(repository.files[name] or 0)
        return self.folder


def repository(files: dict[str, int] = FILES, **changed: Any) -> Repository:
    url = "https://hub.example/Helsinki-NLP/opus-mt-en-ko"
    facts = {"name": "Helsinki-NLP/opus-mt-en-ko", "commit": COMMIT, "url": url, "files": files, **changed}
    return Repository(**{"license": "apache-2.0", "author": "Helsinki-NLP", **facts})


class Notices(dragoman.Listener):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def on_notice(self, step: int, text: str) -> None:
        self.lines.append(text)


def test_what_is_needed_is_fetched_and_nothing_else() -> None:
    assert repository().needed == [
        "README.md",
        "config.json",
        "generation_config.json",
        "pytorch_model.bin",
        "source.spm",
        "target.spm",
        "tokenizer_config.json",
        "vocab.json",
    ]
    both = repository({**FILES, "model.safetensors": 298_000_000})
    assert "model.safetensors" in both.needed
    assert "pytorch_model.bin" not in both.needed
    parts = {f"model-0000{n}-of-00002.safetensors": 5_000_000_000 for n in (1, 2)}
    large = repository({**FILES, "model.safetensors.index.json": 9, **parts})
    assert {"model.safetensors.index.json", *parts} < set(large.needed)
    assert "pytorch_model.bin" not in large.needed
    ct2 = repository({"model.bin": 9, "config.json": 9, "shared_vocabulary.json": 9, "src.spm.model": 9, "model.pt": 9})
    assert ct2.needed == ["config.json", "model.bin", "shared_vocabulary.json", "src.spm.model"]


def test_a_repository_without_weights_is_refused() -> None:
    with pytest.raises(ModelError, match=r"^hf:Helsinki-NLP/opus-mt-en-ko: has none of model\.safetensors, .*, only "):
        _ = repository({"encoder_model.onnx": 1, "config.json": 1}).needed


def test_a_download_is_imported_with_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = tmp_path / "cache" / COMMIT
    theirs.mkdir(parents=True)
    hub, listener = FolderHub(theirs, repository()), Notices()
    monkeypatch.setattr(workflow, "reader_of", lambda kind: bundled_reader())
    result = import_model(
        "hf:Helsinki-NLP/opus-mt-en-ko@main",
        tmp_path / "ours",
        kind="marian",
        trial=False,
        hub=hub,
        listeners=[listener],
    )
    assert hub.asked == [("Helsinki-NLP/opus-mt-en-ko", "main")]
    assert hub.fetched == repository().needed
    assert listener.lines[:2] == [
        "hf:Helsinki-NLP/opus-mt-en-ko at commit 0123456789ab; licence: apache-2.0",
        "fetching 8 files, 301.1 MB: README.md (5.0 kB), config.json (1.4 kB), generation_config.json (0.3 kB), "
        "pytorch_model.bin (298.0 MB), source.spm (0.8 MB), target.spm (0.8 MB), tokenizer_config.json (0.0 kB), "
        "vocab.json (1.5 MB)",
    ]
    origin = open_bundle(result.model_path).manifest["origin"]
    assert (origin["name"], origin["revision"]) == ("Helsinki-NLP/opus-mt-en-ko", COMMIT)
    assert (origin["license"], origin["license_from"]) == ("apache-2.0", repository().url)
    assert origin["author"] == "Helsinki-NLP"
    card = (result.model_path / "README.md").read_text(encoding="utf-8")
    assert f"[Helsinki-NLP/opus-mt-en-ko]({repository().url})" in card
    assert f"- revision: `{COMMIT}`" in card


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("hf:a/b", ("a/b", None)),
        ("hf:a/b@v1.0", ("a/b", "v1.0")),
        ("hf:a/b@refs/pr/1", ("a/b", "refs/pr/1")),
        ("hf:opus", ("opus", None)),
        ("folder/hf:x", None),
        ("opus-mt-en-ko", None),
    ],
)
def test_a_name_has_an_owner_and_perhaps_a_revision(model: str, found: tuple[str, str | None] | None) -> None:
    assert parse_name(model) == found


@pytest.mark.parametrize("model", ["hf:", "hf:a/b/c", "hf:a b", "hf:a/b@", "hf:https://huggingface.co/a/b"])
def test_what_is_no_name_is_refused(model: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r": not a name; give hf:OWNER/NAME or hf:OWNER/NAME@REVISION$"):
        import_model(model, tmp_path / "ours")


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DragomanError, match=r'^hf: needs huggingface_hub; `pip install "dragoman\[hub\]"`$'):
        import_model("hf:a/b", tmp_path / "ours")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("OfflineModeIsEnabled", "hf:a/b: offline (HF_HUB_OFFLINE is set, or there is no connection); download the"),
        ("RevisionNotFoundError", "hf:a/b: has no revision v9; give a branch, a tag or a commit that exists"),
        ("RepositoryNotFoundError", "hf:a/b: no such repository, or a private one; check the name"),
        ("GatedRepoError", "hf:a/b: asks for its terms to be accepted; accept them on its page, and log in"),
        ("ConnectError", "hf:a/b: cannot be downloaded: one line; go online, or download the repository on another"),
    ],
)
def test_each_failure_of_the_library_is_one_line(kind: str, message: str) -> None:
    error = type(kind, (Exception,), {})("one line.\nanother")
    found = str(module._hub_error("a/b", "v9", error))
    assert found.startswith(message)
    assert "\n" not in found


def test_a_full_disk_is_named() -> None:
    error = OSError(28, "No space left on device")
    assert str(module._hub_error("a/b", None, error)) == (
        "hf:a/b: cannot be written: No space left on device; free some space, or set HF_HOME"
    )


# --- the library itself, if it is installed, with a hub on this machine ---

with_library = pytest.mark.skipif(not importlib.util.find_spec("huggingface_hub"), reason="needs dragoman[hub]")
CONTENT = {name: (name * 3).encode() for name in FILES} | {"README.md": b"---\nlicense: mit\n---\n"}
PROGRAM = """
import sys
from pathlib import Path
from dragoman.errors import DragomanError
from dragoman.importing.files.hub import Hub
hub, counted = Hub(), []
try:
    repository = hub.look_up(sys.argv[1], None)
    folder = hub.download(repository, counted.append)
except DragomanError as error:
    sys.exit(f"{error}")
print(repository.commit, repository.license, sum(counted))
print(*sorted(path.name for path in folder.iterdir()))
"""


class Endpoint(BaseHTTPRequestHandler):
    """As much of the hub's HTTP interface as a download needs."""

    asked: list[str]

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.asked.append(f"{self.command} {self.path}")
        name = self.path.rpartition("/")[2].partition("?")[0]
        if self.path.startswith("/api/models/me/model"):
            files = [{"rfilename": file, "size": len(content)} for file, content in CONTENT.items()]
            info = {"id": "me/model", "sha": COMMIT, "siblings": files, "cardData": {"license": "mit"}}
            self._answer(json.dumps(info).encode(), "application/json")
        elif self.path.startswith(f"/me/model/resolve/{COMMIT}/") and name in CONTENT:
            self._answer(CONTENT[name], "application/octet-stream")
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def _answer(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        headers = {"Content-Type": kind, "Content-Length": len(content), "X-Repo-Commit": COMMIT}
        headers["ETag"] = f'"{hashlib.sha256(content).hexdigest()}"'
        for key, value in headers.items():
            self.send_header(key, str(value))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[str]]]:
    """The address of a hub on this machine, and what is asked of it."""
    asked: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Asked", (Endpoint,), {"asked": asked}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


def fetch(name: str, home: Path, **settings: str) -> "subprocess.CompletedProcess[str]":
    environment = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    settings = {"HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1", **settings}
    command = [sys.executable, "-c", PROGRAM, name]
    return subprocess.run(command, env={**environment, **settings}, capture_output=True, text=True, check=False)


@pytest.mark.slow
@with_library
def test_the_library_fetches_what_is_needed_into_hf_home(endpoint: tuple[str, list[str]], tmp_path: Path) -> None:
    address, asked = endpoint
    done = fetch("me/model", tmp_path / "home", HF_ENDPOINT=address)
    assert done.returncode == 0, done.stderr
    needed = repository().needed
    total = sum(len(CONTENT[name]) for name in needed)
    assert done.stdout.splitlines() == [f"{COMMIT} mit {total}", " ".join(needed)]
    assert done.stderr == ""
    assert len(list((tmp_path / "home").rglob("pytorch_model.bin"))) == 1
    for name in set(FILES) - set(needed):
        assert not any(name in line for line in asked)
    assert {line.split()[0] for line in asked} <= {"GET", "HEAD"}  # nothing is sent
    offline = fetch("me/model", tmp_path / "home", HF_ENDPOINT=address, HF_HUB_OFFLINE="1")
    assert offline.stderr.startswith(
        "hf:me/model: offline (HF_HUB_OFFLINE is set, or there is no connection); download"
    )


@pytest.mark.slow
@with_library
def test_the_library_names_what_fails(endpoint: tuple[str, list[str]], tmp_path: Path) -> None:
    missing = fetch("me/other", tmp_path, HF_ENDPOINT=endpoint[0])
    assert missing.stderr == "hf:me/other: no such repository, or a private one; check the name\n"
    nobody = fetch("me/model", tmp_path, HF_ENDPOINT="http://127.0.0.1:9")
    assert nobody.stderr.startswith("hf:me/model: cannot be downloaded: ")
    assert nobody.stderr.count("\n") == 1
