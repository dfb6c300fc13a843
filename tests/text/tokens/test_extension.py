"""More pieces for a finished vocabulary: what stays, what changes, and what a new piece replaces."""

import random
from collections.abc import Sequence

import pytest

from dragoman.config import TokenizerConfig
from dragoman.text.tokens.extension import FEWEST, Extension, extend, with_symbols
from dragoman.text.tokens.model_file import model_pieces
from dragoman.text.tokens.tokenizer import EOS, Tokenizer, Vocabulary, learn

Pairs = list[tuple[str, str]]


def sentences(words: Sequence[str], count: int, seed: int) -> Pairs:
    rng = random.Random(seed)
    lines = [" ".join(rng.choices(words, k=rng.randint(3, 8))) for _ in range(count)]
    return [(line, line[::-1]) for line in lines]


GENERAL = sentences("the river runs along the old town and under its bridge where water sings".split(), 300, 1)
MEDICAL = sentences("the thrombocyte count and the leukocyte count rose under ciclosporin µg 血栓".split(), 300, 2)


@pytest.fixture(params=["unigram", "bpe"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def base(kind: str, **keys: object) -> Tokenizer:
    return learn(GENERAL, TokenizerConfig.model_validate({"kind": kind, **keys}))


@pytest.fixture(params=[True, False], ids=["joint", "separate"])
def extended(request: pytest.FixtureRequest, kind: str) -> tuple[Tokenizer, Extension]:
    tokenizer = base(kind, joint=request.param)
    return tokenizer, extend(tokenizer, MEDICAL, 20)


def test_old_pieces_keep_ids_and_scores(extended: tuple[Tokenizer, Extension]) -> None:
    before, extension = extended
    assert extension.tokenizer.joint == before.joint
    for side, replaced in zip(("source", "target"), extension.replaced, strict=True):
        old, new = (model_pieces(getattr(one, side).serialized) for one in (before, extension.tokenizer))
        assert new[: len(old)] == old
        assert len(new) == len(old) + len(replaced)
        assert 10 <= len(replaced) <= 20
        assert len({piece.text for piece in new}) == len(new)


def test_a_segmentation_changes_only_where_new_pieces_occur(extended: tuple[Tokenizer, Extension]) -> None:
    before, extension = extended
    for side, index in (("source", 0), ("target", 1)):
        size = len(getattr(before, side))
        words = {word for pairs in (GENERAL, MEDICAL) for pair in pairs for word in pair[index].split()}
        words |= {word[:-1] + "x" for word in words} | {"日本", "river-bed", "x1"}
        old, new = (one.encode(sorted(words), side) for one in (before, extension.tokenizer))  # type: ignore[arg-type]
        changed = 0
        for ids, now in zip(old, new, strict=True):
            assert ids == now or max(now) >= size
            changed += ids != now
        assert changed


def test_the_new_text_is_shorter_and_reads_the_same(extended: tuple[Tokenizer, Extension]) -> None:
    before, extension = extended
    texts = [source for source, _ in MEDICAL]
    old, new = (one.encode(texts, "source") for one in (before, extension.tokenizer))
    assert sum(map(len, new)) < 0.8 * sum(map(len, old))
    assert extension.tokens_after < 0.8 * extension.tokens_before
    assert extension.tokenizer.decode(new, "source") == texts
    drawn = extension.tokenizer.encode(texts[:20], "source", sampling=0.2, seed="1")
    assert extension.tokenizer.decode(drawn, "source") == texts[:20]


def test_a_piece_replaces_what_the_base_wrote_in_its_place(extended: tuple[Tokenizer, Extension]) -> None:
    before, extension = extended
    size, processor = len(before.source), before.source.processor
    for piece, ids in zip(
        model_pieces(extension.tokenizer.source.serialized)[size:], extension.replaced[0], strict=True
    ):
        assert all(EOS < token < size for token in ids)
        assert processor.DecodeIds(list(ids)).strip() == piece.text.removeprefix("▁")
        if piece.text.startswith("▁"):
            assert list(ids) == processor.EncodeAsIds(piece.text.removeprefix("▁"))


def test_characters_that_the_base_writes_in_bytes_become_pieces(kind: str) -> None:
    tokenizer = base(kind)
    [bytes_of] = tokenizer.encode(["血"], "source")
    assert len(bytes_of) >= 3
    extension = extend(tokenizer, MEDICAL, 20)
    [ids] = extension.tokenizer.encode(["血"], "source")
    assert len(ids) < len(bytes_of)
    without = base(kind, byte_fallback=False)
    again = extend(without, MEDICAL, 30)
    assert again.tokenizer.decode(again.tokenizer.encode(["血栓"], "source"), "source") == ["血栓"]


def test_two_models_with_one_numbering_keep_it(kind: str) -> None:
    joint = base(kind)
    copy = Vocabulary.load(joint.source.serialized, "copy")
    shared = extend(Tokenizer(joint.source, copy), MEDICAL, 20)
    assert shared.tokenizer.same_ids
    assert not shared.tokenizer.joint
    assert shared.replaced[0] == shared.replaced[1]


def test_pieces_are_words_of_one_script_and_occur_often(kind: str) -> None:
    pairs = [("ab12 ab12 가a", "x")] * 3 + [("zq zq zq", "x")] * (FEWEST - 4)
    extension = extend(base(kind), pairs, 50)
    new = model_pieces(extension.tokenizer.source.serialized)[len(base(kind).source) :]
    assert not any(any(character.isdigit() for character in piece.text) for piece in new)
    assert not any("가" in piece.text and "a" in piece.text for piece in new)
    assert extend(base(kind), [("zq", "x")], 50).replaced == ([], [])


@pytest.mark.parametrize("joint", [True, False])
def test_symbols_are_added_behind_all_pieces_and_are_never_divided(kind: str, joint: bool) -> None:
    before = base(kind, joint=joint)
    extension = with_symbols(before, 3)
    after = extension.tokenizer
    assert before.symbols == ()
    assert after.symbols == ("⟦0⟧", "⟦1⟧", "⟦2⟧")
    assert after.joint == before.joint
    for side, replaced in zip(("source", "target"), extension.replaced, strict=True):
        old, new = (model_pieces(getattr(one, side).serialized) for one in (before, after))
        assert new[: len(old)] == old
        assert [*map(list, replaced)] == before.encode(["{0}", "{1}", "{2}"], side)  # type: ignore[arg-type]
        [ids] = after.encode(["the⟦1⟧river ⟦0⟧."], side)  # type: ignore[list-item]
        assert [id_ - len(old) for id_ in ids if id_ >= len(old)] == [1, 0]
        assert after.decode([ids], side) == ["the⟦1⟧river ⟦0⟧."]  # type: ignore[arg-type]
        words = [word for pair in GENERAL for word in pair[0].split()]
        assert after.encode(words, side) == before.encode(words, side)  # type: ignore[arg-type]
