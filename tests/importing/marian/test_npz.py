"""Marian's own files: read into our network, they compute what CTranslate2's converter makes of them."""

import zipfile
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest
import torch
from ctranslate2.converters import MarianConverter
from npz_writer import ENGLISH, KOREAN, D, arrays, options, pieces_of, save, spm, write_archive
from torch.testing import assert_close

from dragoman.decode.scoring import log_probabilities
from dragoman.errors import ConfigError, ModelError
from dragoman.importing.marian.layers import marian_base, network_of
from dragoman.importing.marian.npz import parse_settings, parse_vocabulary, read_npz
from dragoman.text.tokens.tokenizer import BOS, EOS, UNK

PAIR = ("en", "ko")


def converted(folder: Path, matrices: dict[str, Any], out: Path, **keys: Any) -> ctranslate2.Translator:
    """CTranslate2's own reading; it computes other frequencies than Marian, so it is given Marian's positions."""
    angle = np.arange(64)[:, None] * 10000.0 ** (-np.arange(D // 2) / (D // 2 - 1))
    positions = np.concatenate([np.sin(angle), np.cos(angle)], 1).astype(np.float32)
    save(out.with_suffix(".npz"), {**matrices, "Wpos": positions}, options(**keys))
    vocabularies = sorted(folder.glob("*.vocab.yml"))
    MarianConverter(str(out.with_suffix(".npz")), [str(vocabularies[0]), str(vocabularies[-1])]).convert(str(out))
    return ctranslate2.Translator(str(out), compute_type="float32")


def vocabulary_of(folder: Path) -> dict[str, int]:
    """That of the target."""
    path = sorted(folder.glob("*.vocab.yml"))[-1]
    return parse_vocabulary(path.read_text(encoding="utf-8"), path)


@pytest.mark.parametrize(
    "keys",
    [{}, {"activation": "relu"}, {"pre": True, "tie": "none"}, {"tie": "target"}],
    ids=["opus", "relu", "pre and untied", "target"],
)
def test_it_computes_what_ctranslate2_computes_of_the_same_file(tmp_path: Path, keys: dict[str, Any]) -> None:
    matrices = write_archive(tmp_path / "opus", **keys)
    foreign = read_npz(tmp_path / "opus", pair=PAIR)
    tokenizer = foreign.tokenizer
    vocabulary = vocabulary_of(tmp_path / "opus")
    expected = converted(tmp_path / "opus", matrices, tmp_path / "ct2", **keys)
    model = network_of(foreign)
    for english, korean in zip(ENGLISH, KOREAN, strict=True):
        source, target = tokenizer.encode([english], "source")[0], tokenizer.encode([korean], "target")[0]
        src, tgt = torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target, EOS]])
        found = log_probabilities(model, src, tgt[:, :-1], tgt[:, 1:])[0]
        [scored] = expected.score_batch([tokenizer.pieces(source, "source")], [tokenizer.pieces(target, "target")])
        # As for CTranslate2, a piece that the vocabulary lacks is the unknown token, and is never likely.
        known = torch.tensor([piece in vocabulary for piece in tokenizer.pieces([*target, EOS], "target")])
        assert known.sum() > 4
        assert_close(found[known], torch.tensor(scored.log_probs)[known], atol=2e-5, rtol=1e-5)
        assert (found[~known] < -20).all()


def test_the_decoder_starts_from_zeros_and_extras_are_the_unknown_token(tmp_path: Path) -> None:
    write_archive(tmp_path)
    foreign = read_npz(tmp_path, pair=PAIR)
    assert foreign.tensors is not None
    matrix, bias = foreign.tensors["projection"], foreign.tensors["projection_bias"]
    assert not matrix[[0, BOS]].any()
    extras = len(foreign.tokenizer.source) - len(vocabulary_of(tmp_path)) - 2
    assert extras > 0
    assert torch.equal(matrix[-extras:], matrix[UNK].expand(extras, -1))
    assert torch.equal(bias[-extras:], bias[UNK].expand(extras) - 30)
    assert any("unknown to the network" in note for note in foreign.notes)
    assert foreign.config.model.position_base == pytest.approx(10000 ** ((D / 2) / (D / 2 - 1)))
    assert marian_base(512) == pytest.approx(10367.79, abs=5e-3)
    assert foreign.config.tokenizer.shared
    assert foreign.origin.kind == "npz"
    assert set(foreign.origin.files) == {"decoder.yml", "opus.npz", "opus.vocab.yml", "source.spm", "target.spm"}


def test_marians_own_sentencepiece_vocabulary(tmp_path: Path) -> None:
    """`vocabs: [v.spm, v.spm]`: one model for both sides, whose ids are the network's."""
    model = spm(ENGLISH + KOREAN, eos_id=0, unk_id=1, bos_id=-1)
    (tmp_path / "v.spm").write_bytes(model)
    (tmp_path / "decoder.yml").write_text("models: [m.npz]\nvocabs: [/home/x/v.spm, /home/x/v.spm]\n")
    matrices = arrays(len(pieces_of(model)) + 2)
    save(tmp_path / "m.npz", matrices, options())
    foreign = read_npz(tmp_path / "m.npz", pair=PAIR)
    assert foreign.tokenizer.joint
    assert foreign.config.tokenizer.joint
    [ids] = foreign.tokenizer.encode([KOREAN[0]], "target")
    assert UNK not in ids
    rows = torch.from_numpy(matrices["Wemb"])[:, torch.arange(D).view(2, -1).T.flatten()]
    theirs = [pieces_of(model).index(piece) + 2 for piece in foreign.tokenizer.pieces(ids, "target")]
    assert foreign.tensors is not None
    assert torch.equal(foreign.tensors["projection"][ids], rows[theirs])


def test_a_folder_in_which_marian_trains_is_read(tmp_path: Path) -> None:
    """It has the optimizer next to the model, and settings by other names than an archive of OPUS-MT."""
    folder = tmp_path / "opus"
    write_archive(folder)
    expected = read_npz(folder, pair=PAIR)
    (folder / "opus.npz").rename(folder / "model.npz")
    decoder = (folder / "decoder.yml").read_text(encoding="utf-8").replace("opus.npz", "/home/me/model.npz")
    (folder / "decoder.yml").unlink()
    (folder / "model.npz.decoder.yml").write_text(decoder, encoding="utf-8")
    for name in ("model.npz.optimizer.npz", "model.npz.yml", "model.npz.progress.yml"):
        (folder / name).write_bytes(b"x")
    for path in (folder, folder / "model.npz"):
        foreign = read_npz(path, pair=PAIR)
        assert {"model.npz", "model.npz.decoder.yml"} < foreign.origin.files.keys()
        assert foreign.tensors is not None
        assert expected.tensors is not None
        assert all(torch.equal(tensor, foreign.tensors[name]) for name, tensor in expected.tensors.items())


def test_one_sentencepiece_model_is_the_vocabulary_of_both_sides(tmp_path: Path) -> None:
    model = spm([*ENGLISH, *KOREAN], unk_id=1, eos_id=0, bos_id=-1)
    (tmp_path / "vocab.spm").write_bytes(model)
    save(tmp_path / "model.npz", arrays(len(pieces_of(model)) + 2), options())
    assert read_npz(tmp_path, pair=PAIR).tokenizer.same_ids


def test_language_tokens_make_a_pair(tmp_path: Path) -> None:
    write_archive(tmp_path, marks=(">>kor<<", ">>jpn<<"))
    project = read_npz(tmp_path, pair=PAIR).config.project
    assert [pair.source_marks for pair in project.pairs] == [(">>kor<<",)]
    with pytest.raises(ConfigError, match=r"^--pair: this model translates into ko, ja; choose, as in --pair ko-en$"):
        read_npz(tmp_path)
    with pytest.raises(ConfigError, match=r"^--pair: de is none of this model's languages; choose: ko, ja"):
        read_npz(tmp_path, pair=("en", "de"))


def test_without_a_pair_it_is_asked_for(tmp_path: Path) -> None:
    write_archive(tmp_path)
    with pytest.raises(ConfigError, match=r"^--pair: .* does not say its languages; give them, as in --pair ko-en"):
        read_npz(tmp_path)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"transformer_decoder_autoreg": "rnn"}, "an SSRU decoder, which neither engine has; take an OPUS-MT model"),
        ({"transformer_decoder_autoreg": "average-attention"}, "transformer-decoder-autoreg: must be self-attention"),
        ({"type": "s2s"}, "type: must be transformer, not s2s"),
        ({"transformer_train_position_embeddings": "true"}, "position-embeddings: must be false"),
        ({"transformer_postprocess_emb": "nd"}, "transformer-postprocess-emb: must be d, not nd"),
        ({"transformer_postprocess": "dann"}, "transformer-preprocess, postprocess and postprocess-top"),
        ({"transformer_ffn_activation": "gelu"}, "transformer-ffn-activation: gelu is none of relu, swish"),
        ({"transformer_tied_layers": "\n  - 1\n  - 1"}, "transformer-tied-layers: must be empty, not 1 1"),
        ({"factors_dim_emb": "8"}, "factors-dim-emb: must be 0, not 8"),
        ({"transformer_decoder_dim_ffn": "99"}, "transformer-decoder-dim-ffn: differs"),
        ({"dim_emb": "many"}, "dim-emb: a whole number above 0 is needed, not 'many'"),
        ({"dim_emb": "15"}, "dim-emb: 15 must be even and a multiple of transformer-heads"),
        ({"transformer_dim_ffn": "48"}, "tensor encoder_l1_ffn_W1 has shape 24 × 16"),
        ({"enc_depth": "3"}, "tensor encoder_l3_self_Wq is missing"),
        ({"enc_depth": "1"}, "tensor encoder_l2_.* is not one of this architecture"),
    ],
    ids=str,
)
def test_another_architecture_is_refused_by_its_option(tmp_path: Path, changed: dict[str, str], says: str) -> None:
    write_archive(tmp_path, **changed)
    with pytest.raises(ModelError, match=says):
        read_npz(tmp_path, pair=PAIR)


def test_damaged_and_missing_files_are_named(tmp_path: Path) -> None:
    def refused(says: str) -> None:
        with pytest.raises(ModelError, match=says):
            read_npz(tmp_path, pair=PAIR)

    matrices = write_archive(tmp_path)
    whole = (tmp_path / "opus.npz").read_bytes()
    (tmp_path / "opus.npz").write_bytes(whole[: len(whole) // 2])
    refused(r"opus\.npz: cannot be read")
    save(tmp_path / "opus.npz", {**matrices, "Wemb": np.array([{"a": 1}], dtype=object)}, options())
    refused("opus.npz: cannot be read: Object arrays cannot be loaded")
    save(tmp_path / "opus.npz", {**matrices, "Wemb": matrices["Wemb"].astype(np.int8)}, options())
    refused("Wemb: int8 of 2 dimensions")
    save(tmp_path / "opus.npz", {**matrices, "Wemb": matrices["Wemb"] * np.float32("nan")}, options())
    refused("tensor Wemb contains NaN")
    save(tmp_path / "opus.npz", {**matrices, "Wemb": matrices["Wemb"][:20]}, options())
    refused("tensor Wemb has 20 rows, too few")
    np.savez(tmp_path / "opus.npz", **matrices)
    refused(r"no special:model\.yml in it")
    with zipfile.ZipFile(tmp_path / "opus.npz", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("Wemb.npy", bytes(10_000_000))
    refused("unpacks to 10,000,000 bytes")
    (tmp_path / "opus.npz").write_bytes(whole)
    (tmp_path / "opus.vocab.yml").write_text('"a": 0\n"b": first\n')
    refused(r"opus\.vocab\.yml:2: not a piece and its id")
    (tmp_path / "opus.vocab.yml").unlink()
    refused(r"opus\.vocab\.yml: No such file")
    (tmp_path / "decoder.yml").unlink()
    refused(r"one \*\.vocab\.yml is needed, found: none")
    (tmp_path / "source.bpe").write_text("")
    refused(r"source\.bpe: text is segmented by Moses and BPE")


def test_a_vocabulary_is_read_as_yaml_writes_it() -> None:
    text = '---\n</s>: 0\n"\\"": 1\n\'\'\'\'  : 2\n"\\x85\\u2581\\\\n": 3\n~: 4\n? xxxxx\n: 5\n'
    text += '▁a:b: 6\n": ": 7\r\n"\\t": 8\n'
    found = parse_vocabulary(text, Path("v.yml"))
    assert list(found) == ["</s>", '"', "'", "\x85▁\\n", "~", "xxxxx", "▁a:b", ": ", "\t"]
    assert list(found.values()) == list(range(9))
    for text, says in (
        ("a: 1\na: 2\n", "v.yml:2: 'a' is there twice"),
        ("a: 1\nb: 1\n", "v.yml: two pieces have the same id"),
    ):
        with pytest.raises(ModelError, match=says):
            parse_vocabulary(text, Path("v.yml"))


def test_settings_are_read_as_marian_writes_them() -> None:
    text = (
        "# comment\nmodels:\n  - a.npz  # the only one\nvocabs: [v.yml, 'w.yml']\nempty: \"\"\nnone:\n  []\nnumber: 1\n"
    )
    expected = {"models": ["a.npz"], "vocabs": ["v.yml", "w.yml"], "empty": "", "none": [], "number": "1"}
    assert parse_settings(text) == expected
