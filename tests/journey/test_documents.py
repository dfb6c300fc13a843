"""Real documents in, real documents out: every format, by the way that `dragoman translate FILE` takes.

The documents are a small set of our own, and all of $DRAGOMAN_DATA/documents where that is. What is not translated
comes back: the same bytes, or the same parts and an equal tree. What is translated is valid for those who made the
format: msgfmt, xmllint, LibreOffice, epubcheck, where they are installed.
"""

import io
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from documents.packages import office
from documents.real import DATA
from dragoman.control.languages import LanguagePair
from dragoman.documents import DocumentOptions, kind_of, load, read_document
from dragoman.errors import DataError
from dragoman.translator import Translator
from dragoman.workflows.documents.documents import DocumentTask, run_documents
from workflows.document_stand_in import Capitals, chosen

SAMPLES = Path(__file__).parents[1] / "documents/samples"
BILINGUAL = (".po", ".xlf", ".xliff", ".tmx")
# Of the real ones: for two languages of one's own, or in an encoding that is refused.
REFUSED = {"test_mskanji.csv"}
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def is_document(path: Path) -> bool:
    try:
        return path.is_file() and bool(kind_of(path)) and path.name not in REFUSED
    except DataError:
        return False


def found() -> list[Path]:
    """Our own documents, and the real ones."""
    real = DATA.glob("*/*") if DATA.parent.name and DATA.is_dir() else ()
    return sorted(filter(is_document, SAMPLES.iterdir())) + sorted(
        path for path in filter(is_document, real) if path.parent.name != "hostile"
    )


def pair_of(path: Path) -> LanguagePair:
    if path.suffix in BILINGUAL:
        return LanguagePair("en", "ko")
    if path.name == "dormeur_notes.odt":
        return LanguagePair("fr", "ko")
    return LanguagePair("ko", "en") if re.search(r"\bko\b|_ko|korean", path.name) else LanguagePair("en", "ko")


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


DOCUMENTS = pytest.mark.parametrize("path", found(), ids=name)


@pytest.fixture
def letter(tmp_path: Path) -> Path:
    """A small Word document."""
    run = "<w:r><w:rPr>{0}</w:rPr><w:t xml:space='preserve'>{1}</w:t></w:r>"
    body = run.format("", "Open the ") + run.format("<w:b/>", "big") + run.format("", " door.")
    root = f'<w:document xmlns:w="{W}"><w:body><w:p>{body}</w:p></w:body></w:document>'
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return office(tmp_path / "letter.docx", {"word/document.xml": (kind, root)})


def tree(content: bytes) -> bytes:
    """XML in its canonical form; anything else as it is."""
    etree = pytest.importorskip("lxml.etree")
    if not content.lstrip(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
        return content
    try:
        return bytes(etree.tostring(etree.fromstring(content), method="c14n"))
    except etree.XMLSyntaxError:
        return content


def trees(content: bytes) -> dict[str, bytes]:
    """The parts of a document, each in canonical form."""
    if not content.startswith(b"PK"):
        return {"": tree(content)}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {part: tree(archive.read(part)) for part in archive.namelist()}


def hold_identity(path: Path) -> None:
    kind, pair = kind_of(path), pair_of(path)
    request = DocumentOptions(pair.source, pair.target or "und")
    document = read_document(path, kind, request)
    file = io.BytesIO()
    load(kind).write(document, (None for _ in document.units), request, file)
    if kind.keeps == "bytes":
        assert file.getvalue() == path.read_bytes()
    else:
        assert trees(file.getvalue()) == trees(path.read_bytes())


def translated(path: Path, folder: Path) -> Path:
    """The document in capitals, by the workflow, which has read it again."""
    result = run_documents(DocumentTask((path,), folder / path.name), chosen(Capitals(pair=pair_of(path))))
    assert result.failures == ()
    return folder / path.name


@DOCUMENTS
def test_what_is_not_translated_comes_back(path: Path) -> None:
    hold_identity(path)


def test_a_word_document_is_translated(letter: Path, tmp_path: Path) -> None:
    hold_identity(letter)
    out = translated(letter, tmp_path / "out")
    with zipfile.ZipFile(out) as archive:
        text = archive.read("word/document.xml").decode()
    assert re.findall(r"<w:t[^>]*>([^<]*)</w:t>", text) == ["OPEN THE ", "BIG", " DOOR."]
    assert "<w:b/>" in text


@DOCUMENTS
def test_what_is_translated_is_valid(path: Path, tmp_path: Path) -> None:
    before = path.read_bytes()
    try:
        out = translated(path, tmp_path)
    except DataError as error:
        assert "nothing to translate" in str(error)  # noqa: PT017
        assert not re.search("[a-z가-힣]{4}", before.decode(errors="replace")) or path.suffix not in (".txt", ".md")
        return
    assert path.read_bytes() == before
    for fault in faults(out):
        assert fault in faults(path)


def faults(path: Path) -> list[str]:
    """What msgfmt or xmllint complain of, without the names of files and the lines."""
    if path.suffix == ".po":
        command = ["msgfmt", "-c", "-o", "/dev/null", str(path)]
    elif path.suffix in (".xml", ".xlf", ".xliff", ".tmx", ".stringsdict"):
        command = ["xmllint", "--nonet", "--noout", str(path)]
    else:
        return []
    if not shutil.which(command[0]):
        return []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stderr.splitlines() if done.returncode else []
    return sorted({re.sub(r"^[^ ]*:\d+(:\d+)?: ", "", line) for line in lines})


@pytest.mark.parametrize("program", ["msgfmt", "xmllint", "soffice", "pdfinfo", "epubcheck"])
def test_the_validators_are_installed(program: str) -> None:
    """Skipped where one is not, so that the report names what was left out."""
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed: what it validates was left out")


OFFICE = [path for path in found() if path.suffix in (".docx", ".pptx", ".xlsx", ".odt")]
BOOKS = [path for path in found() if path.suffix == ".epub"]


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("soffice") and shutil.which("pdfinfo")), reason="needs LibreOffice and pdfinfo")
@pytest.mark.parametrize("path", OFFICE, ids=name)
def test_office_opens_it_with_as_many_pages(
    path: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    profile = tmp_path_factory.getbasetemp() / "profile"
    (tmp_path / "before").mkdir()
    shutil.copy(path, tmp_path / "before")
    try:
        out = translated(path, tmp_path / "after")
    except DataError as error:
        assert "nothing to translate" in str(error)  # noqa: PT017
        pytest.skip("a table of numbers")
    pages = [page_count(one, profile) for one in (tmp_path / "before" / path.name, out)]
    assert pages[0] > 0
    assert abs(pages[1] - pages[0]) <= max(1, pages[0] // 10), pages  # capitals are wider than the text was


def page_count(path: Path, profile: Path) -> int:
    command = ["soffice", f"-env:UserInstallation=file://{profile}", "--headless", "--convert-to", "pdf"]
    subprocess.run([*command, "--outdir", str(path.parent), str(path)], capture_output=True, check=False, timeout=180)
    shown = subprocess.run(["pdfinfo", str(path.with_suffix(".pdf"))], capture_output=True, text=True, check=False)
    match = re.search(r"^Pages:\s+(\d+)", shown.stdout, re.MULTILINE)
    return int(match[1]) if match else 0


def epubcheck(book: Path) -> subprocess.CompletedProcess[str]:
    """Run it; Debian's is a .jar, which not every kernel starts by itself."""
    program = Path(shutil.which("epubcheck") or "")
    command = ["java", "-jar", str(program.resolve())] if zipfile.is_zipfile(program) else [str(program)]
    return subprocess.run([*command, str(book)], capture_output=True, text=True, check=False, timeout=180)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("epubcheck"), reason="needs epubcheck")
@pytest.mark.parametrize("path", BOOKS, ids=name)
def test_epubcheck_finds_nothing_new(path: Path, tmp_path: Path) -> None:
    found = [
        re.findall(r"^(?:ERROR|FATAL)\(([\w-]+)\)", check.stdout + check.stderr, re.MULTILINE)
        for check in map(epubcheck, (path, translated(path, tmp_path)))
    ]
    assert sorted(found[1]) == sorted(found[0])


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in found() if path.parent == SAMPLES], ids=name)
def test_a_bundled_model_translates_our_own(path: Path, tmp_path: Path) -> None:
    translator = Translator.load("en-ko")
    result = run_documents(DocumentTask((path,), tmp_path / path.name), lambda texts: translator)
    assert result.failures == ()
    content = (tmp_path / path.name).read_bytes()
    text = content.decode("utf-16" if content.startswith(b"\xff\xfe") else "utf-8")
    assert re.search(r"[가-힣]|\\u[abcd]", text)
