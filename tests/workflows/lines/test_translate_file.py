"""`translate_file`: a line for each line, interruption without a trace, a model for each line, faults named by line."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.config import TokenizerConfig
from dragoman.control.languages import LanguagePair, Pairs
from dragoman.data.corpus.corpus import read_lines
from dragoman.text.tokens.tokenizer import learn
from dragoman.translator import Translator
from dragoman.workflows.lines.partial_output import partial_output
from dragoman.workflows.lines.translate import LinesResult
from stand_ins import FakeEngine

ENGLISH = [f"There are {n} dogs in the garden." if n % 5 else "" for n in range(90)]
GREEDY = dragoman.DecodeConfig(beam=1)


class Received(dragoman.Listener):
    """What a listener received; it interrupts the work after `stop_at` lines."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.stop_at = stop_at
        self.done = list[int]()
        self.notices = list[str]()
        self.warnings = list[str]()

    def on_progress(self, progress: Any) -> None:
        self.done.append(progress.done)
        if self.stop_at is not None and progress.done >= self.stop_at:
            raise KeyboardInterrupt

    def on_notice(self, step: int, text: str) -> None:
        self.notices.append(text)

    def on_warning(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture(scope="module")
def to_korean() -> dragoman.Translator:
    return dragoman.Translator.load("en-ko", options=GREEDY)


def write(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_output_has_the_translation_of_each_line(to_korean: dragoman.Translator, tmp_path: Path) -> None:
    source, output = write(tmp_path / "in", ENGLISH), tmp_path / "out"
    result = dragoman.translate_file(source, str(output), model=to_korean)
    expected = [translation.text for translation in to_korean.stream(ENGLISH)]
    assert output.read_text(encoding="utf-8").splitlines() == expected
    assert expected[0] == ""
    assert (result.lines, result.resumed, result.from_memory) == (len(ENGLISH), 0, 0)
    assert names(tmp_path) == ["in", "out"]


@pytest.mark.parametrize("name", ["out.gz", "out.zst", "out"])
def test_the_output_is_compressed_as_its_name_says(tmp_path: Path, name: str) -> None:
    def interrupted() -> None:
        with partial_output(tmp_path / name, {}) as output:
            output.write(["one"], "하나\n")
            raise KeyboardInterrupt

    with pytest.raises(dragoman.Interrupted):
        interrupted()
    with partial_output(tmp_path / name, {}, resume=True) as output:
        assert output.has(["one"])
        output.write(["two"], "둘\n")
    assert list(read_lines(tmp_path / name)) == ["하나", "둘"]
    is_plain = (tmp_path / name).read_bytes().startswith("하나".encode())
    assert is_plain == (name == "out")
    assert names(tmp_path) == [name]


@pytest.mark.slow
def test_an_interrupted_translation_is_resumed_to_the_bytes_of_a_whole_one(
    to_korean: dragoman.Translator, tmp_path: Path
) -> None:
    source, whole, parts = write(tmp_path / "in", ENGLISH), tmp_path / "whole", tmp_path / "parts"
    dragoman.translate_file(source, whole, model=to_korean)
    with pytest.raises(dragoman.Interrupted, match=r"stopped at line 16, saved; continue with --resume"):
        dragoman.translate_file(source, parts, model=to_korean, listeners=[Received(stop_at=16)])
    assert names(tmp_path) == ["in", "parts.partial", "parts.partial.json", "whole"]

    with pytest.raises(dragoman.ConfigError, match=r"parts: an interrupted translation has 16 lines"):
        dragoman.translate_file(source, parts, model=to_korean)
    with pytest.raises(dragoman.ConfigError, match=r"was started with another target prefix"):
        dragoman.translate_file(source, parts, model=to_korean, target_prefix="정원", resume=True)
    with pytest.raises(dragoman.ConfigError, match=r"was started with another model"):
        dragoman.translate_file(source, parts, model="ko-en", options=GREEDY, resume=True)
    helped = to_korean.with_reverse(dragoman.Translator.load("ko-en"))
    with pytest.raises(dragoman.ConfigError, match=r"was started with another model"):
        dragoman.translate_file(source, parts, model=helped, resume=True)

    received = Received()
    result = dragoman.translate_file(source, parts, model=to_korean, resume=True, listeners=[received])
    assert parts.read_bytes() == whole.read_bytes()
    assert (result.lines, result.resumed) == (len(ENGLISH), 16)
    assert received.notices == ["continuing at line 17"]
    assert (received.done[0], received.done[-1]) == (16, len(ENGLISH))
    assert names(tmp_path) == ["in", "parts", "whole"]


@pytest.mark.slow
def test_another_input_is_not_continued(to_korean: dragoman.Translator, tmp_path: Path) -> None:
    source, output = write(tmp_path / "in", ENGLISH), tmp_path / "out"
    with pytest.raises(dragoman.Interrupted):
        dragoman.translate_file(source, output, model=to_korean, listeners=[Received(stop_at=16)])
    write(source, ["A cat.", *ENGLISH[1:]])
    with pytest.raises(dragoman.ResumeError, match=r"out\.partial: the first 16 lines of the input are not those"):
        dragoman.translate_file(source, output, model=to_korean, resume=True)
    result = dragoman.translate_file(source, output, model=to_korean, force=True)
    assert result.resumed == 0
    assert len(output.read_text(encoding="utf-8").splitlines()) == len(ENGLISH)


def test_without_a_model_each_line_goes_to_the_bundled_model_that_reads_it(
    to_korean: dragoman.Translator, tmp_path: Path
) -> None:
    lines = ["Click the OK button.", "파일을 저장합니다.", "Καλημέρα", "", "Save the file."]
    source, output, received = write(tmp_path / "in", lines), tmp_path / "out", Received()
    result = dragoman.translate_file(source, output, options=GREEDY, listeners=[received])
    to_english = dragoman.Translator.load("ko-en", options=GREEDY)
    expected = [
        to_korean.translate(lines[0]).text,
        to_english.translate(lines[1]).text,
        lines[2],
        "",
        to_korean.translate(lines[4]).text,
    ]
    assert output.read_text(encoding="utf-8").splitlines() == expected
    assert [notice.partition(":")[0] for notice in received.notices] == [
        "Using the bundled model en-ko",
        "Using the bundled model ko-en",
    ]
    [warning] = [warning for warning in received.warnings if "script" in warning or "letters" in warning]
    assert warning.startswith("line 3: ")
    assert "Greek" in warning
    assert result.flagged >= 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("in", b"A dog.\nA \xff cat.\n", r"in:2: not UTF-8"),
        ("in.jsonl", b'{"text": "A dog."}\n{"text": "A cat.", "beem": 4}\n', r'in\.jsonl:2: "beem": unknown key.*beam'),
        ("in.jsonl", b'{"text": "A dog."}\n\n', r"in\.jsonl:2: "),
        ("in.jsonl", b'{"text": "A dog.", "to": "fr"}\n', r"in\.jsonl:1: "),
    ],
)
def test_a_bad_line_is_named_before_anything_is_written(
    to_korean: dragoman.Translator, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(dragoman.DataError, match=message):
        dragoman.translate_file(tmp_path / name, tmp_path / "out", model=to_korean)
    assert names(tmp_path) == [name]


def test_lines_of_json_have_options_of_their_own(to_korean: dragoman.Translator, tmp_path: Path) -> None:
    requests = [{"text": "A dog.", "id": 7}, {"text": "A dog.", "n_best": 2}, {"text": ""}]
    source = write(tmp_path / "in.jsonl", map(json.dumps, requests))
    dragoman.translate_file(source, tmp_path / "out", model=to_korean)
    records = [json.loads(line) for line in (tmp_path / "out").read_text(encoding="utf-8").splitlines()]
    assert [len(record["translations"]) for record in records] == [1, 2, 1]
    assert [record.get("id") for record in records] == [7, None, None]
    assert records[0]["translations"][0]["text"] == to_korean.translate("A dog.").text


def test_a_memory_is_asked_first(to_korean: dragoman.Translator, tmp_path: Path) -> None:
    memory = write(tmp_path / "memory.tsv", ["A dog.\t강아지 한 마리."])
    source = write(tmp_path / "in", ["A dog.", "A cat."])
    result = dragoman.translate_file(source, tmp_path / "out", model=to_korean, memory=memory)
    lines = (tmp_path / "out").read_text(encoding="utf-8").splitlines()
    assert lines == ["강아지 한 마리.", to_korean.translate("A cat.").text]
    assert result.from_memory == 1


def test_a_line_that_no_model_of_the_languages_reads_is_left_as_it_is(tmp_path: Path) -> None:
    """An empty line of a Korean file was for the model into Korean, and `to="en"` refused that."""
    lines = ["안녕하세요.", "", "12", "Hello."]
    source, received, output = write(tmp_path / "in", lines), Received(), tmp_path / "out"
    dragoman.translate_file(source, output, to="en", options=GREEDY, listeners=[received])
    translations = output.read_text(encoding="utf-8").splitlines()
    assert translations[0].isascii()
    assert translations[1:] == lines[1:]
    dragoman.translate_file(source, output, to="ko", options=GREEDY, force=True, listeners=[received])
    translations = output.read_text(encoding="utf-8").splitlines()
    assert translations[:3] == lines[:3]
    assert not translations[3].isascii()
    assert received.warnings == [
        "line 1: en-ko reads other letters than these, which ko-en reads; the line is left as it is"
    ]
    with pytest.raises(dragoman.ConfigError, match="no bundled model translates into fr, they are en-ko, ko-en; give"):
        dragoman.translate_file(source, output, to="fr", force=True)


def test_languages_of_a_line_choose_its_bundled_model(tmp_path: Path) -> None:
    requests = [{"text": "12", "to": "en"}, {"text": "", "from": "ko"}, {"text": "안녕.", "to": "ko"}]
    source = write(tmp_path / "in.jsonl", map(json.dumps, requests))
    dragoman.translate_file(source, tmp_path / "out", options=GREEDY)
    records = [json.loads(line) for line in (tmp_path / "out").read_text(encoding="utf-8").splitlines()]
    assert [record["translations"][0]["text"] for record in records] == ["12", "", "안녕."]
    assert [[flag["kind"] for flag in record["warnings"]] for record in records] == [[], [], ["script"]]
    write(source, map(json.dumps, [*requests, {"text": "a", "to": "fr"}]))
    with pytest.raises(dragoman.DataError, match=r"in\.jsonl:4: no bundled model translates into fr"):
        dragoman.translate_file(source, tmp_path / "out", options=GREEDY, force=True)
    assert names(tmp_path) == ["in.jsonl", "out"]


def of_two_pairs() -> Translator:
    """One from English into German or French, whose engine copies."""
    words = [("open the file and save it please X1 X2", "das ist ein Haus")] * 20
    letters = "".join(map(chr, range(33, 127)))
    tokenizer = learn([*words, (letters, letters)] * 4, TokenizerConfig(vocab_size=360))
    pairs = Pairs((LanguagePair("en", "de"), LanguagePair("en", "fr")))
    return Translator(tokenizer, FakeEngine(), dragoman.DecodeConfig(), pairs=pairs)


def test_a_memory_is_asked_for_the_languages_of_each_line(tmp_path: Path) -> None:
    """Where only the lines name the target, a memory was not asked at all."""
    translator, german = of_two_pairs(), write(tmp_path / "german.tsv", ["open the file\tDATEI"])
    dragoman.add_to_memory(tmp_path / "memory.db", german, source="en", target="de")
    requests = [{"text": "open the file", "to": language} for language in ("de", "fr", "de")]
    source, received = write(tmp_path / "in.jsonl", map(json.dumps, requests)), Received()

    def texts(**arguments: Any) -> list[str]:
        dragoman.translate_file(source, tmp_path / "out", model=translator, force=True, **arguments)
        records = map(json.loads, (tmp_path / "out").read_text(encoding="utf-8").splitlines())
        return [record["translations"][0]["text"] for record in records]

    expected = ["DATEI", "open the file", "DATEI"]
    assert texts(memory=tmp_path / "memory.db", listeners=[received]) == expected
    assert len(received.notices) == 1
    assert received.notices[0].endswith("memory.db: nothing from en into fr; it has en → de")
    with pytest.raises(dragoman.ConfigError, match=r"german\.tsv: names no languages, .* into de or fr; give a"):
        texts(memory=german)
    assert texts(memory=german, to="de") == expected
    with pytest.raises(dragoman.DataError, match="nothing from en into fr"):
        texts(memory=tmp_path / "memory.db", to="fr")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"options": GREEDY}, r"^options: a translator has its own; give it to Translator\.load"),
        ({"glossary": {"dog": "개"}}, r"^glossary: a translator has its own"),
        ({"threads": 1}, r"^threads: a translator has its own"),
        ({"threads": 0}, r"^threads: give a whole number above 0"),
        ({"shard_lines": 10}, r"^shard_lines: has no effect in one process"),
        ({"memory": "nowhere.db"}, r"^nowhere\.db: no such file"),
        ({"model": 3}, r"^model: give a path"),
    ],
)
def test_a_wrong_request_is_named_and_nothing_is_written(
    to_korean: dragoman.Translator, tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    source = write(tmp_path / "in", ["A dog."])
    with pytest.raises(dragoman.ConfigError, match=message):
        dragoman.translate_file(source, tmp_path / "out", **{"model": to_korean, **arguments})
    assert names(tmp_path) == ["in"]


def test_an_input_and_what_exists_are_kept(to_korean: dragoman.Translator, tmp_path: Path) -> None:
    source, output = write(tmp_path / "in", ["A dog."]), write(tmp_path / "out", ["mine"])
    with pytest.raises(dragoman.ConfigError, match=r"in: is read too, and its text would be lost"):
        dragoman.translate_file(source, source, model=to_korean, force=True)
    with pytest.raises(dragoman.ConfigError, match=r"out: already exists; --force replaces it"):
        dragoman.translate_file(source, output, model=to_korean)
    with pytest.raises(dragoman.ConfigError, match=r"/dev/null: a device or a pipe"):
        dragoman.translate_file(source, "/dev/null", model=to_korean)
    assert (source.read_text(), output.read_text()) == ("A dog.\n", "mine\n")
    assert isinstance(dragoman.translate_file(source, output, model=to_korean, force=True), LinesResult)


def test_an_input_that_is_not_there_is_named(to_korean: dragoman.Translator, tmp_path: Path) -> None:
    with pytest.raises(dragoman.DataError, match=r"nowhere: "):
        dragoman.translate_file(tmp_path / "nowhere", tmp_path / "out", model=to_korean)
    assert names(tmp_path) == []


@pytest.mark.parametrize(("lines", "warned"), [(100, False), (101, True)])
def test_the_references_search_of_more_than_a_hundred_lines_is_warned_of_once(
    tmp_path: Path, lines: int, warned: bool
) -> None:
    source = write(tmp_path / "in", [""] * (lines - 1) + ["Save the file."])
    options = dragoman.DecodeConfig(exact=True, min_length=3, beam=2)
    dragoman.translate_file(
        source, tmp_path / "out", model="en-ko", options=options, listeners=[received := Received()]
    )
    assert len(received.warnings) == warned
    assert all("decode.exact with decode.min_length" in text and "10 to 20" in text for text in received.warnings)
    for cheaper in ({"exact": False}, {"min_length": 0}, {"beam": 1}):
        free = options.model_copy(update=cheaper)
        arguments = {"options": free, "listeners": [received := Received()], "force": True}
        dragoman.translate_file(source, tmp_path / "out", model="en-ko", **arguments)
        assert not received.warnings
