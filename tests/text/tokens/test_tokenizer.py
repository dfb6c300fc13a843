"""Tokenizer: text ↔ ids, with every special id where every tensor expects it."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.config import TokenizerConfig
from dragoman.errors import ConfigError, DataError, ModelError
from dragoman.text.tokens.model_file import PIECES, UNUSED, Piece, field, fields, model_pieces
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, UNK, Side, Tokenizer, Vocabulary, learn, usual_size
from dragoman.text.words.normalise import normalise

ENGLISH = "the small dog sees a red bird and two big cats in our old garden".split()
KOREAN = "작은 개가 빨간 새와 큰 고양이 두 마리를 우리 오래된 정원에서 본다".split()
LOWER_BLOCK = "\u2581"  # what SentencePiece writes for a space, so the one character it cannot keep


def sentences(words: list[str], count: int = 300) -> list[str]:
    rng = random.Random(7)
    return [" ".join(rng.choices(words, k=rng.randint(2, 9))) for _ in range(count)]


PAIRS = list(zip(sentences(ENGLISH), sentences(KOREAN), strict=True))


def config(**changes: object) -> TokenizerConfig:
    return TokenizerConfig.model_validate({"vocab_size": 320, **changes})


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def spelling(request: pytest.FixtureRequest) -> Tokenizer:
    """A tokenizer that spells what it has never seen in bytes."""
    return learn(PAIRS, config(kind=request.param))


@pytest.fixture(scope="module")
def separate() -> Tokenizer:
    return learn(PAIRS, config(joint=False, byte_fallback=False, vocab_size=36))


@pytest.fixture(scope="module")
def shared(separate: Tokenizer) -> Tokenizer:
    """The pieces of `separate` in one order for both sides; each side segments into its own."""
    return Tokenizer(*(Vocabulary.load(one_order(separate, side), side) for side in ("source", "target")))


def one_order(tokenizer: Tokenizer, side: Side) -> bytes:
    ours, theirs = (model_pieces(getattr(tokenizer, name).serialized) for name in ("source", "target"))
    own = {piece.text: piece for piece in (ours if side == "source" else theirs)}
    order = dict.fromkeys(piece.text for piece in [*ours, *theirs])
    pieces = [own.get(text, Piece(text, 0.0, UNUSED)) for text in order]
    kept = [field(number, value) for number, value in fields(getattr(tokenizer, side).serialized) if number != PIECES]
    return b"".join([*(field(PIECES, piece.message()) for piece in pieces), *kept])


@given(text=st.text())
def test_any_text_comes_back_as_it_was_normalised(spelling: Tokenizer, text: str) -> None:
    text = text.replace(LOWER_BLOCK, "")
    [ids] = spelling.encode([text], "source")
    assert spelling.decode([ids], "source") == [normalise(text)]
    assert UNK not in ids


@pytest.mark.slow
@given(text=st.text(alphabet=f"a {LOWER_BLOCK}한é", max_size=12))
def test_the_lower_block_alone_comes_back_as_a_space(spelling: Tokenizer, text: str) -> None:
    [ids] = spelling.encode([text], "source")
    assert normalise(spelling.decode([ids], "source")[0]) == normalise(normalise(text).replace(LOWER_BLOCK, " "))


@given(st.lists(st.sampled_from(sentences(KOREAN, 20) + ["", " "]), max_size=5))
def test_a_batch_is_encoded_as_its_lines_are(spelling: Tokenizer, texts: list[str]) -> None:
    assert spelling.encode(texts, "target") == [spelling.encode([text], "target")[0] for text in texts]


def test_special_ids_are_fixed_and_never_written_by_encode(spelling: Tokenizer) -> None:
    assert (PAD, UNK, BOS, EOS) == (0, 1, 2, 3)
    [ids] = spelling.encode(["the dog <s> </s> <pad> <unk> sees"], "source")
    assert min(ids) > EOS


def test_marks_and_padding_write_nothing_when_decoded(spelling: Tokenizer) -> None:
    [ids] = spelling.encode(["the dog sees"], "source")
    assert spelling.decode([[BOS, *ids, EOS, PAD, PAD], [], [PAD]], "source") == ["the dog sees", "", ""]


def test_an_empty_line_has_no_tokens_and_no_tokens_decode_to_an_empty_text(spelling: Tokenizer) -> None:
    assert spelling.encode(["", "  ", "\u200b"], "source") == [[], [], []]
    assert spelling.encode([], "source") == []
    assert spelling.decode([], "source") == []


def test_without_byte_fallback_a_strange_character_is_unknown(separate: Tokenizer) -> None:
    [ids] = separate.encode(["dog ☃"], "source")
    assert ids[-1] == UNK


def test_a_joint_vocabulary_is_one_object_for_both_sides(spelling: Tokenizer) -> None:
    assert spelling.joint
    assert len(spelling.source) == len(spelling.target) == 320


def test_separate_vocabularies_know_their_own_language_only(separate: Tokenizer) -> None:
    assert not separate.joint
    assert (len(separate.source), len(separate.target)) == (36, 36)
    line = "the small dog"
    assert separate.decode(separate.encode([line], "source"), "source") == [line]
    assert UNK in separate.encode([line], "target")[0]


def test_two_models_with_one_numbering_segment_as_before(separate: Tokenizer, shared: Tokenizer) -> None:
    assert shared.same_ids
    assert not shared.joint
    assert not separate.same_ids
    texts = [side for pair in PAIRS[:50] for side in pair]
    for side in ("source", "target"):
        old, new = (one.encode(texts, side) for one in (separate, shared))
        assert [shared.pieces(ids, side) for ids in new] == [separate.pieces(ids, side) for ids in old]
        assert shared.decode(new, side) == separate.decode(old, side)


def test_models_that_are_not_of_one_numbering_are_refused(
    separate: Tokenizer, shared: Tokenizer, tmp_path: Path
) -> None:
    shared.save(tmp_path)
    assert Tokenizer.load(tmp_path, shared=True).files == shared.files
    separate.save(tmp_path)
    assert Tokenizer.load(tmp_path).files == separate.files
    with pytest.raises(ModelError, match=r"target\.model: piece 4 is not that of source\.model; copy the model again"):
        Tokenizer.load(tmp_path, shared=True)


def test_one_numbering_for_two_models_is_not_learned() -> None:
    with pytest.raises(ConfigError, match=r"tokenizer\.shared: only an imported tokenizer is; set tokenizer\.joint"):
        learn(PAIRS, config(joint=False, shared=True))


def test_user_defined_symbols_stay_one_piece() -> None:
    symbols = ("{name}", "⟦1⟧")
    tokenizer = learn(PAIRS, config(user_defined_symbols=symbols))
    [ids] = tokenizer.encode(["the dog{name} sees ⟦1⟧."], "source")
    pieces = tokenizer.pieces(ids, "source")
    assert set(symbols) <= set(pieces)
    assert tokenizer.decode([ids], "source") == ["the dog{name} sees ⟦1⟧."]


def test_pieces_spell_the_text(spelling: Tokenizer) -> None:
    [ids] = spelling.encode(["the dog"], "source")
    assert "".join(spelling.pieces(ids, "source")).replace(LOWER_BLOCK, " ").strip() == "the dog"


@pytest.mark.parametrize("joint", [True, False], ids=["joint", "separate"])
def test_a_saved_tokenizer_loads_the_same(tmp_path: Path, joint: bool) -> None:
    tokenizer = learn(PAIRS, config(joint=joint, byte_fallback=joint, vocab_size=320 if joint else 36))
    tokenizer.save(tmp_path)
    again = Tokenizer.load(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == (
        {"joint.model"} if joint else {"source.model", "target.model"}
    )
    assert again.joint == joint
    assert again.source.serialized == tokenizer.source.serialized
    for side, texts in (("source", sentences(ENGLISH, 9)), ("target", sentences(KOREAN, 9))):
        assert again.encode(texts, side) == tokenizer.encode(texts, side)


def test_learning_twice_gives_the_same_pieces() -> None:
    assert learn(PAIRS, config()).source.serialized == learn(PAIRS, config()).source.serialized


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_vocabulary_larger_than_the_text_can_fill_says_what_fits(kind: str) -> None:
    with pytest.raises(
        ConfigError, match=r"^tokenizer.vocab_size: 9000 pieces are more than .* set \d+ or less$"
    ) as at:
        learn(PAIRS, config(kind=kind, vocab_size=9000))
    fits = int(str(at.value).split("set ")[1].split()[0])
    assert len(learn(PAIRS, config(kind=kind, vocab_size=fits)).source) == fits


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_vocabulary_too_small_for_the_characters_says_what_is_needed(kind: str) -> None:
    message = r"^tokenizer.vocab_size: 100 pieces cannot hold every character of both sides; set more than \d+$"
    with pytest.raises(ConfigError, match=message) as at:
        learn(PAIRS, config(kind=kind, vocab_size=100))
    needed = int(str(at.value).split("more than ")[1])
    assert len(learn(PAIRS, config(kind=kind, vocab_size=needed + 1)).source) == needed + 1


def test_the_side_that_cannot_fill_its_vocabulary_is_named() -> None:
    poor = [(source, "하나 둘") for source, _ in PAIRS]
    with pytest.raises(ConfigError, match="more than the target side of the text can fill"):
        learn(poor, config(joint=False, byte_fallback=False, vocab_size=30))


@pytest.mark.parametrize("symbol", ["<s>", "</s>", "<unk>", "<pad>"])
def test_a_symbol_that_is_a_mark_already_is_refused_by_its_key(symbol: str) -> None:
    with pytest.raises(ConfigError, match=r"tokenizer\.user_defined_symbols"):
        learn(PAIRS, config(user_defined_symbols=(symbol,)))


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_size_that_nobody_asked_for_is_made_to_fit_the_text(kind: str, joint: bool) -> None:
    tokenizer = learn(PAIRS, config(kind=kind, joint=joint, vocab_size=None))
    assert 200 < len(tokenizer.source) < usual_size(len(PAIRS))


def test_a_size_that_nobody_asked_for_has_space_for_every_character() -> None:
    text = "".join(chr(code) for code in range(0x4E00, 0x4E00 + 3000))
    lines = [(text[i : i + 60], text[i : i + 60]) for i in range(0, 3000, 30)]
    assert len(learn(lines, config(vocab_size=None, character_coverage=1.0)).source) > 3000


def test_more_text_means_more_pieces() -> None:
    sizes = [usual_size(pairs) for pairs in (100, 10_000, 20_000, 200_000, 500_000, 1_000_000)]
    assert sizes == [2000, 2000, 4000, 8000, 16_000, 32_000]


def test_no_text_is_a_data_error() -> None:
    with pytest.raises(DataError, match="both sides of the training text: no line of text shorter than 65,536 bytes"):
        learn([], config())


def test_a_damaged_tokenizer_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "joint.model").write_bytes(b"not a model")
    with pytest.raises(ModelError, match=r"joint\.model: not a SentencePiece model; copy the model, or the run, again"):
        Tokenizer.load(tmp_path)


def test_a_missing_tokenizer_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"source\.model: No such file"):
        Tokenizer.load(tmp_path)


def test_a_sentencepiece_model_with_other_marks_is_refused(tmp_path: Path) -> None:
    import sentencepiece

    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(sentences(ENGLISH)), model_prefix=str(tmp_path / "joint"), vocab_size=30, minloglevel=2
    )
    with pytest.raises(ModelError, match=r"joint\.model: pad, unk, bos, eos are \(-1, 0, 1, 2\), expected"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("joint", [True, False])
def test_no_text_contains_a_language_token(kind: str, joint: bool) -> None:
    tokenizer = learn(PAIRS, config(kind=kind, joint=joint, vocab_size=None), ["<2ko>", "<2en>"], ["__ko__"])
    source, target = tokenizer.marks(["<2en>", "<2ko>"], "source"), tokenizer.marks(["__ko__"], "target")
    assert tokenizer.pieces([*source], "source") == ["<2en>", "<2ko>"]
    assert tokenizer.pieces([*target], "target") == ["__ko__"]
    text = "<2en> the dog <2ko> sees __ko__"
    for sampling in (0.0, 0.3):
        [ids] = tokenizer.encode([text], "source", sampling=sampling)
        assert not {*source, *target} & {*ids}
        assert tokenizer.decode([[*source, *ids]], "source") == [text]


def test_a_tokenizer_without_a_language_token_says_so(spelling: Tokenizer) -> None:
    for name in ("<2ko>", "the", "<unk>"):
        with pytest.raises(ModelError, match=f"project.pairs: {name} is no language token of the source vocabulary"):
            spelling.marks([name], "source")


def test_a_user_defined_symbol_is_no_language_token() -> None:
    with pytest.raises(ConfigError, match="<2ko> is a language token"):
        learn(PAIRS, config(user_defined_symbols=["<2ko>"]), ["<2ko>"])
