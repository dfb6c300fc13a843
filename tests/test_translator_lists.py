"""Lists of translations have no text twice, and a translator goes to another process as the folders it came from."""

import multiprocessing
import pickle
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

import dragoman
from dragoman.config import DecodeConfig, ModelConfig
from dragoman.control.search.n_best import search_distinct
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Ids, Query
from dragoman.engine.torch import TorchEngine
from dragoman.errors import ConfigError, DataError
from dragoman.memory import Memory, MemoryUnit
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import EOS, Tokenizer
from dragoman.translator import Translator
from stand_ins import FakeEngine


class Listed(FakeEngine):
    """An engine whose hypotheses are the first of a list, as many as the beam is wide."""

    def __init__(self, tokens: Sequence[int]) -> None:
        super().__init__()
        self.found = [Hypothesis((token,), -float(n), -float(n)) for n, token in enumerate(tokens)]
        self.beams: list[int] = []

    def translate(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
        self.beams.append(options.beam)
        return [self.found[: options.beam][: options.n_best] for _ in queries]


def decode(targets: Sequence[Ids]) -> list[str]:
    """Even and odd tokens after each other are one text."""
    return [str(tokens[0] // 2) for tokens in targets]


@pytest.mark.parametrize(
    ("tokens", "n_best", "expected", "beams"),
    [
        ([2, 4, 6, 8], 3, [2, 4, 6], [4]),
        ([2, 3, 6, 8], 3, [2, 6, 8], [4]),
        ([2, 3, 6, 7, 10, 12], 3, [2, 6, 10], [4, 8]),
        ([2, 3, 2, 3, 2, 3, 2, 3], 3, [2], [4, 8]),
    ],
    ids=["no repeats", "the beam has enough", "a wider beam has enough", "there are fewer"],
)
def test_a_list_has_no_text_twice(tokens: list[int], n_best: int, expected: list[int], beams: list[int]) -> None:
    engine = Listed(tokens)
    [found] = search_distinct(engine, decode, [Query([9])], DecodeConfig(beam=4, n_best=n_best))
    assert [hypothesis.tokens[0] for hypothesis in found] == expected
    assert engine.beams == beams


@pytest.fixture
def translator(toy_tokenizer: Tokenizer) -> Translator:
    torch.manual_seed(2)
    shape = ModelConfig.model_validate({"layers": 1, "d_model": 16, "d_ff": 24, "heads": 2})
    model = Transformer(shape, len(toy_tokenizer.source), len(toy_tokenizer.target)).eval()
    with torch.no_grad():
        model.projection[EOS] *= 4
    return Translator(toy_tokenizer, TorchEngine(model, torch.device("cpu")), DecodeConfig(extra_length=3))


def test_real_lists_and_alternatives_have_no_text_twice(translator: Translator) -> None:
    for line in ("red dog", "two", "the cat sees a big bird"):
        for texts in (
            [candidate.text for candidate in translator.translate(line, n_best=8).candidates],
            [candidate.text for candidate in translator.alternatives(line, count=8)],
        ):
            assert 4 <= len(texts) == len(set(texts)) <= 8


def test_what_no_folder_holds_cannot_be_pickled(translator: Translator) -> None:
    with pytest.raises(ConfigError, match="not loaded from folders: it cannot be pickled"):
        pickle.dumps(translator)


@pytest.mark.slow
def test_a_translator_survives_pickling_and_a_pool_of_processes() -> None:
    translator = Translator.load("en-ko", threads=1, options=DecodeConfig(beam=2))
    lines = ["Save the file.", "Select the cell."]
    expected = [translator.translate(line).text for line in lines]
    again = pickle.loads(pickle.dumps(translator))
    assert (again.options, again.engine.threads) == (translator.options, 1)
    # Unlike multiprocessing's own pool, this one says that a process died, and does not wait for it.
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert [one.text for one in pool.map(translator.translate, lines, timeout=300)] == expected


def test_a_translator_is_pickled_with_its_memory(tmp_path: Path) -> None:
    (tmp_path / "m.tsv").write_text("Save the file.\t파일을 저장하세요 (기억).\n", encoding="utf-8")
    dragoman.add_to_memory(tmp_path / "m.db", tmp_path / "m.tsv", source="en", target="ko")
    memory = dragoman.open_memory(tmp_path / "m.db", "en", "ko")
    translator = Translator.load("en-ko", threads=1).with_memory(memory)
    again = pickle.loads(pickle.dumps(translator))
    assert again.translate("Save the file.").text == translator.translate("Save the file.").text
    assert again.translate("Save the file.").match == 100


def test_exact_scores_of_tokens_are_the_same_in_any_batch() -> None:
    translator = Translator.load("en-ko", threads=1)
    lines = ["Hello.", "The committee met on 3 May 2021 to discuss the budget of the town."]
    several = translator.translate(lines, exact=True, token_scores=True)
    for line, found in zip(lines, several, strict=True):
        assert found == translator.translate(line, exact=True, token_scores=True)
        log_probs = found.candidates[0].log_probs
        # The search computes a token at a time, the scores all at once, and float32 adds in another order on some
        # processors. A value on the border of two int8 steps, each 1/127 of its row, may then go to either.
        assert sum(log_probs) == pytest.approx(found.candidates[0].log_prob, abs=len(log_probs) / 127)


def test_paths_are_absolute_in_a_pickle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from dragoman.installed import resolve_model

    folder = resolve_model(Path("en-ko"))
    monkeypatch.chdir(folder.parent)
    translator = Translator.load(folder.name, threads=1)
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(pickle.dumps(translator)).bundle.folder == folder.absolute()


def test_a_translation_of_a_memory_is_one_line_with_the_columns_and_spaces_of_its_source(tmp_path: Path) -> None:
    units = {"Line one\nline two": "첫째 줄\n둘째 줄", "Name Age": "이름 나이", "Open the file.": "파일 열기."}
    memory = Memory.open(tmp_path / "m.db", "en", "ko", create=True)
    memory.add([MemoryUnit(*pair) for pair in units.items()])
    translator = Translator.load("en-ko", threads=1).with_memory(memory)
    lines = ["Line one line two", "Name\tAge", "    Open the file.", "Open the file. ", "\tOpen the file."]
    several = translator.translate(lines)
    assert [one.match for one in several] == [None, None, 100, 100, 100]
    assert "\n" not in several[0].text
    assert several[1].text.count("\t") == 1
    assert [one.text for one in several[2:]] == ["    파일 열기.", "파일 열기. ", "\t파일 열기."]


def test_samples_of_a_seed_are_the_same_while_other_threads_draw() -> None:
    translator = Translator.load("en-ko", threads=1)

    def drawn(seed: int) -> list[str]:
        return [one.text for one in translator.translate(["Save the file.", "It rains."], method="sample", seed=seed)]

    expected = [*map(drawn, range(1, 5))]
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(drawn, range(1, 5))] == expected


def test_alternatives_need_no_glossary_and_refuse_none() -> None:
    translator = Translator.load("en-ko", threads=1, glossary={"weather": "기상"})
    assert all(one.text.startswith("날") for one in translator.alternatives("The weather is nice.", "날", count=2))


@pytest.mark.parametrize("text", ["\ud800", ["fine", "a\ud800b"]])
def test_what_would_be_copied_is_checked_too(text: str | list[str]) -> None:
    with pytest.raises(DataError, match="contains an unpaired surrogate"):
        Translator.load("en-ko", threads=1).translate(text)
