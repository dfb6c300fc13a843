"""`improve`: corrections become a new version next to the old one, if the old test set allows it."""

import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.cli.conftest import sentences

import dragoman as package
from dragoman.bundle import add_files, open_bundle
from dragoman.system.files import locked
from dragoman.workflows.improve.check import ChangedMetric
from dragoman.workflows.improve.corrections import Correction, read_corrections
from dragoman.workflows.improve.improve import carry_over, next_version
from dragoman.workflows.improve.run import HOLD_OUT_FROM, PART, hold_out
from dragoman.workflows.listener import Listener, Listeners

FEW = [
    "train.max_steps=2",
    "train.learning_rate=1e-6",
    "train.card_lines=0",
    "train.device=cpu",
    "train.precision=float32",
]
COLUMNS = "id, source, translation, correction, source_language, target_language, model, updated"


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of the trained run with its text, whose model may get versions."""
    copy = Path(shutil.copytree(trained, tmp_path / "project"))
    for path in (copy / "runs/toy").rglob("config.toml"):
        path.write_text(path.read_text(encoding="utf-8").replace(str(trained), str(copy)), encoding="utf-8")
    return copy / "runs/toy"


def corrections(folder: Path, count: int = 10, more: str = "") -> Path:
    """Every cat is a kater in the toy language; now it is a katze."""
    pairs = [(one, other.replace("kater", "katze")) for one, other in sentences(count, seed=5)]
    path = folder / "corrections.tsv"
    path.write_text("".join(f"{one}\t{other}\n" for one, other in pairs) + more, encoding="utf-8")
    return path


def database(path: Path, rows: list[tuple[str, str, str, str]]) -> Path:
    """What the service writes: source, correction, and the two languages."""
    with sqlite3.connect(path) as connection:
        connection.execute(f"create table corrections ({COLUMNS})")
        for number, (source, correction, ours, theirs) in enumerate(rows, 1):
            row = (number, source, "", correction, ours, theirs, "toy", f"2026-11-24T00:00:{number:02d}")
            connection.execute(f"insert into corrections values ({', '.join('?' * 8)})", row)
    connection.close()
    return path


@pytest.mark.slow
def test_a_new_version_is_next_to_the_old_one_with_a_page(dragoman: Any, run: Path, contents: Any) -> None:
    before = contents(run / "model")
    more = "red dog\t\nthe cat\tthe cat\nopen {name} now\tder kater\nblue dog\n"
    result = dragoman("improve", run / "model", "--from", corrections(run, more=more), "--json", *FEW)
    assert result.code == 0, result.err
    assert contents(run / "model") == before
    found = json.loads(result.out)
    assert found["schema"] == "dragoman.improve/1"
    assert found["model"] == str(run / "model-2")
    assert (found["corrections"], found["held_out"]) == (10, 0)
    kinds = {one["where"].rpartition(":")[2]: one["kind"] for one in found["left_out"]}
    assert kinds == {"11": "empty", "12": "copies", "13": "placeholders", "14": "bad_bytes"}
    assert "corrections.tsv:13: placeholders" in result.err
    assert f"replaying the text of the run {run}" in result.err
    assert [(text["on"], text["sentences"]) for text in found["texts"]] == [("test", 10), ("corrections", 10)]
    made = open_bundle(run / "model-2")
    assert [path.name for path in made.exports] == ["ct2-int8"] or [path.name for path in made.exports] == [
        "ct2-float32"
    ]
    assert made.manifest["improvement"]["corrections"] == 10
    assert made.manifest["name"] == "toy-2"
    assert "Improved by corrections" in (run / "model-2/README.md").read_text(encoding="utf-8")
    page = (run / "model-2.html").read_text(encoding="utf-8")
    assert "http" not in page
    assert page.count("<details open>") == 10
    assert dragoman("translate", "-m", run / "model-2", "red dog").code == 0
    assert not list(run.glob(".dragoman-*"))
    assert next_version(made)[0] == run / "model-3"


class Warned(Listener):
    """Collects warnings."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def on_warning(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture
def attached(model: Path, tmp_path: Path) -> Path:
    """A copy of the model with a glossary and a shortlist."""
    copy = Path(shutil.copytree(model, tmp_path / "attached"))
    files = {"glossary.tsv": "dog\tköter\n", "shortlist.txt": "\t<pad> <unk> <s> </s>\n"}
    add_files(open_bundle(copy), files, {"shortlist": {"per_piece": 1}})
    return copy


def test_a_new_version_has_the_glossary_and_the_shortlist_of_the_one_before(
    model: Path, attached: Path, tmp_path: Path
) -> None:
    version = Path(shutil.copytree(model, tmp_path / "version"))
    carry_over(open_bundle(attached), open_bundle(version), Listeners(()))
    made = open_bundle(version)
    for name in ("glossary.tsv", "shortlist.txt"):
        assert made.manifest["files"][name] == open_bundle(attached).manifest["files"][name]
    assert made.manifest["shortlist"] == {"per_piece": 1}
    assert package.Translator.load(version).translate("dog").terms[0].target == "köter"


def test_a_shortlist_of_other_pieces_is_left_out_with_a_warning(attached: Path, model: Path, tmp_path: Path) -> None:
    version = open_bundle(Path(shutil.copytree(model, tmp_path / "version")))
    of_other_pieces: Any = SimpleNamespace(sha256={"joint.model": "of other pieces"})
    listener = Warned()
    carry_over(open_bundle(attached), replace(version, tokenizer=of_other_pieces), Listeners([listener]))
    assert "shortlist" in listener.warnings[0]
    files = open_bundle(version.folder).manifest["files"]
    assert "glossary.tsv" in files
    assert "shortlist.txt" not in files


@pytest.mark.slow
def test_the_same_from_python_with_corrections_held_out(run: Path) -> None:
    """Scores and translations are those of `evaluate`."""
    keys = ["train.max_steps=60", "train.learning_rate=0.02", "data.replay_share=0.3", *FEW[2:]]
    result = package.improve(run / "model", corrections(run, count=60), output=run / "better", overrides=keys)
    assert (result.corrections, result.held_out) == (54, 6)
    texts = {text.on: text for text in result.texts}
    assert texts.keys() == {"test", "corrections", "held_out"}
    found = package.evaluate(run / "better", list(texts["test"].sources), list(texts["test"].references), resamples=0)
    assert texts["test"].metrics[0].after == pytest.approx(found.bleu.value)
    assert found.translations == texts["test"].after


def test_a_database_of_the_service_gives_the_newest_correction_of_each_source(tmp_path: Path, model: Path) -> None:
    project = open_bundle(model).config.project
    rows = [
        ("red dog", "rote kater", "en", "de"),
        ("red dog", "rote hund", "en-US", "de"),
        ("blue dog", "chien bleu", "en", "fr"),
        ("a cat\n\na dog", "ein kater\n\nein hund", "en", "de"),
        ("a tree\na bird", "ein baum", "en", "de"),
    ]
    path = database(tmp_path / "corrections.db", rows)
    found = read_corrections(path, project)
    assert [(one.source, one.target) for one in found.usable] == [
        ("red dog", "rote hund"),
        ("a cat", "ein kater"),
        ("a dog", "ein hund"),
    ]
    assert [(one.correction.where, one.kind) for one in found.faults] == [(f"{path}: correction 5", "control")]
    assert found.elsewhere == 1


def test_many_corrections_are_held_out_and_few_are_not() -> None:
    few = [Correction(str(number), "x", "en-de", "") for number in range(HOLD_OUT_FROM - 1)]
    assert hold_out(few) == (few, [])
    many = [*few, Correction("last", "x", "en-de", "")]
    learned, held_out = hold_out(many)
    assert len(held_out) == HOLD_OUT_FROM // PART
    assert sorted([*learned, *held_out], key=many.index) == many
    assert {one.source for one in hold_out(many[::-1])[1]} == {one.source for one in held_out}


def faulty(folder: Path, name: str) -> Path:
    """A file of corrections that nothing can be learned from."""
    texts = {
        "none.tsv": "",
        "empty.tsv": "a dog\t\n",
        "same.tsv": "a dog\ta dog\n",
        "script.tsv": "a dog\t개 한 마리\n",
        "lost.tsv": "open {name}\tder hund\n",
        "text.db": "not a database\n",
        "text.txt": "a dog\n",
    }
    path = folder / name
    if name in texts:
        path.write_text(texts[name], encoding="utf-8")
    elif name == "other.db":
        with sqlite3.connect(path) as connection:
            connection.execute("create table units (id)")
        connection.close()
    elif name == "pair.db":
        database(path, [("개", "dog", "ko", "en")])
    elif name == "no-rows.db":
        database(path, [])
    return path


@pytest.mark.parametrize(
    ("name", "code", "cause"),
    [
        ("none.tsv", 3, "no corrections; correct some translations first"),
        ("no-rows.db", 3, "no corrections; correct some translations first"),
        ("empty.tsv", 3, "empty.tsv:1: empty sides; "),
        ("same.tsv", 3, "same.tsv:1: target repeats the source; "),
        ("script.tsv", 3, "script.tsv:1: in another script; "),
        ("lost.tsv", 3, "lost.tsv:1: placeholders that differ; "),
        ("nowhere.tsv", 3, "no such file"),
        ("text.db", 3, "cannot be read as a database"),
        ("other.db", 3, "a database without corrections; give the corrections.db of the service"),
        ("pair.db", 3, "no corrections for en-de; they are for ko-en"),
        ("text.txt", 2, "corrections are the corrections.db of the service, or a .tsv or .jsonl file"),
    ],
)
def test_corrections_that_cannot_be_learned_from_are_named(
    dragoman: Any, run: Path, tmp_path: Path, name: str, code: int, cause: str
) -> None:
    before = sorted(path.name for path in run.iterdir())
    assert cause in dragoman("improve", run / "model", "--from", faulty(tmp_path, name)).refused(code)
    assert sorted(path.name for path in run.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "code", "cause"),
    [
        ([], 2, "needs corrections; give --from"),
        (["--from", "C", "x"], 2, "too many arguments"),
        (["--from", "C", "--pair", "en-fr"], 2, "--pair en-fr: not a pair of this model, which has en-de"),
        (["--from", "C", "-o", "model"], 2, "already exists; choose another folder with -o"),
        (["--from", "C", "train.output=x"], 2, "train.output: is set by `improve`"),
        (["--from", "C", "model.layers=3"], 2, "model.layers: is set by `improve`"),
        (["--from", "C", "train.step=3"], 2, "did you mean train.max_steps?"),
        (["--from", "C", "--page", "config.toml"], 2, "is no page that Dragoman wrote"),
        (["--from", "C", "--page", "model"], 1, "model: cannot be written: Is a directory"),
        (["--from", "C", "--page", "reports/news.html"], 1, "reports/news.html: cannot be written: No such file"),
        (["--from", "C", "--replay", "nowhere.txt"], 3, "no such file"),
    ],
)
def test_arguments_that_make_no_sense_are_refused_and_nothing_is_written(
    dragoman: Any, run: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, cause: str
) -> None:
    path = corrections(run)
    before = sorted(one.name for one in run.iterdir())
    monkeypatch.chdir(run)
    given = [path if one == "C" else one for one in arguments]
    assert cause in dragoman("improve", run / "model", *given).refused(code)
    assert sorted(one.name for one in run.iterdir()) == before


@pytest.mark.slow
def test_a_model_without_its_run_says_what_to_give(dragoman: Any, model: Path, tmp_path: Path) -> None:
    """Test text first, then text to replay; with both it is improved, and the model's own translations are replayed."""
    alone = Path(shutil.copytree(model, tmp_path / "alone"))
    command = ["improve", alone, "--from", corrections(tmp_path), *FEW]
    assert "name some: --test SOURCE REFERENCE" in dragoman(*command).refused(2)
    sides = [tmp_path / "test.en", tmp_path / "test.de"]
    for side, path in enumerate(sides):
        path.write_text("".join(f"{both[side]}\n" for both in sentences(9, seed=8)), encoding="utf-8")
    command += ["--test", *sides]
    assert "give text in en, which it translates itself: --replay FILE" in dragoman(*command).refused(2)
    (tmp_path / "more.en").write_text("".join(f"{one}\n" for one, _ in sentences(40, seed=9)), encoding="utf-8")
    result = dragoman(*command, "--replay", tmp_path / "more.en")
    assert result.code == 0, result.err
    assert "replaying 40 sentences with the model's own translations" in result.err
    assert (tmp_path / "alone-2/bundle.json").exists()


@pytest.mark.slow
def test_a_test_set_that_drops_is_exit_code_6_and_leaves_nothing(
    dragoman: Any, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dragoman.workflows.improve import check as improve_check

    monkeypatch.setattr(improve_check.ChangedMetric, "dropped", property(lambda one: one.metric == "BLEU"))
    path, before = corrections(run), {one.name for one in run.iterdir()}
    complaint = dragoman("improve", run / "model", "--from", path, *FEW).refused(6)
    assert f"{run}/model: not improved: BLEU of the test set en-de would drop" in complaint
    assert {one.name for one in run.iterdir()} == before | {path.name}


@pytest.mark.parametrize(("after", "dropped"), [(19.9, True), (20.0, False), (40.0, False)])
def test_a_drop_is_what_is_below_the_interval_of_the_score_before(after: float, dropped: bool) -> None:
    assert ChangedMetric("BLEU", 25.0, 20.0, 30.0, after, 0.5).dropped == dropped
    assert not ChangedMetric("TER", 25.0, None, None, after, 0.5).dropped


def test_an_interrupted_improvement_leaves_nothing(dragoman: Any, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dragoman.workflows.improve import improve as module

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "prepare_texts", interrupted)
    path, before = corrections(run), {one.name for one in run.iterdir()}
    complaint = dragoman("improve", run / "model", "--from", path, *FEW).refused(130)
    assert complaint == "improve: interrupted; nothing was written, start it again"
    assert {one.name for one in run.iterdir()} == before | {path.name}


def test_one_process_at_a_time_improves_a_model(dragoman: Any, run: Path) -> None:
    path = corrections(run)
    with locked(run / ".model-2.improving"):
        complaint = dragoman("improve", run / "model", "--from", path, *FEW).refused(2)
    assert complaint == f"{run}/model-2: another process improves this model; wait for it"


def test_without_torch_the_extra_is_named(dragoman: Any, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dragoman.workflows.improve import improve as module

    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    complaint = dragoman("improve", run / "model", "--from", corrections(run)).refused(4)
    assert complaint == 'improve: training needs `pip install "dragoman[train]"`'


def test_each_line_that_holds_no_pair_is_named(tmp_path: Path, model: Path) -> None:
    path = tmp_path / "corrections.TSV"
    path.write_text("a dog\tein hund\nred\trote\tx\nblue\n\ta dog\n\tx\n", encoding="utf-8")
    read = read_corrections(path, open_bundle(model).config.project)
    assert [(fault.correction.where, fault.kind) for fault in read.faults] == [
        (f"{path}:{line}", kind) for line, kind in ((2, "bad_bytes"), (3, "bad_bytes"), (4, "empty"), (5, "empty"))
    ]
    assert [correction.target for correction in read.usable] == ["ein hund"]


def test_a_corrected_table_for_review_and_lines_of_windows_are_corrections(tmp_path: Path, model: Path) -> None:
    project, path = open_bundle(model).config.project, tmp_path / "out.review.tsv"
    rows = "file\tlocation\tsource\ttranslation\twhy\na\t1\tred dog\tred dog\tx\na\t2\ta dog\tein hund\tx\n"
    path.write_text(rows, encoding="utf-8")
    read = read_corrections(path, project)
    assert [(row.source, row.target, row.where) for row in read.usable] == [("a dog", "ein hund", f"{path}:3")]
    made = database(tmp_path / "c.db", [("a cat\r\na dog", "ein kater\r\nein hund", "en", "de")])
    usable = read_corrections(made, project).usable
    assert [(row.source, row.target) for row in usable] == [("a cat", "ein kater"), ("a dog", "ein hund")]


def test_a_wrong_key_is_refused_before_text_is_translated(
    dragoman: Any, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dragoman.workflows.improve import improve as workflow

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(workflow, "prepare_texts", never)
    command = ["improve", run / "model", "--from", corrections(run)]
    assert "did you mean train.max_steps?" in dragoman(*command, "train.max_step=3").refused(2)
    assert "train.max_steps" in dragoman(*command, "train.max_steps=x").refused(2)
