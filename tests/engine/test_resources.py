"""A search that no memory can hold is refused before it begins; a batch that is too large is divided."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from dragoman.config import DecodeConfig
from dragoman.config.file import build_section
from dragoman.engine import Engine, resources
from dragoman.engine.ctranslate2 import CTranslate2Engine
from dragoman.engine.resources import CPU_TOKENS, GPU_TOKENS, GPU_WINDOW, SearchSize, batch_tokens, window_size
from dragoman.engine.torch import TorchEngine
from dragoman.errors import ConfigError, ResourceError
from dragoman.exporting.ctranslate2 import convert
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.text.words.lines import WINDOW, WINDOW_CHARACTERS, WindowSize
from stand_ins import FakeEngine, OnDevice, queries

Build = Callable[..., Transformer]
WIDE = DecodeConfig(beam=4096, n_best=1)


@pytest.fixture(params=["torch", "ctranslate2"])
def engine(request: pytest.FixtureRequest, build: Build, toy_tokenizer: Tokenizer, tmp_path: Path) -> Engine:
    model = build(vocab=len(toy_tokenizer.source))
    if request.param == "torch":
        return TorchEngine(model, torch.device("cpu"))
    convert(model, toy_tokenizer, tmp_path / "ct2-float32", "float32")
    return CTranslate2Engine(tmp_path / "ct2-float32", toy_tokenizer, "cpu", threads=1)


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Pretends that the given number of bytes of memory is free."""

    def pretend(size: int) -> None:
        monkeypatch.setattr("dragoman.engine.ctranslate2.NEEDS_NO_QUESTION", 0)
        for module in ("torch", "ctranslate2"):
            monkeypatch.setattr(f"dragoman.engine.{module}.available_memory", lambda: size)

    return pretend


@pytest.mark.parametrize("key", ["beam", "n_best"])
def test_more_hypotheses_than_any_use_needs_are_a_configuration_error(key: str) -> None:
    with pytest.raises(ConfigError, match=rf"^decode\.{key}: .*4096, not 100000"):
        build_section(DecodeConfig(), {key: 100_000}, "decode")


@pytest.mark.parametrize(
    "options",
    [WIDE, DecodeConfig(method="sample", n_best=4096), DecodeConfig(min_length=2**31 - 1)],
    ids=["beam", "samples", "length"],
)
def test_a_search_beyond_memory_is_refused_at_once(
    engine: Engine, options: DecodeConfig, free: Callable[[int], None]
) -> None:
    free(2**20)
    with pytest.raises(ResourceError, match=r"^out of memory: .* needs at least .* GiB .*lower decode\.beam"):
        engine.translate(queries([[5, 6]]), options)


def test_a_batch_beyond_memory_is_divided(
    engine: Engine, free: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    options, sources = DecodeConfig(beam=4, extra_length=4), [[5, 6, 7], [8], [9, 5], [6, 6, 7, 8], [7]]
    whole = engine.translate(queries(sources), options)
    size = engine._size  # type: ignore[attr-defined]
    free(size.bytes_per_sentence(4, options))
    divided = engine.translate(queries(sources), options)
    assert [[h.tokens for h in found] for found in divided] == [[h.tokens for h in found] for found in whole]
    free(size.bytes_per_sentence(1, options) - 1)
    with pytest.raises(ResourceError):
        engine.translate(queries(sources), options)


def test_the_estimate_is_below_what_a_search_allocates(build: Build) -> None:
    """The tensors of one step of beam search, counted: a lower bound must not exceed them."""
    options, vocabulary, layers = DecodeConfig(beam=64), 5000, 2
    shape = build(vocab=8).config
    cached = resources.cached_numbers(shape)
    assert cached == layers * 16 * 2
    steps, logits_and_log_p, cache = 11, 2 * 4 * vocabulary, 11 * 4 * cached
    lineage = steps * options.beam
    assert SearchSize(vocabulary, cached).bytes_per_sentence(10, options) <= 64 * (logits_and_log_p + cache + lineage)


def test_a_batch_has_the_size_of_its_device_unless_it_is_given() -> None:
    assert [batch_tokens(DecodeConfig(), device) for device in ("cpu", "cuda", "mps")] == [
        CPU_TOKENS,
        *[GPU_TOKENS] * 2,
    ]
    assert [batch_tokens(DecodeConfig(batch_tokens=600), device) for device in ("cpu", "cuda")] == [600, 600]


@pytest.mark.parametrize("engine", [FakeEngine(), OnDevice("cpu"), None], ids=["unknown", "cpu", "none"])
def test_a_processor_is_given_a_thousand_lines_at_a_time(engine: object) -> None:
    assert window_size(engine, DecodeConfig()) == WindowSize(1024, 1 << 20, 1024)
    assert window_size(engine, DecodeConfig(beam=40, n_best=40), first=16) == WindowSize(1024, 1 << 20, 16)


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "mps", torch.device("cuda", 0)], ids=str)
def test_a_gpu_is_given_several_batches_at_a_time(device: str) -> None:
    engine = OnDevice(device)
    assert window_size(engine, DecodeConfig(), first=16) == GPU_WINDOW
    for per_line in (8, 24):  # tokens
        assert GPU_WINDOW.lines * per_line >= 4 * GPU_TOKENS
    assert GPU_WINDOW.characters >= 4 * GPU_TOKENS * 8


def test_with_many_hypotheses_a_gpu_is_given_fewer_lines() -> None:
    engine = OnDevice("cuda")
    assert window_size(engine, DecodeConfig(beam=40, n_best=40)).lines == GPU_WINDOW.lines // 10
    assert window_size(engine, DecodeConfig(method="mbr", samples=32)).lines == GPU_WINDOW.lines // 8
    least = window_size(engine, DecodeConfig(beam=1000, n_best=1000))
    assert (least.lines, least.characters) == (WINDOW, WINDOW_CHARACTERS)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_number_of_lines_holds_on_every_device(device: str) -> None:
    assert window_size(OnDevice(device), DecodeConfig(), lines=5000) == WindowSize(5000, first=5000)
    with pytest.raises(ConfigError, match="window: give a whole number above 0, not 0"):
        window_size(OnDevice(device), DecodeConfig(), lines=0)
