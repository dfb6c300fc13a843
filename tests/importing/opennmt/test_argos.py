"""Packages of Argos Translate: made here from a random network and from a bundled model, imported, and compared."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman import Translator, import_model
from dragoman.bundle import open_bundle
from dragoman.bundled import HOME
from dragoman.errors import ConfigError, DragomanError, ModelError
from dragoman.importing.files.kinds import kind_of
from dragoman.importing.opennmt.argos import read_argos
from dragoman.text.tokens.marks import Marks
from importing.ct2_models import TEXTS, by_ctranslate2, foreign_folder, network, pieces_of, toy_tokenizer
from stand_ins import queries

METADATA = {
    "package_version": "1.9", "argos_version": "1.9.0", "from_code": "en", "from_name": "English", "to_code": "pb",
    "to_name": "Portuguese",
}  # fmt: skip


def package_folder(folder: Path, metadata: dict[str, Any] = METADATA, **options: Any) -> Path:
    """The unpacked package of a random network."""
    tokenizer = toy_tokenizer()
    folder.mkdir()
    foreign_folder(folder / "model", network(tokenizer), tokenizer, "int8", **options)
    (folder / "model" / "sentencepiece.model").rename(folder / "sentencepiece.model")
    (folder / "metadata.json").write_text(json.dumps(metadata))
    (folder / "README.md").write_text("# English to Portuguese\n\nLicense: CC0\n")
    (folder / "stanza").mkdir()
    (folder / "stanza" / "tokenize.pt").write_bytes(b"\x80\x02cos\nsystem\n")
    return folder


def package(folder: Path, root: str = "translate-en_pb-1_9/") -> Path:
    """A folder as an .argosmodel, as people make them: zipped with its folder."""
    path = folder.with_suffix(".argosmodel")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for one in sorted(folder.rglob("*")):
            if one.is_file():
                file.write(one, root + one.relative_to(folder).as_posix())
    return path


def scratch(tmp_path: Path) -> Path:
    shutil.rmtree(tmp_path / "scratch", ignore_errors=True)
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


@pytest.mark.parametrize("root", ["translate-en_pb-1_9/", ""], ids=["folder", "no folder"])
@pytest.mark.parametrize("zipped", [True, False], ids=["package", "unpacked"])
def test_a_package_translates_as_by_ctranslate2(zipped: bool, root: str, tmp_path: Path) -> None:
    folder = package_folder(tmp_path / "given")
    path = package(folder, root) if zipped else folder
    result = import_model(path, tmp_path / "bundle", trial=False)
    bundle = open_bundle(tmp_path / "bundle")
    assert bundle.manifest["languages"] == {"source": "en", "target": "pt-BR"}
    assert (bundle.config.decode.beam, bundle.config.decode.length_penalty) == (4, 0.4)
    assert (result.origin.kind, result.origin.license, result.origin.license_from) == ("argos", "CC0", "README.md")
    assert bundle.manifest["origin"]["revision"] == "1.9"
    assert not [name for name in bundle.manifest["files"] if "stanza" in name]
    engine = Translator.of_bundle(bundle, threads=1).engine
    greedy = bundle.config.decode.model_copy(update={"beam": 1})
    found = [engine.translate(queries([ids]), greedy)[0][0].tokens for ids in bundle.tokenizer.encode(TEXTS, "source")]
    expected = by_ctranslate2(folder / "model", pieces_of(toy_tokenizer()), beam_size=1)
    assert [bundle.tokenizer.pieces(tokens, "target") for tokens in found] == expected


@pytest.mark.slow
def test_a_bundled_model_as_a_package_translates_as_before(tmp_path: Path) -> None:
    folder = tmp_path / "given"
    shutil.copytree(HOME / "en-ko" / "ct2-int8", folder / "model")
    shutil.copy(HOME / "en-ko" / "tokenizer" / "joint.model", folder / "sentencepiece.model")
    (folder / "metadata.json").write_text(json.dumps(METADATA | {"to_code": "ko"}))
    result = import_model(package(folder), tmp_path / "bundle", license="CC-BY-4.0")
    assert result.trial is not None
    lines = ["Open the file. Press OK.", "Hello, how are you today?"]
    bundled = Translator.load("en-ko")
    texts = [one.text for one in bundled.translate(lines, length_penalty=0.4)]
    assert [one.text for one in Translator.load(tmp_path / "bundle").translate(lines)] == texts


def test_a_target_prefix_is_the_language_token_of_every_target(tmp_path: Path) -> None:
    """As CTranslate2 with this prefix, which is then taken away."""
    piece = toy_tokenizer().pieces([275], "target")[0]
    folder = package_folder(
        tmp_path / "given",
        METADATA | {"target_prefix": "__pt__"},
        names={piece: "__pt__", "<pad>": "<blank>"},
        decoder_start_token="</s>",
    )
    foreign = read_argos(package(folder), scratch=scratch(tmp_path))
    [pair] = foreign.config.project.pairs
    assert (pair.source, pair.target, pair.target_marks) == ("en", "pt-BR", ("__pt__",))
    [mark] = foreign.tokenizer.marks(["__pt__"], "target")
    assert mark not in foreign.tokenizer.encode(["__pt__ dog"], "source")[0]
    import_model(folder, tmp_path / "bundle", trial=False)
    translator = Translator.load(tmp_path / "bundle", threads=1)
    greedy = translator.options.model_copy(update={"beam": 1})
    ids = translator.tokenizer.encode(TEXTS, "source")
    marks = [Marks.of(pair, translator.tokenizer)]
    found = [translator.engine.translate(queries([source], None, marks), greedy)[0][0].tokens for source in ids]
    sources = [[*pieces, "</s>"] for pieces in pieces_of(toy_tokenizer())]
    expected = by_ctranslate2(folder / "model", sources, beam_size=1, prefix=["__pt__"])
    assert [translator.tokenizer.pieces(tokens, "target") for tokens in found] == expected


def test_a_model_without_a_start_takes_the_prefix_for_it(tmp_path: Path) -> None:
    """decoder_start_token null: the first token of a target is the user's, here always the same."""
    piece = toy_tokenizer().pieces([275], "target")[0]
    metadata = METADATA | {"target_prefix": "__pt__"}
    names = {piece: "__pt__", "<pad>": "<blank>"}
    folder = package_folder(tmp_path / "given", metadata, names=names, decoder_start_token=None)
    foreign = read_argos(folder, scratch=scratch(tmp_path))
    assert foreign.engine_folder
    config = json.loads((foreign.engine_folder / "config.json").read_text())
    assert (config["decoder_start_token"], foreign.config.project.pairs) == ("__pt__", ())


# --- bad packages --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return package_folder(tmp_path_factory.mktemp("argos") / "given")


def change(**keys: Any) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        kept = {key: value for key, value in (METADATA | keys).items() if value is not None}
        (folder / "metadata.json").write_text(json.dumps(kept))

    return apply


def as_bpe(folder: Path) -> None:
    (folder / "sentencepiece.model").rename(folder / "bpe.model")


CASES: dict[str, tuple[Callable[[Path], None], type[DragomanError], str]] = {
    "Moses and BPE": (as_bpe, ModelError, "bpe.model: cut by Moses and BPE, which is not supported; take the"),
    "another type": (change(type="sbd"), ModelError, "a package of the type sbd, not a translation model"),
    "no languages": (change(from_code=None), ConfigError, "--pair: "),
    "a number for a language": (change(to_code=5), ModelError, "to_code: text in quotes, not 5"),
    "no code of a language": (change(to_code="../.."), ConfigError, "names 'en' and '../..', no languages; give them"),
    "an unknown prefix": (
        change(target_prefix="__xx__"),
        ModelError,
        "'__xx__' is no piece of the model",
    ),
    "no JSON": (
        lambda f: (f / "metadata.json").write_text("{") and None,
        ModelError,
        "metadata.json: cannot be read: not JSON",
    ),
    "a list": (
        lambda f: (f / "metadata.json").write_text("[]") and None,
        ModelError,
        "metadata.json: cannot be read: not keys with their values",
    ),
    "no weights": (lambda f: (f / "model" / "model.bin").unlink(), ModelError, "model.bin: cannot be read"),
    "no tokenizer": (lambda f: (f / "sentencepiece.model").unlink(), ModelError, "no SentencePiece model"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_package_is_one_clear_line(case: str, given: Path, tmp_path: Path) -> None:
    folder, (damage, kind, message) = tmp_path / "bad", CASES[case]
    shutil.copytree(given, folder)
    damage(folder)
    with pytest.raises(kind) as error:
        import_model(package(folder), tmp_path / "bundle", trial=False)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert "scratch" not in str(error.value)  # the archive is named, not a folder that is gone
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad", "bad.argosmodel"]


def test_a_zip_that_is_no_package_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.argosmodel"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a/b/metadata.json", "{}")
    assert kind_of(path) == "argos"
    with pytest.raises(ModelError, match=r"0 × metadata.json, where a package of Argos Translate has one"):
        read_argos(path, scratch=scratch(tmp_path))


def test_a_pair_of_the_user_comes_before_that_of_the_package(given: Path, tmp_path: Path) -> None:
    foreign = read_argos(given, pair=("en", "pt"), scratch=scratch(tmp_path))
    assert (foreign.config.project.source, foreign.config.project.target) == ("en", "pt")


def test_a_readme_with_several_licences_names_none(given: Path, tmp_path: Path) -> None:
    folder = tmp_path / "several"
    shutil.copytree(given, folder)
    (folder / "README.md").write_text("A corpus\n\nLicense: CC0\n\nAnother\n\nLicense: CC-BY\n")
    assert read_argos(folder, scratch=scratch(tmp_path)).origin.license == "unknown"
