"""Fingerprints of texts, against definitions in plain Python."""

import random
import unicodedata

import numpy as np
import pytest

from dragoman.data.corpus import hashing, near_duplicates
from dragoman.data.corpus.hashing import letter_hashes, text_hashes
from dragoman.data.corpus.near_duplicates import (
    NearIndex,
    band_keys,
    signatures,
    similarity,
)
from dragoman.text.words.normalise import folded
from similar_texts import jaccard, letters

WORDS = (
    "the of ship harbour dragon Übersetzung naïve 번역 모델 데이터를 학습합니다 ต้นไม้ 東京 3 14 % & x_1 don't".split()
)


def lines(count: int, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    texts = [" ".join(draw.choices(WORDS, k=draw.randrange(1, 12))) for _ in range(count)]
    changes = [
        str.upper,
        str.title,
        lambda t: t + "  ",
        lambda t: "\u200b" + t,
        lambda t: t.replace(" ", "\u00a0 "),
        lambda t: unicodedata.normalize("NFD", t),
        lambda t: t.replace("3", "7"),
        lambda t: t + "!",
        str,
    ]
    return [
        *texts,
        *(draw.choice(changes)(draw.choice(texts)) for _ in range(count)),
        "",
        " ",
        "3",
        "7",
        "3.",
        "\u200b",
    ]


def same_partition(hashes: np.ndarray, keys: list[str]) -> bool:
    """Whether equal hashes are exactly equal keys."""
    return len({*zip(hashes.tolist(), keys, strict=True)}) == len({*hashes.tolist()}) == len({*keys})


@pytest.mark.slow
def test_a_table_folds_lines_as_normalisation_does() -> None:
    draw = random.Random(3)
    everything = [chr(code) for code in range(0x20000) if chr(code) != "\n"]
    odd = [
        *"aZ ß İſﬁ가ᄀ\u1161\u11a8각\u0301\u0345é\u200b\u00a0\u2000\t\r\x00\x01\x02Å\u0958\u09c7\u09beΣς",
        "\ud800",
        "𝒜",
        "👍",
    ]
    texts = [f"x{one} {one}" for one in everything]
    texts += ["".join(draw.choices(odd, k=draw.randrange(8))) for _ in range(5000)]
    assert text_hashes(texts).tolist() == hashing._slow_text_hashes(texts).tolist()
    assert text_hashes(["a\nb", "c"]).tolist() == hashing._slow_text_hashes(["a b", "c"]).tolist()


def test_hashes_are_equal_exactly_where_the_folded_texts_are() -> None:
    texts = lines(1500)
    assert same_partition(text_hashes(texts), [folded(text) for text in texts])
    assert same_partition(letter_hashes(texts), [letters(text) for text in texts])


@pytest.mark.parametrize("function", [text_hashes, letter_hashes, signatures])
def test_a_text_has_the_same_fingerprint_in_any_block(function) -> None:  # type: ignore[no-untyped-def]
    texts = lines(40)
    assert np.array_equal(function(texts), np.concatenate([function([text]) for text in texts]))
    assert len(function([])) == 0


def test_a_fingerprint_never_changes() -> None:
    """They decide which pairs are held out: the same on every machine and in every release."""
    assert text_hashes(["The ship"]).tolist() == [17043046923363962852]
    assert letter_hashes(["The ship"]).tolist() == [10669310211807950014]
    assert signatures(["The ship"])[0, :2].tolist() == [82499978, 128470038]


def test_equal_entries_estimate_the_similarity() -> None:
    draw = random.Random(2)
    alphabet = "abcdefghijklmnopqrstuvwxyz 가나다라마바사아자차카타파하"
    ones = ["".join(draw.choices(alphabet, k=60)) for _ in range(600)]
    others = []
    for text in ones:
        at, length = draw.randrange(30), draw.randrange(60)
        others.append(text[:at] + "".join(draw.choices(alphabet, k=length)) + text[at + length :])
    estimated = similarity(signatures(ones), signatures(others))
    exact = np.array([jaccard(one, other) for one, other in zip(ones, others, strict=True)])
    ngrams = near_duplicates._ngrams
    grams = [[{*ngrams(*hashing.letters_of([text])).tolist()} for text in texts] for texts in (ones, others)]
    assert np.array_equal(exact, [len(a & b) / len(a | b) for a, b in zip(*grams, strict=True)])
    assert abs((estimated - exact).mean()) < 0.01
    assert np.abs(estimated - exact).mean() < 0.1
    shared = (band_keys(signatures(ones)) == band_keys(signatures(others))).any(axis=1)
    assert shared[exact > 0.7].mean() > 0.9
    assert shared[exact < 0.2].mean() < 0.1


def test_the_index_finds_near_duplicates_and_no_others() -> None:
    texts = [
        f"{a} {b} was never seen in the old {c} of the {d}" for a, b, c, d in zip(*[iter(names())] * 4, strict=True)
    ]
    index = NearIndex()
    for start in range(0, len(texts), 64):
        block = signatures(texts[start : start + 64])
        index.add(block, np.arange(start, start + len(block)))
    assert len(index) == len(texts)
    changed = [text.upper().replace(" THE ", " a ", 1) + " 1999!" for text in texts]
    assert np.array_equal(index.find(signatures(changed)), np.arange(len(texts)))
    assert (index.find(signatures([" ".join(names(seed)) for seed in range(7, 40)])) == -1).all()


def test_the_index_stops_at_its_capacity() -> None:
    index = NearIndex(capacity=3)
    texts = ["first text of all", "another line", "the third of them", "one too many here"]
    index.add(signatures(texts), np.arange(4))
    assert index.find(signatures(texts)).tolist() == [0, 1, 2, -1]


def names(seed: int = 3) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices("bcdfghklmnprstvwzaeiou", k=9)) for _ in range(1200)]
