"""A document is parsed once to be translated and once to be checked, whatever its format."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lxml")
pytest.importorskip("ruamel.yaml")
pytest.importorskip("pdfminer")

import dragoman
from documents.packages import archive, office
from documents.pdfs import pdf, prose
from dragoman.documents.formats import KINDS, Kind, kind_of, load
from dragoman.translator import Translator
from dragoman.workflows.documents import work as document_work
from dragoman.workflows.documents.documents import DocumentTask, run_documents
from workflows.document_stand_in import Capitals, chosen

SAMPLES = Path(__file__).parents[2] / "documents" / "samples"
OOXML = "application/vnd.openxmlformats-officedocument."
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
ODT = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text"))
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def docx(path: Path) -> None:
    body = f"<w:document {W}><w:body><w:p><w:r><w:t>The dog</w:t></w:r></w:p></w:body></w:document>"
    office(path, {"word/document.xml": (f"{OOXML}wordprocessingml.document.main+xml", body)})


def pptx(path: Path) -> None:
    slide = f'<p:sld xmlns:p="p" {A}><a:p><a:r><a:t>The dog</a:t></a:r></a:p></p:sld>'
    office(
        path,
        {
            "ppt/presentation.xml": (f"{OOXML}presentationml.presentation.main+xml", "<p/>"),
            "ppt/slides/slide1.xml": (f"{OOXML}presentationml.slide+xml", slide),
        },
    )


def xlsx(path: Path) -> None:
    sheets = f'<workbook {S}><sheets><sheet name="Data" r:id="i" xmlns:r="r"/></sheets></workbook>'
    relation = '<Relationship Id="i" Type="x/worksheet" Target="worksheets/sheet1.xml"/>'
    parts = {
        "xl/workbook.xml": (f"{OOXML}spreadsheetml.sheet.main+xml", sheets),
        "xl/_rels/workbook.xml.rels": ("x", f'<Relationships xmlns="{RELATIONS}">{relation}</Relationships>'),
        "xl/sharedStrings.xml": (f"{OOXML}spreadsheetml.sharedStrings+xml", f"<sst {S}><si><t>The dog</t></si></sst>"),
        "xl/worksheets/sheet1.xml": (f"{OOXML}spreadsheetml.worksheet+xml", f"<worksheet {S}/>"),
    }
    office(path, parts)


def odf(path: Path) -> None:
    body = "<office:body><text:p>The dog</text:p></office:body>"
    content = f"<office:document-content {ODT}>{body}</office:document-content>"
    media = {".odt": "text", ".ods": "spreadsheet", ".odp": "presentation"}[path.suffix]
    archive(path, {"mimetype": f"application/vnd.oasis.opendocument.{media}", "content.xml": content})


def epub(path: Path) -> None:
    container = "urn:oasis:names:tc:opendocument:xmlns:container"
    manifest = '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": f'<container xmlns="{container}"><rootfiles><rootfile full-path="a.opf"/></rootfiles>'
        "</container>",
        "a.opf": '<package xmlns="http://www.idpf.org/2007/opf"><metadata/>'
        f'<manifest>{manifest}</manifest><spine><itemref idref="a"/></spine></package>',
        "a.xhtml": '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>The dog</p></body></html>',
    }
    archive(path, parts)


def of_pages(path: Path) -> None:
    pdf(path, [prose("The dog")])


PACKAGES = {
    ".docx": docx,
    ".pptx": pptx,
    ".xlsx": xlsx,
    ".odt": odf,
    ".ods": odf,
    ".odp": odf,
    ".epub": epub,
    ".pdf": of_pages,
}
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def sample(kind: Kind, folder: Path) -> Path:
    """A small document of this format."""
    for suffix, make in PACKAGES.items():
        if suffix in kind.suffixes:
            make(folder / f"a{suffix}")
            return folder / f"a{suffix}"
    source = next(path for path in sorted(SAMPLES.iterdir()) if kind_of(path) == kind)
    return Path(shutil.copy(source, folder))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Callable[[Kind], list[Path]]:
    """The files that the reader of a format is called for from now on."""

    def watch(kind: Kind) -> list[Path]:
        module, paths = load(kind), list[Path]()
        read = module.read

        def counted(path: Path, request: Any) -> Any:
            paths.append(path)
            return read(path, request)

        monkeypatch.setattr(module, "read", counted)
        return paths

    return watch


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("en-ko")


@kinds
def test_once_to_translate_and_once_to_check(
    kind: Kind, reads: Callable[[Kind], list[Path]], translator: Translator, tmp_path: Path
) -> None:
    source = sample(kind, tmp_path)
    paths = reads(kind)
    result = dragoman.translate_documents(translator, source, tmp_path / "out")
    assert not result.failures
    assert result.units
    assert paths[0] == source
    assert len(paths) == (1 if kind.checked else 2), "a checked format reads what it writes itself"


@kinds
def test_the_document_that_decides_the_languages_is_parsed_again_only_for_them(
    kind: Kind, reads: Callable[[Kind], list[Path]], tmp_path: Path
) -> None:
    source = sample(kind, tmp_path)
    paths = reads(kind)
    run_documents(DocumentTask((source,), tmp_path / "out"), chosen(Capitals()))
    assert paths.count(source) == (2 if kind.by_language else 1)


@kinds
def test_what_is_not_parsed_again_is_written_as_if_it_were(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = sample(kind, tmp_path)
    run_documents(DocumentTask((source,), tmp_path / "out"), chosen(Capitals()))
    files = "dragoman.workflows.documents.files.kind_of"
    monkeypatch.setattr(files, lambda path: replace(kind_of(path), by_language=True))
    run_documents(DocumentTask((source,), tmp_path / "other"), chosen(Capitals()))
    (target,) = (tmp_path / "out").iterdir()
    assert target.read_bytes() == (tmp_path / "other" / target.name).read_bytes()


def test_many_documents_are_parsed_once_where_they_fit_in_memory(
    reads: Callable[[Kind], list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    for name in "abc":
        (tmp_path / "in" / f"{name}.properties").write_text(f"key = the {name}\n", encoding="utf-8")
    paths = reads(kind_of(tmp_path / "in/a.properties"))
    for budget, count in ((1 << 20, 1), (0, 2)):
        paths.clear()
        monkeypatch.setattr(document_work, "KEPT_BYTES", budget)
        run_documents(DocumentTask((tmp_path / "in",), tmp_path / "out", force=True), chosen(Capitals()))
        assert [paths.count(path) for path in sorted((tmp_path / "in").iterdir())] == [count] * 3
