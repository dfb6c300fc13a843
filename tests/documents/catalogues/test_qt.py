"""Qt `.ts`: translations are filled in, finished ones are kept with `update`, forms are those of the language."""

from dataclasses import replace
from pathlib import Path

import pytest

from documents.laws import REQUEST, opened, translated, written
from documents.real import SAMPLES
from dragoman.errors import DataError

SAMPLE = SAMPLES / "app_ko.ts"


def test_sources_are_translated_and_all_else_stays() -> None:
    document, units = opened(SAMPLE)
    assert [(unit.location, unit.source.text, unit.context) for unit in units] == [
        ("line 8", "Open the file", "MainWindow; A menu"),
        ("line 13", "%n dog(s) in %1", "MainWindow"),
        ("line 19", "The cat", "MainWindow"),
    ]
    assert [(code.kind, code.text) for code in units[2].source.codes] == [("open", "<b>"), ("close", "</b>")]
    assert units[1].source.protected == ((0, 2), (13, 15))
    assert units[2].existing is not None
    assert written(document, [None] * 3) == SAMPLE.read_bytes()
    new = translated(SAMPLE, ["파일 & 열기", "%1에 개 %n마리", None])
    expected = SAMPLE.read_text().replace(
        '<translation type="unfinished"></translation>', "<translation>파일 &amp; 열기(&amp;O)</translation>"
    )
    expected = expected.replace('<translation type="unfinished">\n', "<translation>\n")
    assert new == expected.replace("<numerusform></numerusform>", "<numerusform>%1에 개 %n마리</numerusform>")


def test_finished_translations_are_kept_with_update_and_new_ones_are_marked() -> None:
    request = replace(REQUEST, update=True, mark=True)
    assert len(opened(SAMPLE, request)[1]) == 2
    new = translated(SAMPLE, ["열기", None], request)
    assert '<translation type="unfinished">열기(&amp;O)</translation>' in new
    assert "<translation>고양이</translation>" in new


def test_another_language_has_its_own_forms_and_its_tag() -> None:
    new = translated(SAMPLE, [None, "%n %1", None], replace(REQUEST, target="pt-BR"))
    assert 'language="pt_BR"' in new
    assert new.count("            <numerusform>%n %1</numerusform>\n") == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty, not Qt"),
        (b"const a: number = 1;", "another type of file, not Qt"),
        (b"<TS><message>", "not well-formed"),
        (b"<TS>\xb0\xa1</TS>", "is not UTF-8"),
        (b"<TSX/>", "no translations of Qt, but <TSX>"),
    ],
)
def test_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.ts"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        opened(path)
