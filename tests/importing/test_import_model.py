"""Import: a model is tried before it is written, and what fails leaves nothing."""

import errno
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.bundle import open_bundle
from dragoman.config import PairConfig, TokenizerConfig
from dragoman.config.sections.project import ProjectConfig
from dragoman.data.corpus.corpus import read_pairs
from dragoman.errors import ConfigError, DataError, DragomanError, ModelError, QualityError
from dragoman.importing.files.foreign import Origin, is_non_commercial, origin_of_folder
from dragoman.importing.files.languages import languages
from dragoman.importing.trial import ImportTrial, check_pieces, try_pairs
from dragoman.text.tokens.tokenizer import Tokenizer, Vocabulary, learn
from dragoman.workflows.data.check import corpus_of
from dragoman.workflows.importing import import_model as module
from dragoman.workflows.importing.import_model import (
    ImportResult,
    TrialText,
    embedded_text,
    import_model,
    pair_of_text,
)
from importing.foreign_models import BUNDLED, PAIRS, Reader, all_wrong, bundled_reader, half_wrong, right, shifted

FIXTURES = Path(__file__).parent / "fixtures"


class Notes(dragoman.Listener):
    """What an import reports."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.warnings: list[str] = []

    def on_notice(self, step: int, text: str) -> None:
        self.notices.append(text)

    def on_warning(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder of another toolkit's model; the readers of these tests look at its README only."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "README.md").write_text("---\nlicense: cc-by-4.0\nlanguage: [en]\n---\n# A model\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty short pairs of the embedded text."""
    path = tmp_path_factory.mktemp("text") / "pairs.tsv"
    pairs = [one for one in read_pairs(corpus_of(PAIRS)) if len(one.source.split()) in range(4, 10)][:40]
    path.write_text("".join(f"{one.source}\t{one.target}\n" for one in pairs), encoding="utf-8")
    return path


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[Reader], None]:
    return lambda reader: monkeypatch.setattr(module, "reader_of", lambda kind: reader)


@pytest.fixture
def run(foreign: Path, tmp_path: Path, text: Path, read: Callable[[Reader], None]) -> Callable[..., ImportResult]:
    """`import_model` with the reader of the bundled model."""

    def imported(reader: Reader | None = None, source: Path | None = text, **options: Any) -> ImportResult:
        read(reader or bundled_reader())
        output = options.pop("output", tmp_path / "out" / "ours")
        return import_model(foreign, output, source, kind="ctranslate2", **options)

    return imported


@pytest.fixture
def contents() -> Callable[[Path], dict[str, bytes]]:
    """Every file below a folder with its bytes, to see that nothing was lost."""
    return lambda folder: {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_model_that_translates_becomes_a_bundle(run: Callable[..., ImportResult], tmp_path: Path) -> None:
    listener = Notes()
    result = run(listeners=[listener])
    assert left_in(tmp_path / "out") == ["ours"]
    bundle = open_bundle(result.model_path)
    assert result.trial is not None
    assert result.trial.t is not None
    assert result.trial.t > 10
    assert -3 < result.trial.log_prob < -0.1
    assert bundle.manifest["trial"] == result.trial.facts()
    assert (bundle.manifest["name"], bundle.manifest["architecture"]) == ("ours", "ctranslate2")
    assert bundle.manifest["origin"]["license"] == bundle.config.project.license == "cc-by-4.0"
    assert [score["metric"] for score in bundle.manifest["scores"]] == ["BLEU", "chrF2"]
    assert result.scores[0].value > 10 > result.copying[0].value
    assert listener.warnings == []
    assert "2 pieces are unknown" in listener.notices
    line = "The file is closed."
    ours, bundled = (dragoman.Translator.load(folder).translate(line).text for folder in (bundle.folder, BUNDLED))
    assert ours == bundled


@pytest.mark.slow
def test_the_card_names_the_origin_its_licence_and_what_was_changed(run: Callable[..., ImportResult]) -> None:
    card = (run().model_path / "README.md").read_text(encoding="utf-8")
    assert 'license: "cc-by-4.0"' in card
    assert "- model: `theirs`" in card
    assert "- licence: cc-by-4.0 (from README.md)" in card
    assert "- changed: Its vocabulary is renumbered." in card
    assert "Tried on pairs.tsv: 32 references: mean log P -" in card
    assert "| BLEU | " in card


@pytest.mark.slow
@pytest.mark.parametrize("order", [half_wrong, shifted, all_wrong], ids=lambda order: order.__name__)
def test_a_vocabulary_of_another_model_is_refused(
    run: Callable[..., ImportResult], tmp_path: Path, order: Callable[[list[str]], list[str]]
) -> None:
    with pytest.raises(QualityError, match="the vocabulary does not belong to these weights") as refused:
        run(bundled_reader(order), force=True)
    assert str(refused.value).startswith(f"{tmp_path}/theirs: not imported: it does not translate: mean log P ")
    assert left_in(tmp_path / "out") == []


@pytest.mark.slow
def test_text_that_does_not_correspond_is_refused(run: Callable[..., ImportResult], text: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved.tsv"
    lines = [line.split("\t") for line in text.read_text(encoding="utf-8").splitlines()]
    pairs = zip(lines, lines[7:] + lines[:7], strict=True)
    moved.write_text("".join(f"{source}\t{target}\n" for (source, _), (_, target) in pairs), encoding="utf-8")
    with pytest.raises(QualityError, match="lines of the text do not correspond"):
        run(source=moved)


def test_without_a_trial_the_card_states_that(run: Callable[..., ImportResult]) -> None:
    listener = Notes()
    result = run(bundled_reader(all_wrong), trial=False, listeners=[listener])
    assert result.trial is None
    assert listener.warnings == ["It was not tried whether the model translates."]
    assert listener.warnings[0] in (result.model_path / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_embedded_text_is_what_a_model_of_its_languages_is_tried_on(run: Callable[..., ImportResult]) -> None:
    result = run(source=None)
    assert result.trial is not None
    assert "On the embedded text" in (result.model_path / "README.md").read_text(encoding="utf-8")


def test_other_languages_without_text_are_warned_of(run: Callable[..., ImportResult]) -> None:
    listener = Notes()
    result = run(bundled_reader(right, source="ky"), source=None, listeners=[listener])
    assert result.trial is None
    assert listener.warnings == [
        "It was not tried whether the model translates. To know, import it again: give SOURCE REFERENCE, some pairs of "
        "ky and ko, to try it"
    ]


@pytest.mark.slow
def test_a_licence_that_no_file_names_is_unknown(run: Callable[..., ImportResult], foreign: Path) -> None:
    (foreign / "README.md").unlink()
    listener = Notes()
    result = run(listeners=[listener])
    assert listener.warnings == [
        f"{foreign}: names no licence, so the card says unknown; find it out, and import again with --license"
    ]
    manifest = open_bundle(result.model_path).manifest["origin"]
    assert (manifest["license"], manifest["license_from"]) == ("unknown", None)
    card = (result.model_path / "README.md").read_text(encoding="utf-8")
    assert 'license: "unknown"' in card
    assert "the files name no licence. Ask the author" in card


@pytest.mark.slow
def test_a_licence_that_is_given_counts(run: Callable[..., ImportResult]) -> None:
    listener = Notes()
    result = run(license="CC-BY-NC-4.0", listeners=[listener])
    assert listener.warnings == ["README.md: names the licence cc-by-4.0, --license CC-BY-NC-4.0"]
    assert (result.origin.license, result.origin.license_from) == ("CC-BY-NC-4.0", "--license")
    assert result.non_commercial
    assert "**Not for commercial use.**" in (result.model_path / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "content", "license"),
    [
        ("README.md", "---\r\nlicense: 'apache-2.0' \r\n---\r\n", "apache-2.0"),
        ("README.md", "# none\n---\nlicense: mit\n---\n", "unknown"),
        ("README.md", "---\nlicense: [mit, 'x']\n---\n", "mit, x"),
        ("README.md", "---\nlanguage:\n- en\nlicense:\n- cc-by-nc-4.0\ntags:\n- a\n---\n", "cc-by-nc-4.0"),
        ("README.md", "---\nlicense: mit # ours\n---\n", "mit"),
        ("README.md", "---\nlicense: |\n  a long\n  text\ntags:\n  license: mit\n---\n", "unknown"),
        ("LICENSE", "MIT License\n\nCopyright …", "mit"),
        ("LICENSE", "Creative Commons Attribution-NonCommercial 4.0 International", "cc-by-nc-4.0"),
        ("LICENSE", "Creative Commons Attribution 4.0 International", "cc-by-4.0"),
        ("COPYING", "all rights reserved", "unknown"),
    ],
)
def test_the_licence_is_read_from_the_files(foreign: Path, name: str, content: str, license: str) -> None:
    (foreign / "README.md").unlink()
    (foreign / name).write_text(content, encoding="utf-8", newline="")
    found = dragoman.importing.files.foreign.origin_of_folder("marian", foreign, [], [])  # type: ignore[attr-defined]
    assert (found.license, found.license_from) == (license, None if license == "unknown" else name)
    assert list(found.files) == [name]


@pytest.mark.parametrize(
    "readme",
    ["---\nlicense: a" + " " * 200_000 + "b\n---\n", "---" + "\n" * 200_000 + "x"],
    ids=["a value", "a header"],
)
def test_much_white_space_in_a_readme_is_read_once(readme: str, foreign: Path) -> None:
    """Minutes, where each of the spaces begins a search to the last."""
    (foreign / "README.md").write_text(readme)
    start = time.process_time()
    origin_of_folder("marian", foreign, [], [])
    assert time.process_time() - start < 30


@pytest.mark.parametrize(
    ("license", "forbids"),
    [
        ("cc-by-nc-4.0", True),
        ("CC BY-NC 4.0", True),
        ("CC_BY_NC_SA", True),
        ("mit, cc-by-nc-sa-4.0", True),
        ("Creative Commons Attribution-NonCommercial 4.0", True),
        ("free for non-commercial use", True),
        ("cc-by-4.0", False),
        ("NCSA", False),
        ("unknown", False),
    ],
)
def test_a_licence_without_commercial_use_is_known_however_it_is_written(license: str, forbids: bool) -> None:
    assert is_non_commercial(license) is forbids


def test_a_folder_of_the_cache_of_hugging_face_has_the_name_of_its_repository(tmp_path: Path) -> None:
    folder = tmp_path / "models--Helsinki-NLP--opus-mt-en-ko/snapshots/ab12"
    folder.mkdir(parents=True)
    origin = origin_of_folder("marian", folder, [], [])
    assert (origin.name, origin.revision) == ("Helsinki-NLP/opus-mt-en-ko", "ab12")
    assert languages(folder, {}, (), None)[0] == {"source": "en", "target": "ko"}


SEVERAL = ProjectConfig(
    name="x",
    source="en",
    target="fr",
    pairs=tuple(PairConfig(source="en", target=tag, source_marks=(f">>{tag}<<",)) for tag in ("fr", "ja", "ko")),
)


@pytest.mark.parametrize(
    ("reference", "pair"),
    [("ファイルを開きます。", "en-ja"), ("파일을 엽니다.", "en-ko"), ("Das Haus ist alt und schön.", "en-fr")],
)
def test_a_model_of_several_pairs_is_tried_as_that_of_the_text(reference: str, pair: str) -> None:
    text = TrialText("text.tsv", (("Open the file.", reference),) * 4)
    assert pair_of_text(SEVERAL, text).name == pair
    assert pair_of_text(SEVERAL, embedded_text(SEVERAL)).name == "en-ko"


def test_of_pairs_with_one_target_that_of_the_sources_is_tried() -> None:
    pairs = tuple(PairConfig(source=tag, target="en", source_marks=(f">>{tag}<<",)) for tag in ("fr", "ja", "ko"))
    project = ProjectConfig(name="x", source="fr", target="en", pairs=pairs)
    text = TrialText("text.tsv", (("ファイルを開きます。", "Open the file on this computer."),) * 4)
    assert pair_of_text(project, text).name == "ja-en"
    assert pair_of_text(project, embedded_text(project)).name == "ko-en"


def test_the_pair_that_was_tried_is_named(tmp_path: Path) -> None:
    tsv = tmp_path / "ja.tsv"
    tsv.write_text("Open file 1.\tファイル1を開きます。\n" * 4, encoding="utf-8")
    with pytest.raises(QualityError, match="it was tried as en-ja, --pair names another, --no-trial imports it"):
        import_model(FIXTURES / "marian-tc", tmp_path / "out", tsv)


@pytest.mark.slow
def test_a_bundle_that_exists_is_replaced_by_force_only(
    run: Callable[..., ImportResult], contents: Callable[[Path], dict[str, bytes]]
) -> None:
    output = run(trial=False).model_path
    before = contents(output)
    with pytest.raises(ConfigError, match=r"ours: already exists; --force replaces it$"):
        run()
    assert contents(output) == before
    assert run(force=True).trial
    assert contents(output) != before


def test_what_was_trained_is_never_replaced(
    run: Callable[..., ImportResult], tmp_path: Path, contents: Callable[[Path], dict[str, bytes]]
) -> None:
    output = run(trial=False).model_path
    manifest = output / "bundle.json"
    facts = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({**facts, "training": {"step": 8}}), encoding="utf-8")
    before = contents(output)
    with pytest.raises(ConfigError, match="holds a model of training, which is never replaced"):
        run(force=True)
    assert contents(output) == before
    with pytest.raises(ConfigError, match="already exists and is not a model folder"):
        run(force=True, output=tmp_path)


@pytest.mark.parametrize("where", ["copytree", "tokenizer", "card", "move"])
def test_a_full_disk_leaves_nothing(
    run: Callable[..., ImportResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    target = {
        "copytree": (shutil, "copytree"),
        "tokenizer": (Tokenizer, "save"),
        "card": (Path, "write_bytes"),
        "move": (Path, "rename"),
    }[where]
    monkeypatch.setattr(*target, full)
    with pytest.raises(DragomanError, match="No space left on device; free some space and try again") as error:
        run(trial=where == "card")
    assert ".dragoman-" not in str(error.value)  # the output is named, not where it is made
    assert left_in(tmp_path / "out") == []


def test_an_export_needs_weights_and_text(run: Callable[..., ImportResult], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is of CTranslate2 already"):
        run(quantization="int8")
    with pytest.raises(ConfigError, match="quantization int4: choose one of int8, "):
        run(quantization="int4")
    assert left_in(tmp_path / "out") == []


@pytest.mark.parametrize("pair", ["en", "en_ko", "english-korean", "en-ko-ja", ""])
def test_a_pair_is_two_languages(run: Callable[..., ImportResult], pair: str) -> None:
    with pytest.raises(ConfigError, match=r"^--pair .*: not two languages"):
        run(pair=pair)


def test_text_that_is_too_long_cannot_try_a_model(run: Callable[..., ImportResult], tmp_path: Path) -> None:
    long = tmp_path / "long.tsv"
    long.write_text("word " * 500 + "\t" + "낱말 " * 500 + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"long\.tsv: no pair is short enough"):
        run(source=long)


@pytest.mark.slow
def test_lines_that_do_not_correspond_are_refused(run: Callable[..., ImportResult], text: Path, tmp_path: Path) -> None:
    lines = [line.split("\t") for line in text.read_text(encoding="utf-8").splitlines()]
    shifted_lines = tmp_path / "shifted.tsv"
    pairs = [(source, lines[index - 7][1]) for index, (source, _) in enumerate(lines)]
    shifted_lines.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    with pytest.raises(QualityError, match="as likely under the sources of other pairs"):
        run(source=shifted_lines)


class WithoutSource:
    """An engine that scores by the target alone, as a model does whose source vocabulary is wrong."""

    def score(self, queries: Any, targets: Any, alone: bool = False) -> list[list[float]]:
        return [[-2.0 - 0.01 * token for token in target] + [-1.0] for target in targets]


def test_a_model_that_does_not_read_its_source_is_refused() -> None:
    tokenizer = Tokenizer.load(BUNDLED / "tokenizer")
    pairs = [(f"Number {n} is here.", f"{n}번은 여기에 있습니다.") for n in range(20)]
    found = try_pairs(WithoutSource(), tokenizer, pairs)  # type: ignore[arg-type]
    assert found is not None
    assert found.t == 0
    with pytest.raises(QualityError, match="the source vocabulary does not belong to these weights"):
        ImportTrial(20, -2.0, -6.7, found.t, 0.0).require()
    few = try_pairs(WithoutSource(), tokenizer, pairs[:3])  # type: ignore[arg-type]
    assert few is not None
    assert few.t is None
    assert try_pairs(WithoutSource(), tokenizer, [("", "")]) is None  # type: ignore[arg-type]


class NeverTheFirst(WithoutSource):
    """An engine of a model that never generates the first token of a reference."""

    def score(self, queries: Any, targets: Any, alone: bool = False) -> list[list[float]]:
        return [[float("-inf"), *row[1:]] for row in super().score(queries, targets)]


def test_a_token_that_is_never_generated_does_not_decide_alone() -> None:
    tokenizer = Tokenizer.load(BUNDLED / "tokenizer")
    found = try_pairs(NeverTheFirst(), tokenizer, [("Select a color.", "색상을 선택합니다.")])  # type: ignore[arg-type]
    assert found is not None
    assert found.log_prob > float("-inf")


def trial(**changed: Any) -> ImportTrial:
    return ImportTrial(**{"pairs": 32, "log_prob": -1.0, "limit": -6.7, "t": 20.0, "unknown": 0.0, **changed})


@pytest.mark.parametrize("changed", [{"log_prob": float("nan")}, {"t": float("nan")}, {"t": 2.4}, {"log_prob": -6.8}])
def test_what_is_not_sure_to_translate_is_refused(changed: dict[str, float]) -> None:
    trial(t=2.6).require()
    trial(log_prob=-6.6).require()
    with pytest.raises(QualityError, match=r"^it does not translate: "):
        trial(**changed).require()


def test_what_is_suspicious_is_warned_of() -> None:
    assert trial().warnings == []
    assert trial(log_prob=-5.5).warnings == ["mean log P -5.50 per token: the model knows little of this text"]
    assert trial(unknown=0.5).warnings == ["50 % of the source pieces are unknown to the model: is --pair right?"]


def test_two_vocabularies_with_one_numbering_agree() -> None:
    tokenizer = Tokenizer.load(BUNDLED / "tokenizer")
    check_pieces(tokenizer, False, "here")
    other = learn(
        [("open the file and close it", "the other file is here")] * 30,
        TokenizerConfig(vocab_size=22, byte_fallback=False),
    )
    two = Tokenizer(tokenizer.source, Vocabulary.load(other.source.serialized, "there"))
    check_pieces(two, False, "here")
    with pytest.raises(ModelError, match=r"^here: piece \d+ differs between source and target"):
        check_pieces(two, True, "here")


def test_pieces_that_change_when_they_are_encoded_again_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = Tokenizer.load(BUNDLED / "tokenizer")
    monkeypatch.setattr(Tokenizer, "encode", lambda self, texts, side: [[77]] * len(texts))
    with pytest.raises(ModelError, match=r"^here: \d+ of \d+ source pieces change when they are encoded again"):
        check_pieces(tokenizer, False, "here")


def test_a_model_without_text_cannot_be_trained_on(run: Callable[..., ImportResult]) -> None:
    config = open_bundle(run(trial=False).model_path).config
    for function in (dragoman.train, dragoman.check_data):
        with pytest.raises(ConfigError, match=r"^configuration: data\.train: missing; this key has no default$"):
            function(config)  # type: ignore[operator]


def test_an_origin_is_plain_data() -> None:
    origin = Origin("marian", "x", files={"a": "b"}, changes=("one",))
    assert json.loads(json.dumps(origin.facts())) == origin.facts()
