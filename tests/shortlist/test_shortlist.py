"""The shortlist: a value, a file that CTranslate2 reads too, and what the attention of a trained model teaches."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from dragoman.config import CorpusConfig, RunConfig, TokenizerConfig
from dragoman.data.batches.batch import Example, collate
from dragoman.data.corpus.corpus import sample_pairs
from dragoman.errors import ModelError
from dragoman.model.parts.attention import padding_mask
from dragoman.model.transformer import Transformer
from dragoman.shortlist.file import Shortlist, coverage
from dragoman.shortlist.learn import AttentionChoice, Counts, count, cross_attention, learn_shortlist
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, learn
from dragoman.training.loop import Trainer

CPU = torch.device("cpu")
WORDS = {"red": "rot", "dog": "hund", "cat": "katze", "sees": "sieht", "big": "gross", "two": "zwei", "bird": "vogel"}


@pytest.fixture(scope="module")
def toy_tokenizer(toy_corpus: Path) -> Tokenizer:
    """Every word is a piece, so that pieces have translations."""
    text = sample_pairs([CorpusConfig(source=toy_corpus / "train.tsv")], 1000, 1)
    return learn(text, TokenizerConfig(kind="bpe", vocab_size=330))


@pytest.fixture
def shortlist() -> Shortlist:
    return Shortlist((PAD, UNK, BOS, EOS, 40), {270: (281, 275), 271: (270,), 5: (40, 6)})


# --- the value and its file ---------------------------------------------------------------------------------------


def test_candidates_are_those_always_allowed_and_those_of_each_piece(shortlist: Shortlist) -> None:
    assert shortlist.candidates([]) == [PAD, UNK, BOS, EOS, 40]
    assert shortlist.candidates([270, 9, 270]) == [PAD, UNK, BOS, EOS, 40, 275, 281]
    assert shortlist.candidates([270, 5]) == [PAD, UNK, BOS, EOS, 6, 40, 275, 281]


def test_coverage_by_hand(shortlist: Shortlist) -> None:
    found = coverage(shortlist, [([270], [281, 275, 99, 40]), ([9], [99])], 300)
    assert (found.pairs, found.share, found.size, found.vocabulary) == (2, 3 / 5, 6.0, 300)


def test_what_is_saved_is_what_is_loaded(shortlist: Shortlist, toy_tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text(shortlist.text(toy_tokenizer), encoding="utf-8")
    assert Shortlist.load(tmp_path / "s.txt", toy_tokenizer) == shortlist


def test_the_file_has_one_line_per_piece_in_words(shortlist: Shortlist, toy_tokenizer: Tokenizer) -> None:
    first, second, *_ = shortlist.text(toy_tokenizer).split("\n")
    assert first.startswith("\t<pad> <unk> <s> </s> <0x")
    [source] = toy_tokenizer.pieces([270], "source")
    assert second == f"{source}\t{' '.join(toy_tokenizer.pieces([281, 275], 'target'))}"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "s.txt:1: not a source piece, a tab and target pieces"),
        (b"\t<s>\n\xc3\n", "cannot be read: "),
        (b"\t<s>\n<s> <s>\n", "s.txt:2: not a source piece, a tab"),
        (b"\t<s>\n<s>\t\n", "s.txt:2: not a source piece, a tab"),
        (b"\t<s>\n<s>\tnonsense\n", "s.txt:2: 'nonsense' is not a piece of this model"),
        (b"\t<s>\nnonsense\t<s>\n", "s.txt:2: 'nonsense' is not a piece of this model"),
        (b"\t<s>  <s>\n", "s.txt:1: '' is not a piece of this model"),
        (b"<s>\t<s>\n", "no line of pieces that are always allowed"),
    ],
)
def test_a_spoilt_file_is_refused_by_its_line(
    content: bytes, complaint: str, toy_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "s.txt").write_bytes(content)
    with pytest.raises(ModelError) as refused:
        Shortlist.load(tmp_path / "s.txt", toy_tokenizer)
    assert complaint in str(refused.value)


@pytest.mark.parametrize("piece", ["a b", "a\tb", "a\r", ""])
def test_a_piece_that_would_part_a_line_is_refused(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd:
        def pieces(self, tokens: list[int], side: str) -> list[str]:
            return [piece for _ in tokens]

    with pytest.raises(ModelError, match="cannot be in a shortlist"):
        Shortlist((4,), {}).text(Odd())  # type: ignore[arg-type]


# --- counting ----------------------------------------------------------------------------------------------------


def test_counts_add_up_however_they_come() -> None:
    counts = Counts(10)
    counts.add(torch.tensor([1, 1, 2]), torch.tensor([3, 3, 4]), torch.tensor([0.5, 0.25, 1.0]))
    counts.fold()
    counts.add(torch.tensor([2, 0]), torch.tensor([4, 9]), torch.tensor([1.0, 2.0]))
    codes, weights = counts.fold()
    assert (codes.tolist(), weights.tolist()) == ([9, 13, 24], [2.0, 0.75, 2.0])


def test_mutual_information_of_a_dictionary_and_of_chance() -> None:
    pairs = torch.tensor([0, 1, 2, 3])
    dictionary, chance = Counts(4), Counts(4)
    dictionary.add(pairs, pairs, torch.ones(4))
    chance.add(pairs.repeat_interleave(4), pairs.repeat(4), torch.ones(16))
    assert dictionary.information() == pytest.approx(torch.tensor(4.0).log().item())
    assert chance.information() == pytest.approx(0.0, abs=1e-6)


def test_the_attention_watched_is_softmax_of_queries_and_keys(build: Callable[..., Transformer]) -> None:
    model = build()
    batch = collate([Example([5, 6, 7], [8, 9], ""), Example([5], [8, 9, 10, 11], "")])
    with torch.no_grad(), cross_attention(model, {1}) as seen:
        state = model.encode(batch.src, padding_mask(batch.src, PAD))
        model.decode_features(batch.tgt_in, state)
    assert set(seen) == {1}
    assert seen[1].shape == (2, 5, 4)
    assert torch.allclose(seen[1].sum(2), torch.ones(2, 5))
    assert float(seen[1][1, :, 2:].sum()) == 0.0, "no weight on padding"
    before = seen[1]
    with torch.no_grad():
        model.decode_features(batch.tgt_in, state)
    assert seen[1] is before, "watched no longer"


def test_ends_and_padding_are_not_counted(build: Callable[..., Transformer]) -> None:
    examples = [Example([5, 6, 7], [8, 9], ""), Example([5], [8, 9, 10, 11], "")]
    for late in (False, True):
        reading = AttentionChoice(0, late)
        codes, _ = count(build(), examples, CPU, [reading], 13)[reading].fold()
        joined = {divmod(code, 13) for code in codes.tolist()}
        assert {source for source, _ in joined} <= {5, 6, 7}
        assert {target for _, target in joined} == {8, 9, 10, 11}


# --- learned from a trained model ---------------------------------------------------------------------------------


def _sentences(tokenizer: Tokenizer, count: int, seed: int) -> list[Example]:
    rng = random.Random(seed)
    rows = [[rng.choice(list(WORDS)) for _ in range(rng.randint(1, 9))] for _ in range(count)]
    sources = tokenizer.encode([" ".join(row) for row in rows], "source")
    targets = tokenizer.encode([" ".join(WORDS[word] for word in row) for row in rows], "target")
    return [Example(source, target, "") for source, target in zip(sources, targets, strict=True)]


@pytest.mark.slow
def test_a_trained_model_teaches_its_dictionary(
    toy_run: Callable[..., RunConfig],
    toy_trainer: Callable[..., Trainer],
    toy_tokenizer: Tokenizer,
    tmp_path: Path,
) -> None:
    config = toy_run(max_steps=400, validate_every=400, learning_rate=1e-2, warmup=40)
    trainer = toy_trainer(
        config.model_copy(update={"model": config.model.model_copy(update={"dropout": 0.0})}), tmp_path
    )
    trainer.fit()
    examples = _sentences(toy_tokenizer, 300, seed=8)
    learned = learn_shortlist(trainer.final, toy_tokenizer, examples, CPU, per_piece=4, frequent=0)
    assert {PAD, UNK, BOS, EOS} < set(learned.always)
    assert len(learned.always) == 4 + 256, "marks and bytes"
    only = learn_shortlist(trainer.final, toy_tokenizer, examples, CPU, per_piece=1, frequent=0)
    words, translations = (
        toy_tokenizer.encode(list(side), name) for side, name in ((WORDS, "source"), (WORDS.values(), "target"))
    )
    for [word], [translation] in zip(words, translations, strict=True):
        assert set(only.by_source[word]) - {word} == {translation}, "next to the word itself, a name's translation"
    again = learn_shortlist(trainer.final, toy_tokenizer, examples, CPU, per_piece=4, frequent=0)
    assert again == learned


def test_sizes_are_as_asked_for_and_a_piece_of_both_sides_is_its_own_candidate(
    build: Callable[..., Transformer], toy_tokenizer: Tokenizer
) -> None:
    examples = _sentences(toy_tokenizer, 40, seed=8)
    model = build(vocab=len(toy_tokenizer.target))
    learned = learn_shortlist(model, toy_tokenizer, examples, CPU, per_piece=2, frequent=3)
    assert len(learned.always) <= 4 + 256 + 3
    for source, targets in learned.by_source.items():
        assert len(targets) <= 2 + 1
        assert not set(targets) & set(learned.always)
        assert source in learned.candidates([source])


# --- in CTranslate2 -----------------------------------------------------------------------------------------------


def test_ctranslate2_reads_the_file_as_we_do(toy_tokenizer: Tokenizer, tmp_path: Path, toy_ct2: Path) -> None:
    import ctranslate2
    import numpy as np

    source, other = [270, 271, 280], [275, 282]
    shortlist = Shortlist((PAD, UNK, BOS, EOS, 40, 41), {270: (281, 275), 271: (270, 278), 282: (261, 262)})
    (toy_ct2 / "vmap.txt").write_text(shortlist.text(toy_tokenizer), encoding="utf-8")
    translator = ctranslate2.Translator(str(toy_ct2), device="cpu")

    def width(*sources: list[int]) -> int:
        pieces = [toy_tokenizer.pieces(ids, "source") for ids in sources]
        options = {"max_decoding_length": 1, "use_vmap": True, "return_logits_vocab": True, "beam_size": 1}
        return max(np.array(found.logits[0]).size for found in translator.translate_batch(pieces, **options))

    assert width(source) == len(shortlist.candidates(source))
    assert width(other) == len(shortlist.candidates(other))
    assert width(source, other) == len(shortlist.candidates(source + other)), "a batch takes the union"


@pytest.fixture
def toy_ct2(toy_tokenizer: Tokenizer, tmp_path: Path) -> Path:
    """A CTranslate2 model of random weights with the toy's pieces."""
    import numpy as np
    from ctranslate2.specs import common_spec, transformer_spec

    pieces = toy_tokenizer.pieces(range(len(toy_tokenizer.target)), "target")
    width, heads, inner = 16, 2, 24
    form = {"pre_norm": True, "activation": common_spec.Activation.RELU}
    spec = transformer_spec.TransformerSpec(
        transformer_spec.TransformerEncoderSpec(1, heads, **form),
        transformer_spec.TransformerDecoderSpec(1, heads, **form),
    )
    random_numbers = np.random.default_rng(0)

    def linear(layer: object, rows: int, columns: int) -> None:
        layer.weight = random_numbers.standard_normal((rows, columns)).astype("float32")  # type: ignore[attr-defined]
        layer.bias = np.zeros(rows, "float32")  # type: ignore[attr-defined]

    def norm(layer: object) -> None:
        layer.gamma, layer.beta = np.ones(width, "float32"), np.zeros(width, "float32")  # type: ignore[attr-defined]

    for side in (spec.encoder, spec.decoder):
        [layer] = side.layer
        attentions = [layer.self_attention] + ([layer.attention] if side is spec.decoder else [])
        for number, attention in enumerate(attentions):
            norm(attention.layer_norm)
            for part, rows in zip(attention.linear, [(3, 1), (1, 2, 1)][number], strict=True):
                linear(part, rows * width, width)
        norm(layer.ffn.layer_norm)
        linear(layer.ffn.linear_0, inner, width)
        linear(layer.ffn.linear_1, width, inner)
        norm(side.layer_norm)
        embeddings = side.embeddings[0] if side is spec.encoder else side.embeddings
        embeddings.weight = random_numbers.standard_normal((len(pieces), width)).astype("float32")
        side.position_encodings.encodings = np.zeros((64, width), "float32")
    linear(spec.decoder.projection, len(pieces), width)
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.add_source_eos = True
    spec.validate()
    folder = tmp_path / "ct2"
    folder.mkdir()
    spec.save(str(folder))
    return folder


def test_plain_softmax_over_the_watched_layer(build: Callable[..., Transformer]) -> None:
    """The mean of the heads by loops."""
    model, seen_inputs = build(), []
    model.decoder[0].cross_attention.attend.register_forward_pre_hook(lambda _, inputs: seen_inputs.append(inputs))
    batch = collate([Example([5, 6], [8, 9], "")])
    with cross_attention(model, {0}) as seen:
        model.decode_features(batch.tgt_in, model.encode(batch.src, padding_mask(batch.src, PAD)))
    q, k = (x[0].detach() for x in seen_inputs[0][:2])

    def one(head: int, asking: int) -> Tensor:
        scores = torch.stack([(q[head, asking] * k[head, at]).sum() / q.size(2) ** 0.5 for at in range(k.size(1))])
        return scores.exp() / scores.exp().sum()

    for asking in range(q.size(1)):
        mean = sum(one(head, asking) for head in range(q.size(0))) / q.size(0)
        assert torch.allclose(seen[0][0, asking], mean, atol=1e-6)
