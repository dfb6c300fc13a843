"""Presentations: slides, notes, tables, diagrams and charts; fields stay, prompts of masters are not shown."""

from pathlib import Path

import pytest

pytest.importorskip("lxml")

from documents.packages import check_laws, hostile, office, part, put, shown
from documents.real import needs_data, real
from documents.splicing import opened, texts
from dragoman.documents import Document
from dragoman.errors import DataError

A = "http://schemas.openxmlformats.org/drawingml/2006/main"
NAMES = f'xmlns:a="{A}" xmlns:p="p" xmlns:r="r" xmlns:c="c"'
TYPE = "application/vnd.openxmlformats-officedocument."
SLIDE = "ppt/slides/slide1.xml"


def slides(path: Path, text: str, **others: str) -> Document:
    """A presentation with one slide; other parts by the last word of their type, with `presentationml.` before it."""
    parts = {
        "ppt/presentation.xml": (f"{TYPE}presentationml.presentation.main+xml", "<p/>"),
        SLIDE: (f"{TYPE}presentationml.slide+xml", f"<p:sld {NAMES}>{text}</p:sld>"),
    }
    for name, content in others.items():
        family = "drawingml" if name in ("chart", "chartshapes", "diagramData") else "presentationml"
        kind = "application/vnd.ms-office.chartex+xml" if name == "chartex" else f"{TYPE}{family}.{name}+xml"
        parts[f"ppt/{name}1.xml"] = kind, f"<p:x {NAMES}>{content}</p:x>"
    return opened(office(path / "a.pptx", parts))


def run(text: str, properties: str = "") -> str:
    return f'<a:r><a:rPr lang="en-US" dirty="0">{properties}</a:rPr><a:t>{text}</a:t></a:r>'


RED = '<a:solidFill><a:srgbClr val="FF0000"/></a:solidFill>'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (run("One") + run(" style"), ["One style"]),
        (run("A ") + run("red", RED) + run(" car"), ["A {1}red{/1} car"]),
        (run("red", RED) + run(" ") + run("car", RED) + run(" is here"), ["{1}red car{/1} is here"]),
        (run("Two") + "<a:br/>" + run("lines"), ["Two\nlines"]),
        (run("Slide ") + '<a:fld type="slidenum" id="{1}"><a:t>4</a:t></a:fld>', ["Slide {1}4{/1}"]),
        (run("7"), []),
    ],
)
def test_the_text_of_a_paragraph(tmp_path: Path, text: str, expected: list[str]) -> None:
    document = slides(tmp_path, f"<a:p><a:pPr/>{text}<a:endParaRPr/></a:p>")
    assert [shown(unit.source) for unit in document.units] == expected
    check_laws(document.path, tmp_path)


def test_a_style_goes_over_the_translation_of_its_words(tmp_path: Path) -> None:
    document = slides(tmp_path, f"<a:p>{run('A ')}{run('red', RED)}{run(' car')}<a:endParaRPr/></a:p>")
    slide = part(put(document, {"A {1}red{/1} car": "차가 {1}빨갛다{/1}"}), SLIDE)
    assert slide.endswith(
        '<a:p><a:r><a:rPr lang="ko-KR" dirty="0"/><a:t>차가 </a:t></a:r>'
        f'<a:r><a:rPr lang="ko-KR" dirty="0">{RED}</a:rPr><a:t>빨갛다</a:t></a:r><a:endParaRPr/></a:p></p:sld>'
    )


def test_all_parts_that_are_shown(tmp_path: Path) -> None:
    paragraph = "<a:p><a:r><a:t>{}</a:t></a:r></a:p>"
    prompt = "<p:sp><p:nvSpPr><p:nvPr><p:ph/></p:nvPr></p:nvSpPr>{}</p:sp>"
    labels = "<c:strCache><c:pt><c:v>label</c:v></c:pt></c:strCache><c:numCache><c:v>x</c:v></c:numCache>"
    document = slides(
        tmp_path,
        paragraph.format("slide"),
        notesSlide=paragraph.format("notes"),
        slideMaster=prompt.format(paragraph.format("prompt")) + paragraph.format("logo"),
        diagramData=paragraph.format("diagram"),
        chart=paragraph.format("chart") + labels,
        chartex=paragraph.format("funnel"),
        chartshapes=paragraph.format("box"),
    )
    assert texts(document) == ["slide", "notes", "diagram", "box", "logo", "chart", "label", "funnel"]
    assert [unit.location for unit in document.units][:2] == ["slide 1, paragraph 1", "notes 1, paragraph 1"]
    check_laws(document.path, tmp_path)


@needs_data
@pytest.mark.parametrize("path", real("pptx"), ids=lambda path: path.name)
def test_real_documents(tmp_path: Path, path: Path) -> None:
    assert list(check_laws(path, tmp_path).units)


@needs_data
@pytest.mark.parametrize("path", hostile(".pptx"), ids=lambda path: path.name)
def test_hostile_documents(path: Path) -> None:
    with pytest.raises(DataError):
        opened(path)


def test_comments_and_alternative_texts(tmp_path: Path) -> None:
    shape = '<p:sp><p:nvSpPr><p:cNvPr id="2" name="No text" descr="A box with a step" title="Box"/></p:nvSpPr></p:sp>'
    formula = r'<p:sp><p:nvSpPr><p:cNvPr id="3" name="x" descr="\frac{a}{b} where it is"/></p:nvSpPr></p:sp>'
    comment = '<p:cm authorId="0"><p:text>Please close it.</p:text></p:cm>'
    document = slides(tmp_path, shape + formula, comments=comment)
    assert texts(document) == ["A box with a step", "Box", "Please close it."]
    check_laws(document.path, tmp_path)
