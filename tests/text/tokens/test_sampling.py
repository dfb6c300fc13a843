"""Sampled pieces: the text stays, the draw can be repeated anywhere, and chance has the papers' distribution."""

import io
import random
import subprocess
import sys
from collections import Counter
from itertools import combinations, pairwise
from math import exp
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from dragoman.config import TokenizerConfig
from dragoman.text.tokens.sampling import Sampler
from dragoman.text.tokens.tokenizer import UNK, Tokenizer, Vocabulary, learn
from dragoman.text.words.normalise import normalise

SYLLABLES = ["gar", "den", "ti", "on", "er", "sta", "ra", "dog", "le", "sing", "un", "co"]
HANGUL = list("가나다라마고양이정원에서")
LOWER_BLOCK = "\u2581"  # what SentencePiece writes for a space, so the one character it cannot keep
SYMBOLS = ("{name}", "%s", "og")


def sentences(syllables: list[str], count: int = 300) -> list[str]:
    """Words of one to four syllables, nearly all different, so that pieces are smaller than words."""
    rng = random.Random(7)

    def word() -> str:
        return "".join(rng.choices(syllables, k=rng.randint(1, 4)))

    return [" ".join(word() for _ in range(rng.randint(2, 9))) for _ in range(count)]


PAIRS = list(zip(sentences(SYLLABLES), sentences(HANGUL), strict=True))
TEXTS = [side for pair in PAIRS[:100] for side in pair]


def tokenizer(kind: str, **changes: object) -> Tokenizer:
    return learn(PAIRS, TokenizerConfig.model_validate({"vocab_size": 360, "kind": kind, **changes}))


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def spelling(request: pytest.FixtureRequest) -> Tokenizer:
    return tokenizer(request.param, user_defined_symbols=SYMBOLS)


@pytest.fixture(scope="module", params=["bytes", "unknown"])
def merging(request: pytest.FixtureRequest) -> Tokenizer:
    if request.param == "bytes":
        return tokenizer("bpe", user_defined_symbols=SYMBOLS)
    return tokenizer("bpe", user_defined_symbols=SYMBOLS, byte_fallback=False, vocab_size=100)


# --- the text ----------------------------------------------------------------------------------------------------


@given(text=st.text() | st.sampled_from(TEXTS), rate=st.sampled_from([0.01, 0.1, 0.5, 0.99]))
def test_sampled_pieces_spell_the_same_text(spelling: Tokenizer, text: str, rate: float) -> None:
    text = text.replace(LOWER_BLOCK, "")
    [ids] = spelling.encode([text], "source", sampling=rate, seed="1")
    assert spelling.decode([ids], "source") == [normalise(text)]
    assert UNK not in ids


def test_user_defined_symbols_stay_whole(spelling: Tokenizer) -> None:
    for seed in range(50):
        [ids] = spelling.encode(["a {name}, dog%s{name}"], "source", sampling=0.3, seed=str(seed))
        pieces = spelling.pieces(ids, "source")
        assert [piece for piece in pieces if piece in SYMBOLS] == ["{name}", "og", "%s", "{name}"]


def test_a_word_is_cut_in_several_ways(spelling: Tokenizer) -> None:
    cuts = spelling.encode(["singdengar"] * 100, "source", sampling=0.2)
    assert len({tuple(cut) for cut in cuts}) >= 3


# --- again -------------------------------------------------------------------------------------------------------


def test_seed_and_side_determine_the_pieces(spelling: Tokenizer) -> None:
    first = spelling.encode(TEXTS, "source", sampling=0.2, seed="1/0/0")
    assert spelling.encode(TEXTS, "source", sampling=0.2, seed="1/0/0") == first
    assert spelling.encode(TEXTS, "source", sampling=0.2, seed="1/1/0") != first
    assert spelling.encode(TEXTS, "target", sampling=0.2, seed="1/0/0") != first


@pytest.mark.slow
def test_another_process_draws_the_same_pieces(spelling: Tokenizer, tmp_path: Path) -> None:
    spelling.save(tmp_path)
    program = (
        "import sys, pathlib; from dragoman.text.tokens.tokenizer import Tokenizer;"
        "print(Tokenizer.load(pathlib.Path(sys.argv[1])).encode(sys.argv[2:], 'source', sampling=0.2, seed='7'))"
    )
    texts = TEXTS[:20]
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path), *texts], capture_output=True, text=True)
    assert done.stdout.strip() == str(spelling.encode(texts, "source", sampling=0.2, seed="7")), done.stderr


def test_what_is_remembered_changes_nothing(spelling: Tokenizer) -> None:
    serialized = spelling.source.serialized
    warm = Sampler(serialized, 0.2)
    for text in TEXTS:
        warm.encode(text, random.Random(0))
    assert [warm.encode(text, random.Random(1)) for text in TEXTS] == [
        Sampler(serialized, 0.2).encode(text, random.Random(1)) for text in TEXTS
    ]


def test_without_sampling_nothing_is_drawn(spelling: Tokenizer) -> None:
    assert spelling.encode(TEXTS, "source", sampling=0.0, seed="1") == spelling.source.processor.EncodeAsIds(TEXTS)


def test_a_models_own_normaliser_comes_before_the_draw() -> None:
    """SentencePiece's own encoding runs the model's normaliser; the sampler takes the text that it writes."""
    model = io.BytesIO()
    lines = [*sentences(SYLLABLES), "A 1⁄2 fi"]
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=80, minloglevel=2, character_coverage=1.0,
        normalization_rule_name="nmt_nfkc", pad_id=0, unk_id=1, bos_id=2, eos_id=3,
    )  # fmt: skip
    vocabulary = Vocabulary.load(model.getvalue(), "imported")
    imported, text = Tokenizer(vocabulary, vocabulary), " Ａ  ½ ﬁ\u200b  gａrden "
    sharp = imported.encode([text], "source", sampling=0.999999)[0]
    assert (
        imported.decode([sharp], "source")
        == ["A 1⁄2 fi garden"]
        == imported.decode(imported.encode([text], "source"), "source")
    )
    assert UNK not in sharp


# --- BPE: against SentencePiece's own merges, and algorithm 1 of the paper --------------------------------------


@pytest.mark.slow
@given(
    text=st.text() | st.lists(st.sampled_from([*TEXTS, "▁", "▁▁ a", "{name}", "%s", "dogs"]), max_size=4).map("".join)
)
def test_with_no_merge_left_out_the_pieces_are_sentencepieces(merging: Tokenizer, text: str) -> None:
    never = Sampler(merging.source.serialized, 1e-300)
    assert never.encode(normalise(text), random.Random(1)) == merging.encode([text], "source")[0]


def algorithm_1(word: str, scores: dict[str, float], rate: float, rng: random.Random) -> tuple[str, ...]:
    """BPE-dropout as the paper writes it."""
    parts = list(word)
    while True:
        possible = [i for i in range(len(parts) - 1) if parts[i] + parts[i + 1] in scores]
        kept = [i for i in possible if rng.random() >= rate]
        if not kept:
            return tuple(parts)
        best = max(kept, key=lambda i: (scores[parts[i] + parts[i + 1]], -i))
        parts[best : best + 2] = [parts[best] + parts[best + 1]]


def shares(cuts: list[tuple[str, ...]]) -> dict[tuple[str, ...], float]:
    return {cut: count / len(cuts) for cut, count in Counter(cuts).items()}


def far_apart(a: dict[tuple[str, ...], float], b: dict[tuple[str, ...], float]) -> float:
    """Total variation distance."""
    return sum(abs(a.get(cut, 0.0) - b.get(cut, 0.0)) for cut in a.keys() | b.keys()) / 2


def drawn(tokenizer: Tokenizer, word: str, rate: float, count: int) -> list[tuple[str, ...]]:
    cuts = tokenizer.encode([word] * count, "source", sampling=rate, seed="3")
    return [tuple(tokenizer.pieces(cut, "source")) for cut in cuts]


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.1, 0.5])
@pytest.mark.parametrize("word", ["garden", "원원다라", "garden" + "z" * 30], ids=["short", "Korean", "not remembered"])
def test_merges_are_left_out_as_in_algorithm_1(word: str, rate: float) -> None:
    bpe = tokenizer("bpe")
    scores = Sampler(bpe.source.serialized, rate).scores
    rng = random.Random(5)
    paper = shares([algorithm_1(LOWER_BLOCK + word.rstrip("z"), scores, rate, rng) for _ in range(6000)])
    spelled = drawn(bpe, word, rate, 6000)  # z has no piece: it is spelled in bytes, and no merge concerns it
    ours = shares([tuple(piece for piece in cut if piece != "<0x7A>") for cut in spelled])
    assert len(paper) >= 3
    assert far_apart(ours, paper) < 0.05


# --- unigram: against all segmentations, written out -------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.1, 0.5])
@pytest.mark.parametrize("word", ["garden", "원원다라"])
def test_segmentations_are_drawn_by_their_probability_to_alpha(word: str, alpha: float) -> None:
    unigram = tokenizer("unigram")
    scores = Sampler(unigram.source.serialized, alpha).scores
    text = LOWER_BLOCK + word
    weights = {}
    for count in range(len(text)):
        for inner in combinations(range(1, len(text)), count):
            ends = (0, *inner, len(text))
            cut = tuple(text[a:b] for a, b in pairwise(ends))
            if all(piece in scores for piece in cut):
                weights[cut] = exp(alpha * sum(scores[piece] for piece in cut))
    law = {cut: weight / sum(weights.values()) for cut, weight in weights.items()}
    assert len(law) >= 3
    assert far_apart(shares(drawn(unigram, word, alpha, 6000)), law) < 0.05


def test_a_sharp_distribution_is_the_best_segmentation() -> None:
    unigram = tokenizer("unigram")
    sharp = Sampler(unigram.source.serialized, 1000.0)
    assert [sharp.encode(text, random.Random(1)) for text in TEXTS] == unigram.encode(TEXTS, "source")
