"""Confidence and robustness of a model: learned, written into bundle and card, printed."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from dragoman import Translator, pharaoh
from dragoman.bundle import open_bundle
from dragoman.bundled import HOME
from dragoman.config import DecodeConfig
from dragoman.config.file import load_config
from dragoman.control.confidence.confidence import Confidence, check_learned
from dragoman.data.corpus.corpus import read_pairs
from dragoman.errors import ConfigError
from dragoman.workflows.data.check import corpus_of
from dragoman.workflows.evaluate.evaluate import TestSet, read_test_set
from dragoman.workflows.evaluate.quality import measure_quality
from dragoman.workflows.evaluate.robustness import evaluate_robustness, measure_robustness
from dragoman.workflows.listener import Listeners

TEXT = HOME.parent / "data/embedded/valid.tsv.gz"
LINE = "Click the OK button."


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    """Validation text of a bundled model, short lines."""
    found = [(pair.source, pair.target) for pair in read_pairs(corpus_of(TEXT)) if len(pair.source) < 60]
    return found[:140]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]) -> Path:
    path = tmp_path_factory.mktemp("text") / "valid.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory, text: Path) -> Path:
    """A bundled model that has learned its confidence."""
    from dragoman.cli.main import main

    model = Path(shutil.copytree(HOME / "en-ko", tmp_path_factory.mktemp("learned") / "model"))
    assert main(["model", "confidence", "-m", str(model), str(text), "--samples", "2", "--accept", "60"]) == 0
    return model


def test_it_is_in_the_bundle_its_manifest_and_its_card(learned: Path) -> None:
    bundle = open_bundle(learned)  # verifies the hashes
    found = Confidence.read(learned / "confidence.json")
    assert "confidence.json" in bundle.manifest["files"]
    assert (found.accept, found.lines, found.samples) == (60.0, 140, 2)
    assert bundle.manifest["confidence"]["measured"]["plain"]["ece"] == found.plain.calibration.ece
    card = (learned / "README.md").read_text(encoding="utf-8")
    assert f"| log P and lengths | {found.plain.calibration.ece:.3f} |" in card
    assert card.index("## Confidence") < card.index("## Limits")
    before = (HOME / "en-ko/README.md").read_text(encoding="utf-8")
    without = [re.sub(r"## Confidence.*?(?=^## )", "", text, flags=re.DOTALL | re.MULTILINE) for text in (before, card)]
    assert without[0] == without[1]


@pytest.mark.slow
def test_learned_again_it_takes_its_place(dragoman: Any, learned: Path, text: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(learned, tmp_path / "model"))
    result = dragoman("model", "confidence", copy, text, "--samples", 0, "--lines", 120, "--accept", 60, "--json")
    facts = json.loads(result.out)
    assert facts["schema"] == "dragoman.model.confidence/1"
    assert facts["lines"] == 120
    assert set(facts["measured"]) == {"plain"}
    assert (copy / "README.md").read_text(encoding="utf-8").count("## Confidence") == 1
    with pytest.raises(ConfigError, match="confidence_samples"):
        Translator.load(copy).translate(LINE, confidence=True, confidence_samples=2)


def test_the_model_shows_its_calibration_error(dragoman: Any, learned: Path) -> None:
    found = Confidence.read(learned / "confidence.json")
    error = f"confidence    calibration error {found.plain.calibration.ece:.3f} on 140 lines"
    assert error in dragoman("model", "show", learned).out


def test_json_has_the_confidence_and_only_if_asked(dragoman: Any, learned: Path) -> None:
    asked = ("translate", "-m", learned, LINE, "", "--json")
    assert "confidence" not in dragoman(*asked).out
    found = [json.loads(line) for line in dragoman(*asked, "decode.confidence=true").out.splitlines()]
    assert 0 < found[0]["confidence"] < 1
    assert "confidence" not in found[1]
    with pytest.raises(ConfigError, match="dragoman model confidence"):
        check_learned(None, DecodeConfig(confidence=True))


@pytest.mark.slow
def test_the_confidence_is_a_column_behind_the_translation(dragoman: Any, learned: Path) -> None:
    asked = ("translate", "-m", learned, LINE, "")
    [plain, _] = dragoman(*asked).out.splitlines()
    [record, _] = map(json.loads, dragoman(*asked, "--confidence", "--json").out.splitlines())
    confidence = f"{record['confidence']:.3f}"
    assert dragoman(*asked, "--confidence").out == f"{plain}\t{confidence}\n\t\n"
    rows = dragoman(*asked, "--confidence", "--alignment", "--n-best", 2).out.splitlines()
    assert [row.split("\t")[3:] for row in rows] == [[confidence, record_alignment(learned)], ["", ""], ["", ""]]


def record_alignment(model: Path) -> str:
    return pharaoh(Translator.load(model).translate(LINE, alignment=True))


@pytest.mark.slow
def test_a_line_alone_has_the_confidence_that_it_has_in_a_batch(learned: Path, pairs: list[tuple[str, str]]) -> None:
    translator = Translator.load(learned, threads=1)
    lines = [source for source, _ in pairs[:24]]
    together = [one.confidence for one in translator.translate(lines, confidence=True, exact=True)]
    alone = [translator.translate(line, confidence=True, exact=True).confidence for line in lines]
    assert together == alone
    quick = translator.translate(lines, confidence=True)
    assert [one.confidence for one in quick] == pytest.approx(alone, abs=0.02)  # int8: a rounded activation flips
    assert len(set(together)) > 10
    sampled = translator.translate(lines, confidence=True, confidence_samples=2)
    assert [one.text for one in sampled] == [one.text for one in quick]
    assert [one.confidence for one in sampled] != [one.confidence for one in quick]


@pytest.mark.slow
def test_better_translations_have_more_confidence(learned: Path) -> None:
    from sacrebleu import sentence_chrf

    rest = [(p.source, p.target) for p in read_pairs(corpus_of(TEXT)) if 60 <= len(p.source) < 90][:60]
    found = Translator.load(learned).translate([source for source, _ in rest], confidence=True)
    quality = [sentence_chrf(one.text, [target]).score for one, (_, target) in zip(found, rest, strict=True)]
    ranked = [score for _, score in sorted(zip([one.confidence or 0 for one in found], quality, strict=True))]
    assert sum(ranked[30:]) > sum(ranked[:30]) + 5 * 30


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--accept", "0"], "accept: 0 is not above 0"),
        (["--lines", "50"], "Invalid value for '--lines': should be greater than or equal to 100"),
        (["--accept", "1", "--lines", "110"], "of 110 lines reach chrF 1"),
    ],
)
def test_what_cannot_be_learned_is_refused_and_nothing_is_written(
    dragoman: Any, learned: Path, text: Path, arguments: list[str], complaint: str
) -> None:
    before = (learned / "bundle.json").read_bytes()
    result = dragoman("model", "confidence", learned, text, "--samples", 0, *arguments)
    assert complaint in result.refused(result.code)
    assert result.code in (2, 3)
    assert (learned / "bundle.json").read_bytes() == before


# --- robustness ----------------------------------------------------------------------------------------------------


def quick_translator() -> Translator:
    """A bundled model that searches greedily: what reaches the limit of length is no second search."""
    return Translator.load("en-ko", threads=1, options=DecodeConfig(beam=1))


@pytest.mark.slow
def test_the_suite_prints_a_row_for_each_change_and_one_number(dragoman: Any, text: Path) -> None:
    result = dragoman("evaluate", "-m", "en-ko", text, "--suite", "robust", "--beam", 1, "--lines", 6, "--json")
    found = json.loads(result.out)
    assert found["schema"] == "dragoman.evaluate.robust/1"
    assert [row["kind"] for row in found["rows"]] == (
        "upper title unpunctuated typos word number script sentences whole".split()
    )
    shares = [min(row["changed"] / row["plain"], 1) for row in found["rows"]]
    assert found["robustness"] == pytest.approx(sum(shares) / 9)
    printed = dragoman("evaluate", "-m", "en-ko", text, "--suite", "robust", "--beam", 1, "--lines", 6)
    assert printed.out.splitlines()[-1] == f"robustness {found['robustness']:.3f}"
    assert len(printed.out.splitlines()) == 11


@pytest.mark.slow
def test_the_suite_is_the_same_every_time_and_uses_known_translations(pairs: list[tuple[str, str]]) -> None:
    translator = quick_translator()
    test_set = TestSet(tuple(source for source, _ in pairs[:30]), tuple(target for _, target in pairs[:30]))
    known = {index: one.text for index, one in enumerate(translator.translate(test_set.sources))}
    first = measure_robustness(translator, test_set, lines=8, listener=Listeners())
    again = measure_robustness(translator, test_set, lines=8, known=known, listener=Listeners())
    assert first == again
    assert first != measure_robustness(translator, test_set, lines=8, seed=2, listener=Listeners())


class Echo:
    """A translator that gives the reference of a known source, however it is typed, and nothing for others."""

    def __init__(self, answers: dict[str, str]) -> None:
        self.answers = {source.casefold(): answer for source, answer in answers.items()}

    def to(self, **_: object) -> "Echo":
        """Itself: it has one pair of languages."""
        return self

    def stream(self, lines: list[str]) -> Any:
        from dragoman.translation import Candidate, Translation

        return (Translation(line, (Candidate(self.answers.get(line.casefold(), ""), 0.0, 0.0),)) for line in lines)


def test_what_changes_nothing_keeps_everything_and_what_loses_all_keeps_nothing() -> None:
    answers = {"Save the file.": "Speichern!", "open it now": "Jetzt öffnen", "The End.": "Das Ende."}
    test_set = TestSet(tuple(answers), tuple(answers.values()))
    found = measure_robustness(Echo(answers), test_set, listener=Listeners())  # type: ignore[arg-type]
    kept = {row.kind: row.share_kept for row in found.rows}
    assert (kept["upper"], kept["title"]) == (1, 1)
    assert (kept["typos"], kept["whole"]) == (0, 0)
    assert all(row.plain == 100 for row in found.rows)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-m", "en-ko", "--suite", "other"], "--suite other: choose one of: robust"),
        (["-m", "en-ko", "--suite", "robust", "--score"], "leave the others out"),
        (["--suite", "robust"], "needs a model"),
        (["-m", "en-ko", "--suite", "robust", "--to", "fr"], "no translation into fr: "),
        (["-m", "en-ko", "--suite", "robust", "--from", "fr"], "no translation from fr: "),
    ],
)
def test_a_wrong_use_of_the_suite_is_named(dragoman: Any, text: Path, arguments: list[str], complaint: str) -> None:
    assert complaint in dragoman("evaluate", text, *arguments).refused(2)


def test_lines_are_a_positive_number(text: Path) -> None:
    with pytest.raises(ConfigError, match=r"^lines: 0 "):
        evaluate_robustness("en-ko", text, lines=0)


# --- on the card ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_training_measures_both_for_bundle_and_card(project: Path, text: Path) -> None:
    config = load_config(project / "run.toml", ["train.card_lines=120", f'data.valid="{text}"'])
    test_set = read_test_set(text)
    translator = quick_translator()
    translations = [one.text for one in translator.translate(test_set.sources)]
    found = measure_quality(translator, config, test_set, translations, Listeners())
    assert set(found.files) == {"confidence.json"}
    assert set(found.facts) == {"confidence", "robustness"}
    assert found.facts["confidence"]["lines"] == 120
    assert found.facts["robustness"]["rows"][3]["lines"] == 20
    assert "**Robustness 0." in found.sections["Robustness"]
    assert measure_quality(translator, load_config(project / "run.toml"), test_set, [], Listeners()).sections == {}


def test_a_test_set_without_text_costs_no_finished_model_its_bundle(project: Path) -> None:
    config = load_config(project / "run.toml", ["train.card_lines=50"])
    blank = TestSet(("a dog",), (" ",))
    assert measure_quality(Translator.load("en-ko"), config, blank, ["x"], Listeners()).sections == {}


@pytest.mark.slow
def test_a_trained_model_has_its_robustness_on_the_card(dragoman: Any, project: Path) -> None:
    result = dragoman("train", project / "run.toml", "train.card_lines=400", "train.max_steps=4")
    assert result.code == 0, result.err
    assert "no confidence is learned from the validation text: 12 lines" in result.err
    card = (project / "runs/toy/model/README.md").read_text(encoding="utf-8")
    assert "## Robustness\n" in card
    assert "## Confidence" not in card
    bundle = open_bundle(project / "runs/toy/model")
    score = bundle.manifest["robustness"]["score"]
    assert 0 <= score <= 1
    assert f"robustness    {score:.2f}, the share of chrF kept" in dragoman("model", "show", bundle.folder).out


def test_judgements_mark_the_doubtful_lines_of_a_model(
    tmp_path: Path, pairs: list[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    from dragoman.cli.main import main

    model = Path(shutil.copytree(HOME / "en-ko", tmp_path / "model"))
    translations = Translator.load(model).translate([source for source, _ in pairs])
    middle = sorted(translation.score for translation in translations)[len(pairs) // 2]
    judged, rest = tmp_path / "judged.tsv", tmp_path / "rest.txt"
    rows = [(row.source, row.text, "usable" if row.score > middle else "wrong") for row in translations]
    judged.write_text("".join("\t".join(row) + "\n" for row in [*rows, ("One.", "Two.", "partly")]), encoding="utf-8")
    assert main(["model", "confidence", "-m", str(model), "--judged", str(judged)]) == 0
    output = capsys.readouterr()
    assert "1 of 141 judgements are of translations that the model does not make now" in output.err
    assert "not usable; of the others" in output.out
    assert "has the warning `doubtful`" in " ".join((model / "README.md").read_text(encoding="utf-8").split())
    rest.write_text(min(translations, key=lambda row: row.score).source + "\n", encoding="utf-8")
    assert main(["translate", "-m", str(model), "-i", str(rest), "--strict"]) == 0
    assert "line 1: probably wrong: confidence 0." in capsys.readouterr().err
    assert main(["translate", "-m", str(model), "-i", str(rest), "decode.doubtful=false"]) == 0
    assert "probably wrong" not in capsys.readouterr().err
    judged.write_text("a\tb\tgood\n", encoding="utf-8")
    assert main(["model", "confidence", "-m", str(model), "--judged", str(judged)]) != 0
    assert f"{judged}:1: not a judgement" in capsys.readouterr().err
