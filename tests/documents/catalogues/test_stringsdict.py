"""`.stringsdict`: the texts of plural rules change, rule types and the rest stay."""

import plistlib
from io import BytesIO
from pathlib import Path

import pytest

from documents.real import needs_data, real
from dragoman.documents.catalogues import stringsdict
from dragoman.documents.core.document import Document, DocumentOptions
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

SAMPLE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
 <key>%d files in %@</key><!-- kept -->
 <dict>
  <key>NSStringLocalizedFormatKey</key><string>%#@files@ in %@</string>
  <key>files</key>
  <dict>
   <key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>
   <key>NSStringFormatValueTypeKey</key><string>d</string>
   <key>one</key><string>one file &amp; more</string>
   <key>other</key><string>%d files</string>
  </dict>
 </dict>
 <key>only</key><dict><key>NSStringLocalizedFormatKey</key><string>%#@files@</string></dict>
</dict></plist>
"""
EN_KO = DocumentOptions("en", "ko")


def opened(tmp_path: Path, content: str) -> Document:
    path = tmp_path / "a.stringsdict"
    path.write_bytes(content.encode())
    return stringsdict.read(path, EN_KO)


def written(document: Document, texts: list[InlineText | None]) -> bytes:
    file = BytesIO()
    stringsdict.write(document, texts, EN_KO, file)
    return file.getvalue()


def test_texts_are_translated_and_types_are_kept(tmp_path: Path) -> None:
    document = opened(tmp_path, SAMPLE)
    units = list(document.units)
    assert [unit.source.text for unit in units] == ["%#@files@ in %@", "one file & more", "%d files"]
    assert units[1].location == "%d files in %@/files/one"
    assert written(document, [None] * 3) == written(document, [unit.source for unit in units]) == SAMPLE.encode()
    result = written(document, [InlineText("%@의 %#@files@"), None, InlineText("<%d>")])
    expected = plistlib.loads(SAMPLE.encode())
    expected["%d files in %@"]["NSStringLocalizedFormatKey"] = "%@의 %#@files@"
    expected["%d files in %@"]["files"]["other"] = "<%d>"
    assert plistlib.loads(result) == expected
    assert b"<!-- kept -->" in result


def test_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"not a \.stringsdict, but <r>"):
        opened(tmp_path, "<r/>")


@needs_data
@pytest.mark.parametrize(
    "path", [path for path in real("apple") if path.suffix == ".stringsdict"], ids=lambda path: path.name
)
def test_real_files(path: Path) -> None:
    document = stringsdict.read(path, EN_KO)
    units = list(document.units)
    assert written(document, [None] * len(units)) == path.read_bytes()
    assert written(document, [unit.source for unit in units]) == path.read_bytes()
    changed = plistlib.loads(written(document, [InlineText(f"가 {unit.source.text}") for unit in units]))
    assert changed.keys() == plistlib.loads(path.read_bytes()).keys()
