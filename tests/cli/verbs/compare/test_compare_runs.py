"""`dragoman compare`: runs side by side, equal budgets, the page, and runs that cannot be compared."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import dragoman as library
from dragoman.config import DecodeConfig
from dragoman.config.file import build_config, read_run_config
from dragoman.control.languages import LanguagePair, Pairs
from dragoman.engine import Attention, Ids, Query
from dragoman.errors import ConfigError
from dragoman.evaluation import bleu
from dragoman.text.tokens.marks import Marks
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.translator import Translator
from stand_ins import FakeEngine

CHANGES = {"other": ("d_model = 32", "d_model = 24")}


@pytest.fixture
def pair(trained: Path, tmp_path: Path) -> tuple[Path, Path]:
    """The folder of a finished run, and the configuration of another on the same text."""
    copied = Path(shutil.copytree(trained, tmp_path / "project"))
    text = (copied / "run.toml").read_text(encoding="utf-8")
    other = copied / "other.toml"
    other.write_text(text.replace('name = "toy"', 'name = "other"').replace(*CHANGES["other"]), encoding="utf-8")
    config = copied / "runs/toy/config.toml"  # its paths are those of where it was trained
    config.write_text(config.read_text(encoding="utf-8").replace(str(trained), str(copied)), encoding="utf-8")
    return copied / "runs/toy", other


@pytest.mark.slow
def test_a_run_and_a_configuration_are_compared_and_the_page_says_so(
    dragoman: Any, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    result = dragoman("compare", *pair, "-o", page, "--equal", "flops", "--json")
    assert result.code == 0, result.err
    report = json.loads(result.out)
    first, second = report["runs"]

    assert [first["name"], second["name"]] == ["toy", "other"]
    assert second["cost"]["flops"] == pytest.approx(first["cost"]["flops"], rel=0.15)  # in whole updates
    assert second["cost"]["steps"] > first["cost"]["steps"]  # the narrower network has more of them
    assert report["tests"]["systems"]["toy"][0]["p_bootstrap"] is None
    assert 0 <= report["tests"]["systems"]["other"][0]["p_bootstrap"] <= 1
    html = page.read_text(encoding="utf-8")
    assert "https://" not in re.sub(r"<pre>.*?</pre>", "", html, flags=re.S)
    assert html.count('<svg class="map"') == 2
    assert "모델 나란히 비교하기" in html
    assert "Systems side by side" in html

    complaint = dragoman("compare", pair[0], pair[0].parent / "other", "-o", page, "--equal", "updates").refused(2)
    assert re.match(r"other: trained with \d+ updates, the first system with \d+ updates; leave --equal", complaint)


@pytest.mark.slow
def test_runs_that_are_finished_are_compared_by_their_folder(
    dragoman: Any, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    assert dragoman("compare", *pair, "-o", page).code == 0
    again = dragoman("compare", pair[0].parent, "-o", page)
    assert again.code == 0, again.err
    assert re.search(r"^toy +transformer", again.out, re.M)


@pytest.mark.slow
@pytest.mark.parametrize("equal", ["flops", "minutes"])
def test_what_auto_chooses_has_an_equal_budget_too_and_the_same_command_resumes(
    dragoman: Any, pair: tuple[Path, Path], tmp_path: Path, equal: str
) -> None:
    run, config = pair
    text = re.sub(
        r"(?m)^(vocab_size|layers|d_model|d_ff|heads|max_steps|warmup|validate_every) *=.*\n",
        "",
        config.read_text("utf-8"),
    )
    text = text.replace("[model]\n", '[model]\npreset = "auto"\n')
    text = text.replace("[train]\n", '[train]\nmax_steps = "auto"\nwarmup = "auto"\nvalidate_every = "auto"\n')
    config.write_text(text, encoding="utf-8")
    for _ in range(2):
        result = dragoman("compare", run, config, "-o", tmp_path / "page.html", "--equal", equal, "--json")
        assert result.code == 0, result.err
    first, second = json.loads(result.out)["runs"]
    an_update = second["cost"]["flops"] / second["cost"]["steps"]
    assert equal == "minutes" or second["cost"]["flops"] <= 1.25 * first["cost"]["flops"] + an_update
    train = read_run_config(run.parent / "other").train
    assert isinstance(train.warmup, int)
    assert train.warmup <= 10


@pytest.mark.slow
def test_a_finished_run_is_compared_as_it_was_trained_whatever_its_configuration_says(
    dragoman: Any, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    run, config = pair
    shutil.copytree(run, run.parent / "other")
    text = config.read_text(encoding="utf-8")
    auto = re.sub(r"\[model\]\n[^\[]*", '[model]\npreset = "auto"\n\n', text)
    config.write_text(auto.replace("max_steps = 8", 'max_steps = "auto"'), encoding="utf-8")
    result = dragoman("compare", run, config, "-o", tmp_path / "page.html", "--json")
    assert result.code == 0, result.err
    first, second = (system["cost"] for system in json.loads(result.out)["runs"])
    assert second["formula_flops"] == first["formula_flops"] == pytest.approx(first["flops"], rel=0.02)
    assert "as it was trained" not in result.err, "nothing but what `auto` became is another"

    config.write_text(text.replace("[train]\n", "[train]\nseed = 77\n"), encoding="utf-8")
    result = dragoman("compare", run, config, "-o", tmp_path / "page.html")
    assert result.code == 0, result.err
    another = "other: compared as it was trained, with another model.d_model and train.seed than its configuration has"
    assert another in result.err

    config.write_text(text.replace("[decode]\n", "[decode]\nlength_penalty = 0.3\n"), encoding="utf-8")
    result = dragoman("compare", run, config, "-o", tmp_path / "page.html")
    assert "another model.d_model and decode.length_penalty than its configuration has" in result.err


@pytest.mark.slow
def test_a_run_with_more_than_the_budget_is_refused_and_one_that_stopped_early_is_not(
    dragoman: Any, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    run, config = pair
    text = config.read_text(encoding="utf-8")
    steps = read_run_config(run).train.max_steps
    assert isinstance(steps, int)
    longer = re.sub(r"(?m)^max_steps *=.*$", f"max_steps = {2 * steps}", text)
    config.write_text(longer, encoding="utf-8")
    assert dragoman("train", config).code == 0
    page = tmp_path / "page.html"
    assert "other: trained with" in dragoman("compare", run, config, "-o", page, "--equal", "updates").refused(2)
    shutil.rmtree(run.parent / "other")
    patient = re.sub(r"(?m)^learning_rate *=.*$", "learning_rate = 1e-9\npatience = 1", text)
    config.write_text(re.sub(r"(?m)^validate_every *=.*$", "validate_every = 1", patient), encoding="utf-8")
    for _ in range(2):
        result = dragoman("compare", run, config, "-o", page, "--equal", "updates", "--json")
        assert result.code == 0, result.err
    first, second = json.loads(result.out)["runs"]
    assert second["cost"]["steps"] < first["cost"]["steps"]


def test_counted_operations_are_those_of_the_equations(dragoman: Any, pair: tuple[Path, Path], tmp_path: Path) -> None:
    from dragoman.bundle import open_bundle
    from dragoman.workflows.compare.measures import chains_of, counted_updates

    folder, _ = pair
    bundle, config = open_bundle(folder / "model"), read_run_config(folder)
    model = bundle.load_model()
    per_token, formula, peak = counted_updates(bundle, model, config)
    assert per_token == pytest.approx(formula, rel=0.02)  # logits of padding are left out
    assert peak > 4 * model.parameter_count  # the gradients alone

    chains = chains_of(model)
    assert len({chain.encoder for chain in chains}) == 1  # a Transformer's depth does not grow with the sentence
    assert all(chain.encoder < chain.forward for chain in chains)


def test_a_model_of_several_pairs_is_measured_on_the_pair_of_the_test_text(
    toy_corpus: Path, toy_tokenizer: Tokenizer
) -> None:
    """The letters of an English text say nothing of its target, and attention without language tokens is another."""
    from dragoman.workflows.compare.inputs import System, tested_pair
    from dragoman.workflows.compare.measures import attention_of

    train, valid = str(toy_corpus / "train.tsv"), str(toy_corpus / "valid.tsv")
    tree = {
        "project": {"name": "both", "pairs": ["en-de", "en-fr"]},
        "data": {
            "train": [{"source": train, "languages": name} for name in ("en-de", "en-fr")],
            "valid": [{"source": valid, "languages": "en-fr"}],
        },
    }
    system = System("both", toy_corpus, build_config(tree, "both", toy_corpus))
    assert tested_pair(system).name == "en-fr"

    read: list[Query] = []

    class Attentive(FakeEngine):
        def attention(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[Attention] | None:
            read.extend(queries)
            return None

    pairs = Pairs((LanguagePair("en", "de", Marks((4,), ())), LanguagePair("en", "fr", Marks((5,), (6,)))))
    translator = Translator(toy_tokenizer, Attentive(), DecodeConfig(), pairs=pairs).to("fr")
    assert attention_of(translator, "red dog", "rot hund") is None
    assert [query.marks for query in read] == [Marks((5,), (6,))]


def test_lengths_add_up_to_the_test_set() -> None:
    from dragoman.workflows.compare.measures import score_by_length
    from dragoman.workflows.evaluate.evaluate import TestSet

    sources = tuple(" ".join(["a"] * length) for length in (3, 4, 5, 6, 7, 12, 13, 14, 15, 16, 80))
    references = tuple(source.replace("a", "ein") for source in sources)
    found = score_by_length(references, TestSet(sources, references))
    assert [(part.low, part.high, part.sentences) for part in found] == [(1, 10, 5), (11, 20, 5)]  # one alone has none
    assert found[1].bleu == pytest.approx(bleu(references[5:10], references[5:10]).value)
    joined = [reference.replace(" ", "") for reference in references]  # one word each, but as many characters
    assert [part.bleu for part in score_by_length(joined, TestSet(sources, references))] == [0, 0]
    by_characters = score_by_length(joined, TestSet(sources, references), "char")
    assert [part.bleu for part in by_characters] == [pytest.approx(100)] * 2


def test_runs_that_cannot_be_compared_are_refused(dragoman: Any, pair: tuple[Path, Path], tmp_path: Path) -> None:
    run, config = pair
    text = config.read_text(encoding="utf-8")

    assert dragoman("compare", run).refused(2).startswith("compare: one system; give two")
    assert "two of the systems are this run" in dragoman("compare", run, run).refused(2)
    assert "no such file or folder" in dragoman("compare", run, tmp_path / "nowhere").refused(2)
    assert "no finished run" in dragoman("compare", run, run.parent.parent / "data").refused(2)
    assert "M parameters, the first system has" in dragoman("compare", run, config, "--equal", "parameters").refused(2)

    other = tmp_path / "other"
    shutil.copytree(run, other)
    assert "a key is for configurations" in dragoman("compare", run, other, "train.max_minutes=99").refused(2)
    keys = ("train.seed=77", "train.output=runs/toy")
    complaint = dragoman("compare", config, run.parent.parent / "run.toml", *keys[:1]).refused(2)
    assert complaint.startswith(f"{run}: is trained with another train.seed; leave train.seed=77 out")
    assert "two of the systems are this run" in dragoman("compare", run, config, keys[1]).refused(2)
    assert "unknown key" in dragoman("compare", run, config, "train.sed=77").refused(2)
    complaint = dragoman("compare", run, config, "--tokenize", "words").refused(2)
    assert complaint.startswith("--tokenize words: choose one of 13a, char")
    with pytest.raises(ConfigError, match="resamples: 1 is no number from 2 on"):
        library.compare_runs([run, config], resamples=1)

    other = run.parent.parent / "data/other"
    other.mkdir()
    for side in ("en", "de"):
        (other / f"test.{side}").write_text("one line\n", encoding="utf-8")
    config.write_text(text.replace("data/test.", "data/other/test."), encoding="utf-8")
    complaint = dragoman("compare", run, config).refused(2)  # the names alone would say nothing
    assert f"its test text ({other / 'test.en'}, {other / 'test.de'}) is not that of toy ({other.parent}" in complaint

    config.write_text(text.replace("data/test.en", "data/valid.en").replace("data/test.de", "data/valid.de"), "utf-8")
    complaint = dragoman("compare", run, config).refused(2)
    assert complaint.startswith("other: its test text (valid.en + valid.de) is not that of toy (test.en + test.de)")
    assert not (run.parent / "other").exists()  # refused before anything was trained

    config.write_text(text.replace("[train]\n", '[train]\nobjective = "risk"\n'), encoding="utf-8")
    complaint = dragoman("compare", run, config, "--equal", "flops").refused(2)
    assert complaint.startswith('other: train.objective: operations of "risk" cannot be made equal')
    config.write_text(text.replace("data/train.de", "data/gone.de"), encoding="utf-8")
    complaint = dragoman("compare", run, config).refused(3)
    assert complaint.startswith("other: its training text ")
    assert complaint.endswith("gone.de is not there; put it back where it was")

    config.write_text(text, encoding="utf-8")
    (run.parent.parent / "data/test.de").unlink()
    assert dragoman("compare", run, config).refused(3).startswith("toy: its test text cannot be read: ")


def test_a_page_replaces_nothing_but_a_page(dragoman: Any, pair: tuple[Path, Path]) -> None:
    complaint = dragoman("compare", *pair, "-o", pair[1]).refused(2)
    assert complaint.endswith("exists already and is no page that Dragoman wrote; choose another name")
