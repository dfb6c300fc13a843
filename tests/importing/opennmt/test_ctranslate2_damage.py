"""Damaged folders of CTranslate2: each is one line that says where, what, and what to do next."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dragoman.config import TokenizerConfig
from dragoman.errors import ConfigError, ModelError
from dragoman.importing.files.foreign import Foreign
from dragoman.importing.files.model_bin import read_model_bin
from dragoman.importing.opennmt.ctranslate2 import read_ctranslate2
from dragoman.text.tokens.tokenizer import learn
from importing.ct2_models import copy_folder, foreign_folder, network, toy_tokenizer


def read(folder: Path, tmp_path: Path, pair: tuple[str, str] | None = ("en", "ko")) -> Foreign:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return read_ctranslate2(folder, pair=pair, scratch=scratch)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    joint = toy_tokenizer()
    return foreign_folder(tmp_path_factory.mktemp("given") / "folder", network(joint), joint)


def rewrite(name: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps(change(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")

    return apply


def edit(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    return lambda folder: (folder / "model.bin").write_bytes(change((folder / "model.bin").read_bytes())) and None


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def write(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


VOCABULARY = "shared_vocabulary.json"
OTHER = learn([("UNE PORTE", "LA MAISON ET LE CHIEN")] * 9, TokenizerConfig(byte_fallback=False)).source.serialized
DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "truncated": (edit(lambda b: b[:-100]), "the file ends too early; fetch the file again"),
    "cut in its data": (edit(lambda b: b[: len(b) // 2]), "goes beyond the file's end"),
    "bytes behind it": (edit(lambda b: b + b"more"), "4 bytes follow its last variable"),
    "another version": (edit(lambda b: b"\x03" + b[1:]), "version 3 of CTranslate2's format; 4 to 6 can be imported"),
    "not such a file": (edit(lambda b: b"PK\x03\x04" + b[4:]), "version 67324752 of CTranslate2's format"),
    "empty": (edit(lambda b: b""), "the file ends too early"),
    "a length that lies": (
        edit(lambda b: b.replace(b"\x18\x00\x00\x00\x00", b"\x17\x00\x00\x00\x00", 1)),
        "bytes, which is not what its shape",
    ),
    "not a translation model": (
        edit(lambda b: b.replace(b"TransformerSpec", b"WhisperrrrrSpec")),
        "WhisperrrrrSpec: not a translation model",
    ),
    "no weights": (remove("model.bin"), "model.bin: cannot be read: No such file"),
    "no vocabulary": (remove(VOCABULARY), "no vocabulary; looked for: shared_vocabulary.json"),
    "another vocabulary": (
        rewrite(VOCABULARY, lambda v: v[:-1]),
        "but the vocabulary has 281 pieces; is it of another model?",
    ),
    "a piece twice": (rewrite(VOCABULARY, lambda v: [*v[:-1], v[-2]]), "is there twice; convert the model again"),
    "no list": (rewrite(VOCABULARY, lambda v: {}), "not a list of pieces"),
    "no unknown piece": (
        rewrite(VOCABULARY, lambda v: ["x", *v[1:]]),
        "has no <unk>, the unknown piece of config.json",
    ),
    "no end": (rewrite("config.json", lambda c: c | {"eos_token": "<eos>"}), "has no <eos>, the end of a sentence"),
    "no beginning": (
        rewrite("config.json", lambda c: c | {"decoder_start_token": None}),
        "names no decoder_start_token",
    ),
    "a wrong flag": (
        rewrite("config.json", lambda c: c | {"add_source_eos": "no"}),
        "add_source_eos: true or false, not 'no'",
    ),
    "no configuration": (remove("config.json"), "config.json: No such file"),
    "no JSON": (write("config.json", b"{"), "config.json: cannot be read: not JSON"),
    "no SentencePiece model": (
        remove("sentencepiece.model"),
        "no SentencePiece model, without which text cannot be segmented; looked for: source.spm",
    ),
    "another SentencePiece model": (write("sentencepiece.model", OTHER), "does not belong to shared_vocabulary.json"),
    "a text for a SentencePiece model": (
        write("sentencepiece.model", b"hello"),
        "not a SentencePiece model; fetch the file again",
    ),
    "word features": (
        write("source_1_vocabulary.json", b"[]"),
        "several vocabularies (word features), which is not supported",
    ),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_folder_is_one_clear_line(case: str, folder: Path, tmp_path: Path) -> None:
    damaged, (damage, message) = copy_folder(folder, tmp_path / "damaged"), DAMAGE[case]
    damage(damaged)
    with pytest.raises(ModelError) as error:
        read(damaged, tmp_path)
    assert message in str(error.value)
    assert str(damaged) in str(error.value)
    assert "\n" not in str(error.value)


def test_bpe_is_refused_with_the_reason(folder: Path, tmp_path: Path) -> None:
    damaged = copy_folder(folder, tmp_path / "damaged")
    (damaged / "sentencepiece.model").rename(damaged / "bpe.model")
    with pytest.raises(ModelError, match=r"cut by Moses and BPE, which is not supported; take the SentencePiece model"):
        read(damaged, tmp_path)


def test_a_pair_is_asked_for(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--pair: a folder of CTranslate2 names no languages; give them"):
        read(folder, tmp_path, pair=None)


def test_no_changed_header_reaches_ctranslate2_unnoticed(folder: Path, tmp_path: Path) -> None:
    """A byte of the headers changed: refused, or the file still adds up."""
    damaged, content = tmp_path / "model.bin", (folder / "model.bin").read_bytes()
    for at in range(0, 400, 7):
        damaged.write_bytes(content[:at] + bytes([content[at] ^ 0x5A]) + content[at + 1 :])
        with suppress(ModelError):
            model = read_model_bin(damaged)
            assert max(variable.offset for variable in model.variables.values()) <= len(content), at
