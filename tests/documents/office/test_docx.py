"""Word documents: styles, links, notes and fields come back around the translation of their words."""

import re
from pathlib import Path

import pytest

pytest.importorskip("lxml")

from documents.packages import archive, check_laws, hostile, office, part, put, shown
from documents.real import needs_data, real
from documents.splicing import opened, texts
from dragoman.documents import Document, DocumentOptions
from dragoman.errors import DataError

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml."
MAIN = "word/document.xml"
NAMESPACES = (
    f'xmlns:w="{W}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:v="v" xmlns:r="r"'
)


def word(path: Path, body: str, **parts: str) -> Document:
    """A document of this content; other parts by the last word of their type."""
    root = f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>"
    stories = {
        f"word/{name}1.xml": (f"{TYPE}{name}+xml", f"<w:x {NAMESPACES}>{text}</w:x>") for name, text in parts.items()
    }
    return opened(office(path / "a.docx", {MAIN: (f"{TYPE}document.main+xml", root), **stories}))


def run(text: str, properties: str = "", *, space: str = ' xml:space="preserve"') -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t{space}>{text}</w:t></w:r>"


def field(instruction: str, result: str) -> str:
    begin, separate, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
    return f"{begin}<w:r><w:instrText>{instruction}</w:instrText></w:r>{separate}{result}{end}"


BOLD, LATIN = "<w:b/>", '<w:rFonts w:hint="eastAsia"/><w:lang w:val="fr-FR"/>'
EXAMPLES = {
    run("Hello ") + '<w:proofErr w:type="a"/>' + run("big", LATIN) + run(" world"): ["Hello big world"],
    run("Hello ") + run("big", BOLD) + run(" world"): ["Hello {1}big{/1} world"],
    run("all of it", BOLD): ["all of it"],
    run("See ") + f'<w:hyperlink r:id="i">{run("the ", BOLD)}{run("page", BOLD)}</w:hyperlink>' + run("."): [
        "See {1}the page{/1}."
    ],
    run("Word") + '<w:r><w:footnoteReference w:id="2"/></w:r>' + run(" more"): ["Word{1/} more"],
    run("Name") + "<w:r><w:tab/></w:r>" + run("Date"): ["Name\nDate"],
    run("kept") + "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>" + f"<w:ins>{run(' new')}</w:ins>": [
        "kept{1/}{2} new{/2}"
    ],
    "<w:moveFrom>" + run("old") + "</w:moveFrom>" + run("text"): ["text"],
    run("Page ") + field("PAGE", run("3")) + run(" of the book"): ["Page {1}3{/1} of the book"],
    run("Page ") + f'<w:fldSimple w:instr="PAGE">{run("3")}</w:fldSimple>' + run(" of it"): ["Page {1}3{/1} of it"],
    run("At ") + field('HYPERLINK "x"', run("our site")) + run(" now"): ["At {1}our site{/1} now"],
    run("Where ") + "<m:oMath xmlns:m='m'><m:r><m:t>x</m:t></m:r></m:oMath>" + run(" is"): ["Where {1/} is"],
    run("hidden", "<w:vanish/>") + run("seen"): ["seen"],
    f"<w:sdt><w:sdtPr/><w:sdtContent>{run('one')}</w:sdtContent></w:sdt>" + run(" text"): ["{1}one{/1} text"],
    run("no space ", space="") + run("here"): ["no spacehere"],
    run("12.5"): [],
}  # fmt: skip


@pytest.mark.parametrize("body", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_text_of_a_paragraph(tmp_path: Path, body: str) -> None:
    document = word(tmp_path, f"<w:p><w:pPr/>{body}</w:p>")
    assert [shown(unit.source) for unit in document.units] == EXAMPLES[body]
    check_laws(document.path, tmp_path)


def written_body(document: Document, new: dict[str, str], target: str = "de") -> str:
    """What is written, without language and empty properties."""
    body = part(put(document, new, DocumentOptions("en", target)), MAIN)
    body = body[body.index("<w:p>") : body.index("</w:body>")]
    return (
        re.sub(r"<w:lang [^>]*/>| xml:space=\"preserve\"", "", body)
        .replace("<w:rPr/>", "")
        .replace("<w:rPr></w:rPr>", "")
    )


def test_a_style_goes_over_the_translation_of_its_words(tmp_path: Path) -> None:
    document = word(tmp_path, f"<w:p>{run('The ')}{run('red', BOLD)}{run(' car')}</w:p>")
    assert written_body(document, {"The {1}red{/1} car": "Das Auto ist {1}rot{/1}"}) == (
        "<w:p><w:r><w:t>Das Auto ist </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>rot</w:t></w:r></w:p>"
    )


def test_a_style_without_words_disappears_and_a_note_moves(tmp_path: Path) -> None:
    note = '<w:footnoteReference w:id="2"/>'
    document = word(
        tmp_path, f"<w:p>{run('a ')}{run('b', BOLD)}<w:r><w:rPr>{BOLD}</w:rPr>{note}</w:r>{run(' c')}</w:p>"
    )
    assert written_body(document, {"a {1}b{/1}{2/} c": "{2/}C{1}{/1}"}) == (
        f"<w:p><w:r><w:rPr><w:b/></w:rPr>{note}</w:r><w:r><w:t>C</w:t></w:r></w:p>"
    )


def test_a_field_keeps_its_instruction_and_result(tmp_path: Path) -> None:
    page = field("PAGE", run("3"))
    document = word(tmp_path, f"<w:p>{run('Page ')}{page}{run(' of it')}</w:p>")
    assert written_body(document, {"Page {1}3{/1} of it": "{1}3{/1}. Seite"}) == (
        f"<w:p>{page}<w:r><w:t>. Seite</w:t></w:r></w:p>".replace(' xml:space="preserve"', "").replace(
            "<w:rPr></w:rPr>", ""
        )
    )


def test_text_boxes_are_translated_once_and_written_twice(tmp_path: Path) -> None:
    box = "<w:txbxContent><w:p><w:r><w:t>Box</w:t></w:r></w:p></w:txbxContent>"
    both = (
        f"<mc:AlternateContent><mc:Choice Requires='wps'><w:drawing>{box}</w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent>"
    )
    document = word(tmp_path, f"<w:p>{run('Around ')}<w:r>{both}</w:r>{run('it')}</w:p>")
    assert sorted(texts(document)) == ["Around it", "Box"]
    body = written_body(document, {"Box": "Kiste", "Around {1/}it": "Darum{1/}"})
    assert body.count("Kiste") == 2
    assert "Box" not in body.replace("txbxContent", "")
    assert body.startswith("<w:p><w:r><w:t>Darum</w:t></w:r><w:r><mc:AlternateContent>")
    check_laws(document.path, tmp_path)


def test_the_language_of_a_translation_is_named(tmp_path: Path) -> None:
    document = word(tmp_path, f"<w:p>{run('Red', '<w:rStyle w:val=`s`/><w:b/>'.replace('`', chr(34)))}</w:p>")
    for target, properties in {
        "ko": '<w:rStyle w:val="s"/><w:rFonts w:hint="eastAsia"/><w:b/><w:lang w:eastAsia="ko-KR"/>',
        "pt-PT": '<w:rStyle w:val="s"/><w:b/><w:lang w:val="pt-PT"/>',
    }.items():
        assert f"<w:rPr>{properties}</w:rPr>" in part(put(document, {"Red": "X"}, DocumentOptions("en", target)), MAIN)


def test_a_paragraph_has_the_direction_of_its_language(tmp_path: Path) -> None:
    properties = '<w:pPr><w:pStyle w:val="s"/><w:jc w:val="left"/></w:pPr>'
    document = word(tmp_path, f"<w:p>{properties}{run('One', BOLD)}</w:p><w:p>{run('Two')}</w:p>")
    content = put(document, {"One": "واحد", "Two": "اثنان"}, DocumentOptions("en", "ar"))
    written = part(content, MAIN)
    assert '<w:pPr><w:pStyle w:val="s"/><w:bidi/><w:jc w:val="left"/></w:pPr>' in written
    assert '<w:rPr><w:b/><w:rtl/><w:lang w:bidi="ar-SA"/></w:rPr>' in written
    assert "<w:p><w:pPr><w:bidi/></w:pPr>" in written
    (tmp_path / "ar.docx").write_bytes(content)
    again = opened(tmp_path / "ar.docx")
    back = part(put(again, {"واحد": "One", "اثنان": "Two"}, DocumentOptions("ar", "en")), MAIN)
    assert not re.search("<w:(bidi|rtl)/>", back)


def test_every_story_is_read(tmp_path: Path) -> None:
    paragraph = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
    names = ("header", "footer", "footnotes", "endnotes", "comments")
    document = word(tmp_path, paragraph.format("body"), **{name: paragraph.format(f"in {name}") for name in names})
    assert sorted(texts(document)) == sorted(["body", *(f"in {name}" for name in names)])
    assert {unit.location for unit in document.units} >= {"paragraph 1", "header 1, paragraph 1"}
    check_laws(document.path, tmp_path)


def test_another_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="main part is missing"):
        opened(office(tmp_path / "a.docx", {"xl/workbook.xml": ("application/x", "<x/>")}))


@needs_data
@pytest.mark.parametrize("path", real("docx"), ids=lambda path: path.name)
def test_real_documents(tmp_path: Path, path: Path) -> None:
    assert list(check_laws(path, tmp_path).units)


ACCEPTED = {"zip-many-entries.docx"}


@needs_data
@pytest.mark.parametrize("path", hostile(".docx"), ids=lambda path: path.name)
def test_hostile_documents(tmp_path: Path, path: Path) -> None:
    if path.name in ACCEPTED:
        check_laws(path, tmp_path)
        return
    with pytest.raises(DataError) as error:
        opened(path)
    assert "\n" not in str(error.value)


def test_alternative_texts_watermarks_and_lists(tmp_path: Path) -> None:
    picture = (
        '<w:r><w:drawing><wp:docPr xmlns:wp="wp" id="1" name="Picture 1" descr="A map" title="Map"/></w:drawing></w:r>'
    )
    watermark = '<w:r><w:pict><v:shape alt="A mark"><v:textpath string="A DRAFT"/></v:shape></w:pict></w:r>'
    choice = (
        '<w:sdt><w:sdtPr><w:dropDownList><w:listItem w:displayText="Dark red" w:value="r"/></w:dropDownList></w:sdtPr>'
    )
    choice += f"<w:sdtContent>{run('Dark red')}</w:sdtContent></w:sdt>"
    document = word(tmp_path, f"<w:p>{picture}{run('Open it.')}</w:p><w:p>{watermark}{choice}</w:p>")
    assert sorted(texts(document)) == ["A DRAFT", "A map", "A mark", "Dark red", "Dark red", "Map", "Open it."]
    check_laws(document.path, tmp_path)


def test_the_type_of_the_main_part_may_be_that_of_every_part(tmp_path: Path) -> None:
    """As .NET writes it: by the end of the name; what the package itself refers to is the main part."""
    types = "http://schemas.openxmlformats.org/package/2006/content-types"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    story = f"<w:x {NAMESPACES}><w:p>{run('{}')}</w:p></w:x>"
    path = archive(
        tmp_path / "a.docx",
        {
            "[Content_Types].xml": f'<Types xmlns="{types}">'
            f'<Default Extension="xml" ContentType="{TYPE}document.main+xml"/>'
            f'<Override PartName="/word/footer1.xml" ContentType="{TYPE}footer+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{relations}"><Relationship Id="a" Type="x/officeDocument" '
            'Target="/word/document.xml"/></Relationships>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{relations}"><Relationship Id="a" Type="x/header" '
            'Target="header1.xml"/></Relationships>',
            "word/document.xml": story.format("Body."),
            "word/header1.xml": story.format("Header."),
            "word/footer1.xml": story.format("Footer."),
        },
    )
    document = check_laws(path, tmp_path)
    assert sorted(texts(document)) == ["Body.", "Footer.", "Header."]
