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
    run("shown", '<w:vanish w:val="0"/>'): ["shown"],
    run("seen", '<w:specVanish w:val="off"/>'): ["seen"],
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


def ranged(kind: str, words: str, identifier: int = 0) -> str:
    return f'<w:{kind}Start w:id="{identifier}"/>{words}<w:{kind}End w:id="{identifier}"/>'


@pytest.mark.parametrize("kind", ["commentRange", "bookmark", "perm", "moveToRange"])
def test_the_marks_of_a_range_are_around_the_translation_of_its_words(tmp_path: Path, kind: str) -> None:
    document = word(
        tmp_path, f"<w:p>{run('We discuss the ')}{ranged(kind, run('role of it'))}{run(' in the talks.')}</w:p>"
    )
    source = "We discuss the {1}role of it{/1} in the talks."
    assert [shown(unit.source) for unit in document.units] == [source]
    assert written_body(document, {source: "In den Gesprächen geht es {1}um die Rolle{/1}."}) == (
        f"<w:p>{plain('In den Gesprächen geht es ')}{ranged(kind, plain('um die Rolle'))}{plain('.')}</w:p>"
    )
    check_laws(document.path, tmp_path)


def plain(words: str) -> str:
    return f"<w:r><w:t>{words}</w:t></w:r>"


def test_ranges_that_overlap_end_after_they_begin(tmp_path: Path) -> None:
    start, end = '<w:bookmarkStart w:id="1"/>', '<w:bookmarkEnd w:id="1"/>'
    inner = run("red ") + start + run("car")
    document = word(tmp_path, f"<w:p>{run('The ')}{ranged('commentRange', inner)}{run(' is')}{end}{run(' here')}</w:p>")
    source = "The {1}red {2/}car{/1} is{3/} here"
    assert [shown(unit.source) for unit in document.units] == [source]
    body = written_body(document, {source: "Hier{3/} ist das {1}rote {2/}Auto{/1}"})
    assert body == (
        f"<w:p>{plain('Hier')}{start}{plain(' ist das ')}"
        f"{ranged('commentRange', plain('rote ') + end + plain('Auto'))}</w:p>"
    )
    check_laws(document.path, tmp_path)


def test_marks_that_enclose_nothing_stay_together(tmp_path: Path) -> None:
    document = word(tmp_path, f"<w:p>{run('The')}{ranged('bookmark', ranged('bookmark', '', 1))}{run(' car')}</w:p>")
    assert [shown(unit.source) for unit in document.units] == ["The{1/} car"]
    body = written_body(document, {"The{1/} car": "Das Auto{1/} hier"})
    assert body == f"<w:p>{plain('Das Auto')}{ranged('bookmark', ranged('bookmark', '', 1))}{plain(' hier')}</w:p>"


def level(kind: str, words: str) -> str:
    return f'<w:lvl><w:numFmt w:val="{kind}"/><w:lvlText w:val="{words}"/></w:lvl>'


@pytest.mark.parametrize(
    ("numbering", "source", "translation", "written"),
    [
        (level("decimal", "Article %1. "), "Article {1}%1{/1}.", "제{1}%1{/1}조.", "제%1조. "),
        (level("none", "Note:"), "Note:", "참고:", "참고:"),
    ],
)
def test_the_words_of_numberings(tmp_path: Path, numbering: str, source: str, translation: str, written: str) -> None:
    document = word(tmp_path, "", numbering=numbering + level("bullet", "o") + level("decimal", "%1.%2"))
    assert [shown(unit.source) for unit in document.units] == [source]
    content = part(put(document, {source: translation}), "word/numbering1.xml")
    assert re.findall('<w:lvlText w:val="(.*?)"', content) == [written, "o", "%1.%2"]
    check_laws(document.path, tmp_path)


CORE = "http://schemas.openxmlformats.org/package/2006/metadata/core-properties"


@pytest.mark.parametrize(
    ("bound", "expected", "notices"),
    [
        ("ns0:subject[1]", ["A name", "A subject"], 0),
        ("ns0:creator[1]", ["A name"], 1),
        ("ns0:title[1]", ["A name"], 0),
    ],
)
def test_properties_that_a_page_shows(tmp_path: Path, bound: str, expected: list[str], notices: int) -> None:
    binding = f'<w:dataBinding w:prefixMappings="xmlns:ns1=\'{CORE}\'" w:xpath="/ns1:coreProperties[1]/{bound}"/>'
    header = f"<w:p><w:sdt><w:sdtPr>{binding}</w:sdtPr><w:sdtContent>{run('12')}</w:sdtContent></w:sdt></w:p>"
    story = f"<w:x {NAMESPACES}>{{}}</w:x>"
    parts = {
        MAIN: (f"{TYPE}document.main+xml", story.format("")),
        "word/header1.xml": (f"{TYPE}header+xml", story.format(header)),
        "docProps/core.xml": (
            "application/vnd.openxmlformats-package.core-properties+xml",
            "<x><title>A name</title><subject>A subject</subject><creator>Ann Lee</creator></x>",
        ),
    }
    document = opened(office(tmp_path / "a.docx", parts))
    assert texts(document) == expected
    assert len(document.notices) == notices
    check_laws(document.path, tmp_path)


def test_lists_of_form_fields_and_shapes_of_older_versions(tmp_path: Path) -> None:
    choice = '<w:ddList><w:listEntry w:val="Red wine"/></w:ddList>'
    field_of_list = f'<w:fldChar w:fldCharType="begin"><w:ffData>{choice}</w:ffData></w:fldChar>'
    group = '<v:group alt="A group"><v:oval alt="An oval"/><v:roundrect alt="A box"/></v:group>'
    shapes = f'<w:pict>{group}<v:rect alt="A line"/></w:pict>'
    document = word(tmp_path, f"<w:p><w:r>{field_of_list}</w:r><w:r>{shapes}</w:r></w:p>")
    assert sorted(texts(document)) == ["A box", "A group", "A line", "An oval", "Red wine"]
    check_laws(document.path, tmp_path)


def test_shapes_on_charts_and_charts_of_2016(tmp_path: Path) -> None:
    names = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    paragraph = f"<x {names}><a:p><a:r><a:t>{{}}</a:t></a:r></a:p></x>"
    drawing = "application/vnd.openxmlformats-officedocument.drawingml.chartshapes+xml"
    parts = {
        MAIN: (f"{TYPE}document.main+xml", f"<w:document {NAMESPACES}/>"),
        "word/drawings/drawing1.xml": (drawing, paragraph.format("A box")),
        "word/charts/chartEx1.xml": ("application/vnd.ms-office.chartex+xml", paragraph.format("A title")),
    }
    document = opened(office(tmp_path / "a.docx", parts))
    assert sorted(texts(document)) == ["A box", "A title"]
    check_laws(document.path, tmp_path)
