"""Files → pairs: every format, every way to be damaged, each error with its file and line."""

import gzip
import json
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.config import CorpusConfig
from dragoman.data.corpus.block_reader import BlockReader, Reading
from dragoman.data.corpus.corpus import describe_unequal, first_suspicious_line, read_lines, read_pairs, sample_pairs
from dragoman.errors import DataError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PAIRS = [("the dog", "개"), ("a “big” cat", "큰 고양이"), ("two birds", "새 두 마리")]
TSV = "".join(f"{source}\t{target}\n" for source, target in PAIRS).encode()
JSONL = "".join(json.dumps({"source": s, "target": t, "id": 1}) + "\n" for s, t in PAIRS).encode()
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".zst": zstd.compress,
}


def pairs_of(corpus: CorpusConfig) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_pairs(corpus)]


def two_files(folder: Path, source: bytes | str, target: bytes | str) -> CorpusConfig:
    for name, text in (("a.en", source), ("a.ko", target)):
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return CorpusConfig(source=folder / "a.en", target=folder / "a.ko")


def one_file(folder: Path, name: str, content: bytes | str) -> CorpusConfig:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return CorpusConfig(source=folder / name)


def refusal(corpus: CorpusConfig) -> str:
    """The message with which a corpus is refused: one line, and no folder of ours in it."""
    with pytest.raises(DataError) as at:
        list(read_pairs(corpus))
    message = str(at.value)
    assert "\n" not in message
    return message.replace(str(corpus.source.parent) + "/", "")


@pytest.mark.parametrize("packing", PACKED, ids=["plain", "gz", "zst"])
@pytest.mark.parametrize("form", ["lines", "tsv", "jsonl"])
def test_every_format_and_packing_gives_the_same_pairs(tmp_path: Path, form: str, packing: str) -> None:
    pack = PACKED[packing]
    if form == "lines":
        source, target = ("".join(side + "\n" for side in sides).encode() for sides in zip(*PAIRS, strict=True))
        (tmp_path / f"a.en{packing}").write_bytes(pack(source))
        (tmp_path / f"a.ko{packing}").write_bytes(pack(target))
        corpus = CorpusConfig(source=tmp_path / f"a.en{packing}", target=tmp_path / f"a.ko{packing}")
    else:
        corpus = one_file(tmp_path, f"a.{form}{packing}", pack(TSV if form == "tsv" else JSONL))
    assert pairs_of(corpus) == PAIRS
    assert [pair.line for pair in read_pairs(corpus)] == [1, 2, 3]


def test_a_packed_side_goes_with_a_plain_one(tmp_path: Path) -> None:
    (tmp_path / "a.en.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    (tmp_path / "a.de").write_bytes(b"eins\nzwei\n")
    assert pairs_of(CorpusConfig(source=tmp_path / "a.en.gz", target=tmp_path / "a.de")) == [
        ("one", "eins"),
        ("two", "zwei"),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
@pytest.mark.parametrize("last", [True, False], ids=["last line ended", "last line open"])
def test_line_ends_of_either_kind_are_not_part_of_the_text(tmp_path: Path, end: str, last: bool) -> None:
    text = end.join(["one", "two"]) + (end if last else "")
    assert pairs_of(two_files(tmp_path, text, "eins\nzwei\n")) == [("one", "eins"), ("two", "zwei")]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\r"], ids=ascii)
def test_only_a_newline_ends_a_line(tmp_path: Path, separator: str) -> None:
    corpus = two_files(tmp_path, f"one{separator}half\ntwo\n", "eins\nzwei\n")
    assert pairs_of(corpus) == [(f"one{separator}half", "eins"), ("two", "zwei")]


@pytest.mark.parametrize("name", ["a.tsv", "a.jsonl"])
def test_a_byte_order_mark_is_no_part_of_the_first_sentence(tmp_path: Path, name: str) -> None:
    corpus = one_file(tmp_path, name, b"\xef\xbb\xbf" + (TSV if name.endswith("tsv") else JSONL))
    assert sample_pairs([corpus], 10, seed=1) == PAIRS


def test_named_fields_of_jsonl_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"en": "one", "ko": "하나"}\n', encoding="utf-8")
    corpus = CorpusConfig(source=tmp_path / "a.jsonl", fields=("en", "ko"))
    assert pairs_of(corpus) == [("one", "하나")]


def test_reading_holds_no_more_than_a_line(tmp_path: Path) -> None:
    """What is wrong at the end does not keep the beginning from being read."""
    corpus = two_files(tmp_path, b"one\ntwo\n\xff\n", "eins\nzwei\ndrei\n")
    pairs = read_pairs(corpus)
    assert next(pairs).source == "one"
    assert next(pairs).target == "zwei"


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param(
            "a.tsv",
            "one\teins\nonly\n",
            "a.tsv:2: 1 column; a line is source, one tab, target",
            id="tsv with 1 column",
        ),
        pytest.param(
            "a.tsv",
            "one\teins\tuno\n",
            "a.tsv:1: 3 columns; a line is source, one tab, target",
            id="tsv with 3 columns",
        ),
        pytest.param("a.jsonl", '{"source": "one"', "a.jsonl:1: not JSON: ", id="broken JSON"),
        pytest.param(
            "a.jsonl",
            '{"source": "one", "target": "eins"}\n{"source": "two", "tgt": "zwei"}\n',
            'a.jsonl:2: no text under "target"; each line has one under "source" and',
            id="missing field",
        ),
        pytest.param("a.jsonl", '["one", "eins"]\n', 'a.jsonl:1: no text under "source"', id="not an object"),
        pytest.param(
            "a.jsonl", '{"source": "one", "target": 1}\n', 'a.jsonl:1: no text under "target"', id="a number for text"
        ),
        pytest.param("a.jsonl", '{"source": ' + "1" * 5000 + "}\n", "a.jsonl:1: not JSON", id="a number without end"),
        pytest.param("a.jsonl", "[" * 100_000, "a.jsonl:1: not JSON: its brackets are nested too deeply", id="depth"),
        pytest.param(
            "a.tsv", "one\t\n", "a.tsv:1: empty line; each line must translate the other side", id="tsv without target"
        ),
        pytest.param("a.tsv", "one\t \u200b\n", "a.tsv:1: empty line", id="nothing that can be seen is nothing"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    assert refusal(one_file(tmp_path, name, content)).startswith(message)


def test_an_unpaired_surrogate_in_json_is_named(tmp_path: Path) -> None:
    corpus = one_file(tmp_path, "a.jsonl", r'{"source": "one \ud83d", "target": "eins"}')
    assert refusal(corpus).startswith("a.jsonl:1: ")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=ascii)
@pytest.mark.parametrize("text", ["one{}two", "{}one", "one{}"], ids=["within", "before", "after"])
@pytest.mark.parametrize("side", ["source", "target"])
def test_a_line_break_in_json_is_named(tmp_path: Path, side: str, text: str, end: str) -> None:
    good = {"source": "dog", "target": "hund"}
    bad = good | {side: text.format(end)}
    corpus = one_file(tmp_path, "a.jsonl", f"{json.dumps(good)}\n{json.dumps(bad)}\n")
    assert refusal(corpus) == f'a.jsonl:2: a line break under "{side}"; put a space there, or make two pairs'


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"], ids=ascii)
def test_other_separators_are_allowed_in_json_as_in_two_files(tmp_path: Path, separator: str) -> None:
    text = f"one{separator}two"
    (tmp_path / "a.en").write_text(text + "\n", encoding="utf-8")
    (tmp_path / "a.de").write_text("eins\n", encoding="utf-8")
    two = CorpusConfig(source=tmp_path / "a.en", target=tmp_path / "a.de")
    one = one_file(tmp_path, "a.jsonl", json.dumps({"source": text, "target": "eins"}, ensure_ascii=False) + "\n")
    assert [(pair.source, pair.target) for pair in read_pairs(one)] == [(text, "eins")]
    assert [(pair.source, pair.target) for pair in read_pairs(two)] == [(text, "eins")]


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize(
    "blank", ["", "   ", "\u200b", "\ufeff\t"], ids=["empty", "spaces", "zero width", "mark and tab"]
)
def test_an_empty_side_is_named_with_its_own_file(tmp_path: Path, side: str, blank: str) -> None:
    empty, full = f"one\n{blank}\nthree\n", "eins\nzwei\ndrei\n"
    source, target = (empty, full) if side == "source" else (full, empty)
    name, other = ("a.en", "a.ko") if side == "source" else ("a.ko", "a.en")
    assert refusal(two_files(tmp_path, source, target)) == (
        f"{name}:2: empty line; each line must translate the same line of {other}: fill it or remove the pair"
    )


def test_bytes_that_are_not_utf8_are_named_with_file_line_and_offset(tmp_path: Path) -> None:
    corpus = two_files(tmp_path, b"one\n\xed\x95\x9c caf\xe9\n", "eins\nzwei\n")
    assert refusal(corpus) == (
        "a.en:2: not UTF-8 at byte 11 of the text (0xe9); convert the file to UTF-8, with iconv for example"
    )


@pytest.mark.parametrize("missing", ["a.en", "a.ko"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    corpus = two_files(tmp_path, "one\n", "eins\n")
    (tmp_path / missing).unlink()
    assert refusal(corpus) == f"{missing}: no such file; check the path"


def test_a_folder_for_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").mkdir()
    assert refusal(CorpusConfig(source=tmp_path / "a.tsv")) == "a.tsv: cannot be read: Is a directory"


@pytest.mark.parametrize("packing", [".gz", ".zst"])
def test_packed_files_put_one_after_the_other_are_read_to_the_end(tmp_path: Path, packing: str) -> None:
    """As `cat a.gz b.gz`, pigz and pzstd write them."""
    pack = PACKED[packing]
    assert pairs_of(one_file(tmp_path, f"a.tsv{packing}", pack(TSV) + pack(TSV))) == PAIRS * 2


RANDOM_TSV = "".join(f"{random.Random(n).random()}\tx\n" for n in range(2000)).encode()


@pytest.mark.parametrize("packing", [".gz", ".zst"])
@pytest.mark.parametrize("damage", ["not packed at all", "cut short", "altered inside"])
def test_a_damaged_packed_file_is_refused_by_name(tmp_path: Path, packing: str, damage: str) -> None:
    whole = PACKED[packing](RANDOM_TSV)
    middle = len(whole) // 2
    content = {
        "not packed at all": b"one\teins\n",
        "cut short": whole[:middle],
        "altered inside": whole[:middle]
        + bytes(byte ^ 0xFF for byte in whole[middle : middle + 64])
        + whole[middle + 64 :],
    }[damage]
    assert refusal(one_file(tmp_path, f"a.tsv{packing}", content)).startswith(f"a.tsv{packing}")


# --- unequal files -----------------------------------------------------------------------------------------------


def varied_lines(count: int, seed: int = 5) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(["word"] * rng.randint(1, 40)) for _ in range(count)]


@pytest.mark.parametrize("removed", [1, 2, 77, 150, 299, 300])
@pytest.mark.parametrize("side", ["source", "target"])
def test_the_line_that_was_removed_is_named_with_both_counts(tmp_path: Path, side: str, removed: int) -> None:
    whole = varied_lines(300)
    while removed > 1 and len(whole[removed - 2]) == len(whole[removed - 1]):  # equal lengths in a row are ambiguous
        whole[removed - 1] += " more"
    short = whole[: removed - 1] + whole[removed:]
    texts = ["\n".join(lines) + "\n" for lines in ((short, whole) if side == "source" else (whole, short))]
    counts = ("299", "300") if side == "source" else ("300", "299")
    corpus = two_files(tmp_path, *texts)
    complaint = refusal(corpus).replace(str(tmp_path) + "/", "")
    assert complaint.startswith(f"a.en: {counts[0]} lines, but a.ko: {counts[1]}; ")
    if removed < 290:
        assert complaint.endswith(
            f"the files appear to diverge near line {removed}: look there for a line that one side lacks"
        )
    else:  # so near the end that it could as well be the end that is missing
        assert f"they correspond up to about line {removed - 1}: " in complaint


def test_a_translation_of_other_length_does_not_hide_the_missing_line(tmp_path: Path) -> None:
    rng = random.Random(11)
    lengths = [rng.randint(10, 200) for _ in range(300)]
    shorter = [int(length * rng.uniform(0.4, 0.6)) for length in lengths]
    del shorter[122]
    assert abs(first_suspicious_line(lengths, shorter) - 123) <= 1


@given(
    seed=st.integers(0, 10_000),
    start=st.integers(0, 297),
    missing=st.integers(1, 3),
    scale=st.sampled_from([1, 2, 3]),
    swap=st.booleans(),
)
def test_taking_out_the_named_lines_makes_the_files_agree(
    seed: int, start: int, missing: int, scale: int, swap: bool
) -> None:
    """Neighbours of nearly equal length are ambiguous, but the named line always explains both files."""
    rng = random.Random(seed)
    lengths = [rng.randint(5, 200) for _ in range(300)]
    shorter = lengths[:start] + lengths[start + missing :]
    longer = [scale * (length + 1) - 1 for length in lengths]
    line = first_suspicious_line(longer, shorter) if swap else first_suspicious_line(shorter, longer)
    explained = lengths[: line - 1] + lengths[line - 1 + missing :]
    assert all(abs(a - b) <= 1 + 0.1 * b for a, b in zip(explained, shorter, strict=True))


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_the_suspicious_line_is_always_one_a_person_can_look_at(source: list[int], target: list[int]) -> None:
    line = first_suspicious_line(source, target)
    assert 1 <= line <= min(len(source), len(target)) + 1


def test_an_empty_file_is_named_as_empty(tmp_path: Path) -> None:
    complaint = refusal(two_files(tmp_path, "", "eins\n"))
    assert "a.en: 0 lines, but" in complaint
    assert complaint.endswith("; one file is empty")


@pytest.mark.parametrize("end", ["\n", "\r\n\r\n\r\n"])
def test_empty_lines_at_the_end_of_one_file_are_named(tmp_path: Path, end: str) -> None:
    whole = varied_lines(200)
    complaint = refusal(two_files(tmp_path, "\n".join(whole) + "\n" + end, "\n".join(whole)))
    assert complaint.endswith("; the last lines of a.en, from 201 on, are empty: remove them")


def test_a_file_that_was_cut_short_is_not_reported_to_diverge_somewhere(tmp_path: Path) -> None:
    whole = varied_lines(200)
    complaint = refusal(two_files(tmp_path, "\n".join(whole), "\n".join(whole[:150])))
    assert "; they correspond up to about line 150: the end of a.ko is missing, or a line near it" in complaint
    assert "diverge" not in complaint


def test_where_all_lines_are_alike_no_line_is_named(tmp_path: Path) -> None:
    complaint = refusal(two_files(tmp_path, "same\n" * 200, "gleich\n" * 150))
    assert complaint.endswith("; where they diverge cannot be seen from the lengths of the lines")


# --- samples -----------------------------------------------------------------------------------------------------


def numbered(folder: Path, name: str, count: int) -> CorpusConfig:
    return one_file(folder, name, "".join(f"{name} {n}\tx\n" for n in range(count)))


@pytest.mark.parametrize("size", [1, 10, 400, 1000])
def test_a_sample_is_bounded_and_never_repeats(tmp_path: Path, size: int) -> None:
    corpora = [numbered(tmp_path, "a.tsv", 100), numbered(tmp_path, "b.tsv", 300)]
    sample = sample_pairs(corpora, size, seed=1)
    assert len(sample) == min(size, 400)
    assert len(set(sample)) == len(sample)


def test_a_sample_is_drawn_evenly_from_all_corpora(tmp_path: Path) -> None:
    corpora = [numbered(tmp_path, "a.tsv", 200), numbered(tmp_path, "b.tsv", 600)]
    drawn = [pair for seed in range(40) for pair in sample_pairs(corpora, 40, seed)]
    share = sum(source.startswith("a.tsv") for source, _ in drawn) / len(drawn)
    assert share == pytest.approx(0.25, abs=0.05)
    halves = sum(int(source.split()[1]) >= 300 for source, _ in drawn if source.startswith("b.tsv"))
    assert halves / len(drawn) == pytest.approx(0.375, abs=0.06)


def test_the_same_seed_draws_the_same_sample(tmp_path: Path) -> None:
    corpora = [numbered(tmp_path, "a.tsv", 200)]
    assert sample_pairs(corpora, 20, seed=4) == sample_pairs(corpora, 20, seed=4)
    assert sample_pairs(corpora, 20, seed=4) != sample_pairs(corpora, 20, seed=5)


def test_a_sample_is_normalised_text(tmp_path: Path) -> None:
    corpus = one_file(tmp_path, "a.tsv", "  two   words \t\u1112\u1161\u11ab\n")
    assert sample_pairs([corpus], 5, seed=1) == [("two words", "한")]


def test_lines_of_one_file_are_read_without_their_ends(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes("one\r\n\n두\u2028둘".encode())
    assert list(read_lines(tmp_path / "x.txt")) == ["one", "", "두\u2028둘"]


def test_the_expected_number_of_pairs_is_right_from_the_first_block_on(tmp_path: Path) -> None:
    """Small files are read at once: what is left to take is no guess."""
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("a line of text\n" * 10_000, encoding="utf-8")
    corpus = CorpusConfig(source=tmp_path / "a.en", target=tmp_path / "a.de")
    reading, pairs = Reading([corpus]), 0
    for block in BlockReader(corpus, reading):
        pairs += len(block)
        assert reading.expected(pairs) == 10_000
    assert pairs == 10_000


@pytest.mark.parametrize("packing", PACKED, ids=["plain", "gz", "zst"])
def test_a_line_that_is_too_long_for_a_line_is_refused(
    tmp_path: Path, packing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as /dev/zero: it is not read to its end."""
    monkeypatch.setattr("dragoman.data.corpus.corpus.LONGEST_LINE", 1 << 20)
    corpus = one_file(tmp_path, f"a.tsv{packing}", PACKED[packing](b"a\tb\n" + b"x" * (1 << 20) + b"\n"))
    assert len(list(zip(range(1), read_pairs(corpus), strict=False))) == 1
    corpus = one_file(tmp_path, f"a.tsv{packing}", PACKED[packing](b"a\tb\n" + b"x" * (3 << 20)))
    assert re.match(r"a\.tsv\S*:2: the line has more than 1 MiB; ", refusal(corpus))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("한\n글\n둘\n".encode("cp949"), r"a\.ko:1: not UTF-8 at byte 0 of the text"),
        ("한\n글\n둘\n".encode("utf-16"), r"a\.ko:1: not UTF-8 at byte 0 of the text"),
        (gzip.compress("한\n글\n둘\n".encode()), r"a\.ko: compressed by gzip; let its name end with \.gz"),
    ],
)
def test_a_file_of_another_encoding_is_not_called_too_short(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.ko").write_bytes(content)
    (tmp_path / "a.en").write_text("one\ntwo\n", encoding="utf-8")
    with pytest.raises(DataError, match=message):
        describe_unequal(CorpusConfig(source=tmp_path / "a.ko", target=tmp_path / "a.en"))
