"""M2M-100 and NLLB: what is imported computes what Hugging Face computes with the same folder."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

from dragoman.config import DecodeConfig
from dragoman.engine.ctranslate2 import CTranslate2Engine
from dragoman.engine.torch import TorchEngine
from dragoman.errors import ConfigError, ModelError
from dragoman.exporting.ctranslate2 import convert
from dragoman.importing.files.foreign import Foreign
from dragoman.importing.marian.layers import network_of
from dragoman.importing.marian.m2m import read_m2m
from dragoman.model.parts.attention import padding_mask
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, UNK
from stand_ins import queries

FIXTURE = Path(__file__).parents[1] / "fixtures" / "m2m"
PAIR = ("en", "ko")
END, THEIR_UNK = 2, 3


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(FIXTURE, tmp_path / "m2m"))


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """What Hugging Face computed."""
    found: dict[str, Any] = json.loads((FIXTURE / "expected.json").read_text(encoding="utf-8"))
    return found


def their_ids(foreign: Foreign) -> dict[int, int]:
    """Our ids → theirs, by the text of the pieces."""
    vocabulary = json.loads((FIXTURE / "vocab.json").read_text(encoding="utf-8"))
    tokens = json.loads((FIXTURE / "special_tokens_map.json").read_text())["additional_special_tokens"]
    vocabulary |= {token: len(vocabulary) + at for at, token in enumerate(tokens)}
    pieces = foreign.tokenizer.pieces(range(len(foreign.tokenizer.source)), "source")
    found = {id_: vocabulary.get(piece, THEIR_UNK) for id_, piece in enumerate(pieces)}
    return found | {BOS: END, EOS: END, UNK: THEIR_UNK}


def test_texts_are_segmented_into_the_same_ids(expected: dict[str, Any]) -> None:
    foreign = read_m2m(FIXTURE, pair=PAIR)
    theirs, tokenizer = their_ids(foreign), foreign.tokenizer
    [pair] = foreign.config.project.pairs
    assert (pair.source_marks, pair.target_marks) == (("__en__",), ("__ko__",))
    for side, marks, texts in (("source", pair.source_marks, "sources"), ("target", pair.target_marks, "targets")):
        for ids, wanted in zip(tokenizer.encode(expected[texts], side), expected[f"{side}_ids"], strict=True):
            assert [theirs[id_] for id_ in [*tokenizer.marks(marks, side), *ids, EOS]] == wanted
    assert tokenizer.joint


def test_logits_are_those_of_hugging_face(expected: dict[str, Any]) -> None:
    foreign = read_m2m(FIXTURE, pair=PAIR)
    theirs, wanted = their_ids(foreign), load_file(FIXTURE / "expected.safetensors")
    ours = {their: our for our, their in theirs.items() if our != BOS}
    model = network_of(foreign)
    rows = [[ours[id_] for id_ in row] for row in expected["source_ids"][:2]]
    longest = max(map(len, rows))
    source = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])
    target = torch.tensor([[BOS, *(ours[id_] for id_ in row[1:])] for row in wanted["decoder_ids"].tolist()])
    with torch.inference_mode():
        logits = model(source, padding_mask(source, PAD), target)
    extras = {id_ for id_ in theirs if theirs[id_] == THEIR_UNK} - {UNK}
    assert extras
    kept = [id_ for id_ in theirs if id_ > BOS and id_ not in extras and theirs[id_] < wanted["logits"].size(2)]
    assert len(kept) > 150
    scale = wanted["logits"].abs().max().item()
    assert_close(logits[:, :, kept], wanted["logits"][:, :, [theirs[id_] for id_ in kept]], atol=1e-5 * scale, rtol=0)
    assert_close(logits[:, :, sorted(extras)], logits[:, :, [UNK]].expand(-1, -1, len(extras)) - 30, atol=1e-4, rtol=0)


@pytest.mark.parametrize(("name", "beam"), [("greedy", 1), ("beam", 4)])
def test_translations_are_those_of_hugging_face(expected: dict[str, Any], name: str, beam: int) -> None:
    foreign = read_m2m(FIXTURE, pair=PAIR)
    theirs, tokenizer = their_ids(foreign), foreign.tokenizer
    [pair] = foreign.config.project.pairs
    engine = TorchEngine(network_of(foreign), torch.device("cpu"))
    source_marks, target_marks = (
        tokenizer.marks(getattr(pair, f"{side}_marks"), side) for side in ("source", "target")
    )
    sources = [[*source_marks, *ids] for ids in tokenizer.encode(expected["sources"][:12], "source")]
    options = DecodeConfig(beam=beam, length_penalty=0.0, max_length=33)
    found = engine.translate(queries(sources, [target_marks] * len(sources)), options)
    for [best], wanted in zip(found, expected[name], strict=True):
        # Theirs begins with </s> and the language, and ends with </s> and padding.
        text = wanted[2:]
        assert [theirs[id_] for id_ in best.tokens[1:]] == text[: text.index(END) if END in text else None]


def test_a_sentence_is_not_aware_of_what_its_bundle_leaves_out() -> None:
    """Another pair of the same files has the same rows for the same pieces."""
    one, other = read_m2m(FIXTURE, pair=PAIR), read_m2m(FIXTURE, pair=("ko", "de"))
    assert other.config.project.pairs[0].source_marks == ("__ko__",)
    assert other.config.project.pairs[0].target_marks == ("__de__",)
    assert one.tensors is not None
    assert other.tensors is not None
    pieces = one.tokenizer.pieces(range(4, len(one.tokenizer.source)), "source")
    for text in pieces[:50]:
        ids = [foreign.tokenizer.source.processor.PieceToId(text) for foreign in (one, other)]
        assert torch.equal(one.tensors["projection"][ids[0]], other.tensors["projection"][ids[1]])
    assert one.config.model.first_position == 2
    assert one.config.model.position_base == pytest.approx(10000 ** (8 / 7))


@pytest.mark.parametrize("named", ["config", "map", "tokenizer"])
def test_nllb_numbers_pieces_as_its_model_does_and_has_other_language_tokens(folder: Path, named: str) -> None:
    vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    (folder / "vocab.json").unlink()
    (folder / "special_tokens_map.json").unlink()
    languages = ["eng_Latn", "kor_Hang", "zho_Hans", "zho_Hant", "<mask>"]
    import sentencepiece

    count = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.bpe.model")).GetPieceSize() + 1
    assert count > len(vocabulary)
    files: dict[str, tuple[str, Any]] = {
        "config": (
            "tokenizer_config.json",
            {"added_tokens_decoder": {str(count + at): {"content": name} for at, name in enumerate(languages)}},
        ),
        "map": ("special_tokens_map.json", {"additional_special_tokens": languages}),
        "tokenizer": (
            "tokenizer.json",
            {"added_tokens": [{"id": count + at, "content": name} for at, name in enumerate(languages)]},
        ),
    }
    name, content = files[named]
    (folder / name).write_text(json.dumps(content))
    weights = load_file(folder / "model.safetensors")
    foreign = read_m2m(folder, pair=PAIR)
    assert foreign.config.project.pairs[0].target_marks == ("kor_Hang",)
    assert foreign.tensors is not None
    rows = foreign.tensors["projection"]
    shared = weights["model.shared.weight"].float()[:, torch.arange(16).view(2, -1).T.flatten()]
    processor = foreign.tokenizer.source.processor
    assert torch.equal(rows[processor.PieceToId("kor_Hang")], shared[count + 1])
    assert torch.equal(rows[[BOS, EOS, UNK]], shared[[END, END, THEIR_UNK]])
    own = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.bpe.model"))
    for id_ in (3, 77, own.GetPieceSize() - 1):
        assert torch.equal(rows[processor.PieceToId(own.IdToPiece(id_))], shared[id_ + 1])
    with pytest.raises(ConfigError, match="--pair: zh is several of this model's languages; choose: zh-Hans, zh-Hant"):
        read_m2m(folder, pair=("en", "zh"))
    assert read_m2m(folder, pair=("en", "zh-Hant")).config.project.pairs[0].target_marks == ("zho_Hant",)


def test_a_licence_that_forbids_commerce_is_a_warning(folder: Path) -> None:
    assert not any("COMMERCIAL" in note for note in read_m2m(folder, pair=PAIR).notes)
    (folder / "README.md").write_text("---\nlicense: cc-by-nc-4.0\n---\n")
    assert "LICENCE cc-by-nc-4.0: NOT FOR COMMERCIAL USE" in read_m2m(folder, pair=PAIR).notes[-1]


@pytest.mark.parametrize(
    ("pair", "says"),
    [
        (None, "--pair: this model translates between af, am, ar, .*; choose two, as in --pair ko-en"),
        (("en", "qq"), "--pair: qq is none of this model's languages; choose: "),
        (("en", "en-GB"), "--pair: en and en-GB are one language to this model"),
    ],
)
def test_a_pair_that_the_model_does_not_have(pair: tuple[str, str] | None, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        read_m2m(FIXTURE, pair=pair)


def change_json(name: str, **values: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        found = json.loads((folder / name).read_text(encoding="utf-8"))
        (folder / name).write_text(json.dumps(found | values), encoding="utf-8")

    return change


def change_tensors(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors")

    return changed


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (change_json("config.json", scale_embedding=False), "scale_embedding: must be true, not False"),
        (change_json("config.json", tie_word_embeddings=False), "tie_word_embeddings: must be true"),
        (change_json("config.json", model_type="nllb-moe"), "model_type: must be m2m_100, not nllb-moe"),
        (change_json("config.json", activation_function="gelu"), "activation_function: gelu is none of"),
        (change_json("config.json", decoder_ffn_dim=99), "encoder_ffn_dim and decoder_ffn_dim differ, 24 and 99"),
        (change_json("config.json", d_model=24), "tensor model.shared.weight has shape .* × 16"),
        (change_json("config.json", vocab_size="many"), "vocab_size: a whole number above 0 is needed, not 'many'"),
        (change_json("config.json", vocab_size=250), "__.*__ has an id of another token"),
        (change_json("vocab.json", **{"<s>": 1, "<pad>": 0}), "vocab.json: the first ids are not those of <s> <pad>"),
        (change_json("special_tokens_map.json", additional_special_tokens=[]), "no language tokens in"),
        (lambda folder: (folder / "sentencepiece.bpe.model").unlink(), "sentencepiece.bpe.model: No such file"),
        (lambda folder: (folder / "sentencepiece.bpe.model").write_bytes(b"\x0a"), "not a SentencePiece model"),
        (lambda folder: (folder / "config.json").write_text("{"), "config.json: cannot be read"),
        (change_tensors(lambda t: t.pop("model.encoder.layer_norm.weight")), "encoder.layer_norm.weight is missing"),
        (change_tensors(lambda t: t.update(extra=torch.ones(2))), "tensor extra is not one of this architecture"),
        (
            change_tensors(lambda t: t.update({"lm_head.weight": torch.ones(340, 16)})),
            "tensors model.shared.weight and lm_head.weight differ",
        ),
        (
            change_tensors(lambda t: t.update({"model.encoder.embed_positions.weights": torch.ones(20, 16)})),
            "embed_positions.weights: not the sinusoidal positions of this architecture",
        ),
    ],
)
def test_what_does_not_fit_is_named(folder: Path, change: Callable[[Path], None], says: str) -> None:
    change(folder)
    with pytest.raises(ModelError, match=says):
        read_m2m(folder, pair=PAIR)


def test_the_network_is_the_tensors_without_a_copy_and_stays_tied() -> None:
    foreign = read_m2m(FIXTURE, pair=PAIR)
    assert foreign.tensors is not None
    tensors = dict(foreign.tensors)
    model = network_of(foreign)
    assert foreign.tensors == {}
    assert {name: parameter.data_ptr() for name, parameter in model.named_parameters()} == {
        name: tensor.data_ptr() for name, tensor in tensors.items()
    }
    assert model.projection is model.source_embedding.weight
    assert model.projection is model.target_embedding.weight


def test_the_export_is_the_network(expected: dict[str, Any], tmp_path: Path) -> None:
    """Sources and targets with their language tokens, in CTranslate2: log P to 1e-4, as for every export."""
    foreign = read_m2m(FIXTURE, pair=PAIR)
    tokenizer, [pair] = foreign.tokenizer, foreign.config.project.pairs
    model = network_of(foreign)
    convert(model, tokenizer, tmp_path / "ct2-float32", "float32")
    exported = CTranslate2Engine(tmp_path / "ct2-float32", tokenizer, "cpu", threads=1)
    rows = {
        side: [
            [*tokenizer.marks(getattr(pair, f"{side}_marks"), side), *(id_ for id_ in ids if id_ != UNK)]
            for ids in tokenizer.encode(expected[f"{side}s"], side)
        ]
        for side in ("source", "target")
    }
    ours, theirs = (
        engine.score(queries(rows["source"]), rows["target"])
        for engine in (TorchEngine(model, torch.device("cpu")), exported)
    )
    for one, other in zip(ours, theirs, strict=True):
        assert one == pytest.approx(other, abs=1e-4)
