"""What is shipped: small, clean, and with nothing of the test text in the training text."""

import gzip
import re
from importlib.resources import files
from itertools import combinations
from pathlib import Path

import pytest

EMBEDDED = Path(str(files("dragoman.data") / "embedded"))
SPLITS = ("train", "valid", "test")


@pytest.fixture(scope="module")
def splits() -> dict[str, list[list[str]]]:
    texts = {name: gzip.decompress((EMBEDDED / f"{name}.tsv.gz").read_bytes()).decode() for name in SPLITS}
    return {name: [line.split("\t") for line in text.splitlines()] for name, text in texts.items()}


def bare(sentence: str) -> str:
    return re.sub(r"[\W_]", "", re.sub(r"\d", "0", sentence.casefold()))


def test_it_is_at_most_three_megabytes() -> None:
    assert sum(path.stat().st_size for path in EMBEDDED.glob("*.gz")) <= 3_000_000


def test_the_licence_and_the_counts_are_stated(splits: dict[str, list[list[str]]]) -> None:
    notice = (EMBEDDED / "NOTICE.md").read_text(encoding="utf-8")
    assert "Mozilla Public License" in notice
    for pairs in splits.values():
        assert f"{len(pairs):,}" in notice


def test_every_line_is_an_english_sentence_and_its_korean_translation(splits: dict[str, list[list[str]]]) -> None:
    for pairs in splits.values():
        for pair in pairs:
            english, korean = pair
            assert re.search("[A-Za-z]", english)
            assert not re.search("[가-힣]", english)
            assert re.search("[가-힣]", korean)


@pytest.mark.parametrize("side", [0, 1], ids=["english", "korean"])
def test_no_held_out_sentence_is_in_another_split(splits: dict[str, list[list[str]]], side: int) -> None:
    sentences = {name: {bare(pair[side]) for pair in pairs} for name, pairs in splits.items()}
    for one, other in combinations(SPLITS, 2):
        assert not sentences[one] & sentences[other]


@pytest.mark.slow
@pytest.mark.parametrize("side", [0, 1], ids=["english", "korean"])
def test_no_test_sentence_has_a_near_duplicate_in_train(splits: dict[str, list[list[str]]], side: int) -> None:
    def grams(sentence: str) -> set[str]:
        text = bare(sentence)
        return {text[i : i + 5] for i in range(max(1, len(text) - 4))}

    train = [grams(pair[side]) for pair in splits["train"]]
    for sentence in splits["test"][::20]:
        own = grams(sentence[side])
        assert max(len(own & other) / len(own | other) for other in train) < 0.7
