"""MarianMT models of Hugging Face: an import computes, segments and translates as the original does.

The fixtures are small models made by `make_fixtures.py` with Hugging Face's own code, and what it computes with them.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from dragoman.config import DecodeConfig
from dragoman.engine.ctranslate2 import CTranslate2Engine
from dragoman.engine.torch import TorchEngine
from dragoman.errors import ConfigError, ModelError
from dragoman.exporting.ctranslate2 import convert
from dragoman.importing.files.foreign import Foreign
from dragoman.importing.marian.layers import EXTRA_BIAS, network_of
from dragoman.importing.marian.marian import read_marian
from dragoman.model.parts.attention import padding_mask
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.marks import Marks
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, UNK, Side
from stand_ins import queries

FIXTURES = Path(__file__).parents[1] / "fixtures"
NAMES = ["marian-shared", "marian-tc", "marian-separate"]
PAIR = ("en", "ko")
NEW_TOKENS = 32


class Imported:
    """A fixture, its import, and what Hugging Face makes of it."""

    def __init__(self, folder: Path, pair: tuple[str, str] | None = PAIR) -> None:
        self.foreign: Foreign = read_marian(folder, pair=pair)
        self.tokenizer, self.config = self.foreign.tokenizer, self.foreign.config
        self.marks = Marks.of(self.config.project.all_pairs[0], self.tokenizer)
        assert self.foreign.tensors is not None
        self.tensors = dict(self.foreign.tensors)
        self.model: Transformer = network_of(self.foreign)
        self.expected: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
        self.found = load_file(folder / "expected.safetensors")
        names = "vocab.json", "target_vocab.json" if (folder / "target_vocab.json").exists() else "vocab.json"
        texts = [(folder / name).read_text(encoding="utf-8") for name in names]
        self.vocabularies = dict(zip(("source", "target"), map(json.loads, texts), strict=True))

    def theirs(self, ids: Sequence[int], side: Side) -> list[int]:
        """Our ids as ids of `vocab.json`."""
        vocabulary = self.vocabularies[side]
        special = {UNK: "<unk>", EOS: "</s>", PAD: "<pad>", BOS: "<pad>"}
        names = [special.get(token) or self.tokenizer.pieces([token], side)[0] for token in ids]
        return [vocabulary.get(name, vocabulary["<unk>"]) for name in names]

    def ours(self, ids: Sequence[int], side: Side) -> list[int]:
        """Ids of `vocab.json` as ours; a repeated end and what follows it is left out."""
        pieces = {id_: piece for piece, id_ in self.vocabularies[side].items()}
        special = {"<unk>": UNK, "</s>": EOS}
        processor = getattr(self.tokenizer, side).processor
        return [special.get(pieces[id_]) or processor.PieceToId(pieces[id_]) for id_ in ids]


@pytest.fixture(scope="module", params=NAMES)
def imported(request: pytest.FixtureRequest) -> Imported:
    return Imported(FIXTURES / request.param)


# --- text --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["source", "target"])
def test_text_is_segmented_into_the_same_ids(imported: Imported, side: Side) -> None:
    ids = imported.tokenizer.encode(imported.expected[f"{side}s"], side)
    marks = imported.marks.source if side == "source" else ()
    assert [imported.theirs([*marks, *row, EOS], side) for row in ids] == imported.expected[f"{side}_ids"]
    assert any(UNK in row for row in ids) or any(row == [] for row in ids)


def test_pieces_that_the_network_lacks_are_its_unknown_token(imported: Imported) -> None:
    for side, matrix in (("source", "source_embedding.weight"), ("target", "projection")):
        table = imported.tensors.get(matrix, imported.tensors["projection"])
        pieces = imported.tokenizer.pieces(range(len(table)), side)
        extras = [id_ for id_, piece in enumerate(pieces) if piece not in imported.vocabularies[side] and id_ > EOS]
        assert extras
        assert (table[extras] == table[UNK]).all()
        assert not table[PAD].any()
        if side == "target":
            bias = imported.tensors["projection_bias"]
            assert (bias[extras] == bias[UNK] - EXTRA_BIAS).all()


def test_the_tokenizer_is_of_one_numbering_where_the_original_is() -> None:
    for name in NAMES:
        foreign = read_marian(FIXTURES / name, pair=PAIR)
        separate = name == "marian-separate"
        assert foreign.config.tokenizer.shared is foreign.tokenizer.same_ids is not separate
        assert foreign.config.model.tie == ("target" if separate else "all")


# --- what the network computes -----------------------------------------------------------------------------------


def check_logits(imported: Imported, scale: float = 1.0) -> None:
    """Logits of two sentences of unequal length in one batch, of every token that `vocab.json` has."""
    rows = [imported.ours(ids, "source") for ids in imported.expected["source_ids"][:2]]
    width = max(map(len, rows))
    source = torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows])
    decoder = torch.tensor([[BOS, *imported.ours(ids[1:], "target")] for ids in imported.found["decoder_ids"].tolist()])
    with torch.inference_mode():
        logits = imported.model(source, padding_mask(source, PAD), decoder)
    vocabulary = imported.vocabularies["target"]
    pieces = [piece for piece in vocabulary if piece not in ("<pad>", "<s>")]
    ours = logits[..., imported.ours([vocabulary[piece] for piece in pieces], "target")]
    theirs = imported.found["logits"][..., [vocabulary[piece] for piece in pieces]]
    assert len(rows[0]) != len(rows[1])
    torch.testing.assert_close(ours / scale, theirs, atol=1e-5, rtol=1e-5)


def test_logits_are_those_of_hugging_face(imported: Imported) -> None:
    check_logits(imported)


def test_a_projection_of_its_own_is_read_too(tmp_path: Path) -> None:
    """Logits are linear in the projection, so doubled weights, without a bias, double them."""
    folder = copied("marian-separate", tmp_path, {"tie_word_embeddings": False})
    tensors = load_file(folder / "model.safetensors")
    tensors["lm_head.weight"] = 2 * tensors["model.decoder.embed_tokens.weight"]
    save_file(tensors, folder / "model.safetensors")
    untied = Imported(folder)
    assert untied.config.model.tie == "none"
    check_logits(untied, 2.0)


@pytest.mark.parametrize("how", ["greedy", "beam"])
def test_translations_are_the_same_token_for_token(imported: Imported, how: str) -> None:
    """With α = 0: Hugging Face divides log P by n^α, we divide by ((5 + n) / 6)^α."""
    engine = TorchEngine(imported.model, torch.device("cpu"))
    options = DecodeConfig(beam=1 if how == "greedy" else 4, length_penalty=0.0, max_length=NEW_TOKENS)
    found = engine.translate(queries(sources_of(imported)), options)
    wanted = [translation(imported, row) for row in imported.expected[how]]
    assert [list(best[0].tokens) for best in found] == wanted
    assert len(set(map(tuple, wanted))) > 6


def sources_of(imported: Imported) -> list[list[int]]:
    """The texts that were translated, each after its language token."""
    ids = imported.tokenizer.encode(imported.expected["sources"][:12], "source")
    return [[*imported.marks.source, *row] for row in ids]


def translation(imported: Imported, row: Sequence[int]) -> list[int]:
    """A row of `generate` without the first input, the end, and what pads it."""
    ids = imported.ours(row[1:], "target")
    return ids[: ids.index(EOS)] if EOS in ids else ids


@pytest.fixture(scope="module")
def float32(imported: Imported, tmp_path_factory: pytest.TempPathFactory) -> CTranslate2Engine:
    folder = tmp_path_factory.mktemp("export") / "ct2-float32"
    convert(imported.model, imported.tokenizer, folder, "float32")
    return CTranslate2Engine(folder, imported.tokenizer, "cpu", 1)


def test_an_export_scores_and_translates_the_same(imported: Imported, float32: CTranslate2Engine) -> None:
    reference = TorchEngine(imported.model, torch.device("cpu"))
    sources = sources_of(imported)
    targets = imported.tokenizer.encode(imported.expected["targets"][:12], "target")
    targets = [[token for token in row if token != UNK] for row in targets]  # log 0, which no format can hold
    found, wanted = (engine.score(queries(sources), targets) for engine in (float32, reference))
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)
    options = DecodeConfig(beam=4, length_penalty=0.0, max_length=NEW_TOKENS)
    best = float32.translate(queries(sources), options)
    assert [list(one[0].tokens) for one in best] == [translation(imported, row) for row in imported.expected["beam"]]


# --- languages ---------------------------------------------------------------------------------------------------


def copied(name: str, tmp_path: Path, changes: dict[str, Any] | None = None, file: str = "config.json") -> Path:
    """A copy of a fixture with other settings; None removes one."""
    folder = tmp_path / name
    shutil.copytree(FIXTURES / name, folder)
    settings = {**json.loads((folder / file).read_text(encoding="utf-8")), **(changes or {})}
    left = {key: value for key, value in settings.items() if value is not None}
    (folder / file).write_text(json.dumps(left), encoding="utf-8")
    return folder


def test_a_model_of_several_targets_is_imported_with_all_pairs_or_with_one(tmp_path: Path) -> None:
    everything = read_marian(FIXTURES / "marian-tc").config.project
    assert [pair.name for pair in everything.pairs] == ["en-ko", "en-ja", "en:zh-Hans", "en:zh-Hant"]
    assert everything.pairs[2].source_marks == (">>cmn_Hans<<",)
    one = read_marian(FIXTURES / "marian-tc", pair=("en", "ja")).config.project
    assert [(pair.name, pair.source_marks) for pair in one.pairs] == [("en-ja", (">>jpn<<",))]
    with pytest.raises(ConfigError, match="--pair: zh is several of this model's languages; choose: zh-Hans, zh-Hant"):
        read_marian(FIXTURES / "marian-tc", pair=("en", "zh"))
    with pytest.raises(ConfigError, match="--pair: fr is none of this model's languages; choose: ko, ja, zh-Hans"):
        read_marian(FIXTURES / "marian-tc", pair=("en", "fr"))
    group = copied("marian-tc", tmp_path, {"source_lang": "roa"}, "tokenizer_config.json")
    with pytest.raises(ConfigError, match="--pair: this model translates into ko, ja, zh-Hans, zh-Hant; choose"):
        read_marian(group)


def test_languages_come_from_the_files_the_name_or_the_user(tmp_path: Path) -> None:
    assert read_marian(FIXTURES / "marian-shared").config.project.name_of_pair == "en-ko"
    folder = copied("marian-shared", tmp_path, {"source_lang": None, "target_lang": None}, "tokenizer_config.json")
    with pytest.raises(ConfigError, match=r"--pair: .* does not name its languages; give them, as in --pair ko-en"):
        read_marian(folder)
    foreign = read_marian(folder, pair=("en", "ko"))
    assert foreign.config.project.name_of_pair == "en-ko"
    named = folder.rename(tmp_path / "opus-mt-tc-big-eng-kor")
    assert read_marian(named).config.project.name_of_pair == "en-ko"


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model_type": "t5"}, "model_type: must be marian, not t5; .*, convert it with ct2-transformers-converter"),
        ({"activation_function": ["relu"]}, r"activation_function: \['relu'\] is none of relu, swish, silu"),
        ({"encoder_layers": 1001}, r"config.json: encoder_layers: input should be less than or equal to 1000; fetch"),
        ({"share_encoder_decoder_embeddings": "x"}, "share_encoder_decoder_embeddings: must be true, not x"),
        ({"activation_function": "gelu"}, "activation_function: gelu is none of relu, swish, silu"),
        ({"normalize_before": True}, "normalize_before: must be false, not True"),
        ({"normalize_embedding": True}, "normalize_embedding: must be false, not True"),
        ({"scale_embedding": None}, "scale_embedding: must be true, not missing"),
        ({"static_position_embeddings": False}, "static_position_embeddings: must be true, not False"),
        ({"encoder_ffn_dim": 21}, "encoder_ffn_dim and decoder_ffn_dim differ, 21 and 20"),
        ({"encoder_attention_heads": 3}, "encoder_attention_heads and decoder_attention_heads differ, 3 and 4"),
        ({"d_model": "16"}, "d_model: a whole number above 0 is needed, not '16'"),
        ({"encoder_layers": None}, "encoder_layers: a whole number above 0 is needed, not None"),
        ({"encoder_layers": 3}, "tensor model.encoder.layers.2.* is missing"),
        ({"encoder_layers": 1}, "tensor model.encoder.layers.1.* is not one of this architecture"),
        ({"eos_token_id": 7}, "eos_token_id is 7, but </s> in vocab.json is 0"),
        ({"decoder_start_token_id": 9999}, "decoder_start_token_id is 9999, which is no id of vocab.json"),
        ({"tie_word_embeddings": False}, "share_encoder_decoder_embeddings is true, but tie_word_embeddings is false"),
        ({"d_model": 32}, "has shape .* × 16, config.json says otherwise"),
    ],
)
def test_another_architecture_is_refused_by_the_key_that_says_so(
    tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(ModelError, match=says):
        read_marian(copied("marian-shared", tmp_path, changes), pair=PAIR)


def test_weights_of_another_vocabulary_are_refused(tmp_path: Path) -> None:
    folder = copied("marian-shared", tmp_path)
    vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    (folder / "vocab.json").write_text(json.dumps({**vocabulary, "surplus": len(vocabulary)}), encoding="utf-8")
    with pytest.raises(ModelError, match=r"model.shared.weight has \d+ rows, too few for its vocabulary"):
        read_marian(folder, pair=PAIR)


def test_tensors_that_do_not_fit_are_named(tmp_path: Path) -> None:
    folder = copied("marian-shared", tmp_path)
    file = folder / "model.safetensors"
    tensors = load_file(file)
    bias = "model.encoder.layers.0.fc1.bias"
    wrong = {
        f"{bias} contains NaN": {bias: torch.full((20,), torch.nan)},
        "tensor extra is not one of this architecture": {"extra": torch.ones(2)},
        "not the sinusoidal positions": {"model.encoder.embed_positions.weight": torch.rand(64, 16)},
        "differ, but config.json ties them": {"lm_head.weight": torch.rand(len(tensors["model.shared.weight"]), 16)},
    }
    for says, change in wrong.items():
        save_file({**tensors, **change}, file)
        with pytest.raises(ModelError, match=says):
            read_marian(folder, pair=PAIR)


@pytest.mark.parametrize("name", ["vocab.json", "source.spm", "target.spm", "config.json", "model.safetensors"])
def test_a_missing_or_truncated_file_is_named(tmp_path: Path, name: str) -> None:
    folder = copied("marian-shared", tmp_path)
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelError, match=name.replace(".", r"\.")) as caught:
        read_marian(folder, pair=PAIR)
    assert "\n" not in str(caught.value)
    (folder / name).unlink()
    with pytest.raises(ModelError, match=name.replace(".", r"\.")):
        read_marian(folder, pair=PAIR)
