"""OpenDocument spreadsheets and presentations: texts change; numbers, dates, formulas and names of sheets stay."""

import subprocess
import time
from pathlib import Path

import pytest

pytest.importorskip("lxml")

from costs import slowness
from documents.packages import archive, check_laws, longer, part
from documents.splicing import opened, texts, written
from dragoman.documents import Document
from dragoman.errors import DataError

PARTS = "office text style table presentation"
NAMES = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in PARTS.split())
NAMES += ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
NAMES += ' xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
MEDIA = {".ods": "spreadsheet", ".odp": "presentation"}
STRING, FLOAT = 'office:value-type="string"', 'office:value-type="float" office:value="5"'
SHEET = f"""<office:spreadsheet><table:table table:name="Data"><table:table-row>
<table:table-cell {STRING}><text:p>Name of <text:span>the</text:span> dog</text:p></table:table-cell>
<table:table-cell {FLOAT}><text:p>5 dogs</text:p></table:table-cell>
<table:table-cell {STRING} table:formula="of:=[.A1]" office:string-value="Name"><text:p>Name</text:p>
<office:annotation><text:p>A comment</text:p></office:annotation></table:table-cell>
<table:covered-table-cell office:value-type="date"><text:p>1 May</text:p></table:covered-table-cell>
</table:table-row></table:table></office:spreadsheet>"""
SLIDES = """<office:presentation><presentation:footer-decl presentation:name="f">The footer</presentation:footer-decl>
<draw:page draw:name="page1"><draw:frame svg:width="9cm" svg:height="3cm" svg:x="1cm" svg:y="1cm">
<draw:text-box><text:p>A title</text:p><text:list><text:list-item>
<text:p>One <text:a>point</text:a></text:p></text:list-item></text:list></draw:text-box></draw:frame>
<presentation:notes><text:p>A note</text:p></presentation:notes></draw:page></office:presentation>"""


def document(path: Path, body: str) -> Document:
    content = f"<office:document-content {NAMES}><office:body>{body}</office:body></office:document-content>"
    media = f"application/vnd.oasis.opendocument.{MEDIA[path.suffix]}"
    return opened(archive(path, {"mimetype": media, "content.xml": content}))


def test_texts_of_cells_and_comments(tmp_path: Path) -> None:
    sheet = document(tmp_path / "a.ods", SHEET)
    assert texts(sheet) == ["Name of the dog", "A comment"]
    check_laws(sheet.path, tmp_path)
    content = part(written(sheet, longer), "content.xml")
    assert "[A comment]" in content
    assert "<text:p>5 dogs</text:p>" in content
    assert 'table:name="Data"' in content


def test_texts_of_slides_and_notes(tmp_path: Path) -> None:
    slides = document(tmp_path / "a.odp", SLIDES)
    assert texts(slides) == ["The footer", "A title", "One point", "A note"]
    check_laws(slides.path, tmp_path)


@pytest.mark.parametrize("name", ["a.ods", "a.odp"])
def test_what_is_none_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.raises(DataError, match=r"mimetype is another one"):
        opened(archive(path, {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<a/>"}))
    with pytest.raises(DataError, match="empty, not OpenDocument"):
        opened(path, b"")
    with pytest.raises(DataError, match="damaged"):
        opened(path, archive(path, {"mimetype": "x" * 99}).read_bytes()[:60])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "source", "kind"), [("a.ods", "a.csv", "csv"), ("a.odp", "a.fodp", "txt")])
def test_libreoffice_reads_what_is_written(tmp_path: Path, name: str, source: str, kind: str) -> None:
    pages = f"""<?xml version="1.0" encoding="UTF-8"?><office:document {NAMES} office:version="1.3"
    office:mimetype="application/vnd.oasis.opendocument.presentation"><office:body>{SLIDES}</office:body>
    </office:document>"""
    (tmp_path / source).write_text("Name,Count\nThe dog,5\n" if kind == "csv" else pages, encoding="utf-8")
    convert(tmp_path / source, name[2:])
    made = opened(tmp_path / name)
    assert texts(made)
    (tmp_path / "out").mkdir()
    check_laws(made.path, tmp_path / "out")
    (tmp_path / "out" / name).write_bytes(written(made, longer))
    if kind == "csv":
        convert(tmp_path / "out" / name, "csv")
        assert (tmp_path / "out" / "a.csv").read_text() == "[Name],[Count]\n[The dog],5\n"
    else:
        convert(tmp_path / "out" / name, "fodp")
        assert "[A title]" in (tmp_path / "out" / "a.fodp").read_text(encoding="utf-8")


def convert(path: Path, kind: str) -> None:
    profile = f"-env:UserInstallation=file://{path.parent}/profile"
    command = ["soffice", profile, "--headless", "--convert-to", kind, "--outdir", str(path.parent), str(path)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=150)
    except FileNotFoundError:
        pytest.skip("LibreOffice is not installed")
    if not path.with_suffix(f".{kind}").exists():
        pytest.skip("LibreOffice has no program for this format")


def test_what_formulas_and_lists_compare_stays(tmp_path: Path) -> None:
    def cell(text: str) -> str:
        return f"<table:table-cell {STRING}><text:p>{text}</text:p></table:table-cell>"

    formula = 'table:formula="of:=IF([.A1]=&quot;approved&quot;;1;COUNTIF([.A1:.A9];&quot;*item*&quot;))"'
    rule = 'table:condition="of:cell-content-is-in-list(&quot;Yes&quot;;&quot;No&quot;)"'
    body = (
        f'<office:spreadsheet><table:content-validations><table:content-validation table:name="v" {rule}/>'
        f'</table:content-validations><table:table table:name="Data"><table:table-row>{cell("Approved")}'
        f"{cell('Red item')}{cell('Yes')}{cell('Is it approved?')}<table:table-cell {FLOAT} {formula}/>"
        "</table:table-row></table:table></office:spreadsheet>"
    )
    sheet = document(tmp_path / "a.ods", body)
    assert texts(sheet) == ["Is it approved?"]
    assert (
        "values that a list allows or a formula compares stay as they are: *item*, No, Yes, approved" in sheet.notices
    )


def test_the_description_of_a_picture_is_text(tmp_path: Path) -> None:
    frame = "<draw:frame><svg:title>A title</svg:title><svg:desc>What it shows</svg:desc></draw:frame>"
    slides = document(
        tmp_path / "a.odp", f'<office:presentation><draw:page draw:name="p">{frame}</draw:page></office:presentation>'
    )
    assert texts(slides) == ["A title", "What it shows"]
    check_laws(slides.path, tmp_path)


def sheet(path: Path, cells: str, rest: str = "") -> Document:
    table = f'<table:table table:name="Data"><table:table-row>{cells}</table:table-row></table:table>'
    return document(path / "a.ods", f"<office:spreadsheet>{table}{rest}</office:spreadsheet>")


def valued(value: str, *paragraphs: str, formula: str = "") -> str:
    content = "".join(f"<text:p>{paragraph}</text:p>" for paragraph in paragraphs)
    return f'<table:table-cell {STRING} {formula} office:string-value="{value}">{content}</table:table-cell>'


@pytest.mark.parametrize(
    ("cell", "expected", "value"),
    [
        (valued("Some words", "Some <text:span>words</text:span>"), ["Some words"], "[Some words]"),
        (valued("One&#10;two", "One", "two"), ["One", "two"], "[One]&#10;[two]"),
        (valued("A  tab", "A<text:tab/>tab"), ["A\ntab"], "[A&#9;tab]"),
        (valued("Key", "Some words"), [], "Key"),
        (valued("Some words", "Some words", formula='table:formula="of:=[.B1]"'), [], "Some words"),
    ],
)
def test_a_value_that_is_the_text_of_its_cell(tmp_path: Path, cell: str, expected: list[str], value: str) -> None:
    workbook = sheet(tmp_path, cell)
    assert texts(workbook) == expected
    assert f'office:string-value="{value}"' in part(written(workbook, longer), "content.xml")
    check_laws(workbook.path, tmp_path)


def test_a_cell_of_many_paragraphs_is_looked_at_once(tmp_path: Path) -> None:
    lines = [f"Line of words {number}" for number in range(800)]
    started = time.process_time()
    workbook = sheet(tmp_path, valued("&#10;".join(lines), *lines))
    assert texts(workbook) == lines
    content = part(written(workbook, longer), "content.xml")
    assert time.process_time() - started < 4 * slowness()  # once for each paragraph it took 25 s
    assert f'office:string-value="{"&#10;".join(f"[{line}]" for line in lines)}"' in content


CALC = 'xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"'


@pytest.mark.parametrize(
    "rest",
    [
        '<table:filter-condition table:field-number="0" table:value="open" table:operator="="/>',
        '<table:filter-condition><table:filter-set-item table:value="Open"/></table:filter-condition>',
        f'<calcext:condition {CALC} calcext:value="=&quot;Open&quot;"/>',
        '<style:style><style:map style:condition="cell-content()=&quot;Open&quot;"/></style:style>',
    ],
)
def test_what_filters_and_formats_compare_stays(tmp_path: Path, rest: str) -> None:
    cells = (f"<table:table-cell {STRING}><text:p>{text}</text:p></table:table-cell>" for text in ("Open", "Open it"))
    assert texts(sheet(tmp_path, "".join(cells), rest)) == ["Open it"]
