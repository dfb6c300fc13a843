"""Translator: as many translations as lines, in their order, whatever is in the lines."""

import io
import queue
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.config import DecodeConfig, ModelConfig, TokenizerConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine.torch import TorchEngine
from dragoman.errors import DataError, ModelError, ResourceError
from dragoman.model.transformer import Transformer
from dragoman.system.pipe import may_wait
from dragoman.text.tokens.tokenizer import Tokenizer, learn
from dragoman.text.words.lines import WindowSize, chunks_of
from dragoman.translator import Translator
from stand_ins import FakeEngine

WORDS = ["dog", "cat", "bird", "tree", "red", "small", "two", "sees"]
LINES = [(f"{a} {b} {c}", f"{c} {a} {b}") for a in WORDS for b in WORDS for c in WORDS[:3]]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return learn(LINES, TokenizerConfig(vocab_size=282))


@pytest.fixture(scope="module")
def translator(tokenizer: Tokenizer) -> Translator:
    """An untrained model: what it says is nonsense, and the same nonsense every time."""
    torch.manual_seed(3)
    shape = ModelConfig.model_validate({"layers": 1, "d_model": 16, "d_ff": 16, "heads": 2})
    model = Transformer(shape, len(tokenizer.source), len(tokenizer.target))
    engine = TorchEngine(model, torch.device("cpu"))
    return Translator(tokenizer, engine, DecodeConfig(beam=3, n_best=1, extra_length=3, batch_tokens=64))


@pytest.fixture(scope="module")
def echo(tokenizer: Tokenizer) -> Translator:
    return Translator(tokenizer, FakeEngine(), DecodeConfig())


LINE = st.text(alphabet="dogcatré 한👩\t\u200b", max_size=15)


@settings(deadline=None)
@given(st.lists(LINE, max_size=12))
def test_as_many_lines_come_out_as_went_in_and_in_their_order(echo: Translator, lines: list[str]) -> None:
    found = echo.translate(lines)
    assert [translation.source for translation in found] == lines
    clean = [line.replace("\u200b", "") for line in lines]
    texts = [translation.text.replace("\u200b", "") for translation in found]  # a line without words has its own
    assert [text.split() for text in texts] == [line.split() for line in clean]
    for text, line in zip(texts, clean, strict=True):
        if line.strip():
            assert text.count("\t") == line.count("\t")
            assert text.partition(text.strip())[::2] == line.partition(line.strip())[::2]


def test_a_line_translates_the_same_in_any_company(translator: Translator) -> None:
    lines = ["red dog", "", "two cats see a small bird", "é 한", "tree", "tree"]
    assert [found.text for found in translator.translate(lines)] == [translator.translate(line).text for line in lines]


@pytest.mark.parametrize("window", [1, 2, 3, 100])
def test_streaming_gives_what_translating_at_once_gives(translator: Translator, window: int) -> None:
    lines = ["red dog", "", "two cats see a small bird", "  ", "tree", "\u200b", "dog"]
    streamed = list(translator.stream(iter(lines), window))
    assert [(found.source, found.text) for found in streamed] == [
        (found.source, found.text) for found in translator.translate(lines)
    ]


def test_a_stream_gives_before_all_has_come(echo: Translator) -> None:
    def endless():  # type: ignore[no-untyped-def]
        while True:
            yield "red dog"

    assert next(echo.stream(endless(), window=2)).text == "red dog"


@pytest.mark.parametrize("window", [1, 1024])
def test_a_line_that_has_come_is_answered_before_the_next_is_awaited(echo: Translator, window: int) -> None:
    answered: queue.Queue[str] = queue.Queue()

    def lines():  # type: ignore[no-untyped-def]
        for line in ("red", "dog", "", "tree"):
            yield line
            assert answered.get(timeout=30) == line

    for translation in echo.stream(lines(), window):
        answered.put(translation.source)


def test_a_stream_reads_no_line_that_it_does_not_translate(echo: Translator) -> None:
    read: list[int] = []
    lines = (str(read.append(number) or number) for number in range(100))
    stream = echo.stream(lines, window=3)
    assert [next(stream).source for _ in range(4)] == ["0", "1", "2", "3"]
    assert len(read) <= 6
    stream.close()  # type: ignore[attr-defined]


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "read ahead"]


@pytest.mark.parametrize("window", [1, 2, 1024])
def test_a_stream_that_is_left_closes_its_generator_and_ends_its_thread(echo: Translator, window: int) -> None:
    closed: list[int] = []
    read: list[int] = []

    def lines():  # type: ignore[no-untyped-def]
        try:
            for number in range(5000):
                read.append(number)
                yield str(number)
        finally:
            closed.append(len(read))

    source = lines()  # who holds it does not keep it open
    for translation in echo.stream(source, window):
        assert translation.source == "0"
        break
    assert closed == [len(read)]
    assert readers() == []
    assert len(read) <= window + 1


def test_a_stream_that_is_left_while_a_line_is_awaited_ends_after_it(echo: Translator) -> None:
    come, closed = threading.Event(), threading.Event()

    def lines():  # type: ignore[no-untyped-def]
        try:
            yield "red"
            come.wait(30)
            yield "dog"
            raise AssertionError("read after the end")
        finally:
            closed.set()

    for translation in echo.stream(lines()):
        assert translation.source == "red"
        break
    (thread,) = readers()
    assert not closed.is_set()
    come.set()
    thread.join(30)
    assert closed.is_set()
    assert readers() == []


@pytest.mark.parametrize("window", [1, 3])
def test_an_iterator_that_is_no_generator_stays_where_it_is(echo: Translator, window: int) -> None:
    source = iter([str(number) for number in range(20)])
    for _ in echo.stream(source, window):
        break
    assert readers() == []
    assert next(source) == str(window)


def test_a_program_that_ends_within_a_stream_ends() -> None:
    program = (
        "from dragoman.system.pipe import read_ahead\n"
        "def stream():\n"
        "    with read_ahead((str(n) for n in range(9)), None, True) as (items, waits):\n"
        "        yield from items\n"
        "held = stream(); print(next(held))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def test_what_ends_the_lines_of_a_stream_ends_it(echo: Translator) -> None:
    def lines():  # type: ignore[no-untyped-def]
        yield "red"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(echo.stream(lines()))
    with pytest.raises(DataError, match="line 2 is"):
        list(echo.stream(iter(["red", 2])))  # type: ignore[list-item]


def test_lines_that_are_at_hand_are_read_in_this_thread(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("red\ndog\n", encoding="utf-8")
    with (tmp_path / "lines").open(encoding="utf-8") as file:
        assert not may_wait(file)
    assert not any(map(may_wait, (["red", "dog"], {"red"}, range(2))))
    assert all(map(may_wait, (iter(["red"]), io.StringIO("red"))))


def test_a_list_of_lines_ends_where_the_next_has_not_come() -> None:
    comes = {3, 4}
    read = 0

    def lines():  # type: ignore[no-untyped-def]
        nonlocal read
        for read in range(1, 6):
            yield str(read)

    chunks = chunks_of(lines(), WindowSize(3), waits=lambda: read + 1 not in comes)
    assert list(chunks) == [["1"], ["2", "3", "4"], ["5"]]


@pytest.mark.parametrize("blank", ["", "   ", "\t", "\u200b", "\ufeff "], ids=ascii)
def test_a_blank_line_stays_where_it_is(echo: Translator, blank: str) -> None:
    found = echo.translate(["red dog", blank, "two"])
    assert [translation.text for translation in found] == ["red dog", "", "two"]
    assert (found[1].score, len(found[1].candidates)) == (0.0, 1)


@pytest.mark.parametrize("lines", [[], [""], ["", "  "]], ids=repr)
def test_nothing_to_say_needs_no_engine(translator: Translator, lines: list[str]) -> None:
    assert [found.text for found in translator.translate(lines)] == [""] * len(lines)
    assert list(translator.stream([])) == []


def test_one_line_gives_one_translation_and_not_a_list(translator: Translator) -> None:
    assert translator.translate("red dog") == translator.translate(["red dog"])[0]


def test_the_best_comes_first(translator: Translator, tokenizer: Tokenizer) -> None:
    options = translator.options.model_copy(update={"n_best": 3})
    many = Translator(tokenizer, translator.engine, options).translate(["red dog", "two small cats"])
    for found, alone in zip(many, translator.translate(["red dog", "two small cats"]), strict=True):
        scores = [candidate.score for candidate in found.candidates]
        assert 1 <= len(scores) <= 3
        assert scores == sorted(scores, reverse=True)
        assert len({candidate.tokens for candidate in found.candidates}) == len(scores)
        assert (found.text, found.score) == (alone.text, pytest.approx(alone.score))


def test_a_line_break_within_a_text_does_not_make_two_lines(echo: Translator) -> None:
    assert echo.translate("red\ndog").text == "red dog"


@pytest.mark.parametrize("byte", [0x0A, 0x0D, 0x09, 0x0B, 0x00], ids=hex)
def test_what_a_model_spells_in_bytes_cannot_break_a_line(tokenizer: Tokenizer, byte: int) -> None:
    """With byte fallback a model may say any byte, yet a line stays a line and a column a column."""
    [dog] = tokenizer.encode(["dog"], "target")
    control = tokenizer.target.processor.PieceToId(f"<0x{byte:02X}>")

    engine = FakeEngine(lambda *_: [Hypothesis((*dog, control, *dog), -1.0, -1.0)])
    text = Translator(tokenizer, engine, DecodeConfig()).translate("dog").text
    assert not set("\n\r\t\x0b\x00") & set(text)
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize("text", ["☃ 龘 é", "<s> </s> <pad>", "\u2581", "dog " * 60], ids=lambda t: ascii(t[:9]))
def test_strange_and_long_lines_are_translated(translator: Translator, text: str) -> None:
    greedy = translator.options.model_copy(update={"beam": 1, "extra_length": 1})
    assert isinstance(Translator(translator.tokenizer, translator.engine, greedy).translate(text).text, str)


def test_an_unpaired_surrogate_is_refused_rather_than_crashing(translator: Translator) -> None:
    with pytest.raises(DataError, match="UTF-8"):
        translator.translate(["red dog", "caf\udce9"])


def test_a_model_that_is_not_there_is_reported() -> None:
    with pytest.raises(ModelError, match=r"^/nowhere/model: no such model folder"):
        Translator.load("/nowhere/model")


def test_a_device_that_is_not_there_is_reported() -> None:
    from dragoman.model.parts.device import pick_device

    with pytest.raises(ResourceError, match=r'^device "cuda:99" is not on this machine; use "cpu" or "auto"$'):
        pick_device("cuda:99")
