"""`dragoman translate` without a model uses a bundled one and says which."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import dragoman as dragoman_package

ENGLISH, KOREAN = "Save the document.", "문서를 저장합니다."


def translations(result: Any, answering: str) -> list[str]:
    assert result.code == 0, result.err
    first = result.err.splitlines()[0]
    assert first.startswith(f"Using the bundled model {answering}: ")
    assert first.endswith(" Train your own with `dragoman train`")
    lines: list[str] = result.out.split("\n")
    assert lines.pop() == ""
    return lines


@pytest.mark.parametrize(("text", "name"), [(ENGLISH, "en-ko"), (KOREAN, "ko-en")])
def test_a_text_alone_is_translated(dragoman: Any, text: str, name: str) -> None:
    (translation,) = translations(dragoman("translate", text), name)
    assert translation
    assert translation != text
    named = dragoman("translate", "-m", name, text)
    assert (named.code, named.out, named.err) == (0, translation + "\n", "")  # who named it knows it


@pytest.mark.parametrize("way", ["stdin", "dash", "input"])
def test_each_line_goes_to_the_model_that_reads_it(dragoman: Any, way: str, tmp_path: Path) -> None:
    text = f"\n  \n{KOREAN}\n{ENGLISH}\nСохраните документ.\n{KOREAN}\n"
    (tmp_path / "in").write_text(text, encoding="utf-8")
    arguments = {"stdin": [], "dash": ["-"], "input": ["-i", tmp_path / "in"]}[way]
    result = dragoman("translate", *arguments, stdin=text)
    assert result.code == 0
    english, korean = (
        dragoman("translate", "-m", name, line).out for name, line in (("ko-en", KOREAN), ("en-ko", ENGLISH))
    )
    assert result.out == f"\n\n{english}{korean}Сохраните документ.\n{english}"
    notices = [line.split(":")[0] for line in result.err.splitlines() if line.startswith("Using")]
    assert sorted(notices) == ["Using the bundled model en-ko", "Using the bundled model ko-en"]
    assert (
        "dragoman: line 5: no bundled model (en-ko, ko-en) reads Cyrillic letters; the line is left as it is"
        in result.err.splitlines()
    )


def test_no_lines_in_no_lines_out(dragoman: Any) -> None:
    result = dragoman("translate", stdin="")
    assert (result.code, result.out, result.err) == (0, "", "")


def test_the_controls_hold_for_it_too(dragoman: Any, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("document\t문서\n", encoding="utf-8")
    controls = ["--glossary", tmp_path / "terms.tsv", "-O", "beam=2", "--n-best", "2", "--json"]
    (line,) = translations(dragoman("translate", *controls, ENGLISH), "en-ko")
    record = json.loads(line)
    assert [term["source"] for term in record["terms"]] == ["document"]
    assert len(record["translations"]) == 2


def test_json_stays_json(dragoman: Any) -> None:
    (line,) = translations(dragoman("translate", "--json", ENGLISH), "en-ko")
    assert json.loads(line)["source"] == ENGLISH


def test_a_script_that_no_model_reads_is_refused(dragoman: Any) -> None:
    complaint = dragoman("translate", "Сохраните документ.").refused(2)
    assert complaint == "no bundled model (en-ko, ko-en) reads Cyrillic letters; give one with -m MODEL"


def test_a_folder_of_ones_own_comes_first(
    dragoman: Any, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = dragoman("translate", "-m", model, "the red dog").out
    shutil.copytree(model, tmp_path / "en-ko")
    monkeypatch.chdir(tmp_path)
    assert dragoman("translate", "-m", "en-ko", "the red dog").out == mine


def test_the_other_verbs_know_their_names(dragoman: Any, tmp_path: Path) -> None:
    shown = dragoman("model", "show", "en-ko")
    assert (shown.code, shown.err) == (0, "")
    assert "en → ko" in shown.out
    (tmp_path / "a.tsv").write_text(f"{ENGLISH}\t{KOREAN}\n", encoding="utf-8")
    assert dragoman("evaluate", "-m", "en-ko", tmp_path / "a.tsv").code == 0
    text = "Open the file."  # its likeliest translation is clearly so: `look` computes in float32, `translate` in int8
    named, chosen = dragoman("look", "-m", "en-ko", text), dragoman("look", text)
    assert (named.code, chosen.code) == (0, 0)
    assert named.out == chosen.out
    assert f"→ {dragoman('translate', '-m', 'en-ko', text, 'decode.exact=true').out.strip()}" in named.out


def test_look_explains_the_sentences_that_are_translated(dragoman: Any, tmp_path: Path) -> None:
    """Several, as `translate` divides the text: one after the other, and on one page."""
    looked = dragoman("look", "Open the file. Close the file. Click OK.", "--html", tmp_path / "page.html", "--json")
    sentences = json.loads(looked.out)["sentences"]
    assert [one["source"] for one in sentences] == ["Open the file.", "Close the file.", "Click OK."]
    translated = dragoman("translate", "-m", "en-ko", *[one["source"] for one in sentences]).out.splitlines()
    assert [one["translation"] for one in sentences] == translated
    assert "3 sentences" in looked.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    [payload] = re.findall(r'id="payload">(.*?)</script>', page)
    assert [one["translation"] for one in json.loads(payload)] == translated
    refused = dragoman("look", "Open the file. Close the file. Click OK.", "--npz", tmp_path / "a.npz").refused(3)
    assert refused.startswith("--npz: is of one sentence, and `translate` makes 3 of this text")
    assert dragoman("look", ENGLISH, "--target", " ").refused(3).startswith("--target: is empty")


def test_a_name_that_is_none_is_a_missing_folder(dragoman: Any) -> None:
    assert dragoman("translate", "-m", "ko-xx", "a").refused(4).startswith("ko-xx: no such model folder")


@pytest.mark.parametrize("device", ["cuda:77", "nonsense"])
def test_a_device_that_an_export_cannot_use_is_no_damage_of_the_model(dragoman: Any, device: str) -> None:
    found = dragoman("translate", "-m", "en-ko", ENGLISH, "--device", device)
    assert device in found.refused(5)
    assert "use --device cpu" in found.err


@pytest.mark.parametrize("verb", ["glossary", "shortlist", "confidence"])
def test_a_bundled_model_is_not_changed(dragoman: Any, tmp_path: Path, verb: str) -> None:
    texts = [tmp_path / "a.en", tmp_path / "a.ko"]
    for path in texts:
        path.write_text("a\tb\n", encoding="utf-8")
    given = texts[:1] if verb == "glossary" else texts
    assert dragoman("model", verb, "-m", "en-ko", *given).refused(4).startswith("en-ko: a bundled model, which stays")


def test_the_price_of_exact_is_reported_in_one_line(dragoman: Any, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("\n" * 100 + ENGLISH + "\n", encoding="utf-8")
    keys = ["decode.exact=true", "decode.min_length=3", "decode.beam=2"]
    result = dragoman("translate", "-m", "en-ko", "-i", tmp_path / "in", *keys)
    assert result.code == 0
    [line] = [line for line in result.err.splitlines() if "decode.exact" in line]
    assert line.startswith("dragoman: decode.exact with decode.min_length: ")
    assert "10 to 20 times as long" in line
    assert "leave decode.exact out" in line
    assert "decode.exact" not in dragoman("translate", "-m", "en-ko", "-i", tmp_path / "in", *keys[1:]).err


def test_heads_of_the_bundled_model_look_from_it_at_a_noun_and_at_tired() -> None:
    """The example of the paper's authors, which the page shows first: it names the noun that the heads look at more."""
    inspection = dragoman_package.inspect("en-ko", "The animal didn't cross the street because it was too tired.")
    words = [piece.strip("▁") for piece in inspection.pieces["source"]]
    layers = [inspection[f"encoder.{layer}.self_attention.weights"].values for layer in range(6)]
    seen = {words[int(key)] for weights in layers for key in weights[:, words.index("it")].argmax(axis=1)}
    assert "tired" in seen
    assert seen & {"animal", "street"}
    nouns = [words.index(noun) for noun in ("animal", "street")]
    # From 0.3 on the page says which of the two it is.
    assert max(weights[:, words.index("it")][:, nouns].max() for weights in layers) > 0.3
    assert inspection.text.startswith("동물")


# On every processor the two models together translate some of these otherwise than the first alone.
MANY = [
    "I have two younger brothers.",
    "Would you like some tea?",
    "Could you speak a little more slowly?",
    "My daughter starts school in March.",
    "She has been learning the piano for five years.",
    "Please say hello to your parents.",
    "I would like a room for two nights.",
    "Can I pay by credit card?",
    "Thank you for your quick reply.",
    "The package arrived, but one of the cups was broken.",
]


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    (tmp_path / "lines.txt").write_text("".join(f"{line}\n" for line in MANY), encoding="utf-8")
    return tmp_path / "lines.txt"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """The bundled en-ko as any other model."""
    return Path(shutil.copytree(Path(dragoman_package.__file__).parent / "bundled" / "en-ko", tmp_path / "model"))


def test_the_bundled_models_help_each_other(dragoman: Any, lines: Path, elsewhere: Path, tmp_path: Path) -> None:
    together = dragoman("translate", "-i", lines).out
    alone = dragoman("translate", "-i", lines, "decode.reverse_weight=0").out
    assert together != alone
    assert dragoman("translate", "-m", elsewhere, "-i", lines).out == alone  # unless another is given
    assert dragoman("translate", "-m", elsewhere, "--reverse", "ko-en", "-i", lines).out == together
    assert dragoman("translate", lines, "-o", tmp_path / "out.txt").code == 0
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == together


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "en-ko", "--reverse", "en-ko", "decode.reverse_weight=0"], "reverse: en-ko is given for en-ko"),
        (["-m", "en-ko", "--reverse", "nowhere"], "nowhere: no such model folder"),
        (["--reverse", "ko-en"], "--reverse: has no effect on the bundled models, which help each other without it"),
        (["-m", "en-ko", "--reverse", "ko-en", "--beam", "1"], "--reverse: chooses among the hypotheses of a beam"),
        (["--via", "ko", "--reverse", "ko-en"], "--reverse: has no effect on two models in a row (--via)"),
    ],
)
def test_a_wrong_reverse_model_is_one_line(dragoman: Any, arguments: list[str], message: str) -> None:
    result = dragoman("translate", *arguments, ENGLISH)
    assert result.code in (2, 4)
    assert message in result.err
    assert len(result.err.splitlines()) == 1


def test_an_evaluation_says_what_the_other_direction_is_worth(
    dragoman: Any, lines: Path, elsewhere: Path, tmp_path: Path
) -> None:
    chosen = tmp_path / "out"
    assert dragoman("translate", "-m", elsewhere, "--reverse", "ko-en", "-i", lines, "-o", chosen).code == 0
    assert "BLEU  100.0" in dragoman("evaluate", "-m", elsewhere, "--reverse", "ko-en", lines, chosen).out
    assert "BLEU  100.0" not in dragoman("evaluate", "-m", elsewhere, lines, chosen).out
    for useless in (["-m", elsewhere, "--score"], ["--translations", chosen]):
        result = dragoman("evaluate", *useless, "--reverse", "ko-en", lines, chosen)
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert "--reverse: has no effect on" in result.err


def test_a_line_of_json_says_for_itself_whether_two_models_choose(dragoman: Any, tmp_path: Path) -> None:
    kinds = ({"reverse_weight": 0}, {"reverse_weight": 0.4}, {})
    rows = [json.dumps({"text": line, **kind}) for kind in kinds for line in MANY]
    (tmp_path / "in.jsonl").write_text("".join(row + "\n" for row in rows), encoding="utf-8")
    result = dragoman("translate", "-i", tmp_path / "in.jsonl", "decode.reverse_weight=0")
    texts = [json.loads(line)["translations"][0]["text"] for line in result.out.splitlines()]
    alone, together, usual = (texts[at : at + len(MANY)] for at in range(0, len(texts), len(MANY)))
    assert alone == usual != together
