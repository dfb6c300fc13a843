"""Accelerator keys: which labels have one, and where it is in a translation."""

import pytest

from dragoman.text.terms.accelerators import find_accelerator, with_accelerator, without_accelerator


@pytest.mark.parametrize(
    ("label", "text", "mark", "key"),
    [
        ("_File", "File", "_", "F"),
        ("Save _as…", "Save as…", "_", "a"),
        ("E_xit", "Exit", "_", "x"),
        ("Cl_ear browsing history", "Clear browsing history", "_", "e"),
        ("Auto_matically save files", "Automatically save files", "_", "m"),
        ("&Open file...", "Open file...", "&", "O"),
        ("~Save", "Save", "~", "S"),
        ("파일(_F)", "파일", "_", "F"),
        ("다른 이름으로 저장 (&A)...", "다른 이름으로 저장...", "&", "A"),
        ("_Файл", "Файл", "_", "Ф"),
        ("Show T_ype Column", "Show Type Column", "_", "y"),
        ("Cl_ear list", "Clear list", "_", "e"),
        ("For&mat", "Format", "&", "m"),
        ("Dis&play", "Display", "&", "p"),
        ("Save/_Load", "Save/Load", "_", "L"),
        ("_MP3 player", "MP3 player", "_", "M"),
        ("_Delete %s", "Delete %s", "_", "D"),
    ],
)
def test_a_label_and_its_key(label: str, text: str, mark: str, key: str) -> None:
    found = find_accelerator(label)
    assert found
    assert (found.text, found.mark, found.key) == (text, mark, key)
    assert with_accelerator(found.text, found) == label


@pytest.mark.parametrize(
    "text",
    ["Rock & Roll", "AT&T", "Q&A", "snake_case name", "My_Variable", "_private", "__init__", "_a and _b", "~5 min",
     "~/x", "&nbsp;x", "&#160;x", "", "_", "plain", "Use _" + "x" * 90, "a~b", "file_name.txt"],
)  # fmt: skip
def test_what_is_none(text: str) -> None:
    assert find_accelerator(text) is None


@pytest.mark.parametrize(
    "text",
    ['<a href="%s" target="_blank">Learn more</a>', "See http://example.com/~john/ for details",
     "http://e.com/~bob is here", "The _id field is unique", "%(_name)s is here", "Use _file.txt here",
     "Write to John_doe@example.com", 'An <a "_blank" link', "Drag&drop files", "Copy&paste it", "User_id is missing",
     "Max_size", "SPI_finish", "Unable to create Pids_info here"],
)  # fmt: skip
def test_a_sign_in_a_tag_an_address_or_a_name_is_no_mark(text: str) -> None:
    assert find_accelerator(text) is None


@pytest.mark.parametrize(
    ("label", "translation", "expected"),
    [
        ("_File", "파일", "파일(_F)"),
        ("&Open file...", "파일 열기...", "파일 열기(&O)..."),
        ("_Name:", "이름:", "이름(_N):"),
        ("파일(_F)", "File", "_File"),
        ("저장(&S)", "Keep it", "&Keep it"),
        ("_Datei", "Folder and data", "Folder and _data"),
        ("E_xit", "Next", "Ne_xt"),
        ("_File", "PDF 파일", "PDF 파일(_F)"),
        ("_File", "...", "..."),
    ],
)
def test_the_key_in_a_translation(label: str, translation: str, expected: str) -> None:
    found = find_accelerator(label)
    assert found
    assert with_accelerator(translation, found) == expected
    if expected != "...":
        assert without_accelerator(expected) == translation
