"""Dividing a corpus: every pair goes somewhere, once, and no sentence goes to two places."""

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import dragoman
from dragoman.config import CorpusConfig
from dragoman.data.corpus.corpus import Pair, read_pairs
from dragoman.data.corpus.hashing import letter_hashes
from dragoman.data.corpus.output import refuse_pipes
from dragoman.data.make import split as split_module
from dragoman.data.make.split import SplitOptions, usable_pairs, whole_pairs
from dragoman.data.make.split import split_corpus as split_blocks
from dragoman.errors import ConfigError, DataError, DragomanError
from similar_texts import jaccard


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


def sentence(seed: int) -> str:
    draw = Random(seed)
    return " ".join("".join(draw.choices("가나다라마바사아자차카타파하", k=4)) for _ in range(6))


PAIRS = [(sentence(number % 900), f"sentence {number}") for number in range(1000)]


def split_corpus(
    whole: CorpusConfig, named: dict[str, CorpusConfig], held_out: int | None, seed: int = 1, near: bool = True
) -> dict[str, int]:
    options = SplitOptions(held_out, seed, near)
    return split_blocks(lambda: whole_pairs(whole), str(whole.source), named, options)


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
    assert counts == {"train": 800, "valid": 100, "test": 100}


def test_the_same_corpus_is_divided_the_same_way(tmp_path: Path) -> None:
    one, other = parts(tmp_path / "one"), parts(tmp_path / "other")
    split_corpus(corpus(tmp_path, PAIRS), one, held_out=None)
    split_corpus(corpus(tmp_path, PAIRS), other, held_out=None)
    assert all(sides(one[name]) == sides(other[name]) for name in one)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    named = parts(tmp_path / "data")
    split_corpus(corpus(tmp_path, PAIRS), named, held_out=100)
    before = sides(named["train"])
    with pytest.raises(ConfigError, match="already exists"):
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
    with pytest.raises(ConfigError, match=r"both sides.*two text files"):
        split_corpus(corpus(tmp_path, PAIRS), {"train": CorpusConfig(source=tmp_path / "train.tsv")}, None)


@pytest.mark.parametrize("name", ["./train.en", "sub/../valid.en"], ids=["in one part", "in two parts"])
def test_a_file_named_twice_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "data"
    named = parts(folder) | {"train": CorpusConfig(source=folder / name, target=folder / "train.en")}
    with pytest.raises(ConfigError, match="named twice; give each side of each part its own file in the config"):
        split_corpus(corpus(tmp_path, PAIRS), named, held_out=100)
    assert not folder.exists()


@pytest.mark.parametrize(("ending", "mark"), [(".gz", b"\x1f\x8b"), (".zst", b"\x28\xb5\x2f\xfd")])
def test_a_name_that_ends_as_a_packed_file_is_one(tmp_path: Path, ending: str, mark: bytes) -> None:
    whole = corpus(tmp_path, PAIRS)
    plain, packed, again = (parts(tmp_path / name) for name in ("plain", "packed", "again"))
    for named in (packed, again):
        for name, part in named.items():
            both = (path.with_name(path.name + ending) for path in part.files)
            named[name] = CorpusConfig(**dict(zip(("source", "target"), both, strict=True)))
    counts = [split_corpus(whole, named, held_out=100) for named in (plain, packed, again)]
    assert counts[0] == counts[1]
    for name, part in packed.items():
        assert sides(part) == sides(plain[name])
        for path, other in zip(part.files, again[name].files, strict=True):
            assert path.read_bytes().startswith(mark)
            assert path.read_bytes() == other.read_bytes(), "the same text must have the same hash"


@pytest.mark.slow
@pytest.mark.parametrize("held_out", [1, 7, 100, 333])
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_held_out_parts_have_exactly_the_size_asked_for(tmp_path: Path, held_out: int, copies: int) -> None:
    pairs = [(sentence(number if number < 900 else number % 300), f"{number}") for number in range(900 + 100 * copies)]
    counts = split_corpus(corpus(tmp_path, pairs), parts(tmp_path / "data"), held_out)
    assert counts == {"train": len(pairs) - 2 * held_out, "valid": held_out, "test": held_out}


@pytest.mark.slow
def test_near_duplicates_are_in_one_part(tmp_path: Path) -> None:
    draw = Random(3)
    pairs = []
    for number in range(300):
        text = " ".join(sentence(1000 * number + part) for part in range(3))
        pairs += [(text, "a"), (f"{number}. {text}!", "b"), (text.replace(draw.choice(text.split()), "", 1), "c")]
    draw.shuffle(pairs)
    named = parts(tmp_path / "data")
    assert split_corpus(corpus(tmp_path, pairs), named, held_out=90) == {"train": 720, "valid": 90, "test": 90}
    train, valid, test = ([source for source, _ in sides(named[name])] for name in ("train", "valid", "test"))
    for part, others in ((valid, train + test), (test, train)):
        assert not {*letter_hashes(part).tolist()} & {*letter_hashes(others).tolist()}
        assert max(jaccard(one, other) for one in part[:10] for other in others) < 0.7


def test_the_seed_chooses_the_pairs_and_their_order_in_the_corpus_does_not(tmp_path: Path) -> None:
    named = [parts(tmp_path / name) for name in ("one", "two", "shuffled")]
    shuffled = Random(1).sample(PAIRS[:900], 900)
    split_corpus(corpus(tmp_path, PAIRS[:900]), named[0], 50, seed=1)
    split_corpus(corpus(tmp_path, PAIRS[:900]), named[1], 50, seed=2)
    split_corpus(corpus(tmp_path / "other", shuffled), named[2], 50, seed=1)
    chosen = [set(sides(each["test"])) for each in named]
    assert chosen[0] == chosen[2] != chosen[1]


NUMBERED = [(f"문장 {number}", f"{number}") for number in range(300)]


@pytest.mark.parametrize(
    ("pairs", "held_out", "message"),
    [
        pytest.param(NUMBERED, 20, "only 0 pairs of 20 .* near-dup.*; give more text, or keep .*--no-near", id="near"),
        pytest.param([("같은 문장", f"{n}") for n in range(300)], 20, "only 0 pairs of 20", id="one sentence"),
        pytest.param([(sentence(n // 2), "") for n in range(300)], 21, "20 of 21.*ask for 20 ", id="even numbers"),
    ],
)
def test_a_size_that_cannot_be_exact_is_refused_and_no_file_is_left(
    tmp_path: Path, pairs: list[tuple[str, str]], held_out: int, message: str
) -> None:
    pairs = [(source, target or "x") for source, target in pairs]
    with pytest.raises(DataError, match=message.replace("20 of", "20 pairs of")):
        split_corpus(corpus(tmp_path, pairs), parts(tmp_path / "data"), held_out)
    assert not (tmp_path / "data").exists()


def test_near_duplicates_may_part_on_request(tmp_path: Path) -> None:
    assert split_corpus(corpus(tmp_path, NUMBERED), parts(tmp_path / "data"), 20, near=False)["test"] == 20


def test_one_pair_is_named_in_the_singular(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="1 pair is too few to hold out 1 for each part"):
        split_corpus(corpus(tmp_path, PAIRS[:1]), parts(tmp_path / "data"), 1)


@pytest.mark.parametrize(
    ("pairs", "held_out", "message"),
    [
        (2, None, "to hold out 1 for each part; give more text$"),
        (19, None, "hold out a twentieth of them .*; give more text, or choose a number with --held-out, at most 6$"),
        (19, 7, "hold out 7 for each part; give more text, or choose a number with --held-out, at most 6$"),
    ],
)
def test_a_number_that_is_named_for_little_text_can_be_held_out(
    tmp_path: Path, pairs: int, held_out: int | None, message: str
) -> None:
    text = corpus(tmp_path, [(sentence(n), "x") for n in range(pairs)])
    with pytest.raises(DataError, match=message):
        split_corpus(text, parts(tmp_path / "data"), held_out)
    if pairs > 2:
        assert split_corpus(text, parts(tmp_path / "data"), 6)["valid"] == 6


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="pipe: is read twice, which a pipe does not allow; write the text to a file"):
        refuse_pipes(CorpusConfig(source=tmp_path / "pipe", target=tmp_path / "other").files)
    with pytest.raises(ConfigError, match="standard input: is read twice"):
        refuse_pipes(CorpusConfig(source=Path("-"), target=tmp_path / "other").files)


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("end", [KeyboardInterrupt(), DataError("a bad line"), OSError(errno.ENOSPC, "full")], ids=repr)
def test_a_split_that_ends_in_the_middle_leaves_no_file(
    tmp_path: Path, end: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, passes = corpus(tmp_path, PAIRS), []

    def broken_off(of: CorpusConfig) -> Iterator[Pair]:
        passes.append(of)
        for pair in read_pairs(of):
            if len(passes) > 2 and pair.line == 700:  # the third pass writes
                raise end
            yield pair

    monkeypatch.setattr(split_module, "read_pairs", broken_off)
    with pytest.raises(DragomanError if isinstance(end, OSError) else type(end)):
        split_corpus(whole, parts(tmp_path / "data"), held_out=100)
    assert files_in(tmp_path / "data") == []
    monkeypatch.undo()
    assert sum(split_corpus(whole, parts(tmp_path / "data"), held_out=100).values()) == len(PAIRS)


def test_a_split_whose_files_cannot_all_be_named_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename, done = Path.rename, []

    def refused(self: Path, target: Any) -> Path:
        if len(done) == 3:
            raise OSError(errno.EIO, "the disk is gone")
        done.append(target)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(DragomanError, match="cannot be written: the disk is gone"):
        split_corpus(corpus(tmp_path, PAIRS), parts(tmp_path / "data"), held_out=100)
    assert files_in(tmp_path / "data") == []


def test_a_split_writes_its_parts_and_touches_nothing_else(tmp_path: Path) -> None:
    named = parts(tmp_path / "data")
    (tmp_path / "data").mkdir()
    other = tmp_path / "data/.train.ko.partial"
    other.write_text("mine")
    split_corpus(corpus(tmp_path, PAIRS), named, held_out=100)
    assert other.read_text() == "mine"
    assert sorted(files_in(tmp_path / "data")) == sorted(
        [other, *(path for part in named.values() for path in part.files)]
    )


def test_what_is_no_pair_is_dropped_counted_and_kept_with_its_reason(tmp_path: Path) -> None:
    whole = corpus(tmp_path, PAIRS)
    lines = whole.source.read_bytes().split(b"\n")
    lines[4], lines[6], lines[9] = b" ", b"\xff\xfe", "\u200b".encode()
    whole.source.write_bytes(b"\n".join(lines))
    named = parts(tmp_path / "data")
    with pytest.raises(DataError, match="ko:5: empty line"):
        split_corpus(whole, named, 100)
    rejects = tmp_path / "data/rejects.jsonl"
    counts = split_blocks(lambda: usable_pairs(whole), "all", named, SplitOptions(100), rejects)
    assert counts == {"train": 797, "valid": 100, "test": 100, "dropped": 3}
    dropped = [json.loads(line) for line in rejects.read_text(encoding="utf-8").splitlines()]
    assert [(each["line"], each["reasons"], each["target"]) for each in dropped] == [
        (5, ["empty"], PAIRS[4][1]),
        (7, ["bad_bytes"], PAIRS[6][1]),
        (10, ["empty"], PAIRS[9][1]),
    ]
    with pytest.raises(ConfigError, match="already exists"):
        split_blocks(lambda: usable_pairs(whole), "all", parts(tmp_path / "other"), SplitOptions(100), rejects)


@pytest.mark.parametrize("given", [{"seed": -1}, {"seed": 1 << 64}, {"seed": 1.5}, {"held_out": 0}, {"held_out": "9"}])
def test_numbers_that_are_none_are_refused(tmp_path: Path, given: dict[str, Any]) -> None:
    whole = corpus(tmp_path, [(sentence(n), sentence(-n)) for n in range(40)])
    config = tmp_path / "run.toml"
    config.write_text(
        'project = {name = "a", source = "ko", target = "en"}\n[data]\ntrain = [{source = "t.ko", target = "t.en"}]\n'
        'valid = {source = "v.ko", target = "v.en"}\n'
    )
    with pytest.raises(ConfigError, match=f"{next(iter(given))}: give a whole number"):
        dragoman.split_data(config, whole.source, whole.target, **given)
