"""ARB: messages are text, what describes them is not, and the file names its new language."""

from pathlib import Path

import pytest

from documents.laws import hold_identity, hold_reading_again, opened, texts, translated, written
from documents.real import needs_data, real
from dragoman.documents import DocumentOptions
from dragoman.text.words.inline import InlineText

pytest.importorskip("pyicumessageformat")

FILE = """{
  "@@locale": "en", "@@author": "Kim",
  "hello": "Hello '{name}', it's late",
  "@hello": {"description": "A greeting", "placeholders": {"name": {"example": "Lee", "type": "String"}}},
  "count": "{n, plural, =0{none} one{# <b>file</b>} other{# files}}",
  "broken": "{name", "@broken": {}
}
"""


def saved(folder: Path, text: str) -> Path:
    path = folder / "app_en.arb"
    path.write_text(text, encoding="utf-8")
    return path


def test_messages_are_text_and_metadata_stays(tmp_path: Path) -> None:
    path = saved(tmp_path, FILE)
    document, units = opened(path)
    assert [(unit.location, unit.source.text, unit.context) for unit in units] == [
        ("hello", "Hello '{name}', it's late", "A greeting"),
        ("count", "{n}", ""),
        ("count: n =0", "none", ""),
        ("count: n one", "# file", ""),
        ("count: n other", "# files", ""),
    ]
    assert [notice.split(":")[0] for notice in document.notices] == ["line 6, broken"]
    assert hold_identity(path) == 5
    hold_reading_again(path, tmp_path)
    request = DocumentOptions("en", "zh-Hant")
    new = translated(path, ["'{name}' isn't", None, None, None, "文件 #"], request)
    expected = FILE.replace('"en"', '"zh_Hant"').replace("Hello '{name}', it's late", "'{name}' isn't")
    assert new == expected.replace("# files", "文件 #")


def test_a_file_that_doubles_apostrophes_quotes_with_them(tmp_path: Path) -> None:
    path = saved(tmp_path, """{"a": "It''s {x}", "b": "'{'braces'}' {x}"}""")
    assert texts(path) == ["It's {x}", "{braces} {x}"]
    assert translated(path, ["{x}'s it's", None]) == """{"a": "{x}''s it''s", "b": "'{'braces'}' {x}"}"""


def test_a_translation_that_would_break_a_message_is_not_written(tmp_path: Path) -> None:
    path = saved(tmp_path, FILE)
    document, _ = opened(path)
    broken = [InlineText("{nome} 안녕"), None, InlineText("} x"), None, InlineText("파일 #")]
    assert written(document, broken).decode() == FILE
    assert [remark.split(":")[0] for remark in document.remarks] == ["hello", "count"]
    assert all("not translated" in remark for remark in document.remarks)


@needs_data
def test_real_files_keep_their_bytes(tmp_path: Path) -> None:
    for path in real("arb"):
        assert hold_identity(path)
        hold_reading_again(path, tmp_path)
        assert not [notice for notice in opened(path)[0].notices if "unchanged" in notice]
