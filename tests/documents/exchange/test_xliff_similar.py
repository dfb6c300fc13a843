"""Translations of similar sources in XLIFF, read again by lxml."""

import io
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.documents import DocumentOptions
from dragoman.documents.exchange.xliff import read, write
from dragoman.memory import MemoryMatch

CORE = "urn:oasis:names:tc:xliff:document:2.0"
MATCHES = "urn:oasis:names:tc:xliff:matches:2.0"
FILE = f"""<xliff xmlns="{CORE}" version="2.0" srcLang="en" trgLang="ko">
<file id="f"><unit id="u">
  <notes><note>n</note></notes>
  <segment id="a"><source>One</source></segment>
  <segment><source>Two <ph id="s2"/></source></segment>
  <ignorable><source> </source></ignorable>
</unit>%s</file></xliff>
"""
SECOND = f"""<unit id="v"><m:matches xmlns:m="{MATCHES}">
<m:match ref="#a"><source>x</source><target>y</target></m:match></m:matches>
<segment id="a"><source>Three</source></segment></unit>"""


def translated(tmp_path: Path, content: str, score: int = 80) -> bytes:
    """The file with each text in capitals, and a match for each but the third."""
    path, out = tmp_path / "a.xlf", io.BytesIO()
    path.write_text(content)

    def similar(text: str) -> list[MemoryMatch]:
        return [MemoryMatch(score, f'{text} & "<b>"', "하나", 'a"&.tmx')]

    request = DocumentOptions("en", "ko", similar=similar)
    document = read(path, request)
    write(document, [replace(unit.source, text=unit.source.text.upper()) for unit in document.units], request, out)
    return out.getvalue()


def test_matches_of_2_refer_to_segments_and_come_first(tmp_path: Path) -> None:
    etree = pytest.importorskip("lxml.etree")
    root = etree.fromstring(translated(tmp_path, FILE % ""))
    [unit] = root.iter(f"{{{CORE}}}unit")
    assert [etree.QName(child).localname for child in unit] == ["matches", "notes", "segment", "segment", "ignorable"]
    found = [(one.get("ref"), one.get("similarity"), one.get("type"), one.get("origin")) for one in unit[0]]
    assert found == [("#a", "80", "tm", 'a"&.tmx'), ("#s2-", "80", "tm", 'a"&.tmx')]
    assert [segment.get("id") for segment in unit.iter(f"{{{CORE}}}segment")] == ["a", "s2-"]  # s2 is that of the code
    assert [(child.tag, child.text) for child in unit[0][0]] == [
        (f"{{{CORE}}}source", 'One & "<b>"'),
        (f"{{{CORE}}}target", "하나"),
    ]


def test_matches_that_a_unit_has_stay(tmp_path: Path) -> None:
    etree = pytest.importorskip("lxml.etree")
    root = etree.fromstring(translated(tmp_path, FILE % SECOND))
    _, unit = root.iter(f"{{{CORE}}}unit")
    [matches] = unit.iter(f"{{{MATCHES}}}matches")
    assert [one.findtext(f"{{{CORE}}}source") for one in matches] == ["x", 'Three & "<b>"']
    assert unit.findtext(f"{{{CORE}}}segment/{{{CORE}}}target") == "THREE"


def test_a_prefixed_document_has_them_in_its_namespace(tmp_path: Path) -> None:
    etree = pytest.importorskip("lxml.etree")
    content = FILE.replace("</", "</x:").replace("<", "<x:").replace("<x:/x:", "</x:").replace("xmlns=", "xmlns:x=")
    root = etree.fromstring(translated(tmp_path, content % ""))
    assert root.findtext(f".//{{{MATCHES}}}match/{{{CORE}}}target") == "하나"


def test_a_file_with_its_matches_is_read_as_before(tmp_path: Path) -> None:
    once = translated(tmp_path, FILE % SECOND)
    (tmp_path / "b.xlf").write_bytes(once)
    units = read(tmp_path / "b.xlf", DocumentOptions("en", "ko")).units
    assert [unit.source.text.strip() for unit in units] == ["One", "Two", "Three"]


@pytest.mark.parametrize(
    "content",
    [
        FILE % SECOND,
        "".join((FILE % "").split("\n  ")),  # nothing between the elements
        '<xliff version="1.2"><file original="a" source-language="en" datatype="x"><body>\n'
        '<trans-unit id="1"><source>One</source></trans-unit></body></file></xliff>',
    ],
)
def test_a_second_run_adds_no_match_again(tmp_path: Path, content: str) -> None:
    once = translated(tmp_path, content).decode()
    other = once.replace("ONE", "ELSE")
    assert other != once
    assert translated(tmp_path, other, 81).decode() == once
