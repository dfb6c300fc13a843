"""Files that a page translates, and what it compares, without a browser; polib reads what it writes."""

from pathlib import Path
from typing import Any

import polib
import pytest

from dragoman.exporting.page import PACKAGE
from dragoman.system.pages import static
from dragoman.web import engine_script
from javascript import evaluate

# A page's function for texts, and translations as a fake model writes them.
DRIVER = """
const text = (key, values) => `${key} ${JSON.stringify(values ?? {})}`;
function answer({ name, content, everything, translations, pairs }) {
  if (pairs) return pairs.map(([source, translation]) => faultsOf(source, translation));
  try {
    const { lines, filled, notes, repeats } = documentOf(name, content, "ko", everything);
    const written = filled(lines.map((line) => translations[line] ?? `[${line}]`));
    return { lines, notes, repeats, written };
  } catch ({ message }) {
    return { message };
  }
}
"""
CODE = "\n".join([engine_script(), *(static(PACKAGE, f"web/{name}.js") for name in ("po", "documents")), DRIVER])

PO = r"""# A catalogue.
msgid ""
msgstr ""
"Language: \n"
"Content-Type: text/plain; charset=CHARSET\n"

#: a.c:1
#, c-format
msgid "Deleted %d files of %s"
msgstr ""

# kept
msgctxt "menu"
msgid "Open"
msgstr "열기"

msgid "_File"
msgstr ""

msgid "one"
msgid_plural "%d"
msgstr[0] ""

msgid ""
"First \"line\"\n"
"\n"
"  second\\\n"
msgstr ""

#, c-format
msgid "Lost %s"
msgstr ""

#~ msgid "old"
#~ msgstr "옛"

msgid "Lost {name}"
msgstr ""
"""


def translated(folder: Path, content: str = PO, everything: bool = False, name: str = "a.po") -> dict[str, Any]:
    translations = {"Lost %s": "잃음", "Lost {name}": "잃음", "File": "파일"}
    question = {"name": name, "content": content, "everything": everything, "translations": translations}
    return dict(evaluate(folder, CODE, question))


def test_only_messages_without_a_translation_are_filled_in(tmp_path: Path) -> None:
    answer = translated(tmp_path)
    lines = ["Deleted %d files of %s", "File", 'First "line"', "second\\", "Lost %s", "Lost {name}"]
    assert answer["lines"] == lines
    assert answer["notes"] == [["po_messages", {"count": 5, "total": 7}], ["po_plurals", {"lines": "20"}]]
    written = polib.pofile(answer["written"])
    entries = {entry.msgid: entry for entry in written}
    assert written.metadata["Language"] == "ko"
    assert "charset=UTF-8" in written.metadata["Content-Type"]
    assert entries["Open"].msgstr == "열기"
    assert entries["_File"].msgstr == "파일(_F)"
    assert entries["Deleted %d files of %s"].msgstr == "[Deleted %d files of %s]"
    assert entries["one"].msgstr_plural == {0: ""}
    assert entries['First "line"\n\n  second\\\n'].msgstr == '[First "line"]\n\n  [second\\]\n'
    assert [entry.msgid for entry in written if entry.fuzzy] == ["Lost %s", "Lost {name}"]
    assert entries["Lost %s"].flags == ["fuzzy", "c-format"]
    assert entries["old"].obsolete
    # All that is not a translation stays.
    changed = set(answer["written"].split("\n")) - set(PO.split("\n"))
    assert all(line.startswith(("msgstr", '"', "#, fuzzy")) for line in changed)
    comments = [
        [line for line in text.split("\n") if line.startswith(("#:", "# ", "#~"))] for text in (PO, answer["written"])
    ]
    assert comments[0] == comments[1]


def test_messages_with_a_translation_are_translated_again_on_request(tmp_path: Path) -> None:
    answer = translated(tmp_path, everything=True)
    assert "Open" in answer["lines"]
    assert polib.pofile(answer["written"])[1].msgstr == "[Open]"


DOUBTED = """#, fuzzy
msgid ""
msgstr "Language: \\n"

#, fuzzy
#| msgid "Shut"
msgid "Close"
msgstr "열기"

#, c-format, fuzzy
msgid "Read %s"
msgstr "%s 쓰기"

#, fuzzy
msgid "Lost %s"
msgstr "찾음"
"""


def test_a_message_that_is_translated_well_is_no_longer_fuzzy(tmp_path: Path) -> None:
    written = translated(tmp_path, DOUBTED, everything=True)["written"]
    entries = polib.pofile(written)
    assert {entry.msgid: entry.flags for entry in entries} == {
        "Close": [],
        "Read %s": ["c-format"],
        "Lost %s": ["fuzzy"],
    }
    assert "#|" not in written
    assert not polib.pofile(written).metadata_is_fuzzy
    untouched = translated(tmp_path, DOUBTED)
    assert (untouched["lines"], untouched["written"]) == ([], DOUBTED)


def test_a_file_without_anything_to_translate_comes_back_as_it_is(tmp_path: Path) -> None:
    full = 'msgid "a"\r\nmsgstr "b"\r\n'
    answer = translated(tmp_path, full)
    assert (answer["written"], answer["notes"], answer["repeats"]) == (full, [["po_nothing", {}]], True)
    assert "po_line" in translated(tmp_path, 'msgid "a"\nmsgstr b"\n')["message"]


def test_what_a_translation_has_otherwise_than_its_source(tmp_path: Path) -> None:
    names = ["https://example.org/a?b=c", "<b>", "</b>"]
    cases: list[tuple[str, str, list[str], list[str]]] = [
        ("Deleted %d files of {name}.", "{name}의 파일 %d개를 삭제했습니다.", [], []),
        ("%s has %d files", "%d개의 파일이 %s에", ["%s", "%d"], []),
        ("%1$s has %2$d files", "%2$d개의 파일이 %1$s에", [], []),
        ("Look at https://example.org/a?b=c", "https://example.org/a?b=c에서 보세요", [], []),
        ("https://한국.kr/가나 보기", "See https://한국.kr/가나.", [], []),
        ("(https://example.org/a)에서 보기", "See https://example.org/a", [], []),
        ("Open https://example.org/a?b=c, then <b>wait</b>.", "기다려라", names, []),
        ("It costs 2,000,000 won and 15%.", "200만 원이고 15%다.", [], []),
        ("On March 3, 1990 at 15:30", "1990년 3월 3일 오후 3시 반에", [], []),
        ("100 % sure of 5 things", "다섯 가지를 100% 확신", [], []),
        ("Room 404, 3.5 km", "405호, 3,5 km", [], ["404"]),
        ("two dogs", "{개}", ["{개}"], []),
    ]
    answers = evaluate(tmp_path, CODE, {"pairs": [case[:2] for case in cases]})
    for (source, _, placeholders, numbers), faults in zip(cases, answers, strict=True):
        assert faults == {"placeholders": placeholders, "numbers": numbers}, source


@pytest.mark.parametrize(
    ("source", "translation", "written"),
    [
        ("_Save %s", "%s speichern", "%s _speichern"),
        ("_Delete {name}", "{name} löschen", "{name} _löschen"),
        ("_Open <b>x</b>", "<b>Datei</b> offen", "<b>Datei</b> _offen"),
        ("E&xit", "Beenden", "&Beenden"),
        ("_New", "Eines neu", "Eines _neu"),
    ],
)
def test_the_mark_of_a_key_is_before_a_word_and_never_in_a_placeholder(
    source: str, translation: str, written: str, tmp_path: Path
) -> None:
    content = f'msgid "{source}"\nmsgstr ""\n'
    plain = source.replace("_", "").replace("&", "")
    question = {"name": "a.po", "content": content, "translations": {plain: translation}}
    assert evaluate(tmp_path, CODE, question)["written"] == f'msgid "{source}"\nmsgstr "{written}"\n'


@pytest.mark.parametrize(
    "source",
    [
        '<a href="%s" target="_blank">Learn more</a>',
        "See http://example.com/~john/ for details",
        "The _id field is unique",
        "Drag&drop files",
        "Copy&paste it",
        "User_id is missing",
        "Max_size",
        "Unable to create Pids_info here",
    ],
)
def test_a_sign_in_a_tag_an_address_or_a_name_is_no_mark(source: str, tmp_path: Path) -> None:
    escaped = source.replace('"', '\\"')
    answer = translated(tmp_path, f'msgid "{escaped}"\nmsgstr ""\n')
    assert answer["lines"] == [source]
    assert answer["written"] == f'msgid "{escaped}"\nmsgstr "[{escaped}]"\n'


def test_white_space_around_lines_and_between_columns_stays(tmp_path: Path) -> None:
    content = "    indented line\r\n\r\nName\tPrice\r\n\tcode \r\n   \r\n  - item"
    answer = translated(tmp_path, content, name="a.txt")
    assert [line for line in answer["lines"] if line] == ["indented line", "Name", "Price", "code", "- item"]
    assert answer["written"] == "    [indented line]\r\n\r\n[Name]\t[Price]\r\n\t[code] \r\n   \r\n  [- item]"


def test_what_two_speakers_say_is_two_texts(tmp_path: Path) -> None:
    times = "00:00:01,000 --> 00:00:02,000"
    cues = ["- How have you been\nsince we met?\n- Fine.", "♪ Sing", "-5 degrees\ntoday"]
    content = "\n\n".join(f"{number}\n{times}\n{cue}" for number, cue in enumerate(cues, 1)) + "\n"
    answer = translated(tmp_path, content, name="a.srt")
    assert answer["lines"] == ["How have you been since we met?", "Fine.", "Sing", "-5 degrees today"]
    assert f"{times}\n- [How have you been\nsince we met?]\n- [Fine.]\n\n2\n{times}\n♪ [Sing]\n" in answer["written"]
    assert answer["written"].endswith("[-5 degrees\ntoday]\n")


# A model that is a table: the hypotheses of each sentence, best first.
FAKE = """
function answer({ table, sentences }) {
  const direction = {
    facts: { decode: { beam: 1 } },
    known: new Map(),
    source: { encode: (text) => text },
    *translate(sentence) { return { text: table[sentence][0] }; },
    *search(ids) { return table[ids]; },
    textOf: (hypothesis) => hypothesis,
  };
  return sentences.map(([sentence, terms]) => exhaust(withGlossary(direction, sentence, terms, {})).text);
}
"""


def test_a_translation_that_lost_something_is_searched_for_again(tmp_path: Path) -> None:
    table = {
        "Delete {n} cats": ["지우기", "{n}을 지우기"],
        "Open %s, %s": ["열기", "%s 열기"],
        "Open X1, X1": ["X1 열기", "X1 열기, X1"],
        "Room 404": ["405호", "방"],
        "Room 42 of %d": ["%d의 42호", "방"],
        "X1 and %s": ["없음", "X1"],
    }
    expected = {
        "Delete {n} cats": "{n}을 지우기",  # another hypothesis
        "Open %s, %s": "%s 열기, %s",  # of the sentence with names in place of its placeholders
        "Room 404": "405호",  # nothing is better: the likeliest
        "Room 42 of %d": "%d의 42호",
        "X1 and %s": "없음",  # X1 is a word here
        "1,234.5 %s": "1,234.5 %s",  # no word: copied
    }
    sentences: list[tuple[str, list[list[str]]]] = [(sentence, []) for sentence in expected]
    # A term is not bought with a placeholder.
    sentences.append(("Delete {n} cats", [["cats", "지우기"]]))
    code = f"{engine_script()}\n{FAKE}"
    texts = evaluate(tmp_path, code, {"table": table, "sentences": sentences})
    assert texts == [*expected.values(), "{n}을 지우기"]


def test_a_term_replaces_a_word_and_no_part_of_one(tmp_path: Path) -> None:
    table = {
        "Training AI models": ["Training von AI-Modellen"],
        "AI": ["AI."],
        "A large gap between cars": ["차이가 큰 차"],
        "cars": ["차"],
        "The cars": ["차는 빠르다"],
        "car 404": ["차 404"],
        "car": ["차 404"],
    }
    cases = [
        ("Training AI models", ["AI", "KI"], "Training von KI-Modellen"),
        ("A large gap between cars", ["cars", "승용차"], "차이가 큰 승용차"),
        ("The cars", ["cars", "승용차"], "승용차는 빠르다"),
        ("car 404", ["car", "승용차"], "차 404"),  # a number is not given for a term
    ]
    sentences = [(sentence, [term]) for sentence, term, _ in cases]
    texts = evaluate(tmp_path, f"{engine_script()}\n{FAKE}", {"table": table, "sentences": sentences})
    assert texts == [text for _, _, text in cases]


def test_a_long_line_takes_linear_time(tmp_path: Path) -> None:
    """A megabyte of what each expression might begin with: quadratic, it would take minutes."""
    text = "".join(sign * 60_000 for sign in ("a.", "{", "<a", "%", "&a", "$A", "1,", "http:", " ")) + "_" * 60_000
    po = f'msgid "{" " * 100_000}{"a" * 100_000}{" " * 100_000}b"\nmsgstr ""\n'
    assert evaluate(tmp_path, CODE, {"pairs": [[text, text]]}) == [{"placeholders": [], "numbers": []}]
    assert translated(tmp_path, po)["notes"][0][0] == "po_messages"
