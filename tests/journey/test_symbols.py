"""A model trained on text with placeholders places and re-orders them, in everything that works with a bundle."""

import random
from pathlib import Path

import pytest

from dragoman import distill, evaluate, export, inspect, train
from dragoman.config import RunConfig
from dragoman.config.file import build_config
from dragoman.data.corpus.corpus import Pair
from dragoman.translator import Translator
from dragoman.workflows.models.shortlist import learn_model_shortlist

pytestmark = pytest.mark.slow
NOUNS = {"dog": "개", "cat": "고양이", "bird": "새", "man": "남자", "tree": "나무", "book": "책"}
VERBS = {"sees": "본다", "finds": "찾는다", "likes": "좋아한다"}


def pair(rng: random.Random) -> Pair:
    """The object comes first in the target."""
    (subject, ko), (thing, ko_thing), (verb, ko_verb) = (
        rng.choice([*words.items()]) for words in (NOUNS, NOUNS, VERBS)
    )
    if rng.random() < 0.5:
        subject = ko = f"{{x{rng.randrange(9)}}}"
    if rng.random() < 0.3:
        thing = ko_thing = f"%{rng.randrange(1, 9)}$s"
    return Pair(f"the {subject} {verb} the {thing}", f"{ko_thing}를 {ko}가 {ko_verb}", 1)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("symbols"), random.Random(1)
    for name, count in (("train", 2000), ("some", 800), ("valid", 40)):
        lines = [pair(rng) for _ in range(count)]
        (folder / f"{name}.tsv").write_text("".join(f"{one.source}\t{one.target}\n" for one in lines), encoding="utf-8")
    return folder


def run(project: Path, name: str, steps: int, **data: object) -> RunConfig:
    tree = {
        "project": {"name": name, "source": "en", "target": "ko"},
        "data": {"valid": "valid.tsv", **data},
        "model": {"layers": 2, "d_model": 64, "d_ff": 128, "heads": 4, "dropout": 0.0},
        "train": {
            "output": name,
            "precision": "float32",
            "batch_tokens": 1500,
            "schedule": "linear",
            "learning_rate": 5e-3,
            "warmup": 30,
            "max_steps": steps,
            "validate_every": steps,
            "card_lines": 0,
        },
    }
    return build_config(tree, name, project)


@pytest.fixture(scope="module")
def model(project: Path) -> Path:
    return train(run(project, "own", 240, train=["train.tsv"], protect=True)).model_path


LINES = {
    "the {user.name} sees the dog": "개를 {user.name}가 본다",
    "the <b> likes the https://example.org/a?b=c": "https://example.org/a?b=c를 <b>가 좋아한다",
    "the ⟦1⟧ finds the ⟦0⟧": "⟦0⟧를 ⟦1⟧가 찾는다",
    "the cat finds the `a  b`": "`a  b`를 고양이가 찾는다",
}


def test_placeholders_that_no_text_had_are_placed_and_re_ordered(model: Path) -> None:
    translator = Translator.load(model, engine="torch")
    found = translator.translate([*LINES], alignment=True)
    assert [one.text for one in found] == [*LINES.values()]
    assert [one.warnings for one in found] == [()] * len(found)
    [first, *_] = found
    assert ("{user.name}", "{user.name}가") in {
        (first.source[a.begin : a.end], first.text[b.begin : b.end]) for a, b in first.alignment
    }
    assert translator.translate("the {x} likes the cat", glossary={"cat": "새"}).text == "새를 {x}가 좋아한다"


def test_exports_shortlists_scores_and_looks_agree(project: Path, model: Path) -> None:
    learn_model_shortlist(model, project / "train.tsv", pairs=500)
    export(model, quantization="float32")
    for engine, shortlist in (("ct2-float32", False), ("ct2-float32", True), ("torch", True)):
        found = Translator.load(model, engine=engine).translate([*LINES], shortlist=shortlist)
        assert [one.text for one in found] == [*LINES.values()]
    seen = inspect(model, "the {x} sees the {y}")
    assert seen.text == "{y}를 {x}가 본다"
    assert "⟦0⟧" in seen.pieces["source"]
    assert "{x}" not in seen.pieces["source"]
    (project / "s.txt").write_text("\n".join(LINES))
    (project / "r.txt").write_text("\n".join(LINES.values()))
    assert evaluate(model, project / "s.txt", project / "r.txt").scores[0].value == pytest.approx(100.0)


def test_a_student_has_the_symbols_of_its_teacher(project: Path, model: Path) -> None:
    student = distill(model, run(project, "student", 120, train=["some.tsv"])).model_path
    text = (project / "student/distilled.tsv").read_text(encoding="utf-8")
    assert "⟦" not in text
    assert "{x3}" in text
    translator = Translator.load(student)
    assert translator.symbols.names
    assert translator.translate("the {user.name} sees the dog").text == "개를 {user.name}가 본다"
