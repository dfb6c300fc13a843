"""A toy language of sixteen words, a project in it, and a model trained on it for a few steps."""

import io
import random
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from dragoman.cli.main import main

LEXICON = dict(
    zip(
        "the red blue small big dog cat bird sees hears likes a one two and tree".split(),
        "der rote blaue kleine grosse hund kater vogel sieht hoert mag ein eins zwei und baum".split(),
        strict=True,
    )
)

CONFIG = """\
[project]
name = "toy"
source = "en"
target = "de"

[data]
valid = {source = "data/valid.en", target = "data/valid.de"}
test = {source = "data/test.en", target = "data/test.de"}

[[data.train]]
source = "data/train.en"
target = "data/train.de"

[tokenizer]
vocab_size = 56
byte_fallback = false

[model]
layers = 1
d_model = 32
d_ff = 64
heads = 2

[train]
device = "cpu"
precision = "float32"
threads = 1
batch_tokens = 256
max_steps = 8
warmup = 8
learning_rate = 1e-2
validate_every = 4
log_every = 4
translate_lines = 2
average_count = 2
card_lines = 0

[decode]
beam = 2
extra_length = 5
"""


def sentences(count: int, seed: int) -> list[tuple[str, str]]:
    """Random words and the same words in the other language; every pair once."""
    rng = random.Random(seed)
    drawn = {tuple(rng.choices(list(LEXICON), k=rng.randint(3, 8))): None for _ in range(count * 2)}
    return [(" ".join(words), " ".join(LEXICON[word] for word in words)) for words in list(drawn)[:count]]


def write_project(folder: Path) -> Path:
    """A project ready for `dragoman train`; its configuration file."""
    (folder / "data").mkdir(parents=True)
    pairs = iter(sentences(350, seed=1))
    for name, count in (("valid", 12), ("test", 10), ("train", 300)):
        chosen = [next(pairs) for _ in range(count)]
        for side, language in enumerate(("en", "de")):
            lines = "".join(pair[side] + "\n" for pair in chosen)
            (folder / "data" / f"{name}.{language}").write_text(lines, encoding="utf-8")
    (folder / "run.toml").write_text(CONFIG, encoding="utf-8")
    return folder / "run.toml"


@dataclass(frozen=True)
class CommandResult:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    def refused(self, code: int) -> str:
        """Its one line of complaint without `dragoman: `; the exit code is checked, and that no data was written."""
        assert self.code == code, self.err
        assert self.out == ""
        assert self.err.endswith("\n")
        complaints = [line for line in self.err.splitlines() if line.startswith("dragoman: ")]
        assert complaints == self.err.splitlines()[-1:], self.err
        for ugly in ("Traceback", "PosixPath", "internal error", "Errno", "<class"):
            assert ugly not in self.err
        return complaints[0].removeprefix("dragoman: ")


Dragoman = Callable[..., CommandResult]


@pytest.fixture
def dragoman(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Dragoman:
    """The command line, in this process: `dragoman("train", path, stdin="…")`."""
    monkeypatch.setenv("DRAGOMAN_DEBUG", "")
    monkeypatch.setattr(sys, "argv", ["dragoman"])

    def run(*arguments: object, stdin: str | bytes | None = None) -> CommandResult:
        if stdin is not None:
            raw = stdin.encode() if isinstance(stdin, str) else stdin
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return CommandResult(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def trained(made_once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """A project that has been trained, to be read and never written; see `project` for one to be spoilt."""

    def train(folder: Path) -> None:
        assert main(["train", str(write_project(folder / "project"))]) == 0

    return made_once("trained", train) / "project"


@pytest.fixture(scope="session")
def model(trained: Path) -> Path:
    """The trained model's folder, to be read and never written."""
    return trained / "runs/toy/model"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of one's own, untrained."""
    return write_project(tmp_path / "project").parent


@pytest.fixture
def resumable(trained: Path, tmp_path: Path) -> Path:
    """A copy of the trained project, to resume or to damage."""
    return Path(shutil.copytree(trained, tmp_path / "copy"))


@pytest.fixture
def contents() -> Callable[[Path], dict[str, bytes]]:
    """Every file below a folder with its bytes, to see that nothing was lost."""

    def read(folder: Path) -> dict[str, bytes]:
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    return read
