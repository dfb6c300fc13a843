"""Translations that a document has already: they stay where there is nothing better."""

from pathlib import Path

import pytest

from dragoman.control.languages import LanguagePair
from dragoman.text.words.inline import InlineText
from dragoman.workflows.documents.documents import DocumentsResult, DocumentTask, run_documents
from workflows.document_stand_in import Capitals, Found, chosen

EN_KO = LanguagePair("en", "ko")
XCSTRINGS = """{
  "sourceLanguage" : "en",
  "strings" : {
    "%@" : {
      "localizations" : {"ko" : {"stringUnit" : {"state" : "needs_review", "value" : "%@ 님"}}}
    },
    "Save" : {}
  },
  "version" : "1.0"
}"""


def translated(path: Path, by: Capitals) -> DocumentsResult:
    return run_documents(DocumentTask((path,), path.parent / "out"), chosen(by))


@pytest.mark.parametrize(
    ("name", "content", "existing"),
    [
        ("a.po", 'msgid "%m/%d/%y"\nmsgstr "%Y-%m-%d"\n\nmsgid "Save"\nmsgstr ""\n', ['msgstr "%Y-%m-%d"']),
        ("a.po", '#, fuzzy\nmsgid "Y"\nmsgstr "예"\n\nmsgid "Save"\nmsgstr ""\n', ['#, fuzzy\nmsgid "Y"\nmsgstr "예"']),
        ("a.po", '#, c-format\nmsgid "%s: %d"\nmsgstr "%s : %d"\n\nmsgid "Save"\nmsgstr ""\n', ['msgstr "%s : %d"']),
        ("a.xcstrings", XCSTRINGS, ['"state" : "needs_review", "value" : "%@ 님"']),
        (
            "a.ts",
            '<TS language="ko"><context><message><source>%1: %2</source><translation type="unfinished">%1 — %2'
            "</translation></message><message><source>Save</source><translation/></message></context></TS>",
            ['<translation type="unfinished">%1 — %2</translation>'],
        ),
        ("a.csv", "key,en,ko\nk.a,Save,\nk.c,42, 사십이 \n", ["k.c,42, 사십이 \n"]),
        (
            "a.xlf",
            '<xliff version="1.2"><file source-language="en" target-language="ko"><body><trans-unit id="1">'
            '<source>Y</source><target state="final">예</target></trans-unit><trans-unit id="2"><source>Save</source>'
            "</trans-unit></body></file></xliff>",
            ['<target state="final">예</target>'],
        ),
    ],
)
def test_a_text_without_words_keeps_the_translation_that_it_has(
    name: str, content: str, existing: list[str], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    result = translated(tmp_path / name, Capitals(pair=EN_KO))
    written = (tmp_path / "out" / name).read_text(encoding="utf-8")
    assert "SAVE" in written
    assert all(text in written for text in existing)
    assert result.files[0].units_replaced == 0


XLIFF = """<xliff version="1.2"><file source-language="ko" target-language="en"><body><trans-unit id="1">
<source>열기. Windows <g id="1">11</g> Pro</source><seg-source><mrk mtype="seg" mid="1">열기.</mrk> <mrk mtype="seg"
mid="2">Windows <g id="1">11</g> Pro</mrk></seg-source><target><mrk mtype="seg" mid="1"/> <mrk mtype="seg" mid="2"
>{}</mrk></target></trans-unit></body></file></xliff>"""


@pytest.mark.parametrize("target", ["Windows 11 Pro", 'Windows <g id="1">11</g><x id="2"/> Pro'])
def test_a_segment_keeps_a_translation_with_other_codes(target: str, tmp_path: Path) -> None:
    (tmp_path / "a.xlf").write_text(XLIFF.format(target), encoding="utf-8")
    translated(tmp_path / "a.xlf", Capitals(pair=LanguagePair("ko", "en")))
    written = (tmp_path / "out/a.xlf").read_text(encoding="utf-8")
    assert f'<mrk mtype="seg" mid="1">열기.</mrk> <mrk mtype="seg"\nmid="2">{target}</mrk></target>' in written


OTHER_PO = """msgid ""
msgstr ""
"Language: {}\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"

msgid "Save it"
msgstr "Enregistrer"

msgid "Open"
msgstr "{}"
"""
OTHER_XLIFF = """<xliff version="1.2"><file source-language="en" target-language="{}"><body>
<trans-unit id="1"><source>{}</source><target>Oui</target></trans-unit>
<trans-unit id="2"><source>Save file</source>{}</trans-unit></body></file></xliff>"""
NEW = '<target state="translated">SAVE FILE</target>'


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.po", OTHER_PO.format("fr", ""), OTHER_PO.format("ko", "OPEN")),
        ("a.xlf", OTHER_XLIFF.format("fr", "Yes please", ""), OTHER_XLIFF.format("ko", "Yes please", NEW)),
    ],
)
def test_an_update_keeps_what_a_file_of_another_language_has(
    name: str, content: str, expected: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    run_documents(DocumentTask((tmp_path / name,), tmp_path / "out", update=True), chosen(Capitals(pair=EN_KO)))
    assert (tmp_path / "out" / name).read_text(encoding="utf-8") == expected


def test_targets_in_another_language_are_not_kept(tmp_path: Path) -> None:
    (tmp_path / "a.xlf").write_text(OTHER_XLIFF.format("fr", "Y", ""), encoding="utf-8")
    result = translated(tmp_path / "a.xlf", Capitals(pair=EN_KO))
    expected = OTHER_XLIFF.format("ko", "Y", NEW).replace("Oui", "Y")
    assert (tmp_path / "out/a.xlf").read_text(encoding="utf-8") == expected
    assert result.files[0].units_replaced == 0


class Wordless(Capitals):
    """Of a translation it leaves what is copied."""

    def _found(self, text: InlineText, patterns: tuple[str, ...] | None) -> Found:
        answer = super()._found(text, patterns)
        return answer._replace(inline=InlineText("%s", protected=((0, 2),)))


def test_a_translation_without_words_replaces_none(tmp_path: Path) -> None:
    (tmp_path / "a.po").write_text('msgid "Delete %s"\nmsgstr "%s 삭제"\n\nmsgid "Open %s"\nmsgstr ""\n')
    result = translated(tmp_path / "a.po", Wordless(pair=EN_KO))
    written = (tmp_path / "out/a.po").read_text()
    assert 'msgstr "%s 삭제"' in written
    assert 'msgstr "%s"' in written
    [review] = [path.read_text() for path in tmp_path.glob("*.review.tsv")]
    assert "Delete %s\t%s 삭제\tthe translation has no words; the earlier one stays" in review
    assert result.files[0].units_replaced == 0


@pytest.mark.parametrize("language", ["kr", "fr", "x-none"])
def test_a_file_that_declares_another_source_language_is_written(language: str, tmp_path: Path) -> None:
    content = OTHER_XLIFF.format("ko", "Yes please", "").replace(
        'source-language="en"', f'source-language="{language}"'
    )
    assert language in content
    (tmp_path / "a.xlf").write_text(content, encoding="utf-8")
    translated(tmp_path / "a.xlf", Capitals(pair=EN_KO))
    assert "YES PLEASE" in (tmp_path / "out/a.xlf").read_text(encoding="utf-8")
