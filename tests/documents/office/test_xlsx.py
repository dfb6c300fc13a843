"""Workbooks: text of cells with its styles; formulas, codes of headers and names of columns fit afterwards."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("lxml")

from documents.packages import check_laws, hostile, office, part, put, shown
from documents.real import needs_data, real
from documents.splicing import opened, texts
from dragoman.documents import Document

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="r"'
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml."
STRINGS, SHEET, TABLE = "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml", "xl/tables/table1.xml"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def book(path: Path, strings: str, sheet: str = "", table: str = "", **others: str) -> Document:
    """A workbook with one sheet, called Data, and one table if it is given."""
    relation = '<Relationships xmlns="{}"><Relationship Id="i" Type="x/{}" Target="{}"/></Relationships>'
    parts = {
        "xl/workbook.xml": (
            f"{TYPE}sheet.main+xml",
            f'<workbook {MAIN}><sheets><sheet name="Data" r:id="i"/></sheets></workbook>',
        ),
        "xl/_rels/workbook.xml.rels": ("x", relation.format(RELATIONS, "worksheet", "worksheets/sheet1.xml")),
        STRINGS: (f"{TYPE}sharedStrings+xml", f"<sst {MAIN}>{strings}</sst>"),
        SHEET: (f"{TYPE}worksheet+xml", f"<worksheet {MAIN}>{sheet}</worksheet>"),
    }
    if table:
        parts["xl/worksheets/_rels/sheet1.xml.rels"] = "x", relation.format(RELATIONS, "table", "../tables/table1.xml")
        columns = f"<tableColumns>{table}</tableColumns>"
        parts[TABLE] = f"{TYPE}table+xml", f'<table {MAIN} ref="A1:B3" totalsRowCount="1">{columns}</table>'
    for name, content in others.items():
        parts[f"xl/{name}.xml"] = f"{TYPE}{name}+xml", content
    return opened(office(path / "a.xlsx", parts))


def si(*texts: str) -> str:
    return "".join(f"<si><t>{text}</t></si>" for text in texts)


BOLD = "<rPr><b/></rPr>"
RICH = f'<si><r><t xml:space="preserve">a </t></r><r>{BOLD}<t>big</t></r><r><t xml:space="preserve"> house</t></r></si>'


@pytest.mark.parametrize(
    ("strings", "expected"),
    [
        (si("plain", "12.5", "two\nlines"), ["plain", "two\nlines"]),
        (RICH, ["a {1}big{/1} house"]),
        (si("carriage_x000D_\nreturn", "under_x005F_x0041_score"), ["carriage\nreturn", "under_x0041_score"]),
        ("<si><t>東京</t><rPh sb='0' eb='2'><t>とうきょう</t></rPh></si>", ["東京"]),
    ],
)
def test_the_text_of_strings(tmp_path: Path, strings: str, expected: list[str]) -> None:
    document = book(tmp_path, strings)
    assert [shown(unit.source) for unit in document.units] == expected
    check_laws(document.path, tmp_path)


def test_a_style_goes_over_the_translation_and_readings_go(tmp_path: Path) -> None:
    document = book(tmp_path, RICH + "<si><t>東京</t><rPh sb='0' eb='2'><t>x</t></rPh></si>")
    strings = part(put(document, {"a {1}big{/1} house": "{1}큰{/1} 집", "東京": "도쿄 "}), STRINGS)
    rich = f'<si><r>{BOLD}<t>큰</t></r><r><t xml:space="preserve"> 집</t></r></si>'
    assert strings.endswith(f'{rich}<si><t xml:space="preserve">도쿄 </t></si></sst>')


def test_formulas_and_values_stay(tmp_path: Path) -> None:
    cells = '<c r="A1" t="s"><v>0</v></c><c r="B1" t="str"><f>A1&amp;"x"</f><v>wordx</v></c>'
    inline = '<c r="C1" t="inlineStr"><is><t>inside</t></is></c>'
    document = book(tmp_path, si("word"), f"<sheetData><row>{cells}{inline}</row></sheetData>")
    assert texts(document) == ["word", "inside"]
    assert [unit.location for unit in document.units] == ["Data!A1", "Data!C1"]
    assert "formulas that contain text" in document.notices[0]
    sheet = part(put(document, {"word": "낱말", "inside": "안"}), SHEET)
    assert cells in sheet
    assert "<is><t>안</t></is>" in sheet


def test_headers_keep_their_codes(tmp_path: Path) -> None:
    text = '&amp;L&amp;"Arial,Bold"&amp;12Report&amp;C5 &amp;amp;&amp;amp; more&amp;RPage &amp;P of &amp;N'
    document = book(
        tmp_path, "", f"<headerFooter><oddHeader>{text.replace('&amp;amp;', '&amp;')}</oddHeader></headerFooter>"
    )
    assert [shown(unit.source) for unit in document.units] == ["Report", "5 & more", "Page {1}&P{/1} of {2}&N{/2}"]
    sections = [f"Data, oddHeader, {name}" for name in ("left", "centre", "right")]
    assert [unit.location for unit in document.units] == sections
    new = {"Report": "3 보고", "5 & more": "5 & 더", "Page {1}&P{/1} of {2}&N{/2}": "{2}&N{/2}쪽 중 {1}&P{/1}쪽"}
    written = re.findall("<oddHeader>(.*)</oddHeader>", part(put(document, new), SHEET))[0].replace("&amp;", "&")
    assert written == '&L&"Arial,Bold"&12 3 보고&C5 && 더&R&N쪽 중 &P쪽'
    check_laws(document.path, tmp_path)


ROW = '<sheetData><row><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>{}</sheetData>'
COLUMNS = '<tableColumn id="1" name="Item"/><tableColumn id="2" name="Price"/>'


def test_columns_are_named_as_their_headers(tmp_path: Path) -> None:
    document = book(tmp_path, si("Item", "Price"), ROW.format(""), COLUMNS)
    table = part(put(document, {"Item": "품목", "Price": "가격"}), TABLE)
    assert re.findall('name="(.*?)"', table) == ["품목", "가격"]
    check_laws(document.path, tmp_path)


def test_two_columns_of_a_table_never_have_one_name(tmp_path: Path) -> None:
    document = book(tmp_path, si("Item", "Price"), ROW.format(""), COLUMNS)
    written = put(document, {"Item": "값", "Price": "값"})
    assert re.findall('name="(.*?)"', part(written, TABLE)) == ["값", "값 2"]
    assert re.findall("<t.*?>(.*?)</t>", part(written, STRINGS)) == ["값", "값 2"]


def test_a_header_that_a_formula_names_stays(tmp_path: Path) -> None:
    rows = ROW.format('<row><c r="C2"><f>SUM(Table1[Price])</f></c></row>')
    document = book(tmp_path, si("Item", "Price"), rows, COLUMNS)
    assert texts(document) == ["Item"]
    assert document.notices == ("headers of tables that formulas name stay as they are: Price",)
    assert re.findall('name="(.*?)"', part(put(document, {"Item": "품목"}), TABLE)) == ["품목", "Price"]


def value(cell: str, text: str) -> str:
    return f'<c r="{cell}" t="str"><v>{text}</v></c>'


def inline_string(cell: str, text: str) -> str:
    return f'<c r="{cell}" t="inlineStr"><is><t>{text}</t></is></c>'


@pytest.mark.parametrize("cell", [value, inline_string])
def test_headers_whose_text_is_in_the_sheet(tmp_path: Path, cell: Callable[[str, str], str]) -> None:
    row = f"<sheetData><row>{cell('A1', 'Item')}{cell('B1', 'Price')}</row>{{}}</sheetData>"
    document = book(tmp_path, "", row.format(""), COLUMNS)
    written = put(document, {"Item": "값", "Price": "값"})
    assert re.findall('name="(.*?)"', part(written, TABLE)) == ["값", "값 2"]
    assert re.findall("<(?:t|v)>(.*?)</", part(written, SHEET)) == ["값", "값 2"]
    check_laws(document.path, tmp_path)
    formula = '<row><c r="C2"><f>SUM(Table1[Price])</f></c></row>'
    document = book(tmp_path, "", row.format(formula), COLUMNS)
    assert texts(document) == ["Item"]
    assert document.notices == ("headers of tables that formulas name stay as they are: Price",)


@pytest.mark.parametrize("cell", ['<c r="A3" t="s"><v>0</v></c>', value("A3", "Total"), inline_string("A3", "Total")])
def test_the_label_of_a_total_is_that_of_its_cell(tmp_path: Path, cell: str) -> None:
    strings = si("Total") if 't="s"' in cell else ""
    column = '<tableColumn id="1" name="Item" totalsRowLabel="Total"/>'
    document = book(tmp_path, strings, f"<sheetData><row>{cell}</row></sheetData>", column)
    written = put(document, {"Total": "합계"})
    assert "합계" in part(written, STRINGS if strings else SHEET)
    assert 'name="Item" totalsRowLabel="합계"' in part(written, TABLE)
    check_laws(document.path, tmp_path)


def test_a_number_of_a_string_that_is_none_is_left_alone(tmp_path: Path) -> None:
    row = '<sheetData><row><c r="A1" t="s"><v>²</v></c></row></sheetData>'
    document = book(tmp_path, si("Item"), row, COLUMNS)
    assert texts(document) == ["Item"]
    check_laws(document.path, tmp_path)


def test_the_messages_of_a_rule(tmp_path: Path) -> None:
    prompt = 'sqref="B2" promptTitle=" A number" prompt="First line_x000a_second &#10;line"'
    extended = '<x:dataValidation xmlns:x="x" error="Too large"><x:sqref>C3</x:sqref></x:dataValidation>'
    rules = f'<dataValidations><dataValidation type="whole" {prompt}/></dataValidations><ext>{extended}</ext>'
    document = book(tmp_path, "", rules)
    assert [(unit.location, unit.source.text, unit.max_length) for unit in document.units] == [
        ("Data!B2, promptTitle", "A number", 31),
        ("Data!B2, prompt", "First line\nsecond \nline", 255),
        ("Data!C3, error", "Too large", 224),
    ]
    new = {"A number": "수" * 32, "First line\nsecond \nline": "하나\n둘\n셋_x000a_", "Too large": "가" * 224}
    sheet = part(put(document, new), SHEET)
    assert 'promptTitle=" A number" prompt="하나_x000a_둘_x000a_셋_x005F_x000a_"' in sheet
    assert f'error="{"가" * 224}"' in sheet
    assert document.remarks == ["Data!B2, promptTitle: not translated, because the program allows 31 characters"]
    check_laws(document.path, tmp_path)


@pytest.mark.parametrize(
    ("header", "new", "written"),
    [
        (
            "&CThe P&&L of it&RPage &P",
            {"The P&L of it": "P&L", "Page {1}&P{/1}": "{1}&P{/1}쪽"},
            "&CP&&L&R&P쪽",
        ),
        ('&C&"A &Left,Bold"Report&Rend', {"Report": "보고", "end": "끝"}, '&C&"A &Left,Bold"보고&R끝'),
        ("A&&&R Company", {"A&": "가&", "Company": "회사"}, "가&&&R 회사"),
    ],
)
def test_what_only_looks_like_a_section_of_a_header(
    tmp_path: Path, header: str, new: dict[str, str], written: str
) -> None:
    text = header.replace("&", "&amp;")
    document = book(tmp_path, "", f"<headerFooter><oddHeader>{text}</oddHeader></headerFooter>")
    assert [shown(unit.source) for unit in document.units] == list(new)
    sheet = part(put(document, new), SHEET)
    assert f"<oddHeader>{written.replace('&', '&amp;')}</oddHeader>" in sheet
    check_laws(document.path, tmp_path)


def test_a_header_is_no_longer_than_excel_reads(tmp_path: Path) -> None:
    header = f"&amp;L{'word ' * 20}&amp;R{'text ' * 20}"
    document = book(tmp_path, "", f"<headerFooter><oddHeader>{header}</oddHeader></headerFooter>")
    assert [unit.max_length for unit in document.units] == [99 + 25, 99 + 25]
    written = put(document, {unit.source.text: unit.source.text[0] * 124 for unit in document.units})
    assert len(re.findall("<oddHeader>(.*)</odd", part(written, SHEET))[0].replace("&amp;", "&")) == 254


def test_shapes_on_charts_diagrams_and_charts_of_2016(tmp_path: Path) -> None:
    names = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:cx="cx"'
    paragraph = f"<x {names}><a:p><a:r><a:t>{{}}</a:t></a:r></a:p>{{}}</x>"
    labels = (
        '<cx:strDim type="cat"><cx:lvl><cx:pt idx="0">a label</cx:pt></cx:lvl></cx:strDim>'
        '<cx:numDim><cx:lvl><cx:pt idx="0">NaN</cx:pt></cx:lvl></cx:numDim>'
    )
    graphics = {
        "openxmlformats-officedocument.drawingml.diagramData": paragraph.format("a step", ""),
        "ms-office.drawingml.diagramDrawing": paragraph.format("a drawn step", ""),
        "openxmlformats-officedocument.drawingml.chartshapes": paragraph.format("a shape", ""),
        "ms-office.chartex": paragraph.format("a title", labels),
    }
    main = {"xl/workbook.xml": (f"{TYPE}sheet.main+xml", f"<workbook {MAIN}><sheets/></workbook>")}
    parts = {f"xl/p{at}.xml": (f"application/vnd.{kind}+xml", text) for at, (kind, text) in enumerate(graphics.items())}
    document = opened(office(tmp_path / "a.xlsx", main | parts))
    assert texts(document) == ["a step", "a drawn step", "a shape", "a title", "a label"]
    check_laws(document.path, tmp_path)


def test_comments(tmp_path: Path) -> None:
    comment = (
        f'<comments {MAIN}><commentList><comment ref="A1"><text>{RICH[4:-5]}</text></comment></commentList></comments>'
    )
    document = book(tmp_path, "", comments=comment)
    assert [shown(unit.source) for unit in document.units] == ["a {1}big{/1} house"]
    check_laws(document.path, tmp_path)


@needs_data
@pytest.mark.parametrize("path", real("xlsx"), ids=lambda path: path.name)
def test_real_documents(tmp_path: Path, path: Path) -> None:
    assert list(check_laws(path, tmp_path).units)
    assert not hostile(".xlsx")


def test_cells_with_a_value_that_is_a_text_are_texts_without_a_formula(tmp_path: Path) -> None:
    cells = '<c r="A1" t="str"><v>Open it_x001B_ now</v></c><c r="B1" t="str"><f>"a"&amp;C1</f><v>a b</v></c>'
    document = book(tmp_path, "", f"<sheetData><row>{cells}</row></sheetData>")
    assert [shown(unit.source) for unit in document.units] == ["Open it{1/} now"]
    check_laws(document.path, tmp_path)


def test_a_control_character_is_kept_as_it_is_written(tmp_path: Path) -> None:
    document = book(tmp_path, si("Open_x001B_ the _x0007_file"))
    assert [shown(unit.source) for unit in document.units] == ["Open{1/} the {2/}file"]
    assert "_x001B_ 파일 _x0007_" in part(put(document, {"Open{1/} the {2/}file": "열기{1/} 파일 {2/}"}), STRINGS)
    check_laws(document.path, tmp_path)


def test_values_that_something_compares_stay_and_are_named(tmp_path: Path) -> None:
    sheet = (
        '<sheetData><row><c r="A1" t="inlineStr"><is><t>Yes</t></is></c><c r="B1" t="str"><v>High</v></c>'
        '<c r="C1"><f>IF(A1="Done","open it","closed")</f></c><c r="D1"><f>COUNTIF(B:B,"Low")</f></c></row></sheetData>'
        '<autoFilter><filterColumn><filters><filter val="Late"/></filters></filterColumn></autoFilter>'
        '<conditionalFormatting><cfRule operator="equal"><formula>"Bad"</formula></cfRule></conditionalFormatting>'
        '<dataValidations><dataValidation type="list"><formula1>"Yes,No, High"</formula1></dataValidation>'
        "</dataValidations>"
    )
    document = book(tmp_path, si("Done", "Low", "Late", "No", "Is it done?", "closed"), sheet)
    assert texts(document) == ["Is it done?", "closed"]
    assert any("Done, High, Late, Low, No, Yes" in notice for notice in document.notices)
    check_laws(document.path, tmp_path)


def test_what_is_compared_without_case_or_with_wildcards_stays(tmp_path: Path) -> None:
    sheet = (
        '<sheetData><row><c r="A1"><f>IF(B1="approved",1,COUNTIF(B:B,"*item*")+COUNTIF(B:B,"&lt;&gt;open")'
        '+COUNTIF(B:B,"wh~?t?"))</f></c></row></sheetData>'
    )
    document = book(tmp_path, si("Approved", "Red item", "Open", "Wh?ts", "whats", "Approved or not"), sheet)
    assert texts(document) == ["whats", "Approved or not"]
    check_laws(document.path, tmp_path)


@pytest.mark.parametrize(
    ("sheet", "table"),
    [
        ("", '</tableColumns><autoFilter><filters><filter val="Open"/></filters></autoFilter><tableColumns>'),
        ('<dataValidation type="custom"><formula1>A1="Open"</formula1></dataValidation>', COLUMNS),
        ('<dataValidation type="list"><formula1>IF(A1="Open",B1:B2,B3:B4)</formula1></dataValidation>', COLUMNS),
        ('<c r="B9"><f>OR(A1={"Yes";"Open"})</f></c>', COLUMNS),
        ('<c r="B9"><f>OR({"Yes","Open"}&lt;&gt;A1)</f></c>', COLUMNS),
    ],
)
def test_filters_of_tables_rules_and_arrays_compare_too(tmp_path: Path, sheet: str, table: str) -> None:
    document = book(tmp_path, si("Open", "Open it"), sheet, table)
    assert texts(document) == ["Open it"]
    check_laws(document.path, tmp_path)


def test_a_formula_of_quotation_marks_is_read_in_time(tmp_path: Path) -> None:
    document = book(tmp_path, si("Open it"), f"<c r='A1'><f>A1={{{'&quot;' * 5001}</f></c>")
    assert texts(document) == ["Open it"]
