"""OpenDocument text: spans as styles, spaces and tabs as they are shown, notes and tracked changes in place."""

from pathlib import Path

import pytest

pytest.importorskip("lxml")

from documents.packages import archive, check_laws, hostile, part, put, shown
from documents.real import needs_data, real
from documents.splicing import opened, texts
from dragoman.documents import Document
from dragoman.errors import DataError

NAMES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "style", "table")
)
STYLES = """<office:automatic-styles>
<style:style style:name="T1" style:family="text"><style:text-properties a="bold"/></style:style>
<style:style style:name="T2" style:family="text"><style:text-properties a="bold"/></style:style>
<style:style style:name="T3" style:family="text"><style:text-properties rsid="1" language="en"/></style:style>
</office:automatic-styles>"""
META = f'<office:document-meta {NAMES} xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta><dc:title>Title</dc:title></office:meta></office:document-meta>'


def text(path: Path, body: str, **parts: str) -> Document:
    content = f"<office:document-content {NAMES}>{STYLES}<office:body>{body}</office:body></office:document-content>"
    all_parts = {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content, **parts}
    return opened(archive(path / "a.odt", {name.replace("__", "."): value for name, value in all_parts.items()}))


def span(style: str, words: str) -> str:
    return f'<text:span text:style-name="{style}">{words}</text:span>'


CITATION = "<text:note-citation>1</text:note-citation>"
NOTE = f"<text:note>{CITATION}<text:note-body><text:p>Note</text:p></text:note-body></text:note>"
EXAMPLES = {
    "a\n  b" + "<text:s text:c='2'/>" + "c": ["a b  c"],
    "Hello " + span("T3", "big") + " world": ["Hello big world"],
    "Hello " + span("T1", "big ") + span("T2", "old") + " world": ["Hello {1}big old{/1} world"],
    "one<text:tab/>two<text:line-break/>three": ["one\ntwo\nthree"],
    "see <text:a>the page</text:a> now": ["see {1}the page{/1} now"],
    "word" + NOTE + " more": ["word{1/} more", "Note"],
    "page <text:page-number>3</text:page-number> of the text": ["page {1}3{/1} of the text"],
    "a<text:soft-page-break/>b<text:bookmark/>c": ["ab{1/}c"],
    "a<text:s text:c='²'/>b": ["a b"],
    "I saw <text:ruby><text:ruby-base>東京</text:ruby-base><text:ruby-text>とう</text:ruby-text></text:ruby> today": [
        "I saw {1}東京{/1} today"
    ],
    "12.5": [],
}


@pytest.mark.parametrize("body", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_text_of_a_paragraph(tmp_path: Path, body: str) -> None:
    document = text(tmp_path, f"<text:p>{body}</text:p>")
    assert [shown(unit.source) for unit in document.units] == EXAMPLES[body]
    check_laws(document.path, tmp_path)


def body_of(content: bytes) -> str:
    content_xml = part(content, "content.xml")
    return content_xml[content_xml.index("<text:p>") + 8 : content_xml.index("</text:p></office:body>")]


def test_styles_notes_and_spaces_are_written(tmp_path: Path) -> None:
    inside = span("T1", f"b{NOTE}")
    document = text(tmp_path, f"<text:p>a {inside} c</text:p>")
    written = body_of(put(document, {"a {1}b{/1}{2/} c": "{2/}다  {1}나{/1} 가", "Note": "주석"}))
    note = span("T1", NOTE.replace("Note", "주석"))
    assert written == f'{note}다 <text:s text:c="1"/>{span("T1", "나")} 가'


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ('<text:change-start text:change-id="c"/>', '<text:change-end text:change-id="c"/>'),
        ('<text:bookmark-start text:name="b"/>', '<text:bookmark-end text:name="b"/>'),
        ('<text:reference-mark-start text:name="b"/>', '<text:reference-mark-end text:name="b"/>'),
        ('<office:annotation office:name="a"/>', '<office:annotation-end office:name="a"/>'),
    ],
)
def test_the_marks_of_a_range_are_around_the_translation_of_its_words(tmp_path: Path, start: str, end: str) -> None:
    document = text(tmp_path, f"<text:p>We discuss {start}the main {span('T1', f'role{end}')} today</text:p>")
    source = "We discuss {1}the main {2}role{/2}{/1} today"
    assert [shown(unit.source) for unit in document.units] == [source]
    written = body_of(put(document, {source: "Heute: {1}die {2}Rolle{/2}{/1}"}))
    assert written.startswith(f"Heute: {start}die {span('T1', 'Rolle')}")
    assert end in written
    check_laws(document.path, tmp_path)


def test_the_value_of_a_cell_is_its_text(tmp_path: Path) -> None:
    attributes = 'office:value-type="string" office:string-value'
    cell = f'<table:table-cell {attributes}="{{}}"><text:p>{{}}</text:p></table:table-cell>'
    document = text(tmp_path, cell.format("word", "word") + cell.format("key", "word"))
    written = part(put(document, {"word": "낱말"}), "content.xml")
    assert cell.format("낱말", "낱말") + cell.format("key", "낱말") in written


SVG = 'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
CHART = f"""<office:document-content {NAMES} {SVG} xmlns:chart="c"><office:body><office:chart>
<chart:title><text:p>Sales</text:p></chart:title><table:table-cell office:value-type="string"><text:p>North</text:p>
<svg:desc>Sheet1.A2</svg:desc></table:table-cell><table:table-cell office:value-type="float"><text:p>NaN</text:p>
</table:table-cell></office:chart></office:body></office:document-content>"""


def test_titles_and_labels_of_charts(tmp_path: Path) -> None:
    media = "application/vnd.oasis.opendocument."
    entries = f'<m:file-entry m:full-path="Object 1/" m:media-type="{media}chart"/>'
    entries += f'<m:file-entry m:full-path="Object 2/" m:media-type="{media}spreadsheet"/>'
    document = text(
        tmp_path,
        "<text:p>Body</text:p>",
        **{
            "META-INF/manifest.xml": f'<m:manifest xmlns:m="m">{entries}</m:manifest>',
            "Object 1/content.xml": CHART,
            "Object 2/content.xml": CHART,
        },
    )
    assert texts(document) == ["Body", "Sales", "North"]
    assert document.units[1].location == "Object 1, paragraph 1"  # type: ignore[index]
    check_laws(document.path, tmp_path)


def test_deleted_text_and_results_of_formulas_stay(tmp_path: Path) -> None:
    deleted = "<text:tracked-changes><text:deletion><text:p>gone</text:p></text:deletion></text:tracked-changes>"
    cell = '<table:table-cell table:formula="of:=A1"><text:p>result</text:p></table:table-cell>'
    document = text(tmp_path, f"{deleted}{cell}<text:h>Heading</text:h><text:p>kept</text:p>", meta__xml=META)
    assert texts(document) == ["Heading", "kept", "Title"]
    check_laws(document.path, tmp_path)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"content.xml": "<a/>"}, "mimetype"),
        ({"mimetype": "application/vnd.oasis.opendocument.text"}, "content.xml is missing"),
        ({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<a/>"}, "document-content"),
        (
            {
                "mimetype": "application/vnd.oasis.opendocument.text",
                "META-INF/manifest.xml": '<m:m xmlns:m="m"><m:encryption-data/></m:m>',
                "content.xml": "x",
            },
            "password",
        ),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, parts: dict[str, str | bytes], message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened(archive(tmp_path / "a.odt", parts))


@needs_data
@pytest.mark.parametrize("path", real("odt"), ids=lambda path: path.name)
def test_real_documents(tmp_path: Path, path: Path) -> None:
    assert list(check_laws(path, tmp_path).units)


@needs_data
@pytest.mark.parametrize("path", hostile(".odt"), ids=lambda path: path.name)
def test_hostile_documents(path: Path) -> None:
    with pytest.raises(DataError):
        opened(path)
