"""What many tests need: tiny models, random sentences, a run small enough to be trained whole many times.

What computes is imported where it is used: the process that only hands tests out, and tests of text, load no torch.
"""

import gc
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jaxtyping
import pytest
from hypothesis import settings

from architectures import TRANSFORMERS, tiny
from costs import Costs
from dragoman.config import CorpusConfig, RunConfig, TokenizerConfig
from dragoman.config.file import build_config
from dragoman.data.corpus.corpus import sample_pairs
from dragoman.system.files import locked
from dragoman.text.tokens.tokenizer import Tokenizer, learn

if TYPE_CHECKING:
    import torch

    from dragoman.model.transformer import Transformer
    from dragoman.training.loop import Trainer

TESTS = Path(__file__).parent
WORDS = {"red": "rot", "dog": "hund", "cat": "katze", "sees": "sieht", "big": "gross", "two": "zwei", "bird": "vogel"}


# A busy machine is no failure: hypothesis's time limit for an example is off. The same code passes or fails every time:
# the examples are those of the test's own text. `pytest --hypothesis-profile explore` draws new ones.
settings.register_profile("any machine", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("any machine")


# Collecting makes a million objects that stay: looking for garbage among them would cost a tenth of the time, and again
# with every collection while tests run.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", action="store_true", help="print what tests cost in processor time")


def pytest_configure(config: pytest.Config) -> None:
    """Hide GPUs from other tests than theirs: `auto` would choose one, whose arithmetic is another."""
    if config.option.costs:
        config.pluginmanager.register(Costs())
    if config.option.markexpr != "gpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


# Where tests of tensors are. Checking shapes makes a training or a search several times as long, so that engines and
# programs, which are made of the same functions, run as their users run them, unchecked. Outside of the model's own
# tests, one case of a quick test is checked, and of a slow one the first of each model.
OF_TENSORS = {"paper", "model", "decode", "inspection", "training"}
CHECKED = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Choose the tests that run with shapes checked."""
    checked: set[tuple[Path, str, str]] = set()
    packages = {path: path.relative_to(TESTS).parts[0] for path in {item.path for item in items}}
    for item in items:
        package = packages[item.path]
        function, _, case = item.name.partition("[")
        is_slow = item.get_closest_marker("slow") is not None
        law = (item.path, function, f"slow {case.split('-')[0]}" if is_slow else "quick")
        item.stash[CHECKED] = package in {"paper", "model"} or (package in OF_TENSORS and law not in checked)
        checked.add(law)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Shapes are checked, or not, before the fixtures are made."""
    jaxtyping.config.update("jaxtyping_disable", not item.stash[CHECKED])


@pytest.fixture
def dtype() -> "torch.dtype":
    """What tiny models compute in; tests of laws replace it."""
    import torch

    return torch.float32


@pytest.fixture
def build(dtype: "torch.dtype") -> "Callable[..., Transformer]":
    """A tiny model in eval mode; keys of the configuration as arguments."""
    import torch

    from dragoman.model.build import build_network

    def make(vocab: int = 13, seed: int = 0, **keys: object) -> Any:
        torch.manual_seed(seed)
        model = build_network(tiny(**keys), vocab, vocab)
        with torch.no_grad():  # larger than at birth, so that predictions differ clearly
            for parameter in model.parameters():
                if not parameter.any() and parameter.dim() > 1:  # a gate, which would choose the same for all
                    parameter.normal_()
                elif parameter.dim() > 1:
                    parameter.mul_(2.0)
                else:
                    parameter.add_(0.1 * torch.randn_like(parameter))
        return model.eval().to(dtype)

    return make


@pytest.fixture(params=TRANSFORMERS.values(), ids=TRANSFORMERS)
def model(request: pytest.FixtureRequest, build: "Callable[..., Transformer]") -> "Transformer":
    """The paper's order of normalisation, the other one, all of today's departures, and those of imported models."""
    return build(**request.param)


@pytest.fixture
def sentences() -> Callable[[list[int], int], list[list[int]]]:
    """Random ids, without marks, of the given lengths."""
    import torch

    def draw(lengths: list[int], vocab: int = 13, seed: int = 1) -> list[list[int]]:
        rng = torch.Generator().manual_seed(seed)
        return [torch.randint(4, vocab, (length,), generator=rng).tolist() for length in lengths]

    return draw


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> "Callable[[str, Callable[[Path], None]], Path]":
    """A folder by name that all workers of this run read: the first that asks makes it, and the others wait."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent

    def folder_of(name: str, make: Callable[[Path], None]) -> Path:
        folder, made = base / name, base / f"{name}.made"
        with locked(base / f"{name}.lock"):
            if not made.exists():
                shutil.rmtree(folder, ignore_errors=True)  # what a worker left that failed
                make(folder)
                made.touch()
        return folder

    return folder_of


@pytest.fixture(scope="session")
def toy_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Word-for-word translations in `train.tsv` and `valid.tsv`."""
    folder, rng = tmp_path_factory.mktemp("corpus"), random.Random(3)
    for name, count in (("train", 200), ("valid", 20)):
        rows = [[rng.choice(list(WORDS)) for _ in range(rng.randint(1, 9))] for _ in range(count)]
        lines = [f"{' '.join(row)}\t{' '.join(WORDS[word] for word in row)}\n" for row in rows]
        (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def toy_run(toy_corpus: Path) -> Callable[..., RunConfig]:
    """The configuration of a toy run; keys of [train] as arguments, `model` is all of [model]."""

    def make(model: dict[str, object] | None = None, **train: object) -> RunConfig:
        shape = {"layers": 1, "d_model": 16, "d_ff": 24, "heads": 2, "dropout": 0.2} if model is None else model
        tree = {
            "project": {"name": "toy", "source": "en", "target": "de"},
            "data": {
                "train": [str(toy_corpus / "train.tsv")],
                "valid": str(toy_corpus / "valid.tsv"),
                "shuffle_buffer": 90,
            },
            "tokenizer": {"vocab_size": 285},
            "model": shape,
            "decode": {"extra_length": 5},  # a model that has learned little writes to the limit
            "train": {
                "precision": "float32",
                "batch_tokens": 150,
                "warmup": 10,
                "validate_every": 4,
                "log_every": 3,
                "max_steps": 12,
                "card_lines": 0,
                **train,
            },
        }
        return build_config(tree, "toy", toy_corpus)

    return make


@pytest.fixture(scope="session")
def toy_tokenizer(toy_corpus: Path) -> Tokenizer:
    text = sample_pairs([CorpusConfig(source=toy_corpus / "train.tsv")], 1000, 1)
    return learn(text, TokenizerConfig(vocab_size=285))


@pytest.fixture(scope="module")  # a module may have a tokenizer of its own
def toy_trainer(toy_tokenizer: Tokenizer) -> "Callable[..., Trainer]":
    """A trainer as a new process would build it, whatever was random before."""
    import torch

    from dragoman.data.batches.stream import BatchStream, validation_batches
    from dragoman.data.corpus.directions import Direction
    from dragoman.model.build import build_network
    from dragoman.training.loop import Trainer

    def make(config: RunConfig, folder: Path, device: str = "cpu", on_device: bool | None = None) -> "Trainer":
        torch.manual_seed(config.train.seed)
        model = build_network(config.model, len(toy_tokenizer.source), len(toy_tokenizer.target))
        stream = BatchStream(config.data, toy_tokenizer, batch_tokens=config.train.batch_tokens, seed=config.train.seed)
        valid, _ = validation_batches(
            [*map(Direction, config.data.valid_corpora)], toy_tokenizer, max_length=50, batch_tokens=200
        )
        where = {"folder": folder / "checkpoints", "device": torch.device(device)}
        return Trainer(config, model, stream, valid, **where, on_device=on_device)

    return make


@pytest.fixture(scope="session", autouse=True)
def no_test_waits_for_a_disk() -> Iterator[None]:
    """What a test writes need not outlive a power cut; a training flushes thirty files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def dragoman_on_path() -> Iterator[None]:
    """Hints name the program as a person can type it; here that is `dragoman`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        yield


@pytest.fixture(scope="session", autouse=True)
def models_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Installed models are those that a test installs, and never the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRAGOMAN_HOME", str(tmp_path_factory.getbasetemp() / "models-home"))
        yield
