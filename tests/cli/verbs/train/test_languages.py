"""One model of both directions of a pair: trained, scored by pair, exported, and asked for either language."""

import gzip
import json
import pickle
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import dragoman as api
from dragoman.config.file import build_config, load_config
from dragoman.errors import ConfigError
from dragoman.text.words.script import script_shares
from dragoman.workflows.models.export import export

ENGLISH = ["Click the button.", "Select the text in the document.", "Open the file."]
KOREAN = ["단추를 누릅니다.", "문서에서 글을 선택합니다.", "파일을 엽니다."]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that learned only which language to write, in a few seconds, with tokens on both sides."""
    folder = tmp_path_factory.mktemp("both")
    embedded = files("dragoman") / "data/embedded"
    for name, count in (("train", 500), ("valid", 12)):
        lines = gzip.decompress((embedded / f"{name}.tsv.gz").read_bytes()).decode().splitlines()
        short = [line for line in lines if len(line) < 60][:count]
        (folder / f"{name}.tsv").write_text("\n".join(short) + "\n", encoding="utf-8")
    marks = {lang: {"source_marks": [f"<{lang}>"], "target_marks": [f"<2{other}>"]} for lang, other in ("ek", "ke")}
    tree = {
        "project": {
            "name": "both",
            "pairs": [
                {"source": "en", "target": "ko", **marks["e"]},
                {"source": "ko", "target": "en", **marks["k"]},
            ],
        },
        "data": {
            "train": [{"source": "train.tsv", "both_directions": True}],
            "valid": [{"source": "valid.tsv"}, {"source": "valid.tsv", "languages": "en-ko", "both_directions": True}],
        },
        "tokenizer": {"vocab_size": 1000},
        "model": {"layers": 1, "d_model": 32, "d_ff": 64, "heads": 2, "dropout": 0.0},
        "train": {
            "batch_tokens": 600,
            "max_steps": 70,
            "warmup": 30,
            "validate_every": 70,
            "translate_lines": 4,
            "precision": "float32",
            "card_lines": 0,
            "threads": 1,
        },
        "decode": {"extra_length": 5},
    }
    result = api.train(build_config(tree, "both", folder))
    assert set(result.by_pair) == {"en-ko", "ko-en"}
    return result.model_path


def written_in(texts: list[str]) -> str:
    """The script of most letters."""
    return next(iter(script_shares(" ".join(texts))), "none")


@pytest.mark.slow
def test_the_target_decides_the_language_of_the_translation(both: Path) -> None:
    translator = api.Translator.load(both)
    for target, script in (("ko", "Hang"), ("en", "Latn")):
        other = {"ko": ENGLISH, "en": KOREAN}[target]
        found = [translation.text for translation in translator.translate(other, target=target)]
        assert written_in(found) == script
        assert [one.text for one in translator.stream(other, target=target)] == found
        assert [one.text for one in translator.to(target).translate(other)] == found
        assert [one.text for one in translator.translate(other)] == found  # by the letters of the text
        assert pickle.loads(pickle.dumps(translator.to(target))).translate(other[0]).text == found[0]
        best = translator.alternatives(other[0], count=2, target=target)
        assert written_in([one.text for one in best]) == script


def test_scores_depend_on_the_target(both: Path) -> None:
    translator = api.Translator.load(both)
    pairs = [(ENGLISH[0], KOREAN[0])]
    assert translator.score(pairs, target="ko") == translator.to("ko").score(pairs) == translator.score(pairs)
    assert sum(translator.score(pairs, target="ko")[0]) > sum(translator.score(pairs, target="en")[0])
    [found] = translator.translate([ENGLISH[0]], target="ko", token_scores=True)
    assert sum(found.candidates[0].log_probs) == pytest.approx(found.candidates[0].log_prob, abs=1e-4)


def test_a_model_refuses_a_language_that_it_lacks(both: Path) -> None:
    translator = api.Translator.load(both)
    with pytest.raises(ConfigError, match="no translation into ja: this model has en-ko, ko-en"):
        translator.translate("x", target="ja")
    with pytest.raises(ConfigError, match="no translation ko-ko: this model has en-ko, ko-en"):
        translator.translate("x", target="ko", source="ko")
    with pytest.raises(ConfigError, match=r"no translation from ja: this .*; choose another source \(--from\)$"):
        translator.translate("x", source="ja")
    with pytest.raises(ConfigError, match="no translation into '': this model has en-ko, ko-en"):
        translator.translate("x", target="")
    with pytest.raises(ConfigError, match=r"target \(--to\): this model has several pairs, en-ko, ko-en, and the text"):
        translator.translate("Привет", beam=1)
    with pytest.raises(ConfigError, match="no translation into ja: this model has en-ko; choose"):
        api.Translator.load("en-ko").translate("x", target="ja")
    assert api.Translator.load("en-ko").to("ko", "en").pair


def test_the_bundle_lists_its_pairs_and_their_scores(both: Path, dragoman: Any) -> None:
    manifest = json.loads((both / "bundle.json").read_text(encoding="utf-8"))
    assert manifest["pairs"] == ["en-ko", "ko-en"]
    assert {score["pair"] for score in manifest["scores"]} == {"en-ko", "ko-en"}
    golden = [json.loads(line) for line in (both / "golden.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {sentence["pair"] for sentence in golden} == {"en-ko", "ko-en"}
    card = (both / "README.md").read_text(encoding="utf-8")
    assert "# both: en → ko, ko → en" in card
    assert "| ko-en | BLEU |" in card
    assert "en → ko, ko → en" in dragoman("model", "show", "-m", both).out


@pytest.mark.slow
def test_its_export_is_verified_with_both_pairs_and_translates_both_ways(both: Path, tmp_path: Path) -> None:
    notices: list[str] = []

    class Notes(api.Listener):
        def on_notice(self, step: int, text: str) -> None:
            notices.append(text)

    result = export(both, quantization="float32", output=tmp_path / "out", listeners=[Notes()])
    assert {"en-ko:", "ko-en:"} <= {*notices}
    assert result.verdict.sentences == 36  # twelve lines of one corpus, and of the other in two directions
    reference, exported = api.Translator.load(both), api.Translator.load(tmp_path / "out")
    for target, lines in (("ko", ENGLISH), ("en", KOREAN)):
        texts = [[one.text for one in each.translate(lines, target=target)] for each in (reference, exported)]
        assert written_in(texts[0]) == written_in(texts[1]) == {"ko": "Hang", "en": "Latn"}[target]


def test_lines_of_json_ask_for_a_language_each(both: Path, tmp_path: Path, dragoman: Any) -> None:
    requests = [{"text": ENGLISH[0], "to": "ko"}, {"text": KOREAN[0], "to": "en", "from": "ko"}]
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(json.dumps(request) + "\n" for request in requests), encoding="utf-8")
    records = [json.loads(line) for line in dragoman("translate", "-m", both, "-i", file).out.splitlines()]
    translator = api.Translator.load(both)
    expected = [translator.translate(one["text"], target=one["to"]).text for one in requests]
    assert [record["translations"][0]["text"] for record in records] == expected


def test_a_line_of_json_with_a_language_that_the_model_lacks(both: Path, dragoman: Any) -> None:
    lines = [{"text": "hello", "to": "ko"}, {"text": "hello", "to": "xx"}]
    result = dragoman("translate", "-m", both, "--jsonl", stdin="".join(json.dumps(line) + "\n" for line in lines))
    assert result.code == 3
    assert result.err.splitlines()[-1] == (
        "dragoman: stdin:2: no translation into xx: this model has en-ko, ko-en; choose another target (--to)"
    )


def test_a_fine_tuned_model_of_both_directions_keeps_both(both: Path, tmp_path: Path, dragoman: Any) -> None:
    project = api.init_project(tmp_path / "mine", start_from=both, both_directions=True)
    config = load_config(project.config)
    assert [corpus.both_directions for corpus in config.data.train] == [True]
    assert project.config.read_text(encoding="utf-8").count("both_directions = true") == 3  # valid and test too
    assert [pair.name for pair in config.project.all_pairs] == ["en-ko", "ko-en"]
    config = load_config(api.init_project(tmp_path / "one", start_from=both).config)
    assert not any(corpus.both_directions for corpus in config.data.train)
    refused = dragoman("init", tmp_path / "other", "--from", both, "--both", "--pair", "en-fr").refused(2)
    assert refused == f"--both: {both} translates en-ko, ko-en only, and its pairs stay; leave --both out"
    assert not (tmp_path / "other").exists()


def test_the_command_line_takes_a_target_language(both: Path, dragoman: Any) -> None:
    translator = api.Translator.load(both)
    for target in ("ko", "en"):
        out = dragoman("translate", "-m", both, "--to", target, ENGLISH[0])
        assert out.out.splitlines()[0] == translator.translate(ENGLISH[0], target=target).text


def test_a_look_inside_shows_the_language_tokens(both: Path) -> None:
    seen = api.inspect(both, ENGLISH[0], to="ko")
    assert seen.languages == ("en", "ko")
    assert seen.pieces["source"][0] == "<e>"
    assert seen.pieces["input"][:2] == ("<s>", "<2k>")
    assert written_in([seen.text]) == "Hang"
    assert seen.tree
    assert seen.target_ids[1:-1] == seen.tree.hypotheses[0].tokens


def test_a_look_inside_takes_the_source_language(both: Path, dragoman: Any) -> None:
    assert api.inspect(both, ENGLISH[0]).languages == ("en", "ko")
    assert api.inspect(both, ENGLISH[0], source="ko").languages == ("ko", "en")
    assert api.inspect(api.Translator.load(both).to("en", "ko"), ENGLISH[0]).languages == ("ko", "en")
    answer = dragoman("look", "-m", both, "--from", "ko", "--json", ENGLISH[0])
    assert json.loads(answer.out)["pieces"]["input"][:2] == ["<s>", "<2e>"]
    assert "no translation from fr:" in dragoman("look", "-m", both, "--from", "fr", ENGLISH[0]).refused(2)
