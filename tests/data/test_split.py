"""Dividing a corpus: every pair goes somewhere, once, and no sentence goes to two places."""

from pathlib import Path

import pytest

from dragoman.config import CorpusConfig
from dragoman.data.corpus import read_pairs
from dragoman.data.split import split_corpus
from dragoman.errors import ConfigError, DataError


def corpus(folder: Path, pairs: list[tuple[str, str]]) -> CorpusConfig:
    folder.mkdir(parents=True, exist_ok=True)
    source, target = folder / "all.ko", folder / "all.en"
    source.write_text("".join(pair[0] + "\n" for pair in pairs), encoding="utf-8")
    target.write_text("".join(pair[1] + "\n" for pair in pairs), encoding="utf-8")
    return CorpusConfig(source=source, target=target)


def parts(folder: Path) -> dict[str, CorpusConfig]:
    names = ("train", "valid", "test")
    return {name: CorpusConfig(source=folder / f"{name}.ko", target=folder / f"{name}.en") for name in names}


def sides(part: CorpusConfig) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_pairs(part)]


PAIRS = [(f"문장 {number % 900}", f"sentence {number}") for number in range(1000)]


def test_every_pair_is_in_one_part_and_no_sentence_in_two(tmp_path: Path) -> None:
    named = parts(tmp_path / "data")
    counts = split_corpus(corpus(tmp_path, PAIRS), named, held_out=100)
    written = {name: sides(part) for name, part in named.items()}
    assert counts == {name: len(pairs) for name, pairs in written.items()}
    assert sorted(pair for pairs in written.values() for pair in pairs) == sorted(PAIRS)
    sources = {name: {source for source, _ in pairs} for name, pairs in written.items()}
    assert not sources["train"] & sources["valid"]
    assert not sources["train"] & sources["test"]
    assert not sources["valid"] & sources["test"]
    assert all(60 < counts[name] < 150 for name in ("valid", "test"))


def test_the_same_corpus_is_divided_the_same_way(tmp_path: Path) -> None:
    one, other = parts(tmp_path / "one"), parts(tmp_path / "other")
    split_corpus(corpus(tmp_path, PAIRS), one, held_out=None)
    split_corpus(corpus(tmp_path, PAIRS), other, held_out=None)
    assert all(sides(one[name]) == sides(other[name]) for name in one)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    named = parts(tmp_path / "data")
    split_corpus(corpus(tmp_path, PAIRS), named, held_out=100)
    before = sides(named["train"])
    with pytest.raises(ConfigError, match="exists already"):
        split_corpus(corpus(tmp_path, PAIRS[:500]), named, held_out=50)
    assert sides(named["train"]) == before


@pytest.mark.parametrize(("size", "held_out"), [(0, None), (10, None), (1000, 400)], ids=["none", "few", "asked for"])
def test_too_small_a_corpus_is_refused_before_anything_is_written(
    tmp_path: Path, size: int, held_out: int | None
) -> None:
    with pytest.raises(DataError, match="too few"):
        split_corpus(corpus(tmp_path, PAIRS[:size]), parts(tmp_path / "data"), held_out)
    assert not (tmp_path / "data").exists()


def test_a_part_that_holds_both_sides_in_one_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="two files of lines"):
        split_corpus(corpus(tmp_path, PAIRS), {"train": CorpusConfig(source=tmp_path / "train.tsv")}, None)
