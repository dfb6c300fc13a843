"""A SentencePiece model's file: what is read is what SentencePiece's API says, and what is written is read the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from dragoman.config import TokenizerConfig
from dragoman.errors import ModelError
from dragoman.text.tokens.model_file import (
    ADD_DUMMY_PREFIX,
    CONTROL,
    NORMALIZER_SPEC,
    PIECES,
    TRAINER_SPEC,
    UNKNOWN,
    VOCAB_SIZE,
    Piece,
    field,
    fields,
    model_pieces,
    replaced,
    section,
)
from dragoman.text.tokens.sampling import Sampler
from dragoman.text.tokens.tokenizer import learn

LINES = [("the small dog sees a red bird", "작은 개가 빨간 새를 본다")] * 30


@pytest.fixture(scope="module")
def serialized() -> bytes:
    return learn(LINES, TokenizerConfig(vocab_size=286)).source.serialized


def loaded(serialized: bytes) -> SentencePieceProcessor:
    processor = SentencePieceProcessor()
    processor.LoadFromSerializedProto(serialized)
    return processor


def test_pieces_are_those_that_sentencepiece_has(serialized: bytes) -> None:
    processor, pieces = loaded(serialized), model_pieces(serialized)
    ids = range(processor.GetPieceSize())
    assert [piece.text for piece in pieces] == [processor.IdToPiece(token) for token in ids]
    assert [piece.score for piece in pieces] == [processor.GetScore(token) for token in ids]
    assert [piece.type == CONTROL for piece in pieces] == [processor.IsControl(token) for token in ids]
    assert [piece.type == UNKNOWN for piece in pieces] == [processor.IsUnknown(token) for token in ids]
    assert section(serialized, TRAINER_SPEC)[VOCAB_SIZE] == len(pieces)


def test_what_is_written_is_the_same_model(serialized: bytes) -> None:
    rest = b"".join(field(number, value) for number, value in fields(serialized) if number != PIECES)
    again = b"".join(field(PIECES, piece.message()) for piece in model_pieces(serialized)) + rest
    text = LINES[0][0]
    assert model_pieces(again) == model_pieces(serialized)
    assert loaded(again).EncodeAsIds(text) == loaded(serialized).EncodeAsIds(text)


@given(
    text=st.text(min_size=1),
    score=st.floats(width=32, allow_nan=False),
    kind=st.integers(1, 6),
    number=st.integers(0, 2**40),
)
def test_any_piece_and_number_can_be_written(text: str, score: float, kind: int, number: int) -> None:
    piece = Piece(text, score, kind)
    assert list(fields(field(1, piece.message()) + field(300, number))) == [(1, piece.message()), (300, number)]
    assert Piece.read(piece.message()) == piece


def test_fields_are_replaced_and_the_others_kept(serialized: bytes) -> None:
    [trainer] = [value for number, value in fields(serialized) if number == TRAINER_SPEC and isinstance(value, bytes)]
    changed = dict(fields(replaced(trainer, {VOCAB_SIZE: 7, 45: b"<unk>"})))
    assert changed == {**dict(fields(trainer)), VOCAB_SIZE: 7, 45: b"<unk>"}


def test_a_message_that_is_cut_off_is_a_value_error() -> None:
    piece, number = field(1, b"dog"), field(3, 300)
    for cut in (piece[:1], piece[:-1], number[:1], number[:-1], b"\x15\x00", b"\x07\x00"):
        with pytest.raises(ValueError, match=r"cut off|longer than the message|of the unknown kind 7"):
            list(fields(number + cut))


def test_a_model_without_a_space_before_the_text_is_not_sampled(serialized: bytes) -> None:
    with pytest.raises(ModelError, match=r"tokenizer\.sampling: this SentencePiece model puts no space before"):
        Sampler(serialized + field(NORMALIZER_SPEC, field(ADD_DUMMY_PREFIX, 0)), 0.1)
