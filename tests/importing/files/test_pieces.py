"""SentencePiece models written again: every text is segmented as before, into ids of one numbering."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ModelError
from dragoman.importing.files.pieces import (
    NAMES,
    Renumbered,
    SpecialIds,
    read_model,
    read_vocabulary,
    renumber,
    tokenizer_keys,
)
from dragoman.text.tokens.model_file import CONTROL, UNUSED, model_pieces
from dragoman.text.tokens.tokenizer import EOS, UNK, Tokenizer, Vocabulary

ENGLISH = ["the small dog sees a red bird", "two big cats in our old garden", "a bird sees the dog"]
KOREAN = ["작은 개가 빨간 새를 본다", "우리 정원의 큰 고양이 두 마리", "새가 개를 본다"]
MARKS = [">>kor<<", ">>cmn_Hans<<"]
HERE = Path("source.spm"), Path("target.spm")


def is_mark(piece: str) -> bool:
    return piece.startswith(">>") and piece.endswith("<<") and len(piece) > 4


def learned(lines: list[str], **options: object) -> bytes:
    """A model with <unk> <s> </s> as 0 1 2 and a normaliser, as Marian's training makes one."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(lines * 20), model_writer=model, hard_vocab_limit=False, minloglevel=2,
        character_coverage=1.0, **{"vocab_size": 60, **options},
    )  # fmt: skip
    return model.getvalue()


def loaded(serialized: bytes) -> sentencepiece.SentencePieceProcessor:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(serialized)
    return processor


def numbering(*models: bytes, lacking: int = 4) -> dict[str, int]:
    """A vocabulary that lacks the last pieces of each model, with special tokens in odd places."""
    own = [[piece.text for piece in model_pieces(model)[3:-lacking]] for model in models]
    pieces = list(dict.fromkeys(text for side in own for text in side))
    order = [*pieces[:20], "</s>", *MARKS, ">>", *pieces[20:30], "<unk>", *pieces[30:], "🜚", "<pad>"]
    return {piece: id_ for id_, piece in enumerate(order)}


def special(vocabulary: dict[str, int]) -> SpecialIds:
    padding = vocabulary["<pad>"]
    return SpecialIds(vocabulary["<unk>"], padding, vocabulary["</s>"], (padding,))


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def models(request: pytest.FixtureRequest) -> tuple[bytes, bytes]:
    return learned(ENGLISH, model_type=request.param), learned(KOREAN, model_type=request.param)


@pytest.fixture(scope="module")
def originals(models: tuple[bytes, bytes]) -> list[sentencepiece.SentencePieceProcessor]:
    return [loaded(model) for model in models]


@pytest.fixture(scope="module")
def vocabulary(models: tuple[bytes, bytes]) -> dict[str, int]:
    return numbering(*models)


@pytest.fixture(scope="module")
def found(models: tuple[bytes, bytes], vocabulary: dict[str, int]) -> Renumbered:
    return renumber(dict(zip(HERE, models, strict=True)), vocabulary, special(vocabulary), is_mark, Path("vocab.json"))


TEXT = st.text(alphabet="abdegorst hé개새본다🜚<>▁", max_size=20) | st.sampled_from(
    [*ENGLISH, *KOREAN, ">>kor<< the dog", ">>kor<<", "the >>cmn_Hans<< dog", "<pad> </s> <s> <unk>", "Ａ ½ ﬁ"]
)


def test_text_is_segmented_into_the_same_pieces(
    originals: list[sentencepiece.SentencePieceProcessor], found: Renumbered
) -> None:
    """So no text reaches a language token, or a piece of the other side."""

    @given(text=TEXT)
    def check(text: str) -> None:
        for original, after in zip(originals, found.models, strict=True):
            pieces = after.processor.EncodeAsPieces(text)
            assert pieces == original.EncodeAsPieces(text)
            for token, piece in zip(after.processor.EncodeAsIds(text), pieces, strict=True):
                assert token == UNK or after.processor.IdToPiece(token) == piece
                assert not after.processor.IsControl(token)
                assert not after.processor.IsUnused(token)

    check()


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_two_languages_of_one_script_do_not_change_the_segmentation_of_each_other(kind: str) -> None:
    """A BPE model merges into pieces of the other side too, before it divides them again."""
    french = [
        "le petit chien voit un oiseau rouge",
        "deux grands chats dans notre vieux jardin",
        "un oiseau voit le chien",
    ]
    models = [learned(lines, model_type=kind) for lines in (ENGLISH, french)]
    vocabulary = numbering(*models, lacking=1)
    numbered = renumber(dict(zip(HERE, models, strict=True)), vocabulary, special(vocabulary), is_mark, Path("v"))
    lines = [*ENGLISH, *french, "a garden in the jardin", "little birds"]
    for before, after in zip(map(loaded, models), numbered.models, strict=True):
        assert [before.EncodeAsPieces(line) for line in lines] == [
            after.processor.EncodeAsPieces(line) for line in lines
        ]


@pytest.mark.slow
def test_ids_are_those_of_the_vocabulary(
    originals: list[sentencepiece.SentencePieceProcessor], vocabulary: dict[str, int], found: Renumbered
) -> None:
    """Of pieces that a model has: an unknown character is unknown even where the other side has it."""
    unk = vocabulary["<unk>"]

    @given(text=TEXT)
    def check(text: str) -> None:
        for original, after in zip(originals, found.models, strict=True):
            known = zip(original.EncodeAsPieces(text), original.EncodeAsIds(text), strict=True)
            ids = [vocabulary.get(piece, unk) if token else unk for piece, token in known]
            assert [found.rows[token] for token in after.processor.EncodeAsIds(text)] == ids

    check()


def test_ids_are_spelled_as_the_pieces_joined(found: Renumbered) -> None:
    """Pieces of the other side too: a network may generate any."""
    processor = found.models[1].processor

    @given(ids=st.lists(st.integers(EOS + 1, len(found.rows) - 1)))
    def check(ids: list[int]) -> None:
        pieces = [piece for piece in map(processor.IdToPiece, ids) if piece not in MARKS]
        assert processor.DecodeIds(ids) == "".join(pieces).replace("▁", " ").lstrip(" ")

    check()


def test_both_models_have_one_numbering_with_extras_at_its_end(
    models: tuple[bytes, bytes], vocabulary: dict[str, int], found: Renumbered
) -> None:
    tokenizer = Tokenizer(*found.models)
    assert tokenizer.same_ids
    pieces = tokenizer.pieces(range(len(found.models[0])), "source")
    assert tuple(pieces[:4]) == NAMES
    assert len(pieces) == len(found.rows)
    known = pieces[4 : len(pieces) - found.extras]
    assert [vocabulary[piece] for piece in known] == list(found.rows[4 : len(pieces) - found.extras])
    assert found.rows[:4] == (-1, vocabulary["<unk>"], vocabulary["<pad>"], vocabulary["</s>"])
    assert set(found.rows[len(pieces) - found.extras :]) == {vocabulary["<unk>"]}
    assert found.lacking == (4, 4)
    assert set(pieces[len(pieces) - found.extras :]) == {
        piece.text for model in models for piece in model_pieces(model)[3:] if piece.text not in vocabulary
    }


def test_language_tokens_are_control_pieces_and_pieces_of_the_other_side_unused(found: Renumbered) -> None:
    assert list(found.marks) == MARKS
    for side, model in enumerate(found.models):
        types = {piece.text: piece.type for piece in model_pieces(model.serialized)}
        assert all(types[mark] == CONTROL for mark in MARKS)
        assert types[">>"] == types["🜚"] == UNUSED
        assert types["g" if side else "개"] == UNUSED
        assert Tokenizer(model, model).marks(MARKS, "source")


def test_the_kind_and_bytes_of_a_model_are_known() -> None:
    spelling = learned(ENGLISH, model_type="bpe", byte_fallback=True, vocab_size=300)
    assert tokenizer_keys(spelling) == {"kind": "bpe", "byte_fallback": True}
    assert tokenizer_keys(learned(ENGLISH)) == {"kind": "unigram", "byte_fallback": False}
    names = numbering(spelling, lacking=1)
    [again] = renumber({HERE[0]: spelling}, names, special(names), is_mark, Path("vocab.json")).models
    assert again.processor.EncodeAsPieces("dog é 개") == loaded(spelling).EncodeAsPieces("dog é 개")


# --- what is refused ---------------------------------------------------------------------------------------------


def test_a_model_of_another_vocabulary_is_refused(models: tuple[bytes, bytes]) -> None:
    other = numbering(models[1])
    with pytest.raises(ModelError, match=r"source\.spm: does not belong to vocab\.json, which has few of its pieces"):
        renumber({HERE[0]: models[0]}, other, special(other), is_mark, Path("vocab.json"))


def test_an_empty_piece_is_refused(models: tuple[bytes, bytes]) -> None:
    names = numbering(*models)
    names[""] = len(names)
    with pytest.raises(ModelError, match=r"vocab\.json: an empty piece"):
        renumber({HERE[0]: models[0]}, names, special(names), is_mark, Path("vocab.json"))
    names["\ud800"] = names.pop("")
    with pytest.raises(ModelError, match=r"vocab\.json: a piece with an unpaired surrogate"):
        renumber({HERE[0]: models[0]}, names, special(names), is_mark, Path("vocab.json"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "cannot be read"),
        (b'{"a": 0, "b"', "cannot be read"),
        (b"[1, 2]", "not pieces with their ids"),
        (b'{"a": 0, "b": "1"}', "not pieces with their ids"),
        (b'{"a": 0, "b": true}', "not pieces with their ids"),
        (b'{"a": 0, "b": 2}', "the ids are not those from 0 to 1: see 1"),
        (b'{"a": 0, "b": 0}', "the ids are not those from 0 to 1: see 1"),
        (b'{"a": -1, "b": 0}', "the ids are not those from 0 to 1: see 0"),
    ],
)
def test_a_vocabulary_that_is_none_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "vocab.json").write_bytes(content)
    with pytest.raises(ModelError, match=rf"vocab\.json: {says}"):
        read_vocabulary(tmp_path / "vocab.json")


def test_a_vocabulary_is_read_as_it_was_written(tmp_path: Path, vocabulary: dict[str, int]) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    assert read_vocabulary(tmp_path / "vocab.json") == vocabulary


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[:-3], lambda b: b"version https://git", lambda b: b[1:]])
def test_a_file_that_is_no_sentencepiece_model_is_refused(
    tmp_path: Path, models: tuple[bytes, bytes], damage: Callable[[bytes], bytes]
) -> None:
    (tmp_path / "source.spm").write_bytes(damage(models[0]))
    with pytest.raises(ModelError, match=r"source\.spm: not a SentencePiece model; fetch the file again"):
        read_model(tmp_path / "source.spm")


def test_a_missing_or_huge_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=r"source\.spm: No such file or directory; it belongs to the model"):
        read_model(tmp_path / "source.spm")
    monkeypatch.setattr("dragoman.importing.files.settings.LARGEST_FILE", 3)
    (tmp_path / "source.spm").write_bytes(b"1234")
    with pytest.raises(ModelError, match=r"source\.spm: 4 bytes, more than any vocabulary has"):
        read_model(tmp_path / "source.spm")


def test_models_keep_loading_as_ours(found: Renumbered) -> None:
    for model in found.models:
        assert Vocabulary.load(model.serialized, "again").processor.GetPieceSize() == len(found.rows)
