"""The jobs of `reproduce/gpu/`, rehearsed on a CPU at a hundredth of their size.

Each writes down what it has while it runs, ends with a line of JSON, and leaves no more than a job may return.
"""

import contextlib
import gzip
import json
import os
import random
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle import open_bundle
from dragoman.data.corpus.corpus import embedded_pairs
from dragoman.translator import Translator
from dragoman.workflows.models.export import export

pytestmark = pytest.mark.slow

JOBS = Path(__file__).parents[1] / "reproduce/gpu"
WORDS = {"red": "빨간", "dog": "개", "cat": "고양이", "sees": "봅니다", "big": "큰", "two": "둘", "bird": "새"}
# Time is what a job is bounded by; a rehearsal is bounded by its size too, so that a busy machine does not change it.
SECONDS = 3600


@dataclass
class Rehearsal:
    """A job that has ended."""

    facts: dict[str, Any]
    out: Path
    seen: dict[str, int] = field(default_factory=dict)
    """The files that were there while it ran, and how many different contents each of them had."""


def python(*command: object, **keys: Any) -> subprocess.Popen[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "DRAGOMAN_DATA": ""}
    return subprocess.Popen([sys.executable, *map(str, command)], env=environment, text=True, **keys)


def rehearse(out: Path, script: str, *options: object) -> Rehearsal:
    """Run a job; what holds of every job."""
    command = [JOBS / script, "--out", out, "--device", "cpu", "--rehearse", "--seconds", SECONDS, *options]
    contents: dict[str, set[bytes]] = {}
    log = out.with_name(f"{out.name}.log")
    with log.open("w") as output, python(*command, stdout=output) as process:
        ended = False
        while not ended:
            ended = process.poll() is not None  # and then a last look
            for path in out.glob("*"):
                with contextlib.suppress(FileNotFoundError):  # it was replaced or renamed
                    contents.setdefault(path.name, set()).add(path.read_bytes())
            time.sleep(0.05)
    printed = log.read_text(encoding="utf-8")
    assert process.returncode == 0, printed
    facts = json.loads(printed.splitlines()[-1])
    name = facts["job"]
    assert facts == json.loads((out / f"{name}.json").read_bytes())
    assert facts["rehearsal"]
    assert facts["device"]
    assert facts["finished"]
    assert len(contents[f"{name}.json"]) > 1, "nothing was written while it ran"
    files = [path for path in out.rglob("*") if path.is_file()]
    assert len(files) <= 8
    assert all(path.parent == out and path.stat().st_size <= 16 << 20 for path in files)
    return Rehearsal(facts, out, {name: len(versions) for name, versions in contents.items()})


@pytest.fixture(scope="module")
def pack() -> Iterator[Any]:
    """The module `pack`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))  # what the module changes
        patch.syspath_prepend(str(JOBS))
        import pack

        yield pack


@pytest.fixture(scope="module")
def text(pack: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every domain of the bundled models, some pairs of each, and validation pairs: as `bundled_text.py write` does."""
    folder, rng = tmp_path_factory.mktemp("text"), random.Random(1)

    def write(name: str, count: int) -> None:
        rows = [[rng.choice(list(WORDS)) for _ in range(rng.randint(2, 8))] for _ in range(count)]
        for side, spell in (("en", str), ("ko", WORDS.__getitem__)):
            lines = "".join(" ".join(map(spell, row)) + "\n" for row in rows)
            (folder / f"{name}.{side}").write_text(lines, encoding="utf-8")

    for domain in pack.WEIGHTS:
        write(f"{pack.file_name(domain)}.train", 5)
    write("valid", 30)
    return folder


@pytest.fixture(scope="module")
def packed(pack: Any, text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packed") / "text"
    pack.pack_text(text, folder, pack.sizes_of((290, 290)))
    return folder


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What stays on the machine between the stages."""
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def teacher(packed: Path, work: Path, tmp_path_factory: pytest.TempPathFactory) -> Rehearsal:
    where = ["--text", packed, "--work", work]
    return rehearse(tmp_path_factory.mktemp("teacher"), "bundled_models.py", "--stage", "teacher", *where)


@pytest.fixture(scope="module")
def students(packed: Path, work: Path, teacher: Rehearsal, tmp_path_factory: pytest.TempPathFactory) -> Rehearsal:
    where = ["--text", packed, "--work", work, "--distilled", teacher.out]
    return rehearse(tmp_path_factory.mktemp("students"), "bundled_models.py", "--stage", "students", *where)


def test_what_is_packed_is_read_back(pack: Any, text: Path, packed: Path) -> None:
    found = pack.PackedText.read(packed)
    assert found == pack.PackedText.of(text)
    rows = sum(len(pairs) for pairs in found.people("ko-en").values())
    assert rows == len(found.train["en"]) == 5 * len(pack.WEIGHTS)
    source, target = next(iter(found.people("ko-en").values()))[0]
    assert [WORDS[word] for word in target.split()] == source.split()


def test_a_teacher_is_trained_until_its_time_is_over_and_translates_both_sides(
    pack: Any, packed: Path, teacher: Rehearsal
) -> None:
    facts, text = teacher.facts, pack.PackedText.read(packed)
    curve = facts["training"]["curve"]
    assert curve[0][2] > curve[-1][2]
    assert facts["training"]["learning_rate"] < 1e-3 * facts["training"]["loss"]  # almost zero at the end
    for pair, stand in facts["translations"].items():
        assert stand["translated"] == stand["lines"] == len(text.train["en"])
        assert teacher.seen[f"distilled.{pair}.1.xz"] > 1  # windows are written as they come
    assert facts["translations"]["en-ko"]["taken"] > 0


def test_translations_stand_where_people_wrote(pack: Any, packed: Path, teacher: Rehearsal) -> None:
    import distilled

    text = pack.PackedText.read(packed)
    translations = distilled.read_translations([teacher.out], "en-ko")
    assert len(translations) == teacher.facts["translations"]["en-ko"]["taken"]
    pairs = {row for rows in text.distilled("en-ko", translations).values() for row in rows}
    number, translation = next(iter(translations.items()))
    assert (text.train["en"][number], translation) in pairs
    assert sum(map(len, text.distilled("en-ko", {}).values())) == len(text.train["en"])


def test_the_best_sound_hypothesis_is_the_one_most_like_the_reference(pack: Any) -> None:
    import distilled

    source, reference = [5, 6, 7, 8], [9, 10, 11, 12]
    loop = [9, 10, 11, 12] * 40
    assert distilled.chosen([(source, "a b c d", reference, [[13], [9, 10, 11, 14], [9, 13]])]) == [1]
    assert distilled.chosen([(source, "a b c d", reference, [loop, [13, 14]])]) == [1]
    assert distilled.chosen([(source, "a b c d", reference, [loop, []])]) == [-1]


def test_translations_that_are_cut_off_are_read_as_far_as_they_go(pack: Any, tmp_path: Path) -> None:
    import distilled

    text = distilled.DistilledText("en-ko", ["a", "b", "c"], ["x", "y", "z"])
    text.add([(0, "가"), (1, "나")])
    text.add([(2, "다")])
    (tmp_path / "distilled.en-ko.1.xz").write_bytes(text.files[0][:-20])
    assert distilled.read_translations([tmp_path], "en-ko").items() >= {0: "가", 1: "나"}.items()


def test_the_weights_of_students_are_written_every_minute_and_at_the_end(students: Rehearsal) -> None:
    for pair in ("en-ko", "ko-en"):
        facts = students.facts[f"student-{pair}"]
        assert facts["distilled"] > 0
        assert facts["scores"]["chrF2"] > 0
        assert students.seen[f"student-{pair}.partial-1.weights"] >= 1
        assert not (students.out / f"student-{pair}.partial-1.weights").exists()
        assert (students.out / f"student-{pair}-1.weights").exists()
    assert students.facts["ended"] == {"en-ko": 0, "ko-en": 0}


@pytest.fixture
def finished(pack: Any, text: Path, tmp_path: Path) -> Callable[[Path], Path]:
    """The model of a run, made of the students in a folder of results."""
    import weights

    def finish(results: Path) -> Path:
        weights.main([str(results), str(text), "en-ko", str(tmp_path / "run"), "--card-lines", "0"])
        return tmp_path / "run/model"

    return finish


def test_returned_weights_are_a_model_that_is_exported_and_translates(
    students: Rehearsal, finished: Callable[[Path], Path], tmp_path: Path
) -> None:
    model = finished(students.out)
    outcome = students.facts["student-en-ko"]["training"]["outcome"]
    bundle = open_bundle(model)
    assert bundle.manifest["training"]["loss"] == outcome["loss"]
    assert "sequence-level distillation" in " ".join((model / "README.md").read_text(encoding="utf-8").split())
    assert "tatoeba.train.en" in (model / "README.md").read_text(encoding="utf-8")
    exported = export(model, quantization="int8", output=tmp_path / "bundle", lines=10)
    translator = Translator.load(exported.model_path)
    assert translator.translate(["two big dog"])[0].text


def test_weights_of_the_last_minute_are_a_model_too(
    students: Rehearsal, finished: Callable[[Path], Path], tmp_path: Path
) -> None:
    """What comes back of a machine that went early: no weights of the end, and no outcome."""
    cut = tmp_path / "cut"
    cut.mkdir()
    facts = json.loads((students.out / "students.json").read_bytes())
    del facts["student-en-ko"]["training"]["outcome"]
    (cut / "students.json").write_text(json.dumps(facts))
    for name in ("pieces.model", "student-en-ko-1.weights"):
        (cut / name.replace("en-ko-", "en-ko.partial-")).write_bytes((students.out / name).read_bytes())
    assert open_bundle(finished(cut)).manifest["training"]["reason"] == "the machine was gone"


def test_the_tests_of_a_gpu_are_counted_one_by_one(tmp_path: Path) -> None:
    """Without a GPU all of them are skipped."""
    ended = rehearse(tmp_path / "out", "tests.py")
    rows = ended.facts["tests"]
    assert {row["outcome"] for row in rows} == {"skipped"}
    assert ended.facts["counts"] == {"skipped": len(rows)}
    assert len(rows) > 20
    assert ended.seen["tests.json"] > 5


def test_every_measurement_has_its_row(tmp_path: Path) -> None:
    facts = rehearse(tmp_path / "out", "measurements.py", "--text", tmp_path).facts
    assert {row["way"] for row in facts["steps"]} == {"host", "device"}
    assert all(
        row["ms"] > 0 for table in ("steps", "kernels", "attention") for row in facts[table] if "error" not in row
    )
    assert {row["way"]: row.get("failure") for row in facts["search"]} == {"host": None, "device": ""}
    assert all(row["tokens_per_s"] > 0 and row["alone_ms"] > 0 for row in facts["search"])
    assert [(row["way"], row["window"], row["calls"]) for row in facts["windows"]] == [
        (way, *window) for way in ("host", "device") for window in ((4, 3), (12, 1))
    ]
    assert all(row["lines_per_s"] > 0 for row in facts["windows"])
    assert facts["same_translations"][0]["share"] > 0.8  # two almost equal hypotheses may change places
    # A kernel that only a GPU has is a row that says so; nothing else fails.
    failed = [row for table in facts.values() if isinstance(table, list) for row in table if "error" in row]
    assert {row["variant"] for row in failed} <= {"varlen_attn"}


def test_peers_take_turns_and_who_is_missing_is_a_row_that_says_so(tmp_path: Path) -> None:
    facts = rehearse(tmp_path / "out", "peers.py", "--text", tmp_path).facts
    rows = {row["system"]: row for row in facts["training"]}
    assert rows.keys() == {"dragoman", "pytorch", "marian", "joeynmt", "eole"}
    for name, row in rows.items():
        if name in ("dragoman", "pytorch") or "error" not in row:
            assert row["target_tokens_per_s"] > 0
        else:
            assert "ModuleNotFoundError" in row["error"]
    recorded, by_the_host = facts["decoding"][:2]
    assert (recorded["system"], by_the_host["system"]) == ("dragoman", "dragoman, by the host")
    assert recorded["target_tokens_per_s"] > 0
    assert by_the_host["target_tokens_per_s"] > 0
    assert recorded["ours_is_times_as_fast"] == 1


def test_networks_come_back_as_runs_that_can_be_compared(tmp_path: Path) -> None:
    data, lines = tmp_path / "data" / "multi30k", [pair.source for pair in embedded_pairs("train")]
    data.mkdir(parents=True)
    for split, count in (("train", 600), ("val", 6), ("test_2016_flickr", 3), ("test_2017_flickr", 3)):
        for side, rows in (("en", lines[:count]), ("de", [line.upper() for line in lines[:count]])):
            content = "".join(line + "\n" for line in rows)
            (data / f"{split}.{side}.gz").write_bytes(gzip.compress(content.encode()))
    where = ["--data", data.parent, "--output", tmp_path / "runs", "--steps", 4, "--systems", "Transformer", "RNN"]
    job = rehearse(tmp_path / "out", "networks.py", *where)
    assert "log" not in job.facts
    for name in ("Transformer", "RNN"):
        assert job.facts["rate 0.004"][name]["curve"][-1][0] >= 4
        with tarfile.open(job.out / f"0.004-{name}.tar.xz") as archive:
            archive.extractall(tmp_path / "back", filter="data")
    models = [*(tmp_path / "back").rglob("model/bundle.json")]
    assert len(models) == 2
    assert all(open_bundle(model.parent).manifest["training"]["loss"] > 0 for model in models)
