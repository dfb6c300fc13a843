"""A network of CTranslate2 as weights again: the network that it was, and the bytes that it came from."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman import Translator, import_model
from dragoman.bundle import open_bundle
from dragoman.config import DecodeConfig
from dragoman.engine.ctranslate2 import CTranslate2Engine
from dragoman.engine.torch import TorchEngine
from dragoman.errors import ConfigError, ModelError
from dragoman.exporting.ctranslate2 import convert
from dragoman.importing.files.model_bin import read_model_bin
from dragoman.importing.marian.layers import network_of
from dragoman.importing.opennmt.arrays import arrays_of
from dragoman.importing.opennmt.ctranslate2 import read_ctranslate2
from dragoman.importing.opennmt.folder import read_ct2_folder
from dragoman.text.tokens.marks import Marks
from dragoman.text.tokens.tokenizer import BOS, EOS, Tokenizer
from dragoman.workflows.models.dequantise import dequantised
from importing.ct2_models import TEXTS, foreign_folder, network, toy_tokenizer
from stand_ins import queries

SHAPES: dict[str, dict[str, Any]] = {
    "pre": {},
    "post, untied": {"norm_order": "post", "tie": "none", "feed_forward": "silu"},
    "counted from 2 by another base": {"position_base": 20690.0, "first_position": 2, "tie": "target"},
    "today": {"feed_forward": "swiglu", "positions": "rotary", "norm": "rms", "bias": False},
}
# 10000^((d/2) / (d/2 − 1)) of d_model = 24
BASE = 10000.0 ** (12 / 11)


@pytest.fixture(scope="module")
def joint() -> Tokenizer:
    return toy_tokenizer()


def both(folder: Path, tmp_path: Path) -> tuple[TorchEngine, CTranslate2Engine, Tokenizer]:
    """The weights on the torch engine, and the renumbered folder on CTranslate2."""
    (tmp_path / "scratch").mkdir()
    by_ct2 = read_ctranslate2(folder, pair=("en", "ko"), scratch=tmp_path / "scratch")
    with_weights = read_ctranslate2(folder, pair=("en", "ko"), scratch=tmp_path / "scratch", weights=True)
    assert by_ct2.engine_folder
    assert with_weights.engine_folder is None
    assert with_weights.tokenizer.sha256 == by_ct2.tokenizer.sha256
    engine = CTranslate2Engine(by_ct2.engine_folder, by_ct2.tokenizer, "cpu", threads=1)
    return TorchEngine([network_of(with_weights)], torch.device("cpu")), engine, by_ct2.tokenizer


def assert_equal_probabilities(folder: Path, tmp_path: Path) -> None:
    """Both engines give the tokens of some texts the same probabilities, but for rounding."""
    ours, theirs, tokenizer = both(folder, tmp_path)
    sources = tokenizer.encode(TEXTS, "source")
    scores = [engine.score(queries(sources), sources) for engine in (ours, theirs)]
    for of_weights, of_folder in zip(*scores, strict=True):
        np.testing.assert_allclose(np.exp(of_weights), np.exp(of_folder), atol=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_weights_are_the_network(shape: str, joint: Tokenizer, tmp_path: Path) -> None:
    """log P and greedy translations as by CTranslate2, for whatever rows it knows and lacks."""
    options = SHAPES[shape] | ({"position_base": BASE} if "position_base" in SHAPES[shape] else {})
    folder = foreign_folder(
        tmp_path / "folder",
        network(joint, **options),
        joint,
        dropped=joint.pieces(range(270, 275), "source"),
        add_source_eos=True,
    )
    ours, theirs, tokenizer = both(folder, tmp_path)
    sources = tokenizer.encode(TEXTS, "source")
    targets = [list(reversed(source)) for source in sources]
    for found, expected in zip(
        ours.score(queries(sources), targets), theirs.score(queries(sources), targets), strict=True
    ):
        np.testing.assert_allclose(np.exp(found), np.exp(expected), atol=1e-4)
    greedy = DecodeConfig(beam=1, max_length=8)
    assert [one[0].tokens for one in ours.translate(queries(sources), greedy)] == [
        one[0].tokens for one in theirs.translate(queries(sources), greedy)
    ]


def test_dequantised_weights_give_the_same_int8_again(joint: Tokenizer, tmp_path: Path) -> None:
    folder = foreign_folder(tmp_path / "folder", network(joint), joint, "int8", add_source_eos=True)
    (tmp_path / "scratch").mkdir()
    by_ct2 = read_ctranslate2(folder, pair=("en", "ko"), scratch=tmp_path / "scratch")
    with_weights = read_ctranslate2(folder, pair=("en", "ko"), scratch=tmp_path / "scratch", weights=True)
    assert "dequantised" in with_weights.origin.changes[-1]
    convert(network_of(with_weights), with_weights.tokenizer, tmp_path / "again", "int8")
    assert by_ct2.engine_folder
    expected, found = (read_model_bin(one / "model.bin") for one in (by_ct2.engine_folder, tmp_path / "again"))
    assert found.aliases == expected.aliases
    quantised = [name for name, variable in expected.variables.items() if variable.type == "int8" and variable.shape]
    assert len(quantised) > 10
    for name in quantised:
        known = slice(1, None) if name == "decoder/embeddings/weight" else slice(None)  # PAD's row is zeros with us
        np.testing.assert_array_equal(found.array(name)[known], expected.array(name)[known])
        scales = [model.array(f"{name}_scale")[known] for model in (found, expected)]
        np.testing.assert_allclose(*scales, rtol=1e-6)


def test_a_marian_folder_starts_from_zeros(joint: Tokenizer, tmp_path: Path) -> None:
    folder = foreign_folder(
        tmp_path / "folder", network(joint, norm_order="post"), joint, zero_start=True, dropped=["<pad>", "<s>"],
        decoder_start_token="</s>",
    )  # fmt: skip
    assert_equal_probabilities(folder, tmp_path)


@pytest.mark.parametrize("tie", ["all", "none"])
def test_targets_begin_with_the_piece_that_the_folder_names(tie: str, joint: Tokenizer, tmp_path: Path) -> None:
    """M2M-100 and models of fairseq have a row for <s>, and begin targets with </s>."""
    folder = foreign_folder(
        tmp_path / "folder", network(joint, tie=tie), joint, add_source_eos=True, decoder_start_token="</s>"
    )
    assert_equal_probabilities(folder, tmp_path)


@pytest.mark.parametrize("quantization", ["float32", "int8"])
@pytest.mark.parametrize("start", ["</s>", None])
def test_a_page_begins_targets_as_ctranslate2(
    start: str | None, quantization: str, joint: Tokenizer, tmp_path: Path
) -> None:
    """None: from a vector of zeros, as models of Marian."""
    folder = foreign_folder(
        tmp_path / "folder", network(joint), joint, quantization, add_source_eos=True, zero_start=start is None,
        decoder_start_token="</s>",
    )  # fmt: skip
    import_model(folder, tmp_path / "bundle", pair="en-ko", trial=False)
    values, factors = arrays_of(read_ct2_folder(open_bundle(tmp_path / "bundle").exports[-1]))[
        "target_embedding.weight"
    ]
    rows = values * (1 if factors is None else factors[:, None])
    np.testing.assert_array_equal(rows[BOS], rows[EOS] if start else 0 * rows[EOS])


def test_the_language_token_before_each_source_is_that_of_the_pair(joint: Tokenizer, tmp_path: Path) -> None:
    """CTranslate2 puts it there by itself, and the other engines where the pair has it."""
    token = joint.pieces([275], "source")[0]
    folder = foreign_folder(
        tmp_path / "folder", network(joint), joint, names={token: ">>vie<<", "<pad>": "<blank>"}, add_source_bos=True,
        add_source_eos=True, bos_token=">>vie<<",
    )  # fmt: skip
    ours, theirs, tokenizer = both(folder, tmp_path)
    foreign = read_ctranslate2(folder, pair=("en", "vi"), scratch=tmp_path, weights=True)
    marks = Marks.of(foreign.config.project.all_pairs[0], tokenizer)
    assert tokenizer.pieces(marks.source, "source") == [">>vie<<"]
    sources = tokenizer.encode(TEXTS, "source")
    for found, expected in zip(
        ours.score(queries(sources, marks=[marks] * len(sources)), sources),
        theirs.score(queries(sources), sources),
        strict=True,
    ):
        np.testing.assert_allclose(np.exp(found), np.exp(expected), atol=1e-4)
    import_model(folder, tmp_path / "bundle", pair="en-vi", trial=False)
    with pytest.raises(ModelError, match="CTranslate2 puts >>vie<< before each source, and no other engine does"):
        dequantised(open_bundle(tmp_path / "bundle"))


def test_a_piece_before_each_source_that_is_no_language_is_refused(joint: Tokenizer, tmp_path: Path) -> None:
    folder = foreign_folder(tmp_path / "folder", network(joint), joint, add_source_bos=True, add_source_eos=True)
    with pytest.raises(ModelError, match="CTranslate2 puts <s> before each source"):
        read_ctranslate2(folder, pair=("en", "ko"), scratch=tmp_path, weights=True)


def test_sources_without_an_end_are_announced(joint: Tokenizer, tmp_path: Path) -> None:
    """OpenNMT trains without </s> behind a source; the network with weights gets one."""
    folder = foreign_folder(tmp_path / "folder", network(joint), joint)
    foreign = read_ctranslate2(folder, pair=("en", "ko"), scratch=tmp_path, weights=True)
    assert any(note.startswith("its sources get </s> at their end, which the network was") for note in foreign.notes)
    assert foreign.origin.changes[-1].startswith("Its sources get </s> at their end")


def test_it_is_imported_as_a_model_that_can_be_trained(joint: Tokenizer, tmp_path: Path) -> None:
    folder = foreign_folder(tmp_path / "folder", network(joint), joint, "int8", add_source_eos=True)
    import_model(folder, tmp_path / "bundle", pair="en-ko", trial=False, weights=True)
    bundle = open_bundle(tmp_path / "bundle")
    assert bundle.has_weights
    assert bundle.manifest["architecture"] == "transformer"
    assert bundle.load_model().parameter_count == bundle.manifest["parameters"]
    assert Translator.of_bundle(bundle).translate("dog", beam=1, max_length=5)


def test_other_networks_are_refused(joint: Tokenizer, tmp_path: Path) -> None:
    folder = foreign_folder(tmp_path / "folder", network(joint), joint)
    path = folder / "model.bin"
    content = path.read_bytes()
    at = content.index(b"encoder/activation\0") + len(b"encoder/activation\0") + 6
    path.write_bytes(content[:at] + b"\x03" + content[at + 1 :])  # GELU
    with pytest.raises(ModelError, match=r"an architecture that Dragoman's network has no options for; import it with"):
        read_ctranslate2(folder, pair=("en", "ko"), scratch=tmp_path, weights=True)
    assert read_ctranslate2(folder, pair=("en", "ko"), scratch=tmp_path).notes[-1].startswith("a network that")


def test_weights_are_for_what_has_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--weights: a model of kind marian has weights anyway; leave it out"):
        import_model(tmp_path, tmp_path / "bundle", kind="marian", weights=True)
