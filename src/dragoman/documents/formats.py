"""The formats of documents: names, ends of file names, the module of each; reading a file by its format.

The name of a file says its format, and its first bytes must agree: a .docx that was named .txt is refused.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from dragoman.documents.core.document import Document, DocumentOptions, Format
from dragoman.errors import DataError, ResourceError


@dataclass(frozen=True, slots=True)
class Kind:
    """A format: `module` in this package, loaded when it is used; `needs` is true where `dragoman[documents]` is."""

    name: str
    suffixes: tuple[str, ...]
    module: str
    keeps: str
    """What of a file stays as it is: "bytes", "tree", or "text" where it is written as another format."""
    needs: bool = False
    zipped: bool = False
    """Whether its files are zip archives."""
    keyed: bool = False
    """Whether the locations of its units are keys, by which an earlier translation is found again."""
    checked: bool = False
    """Whether its `write` reads again what it writes, because codes and attributes change places in it."""
    by_language: bool = False
    """Whether what its `read` returns depends on the languages of the request."""
    becomes: tuple[str, ...] = ()
    """How the names of its translations end, the usual one first, where they are of other formats."""
    signs: tuple[bytes, ...] = ()
    """One of these is near the beginning of its files, where other files have such names too."""


KINDS = (
    Kind("plain text", (".txt",), "plain.plain", "bytes"),
    Kind("HTML", (".html", ".htm", ".xhtml"), "markup.html", "bytes", checked=True, by_language=True),
    Kind("Markdown", (".md", ".markdown"), "markup.markdown", "bytes", checked=True),
    Kind("LaTeX", (".tex",), "markup.latex", "bytes", needs=True, checked=True),
    Kind("reStructuredText", (".rst",), "markup.rst", "bytes", needs=True, checked=True),
    Kind("subtitles", (".srt", ".vtt"), "plain.subtitles", "bytes", checked=True, by_language=True),
    Kind("JSON", (".json",), "catalogues.json", "bytes", keyed=True, checked=True, by_language=True),
    Kind("gettext PO", (".po", ".pot"), "catalogues.po", "bytes", by_language=True),
    Kind("Word", (".docx", ".docm"), "office.docx", "tree", needs=True, zipped=True, checked=True),
    Kind("table", (".csv", ".tsv"), "plain.table", "bytes", by_language=True),
    Kind("Excel", (".xlsx", ".xlsm"), "office.xlsx", "tree", needs=True, zipped=True, checked=True),
    Kind("EPUB", (".epub",), "office.epub", "tree", needs=True, zipped=True, checked=True,
         by_language=True),
    Kind("OpenDocument text", (".odt", ".ott"), "office.odt", "tree", needs=True, zipped=True, checked=True),
    Kind("PowerPoint", (".pptx", ".pptm", ".ppsx"), "office.pptx", "tree", needs=True, zipped=True, checked=True),
    Kind("Java properties", (".properties",), "catalogues.properties", "bytes", keyed=True),
    Kind("Apple strings", (".strings",), "catalogues.apple_strings", "bytes", keyed=True),
    Kind("Flutter ARB", (".arb",), "catalogues.arb", "bytes", needs=True, keyed=True, checked=True,
         by_language=True),
    Kind("XLIFF", (".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff"), "exchange.xliff", "bytes", by_language=True),
    Kind("Android strings", ("strings.xml", "plurals.xml", "arrays.xml"), "catalogues.android", "bytes", keyed=True,
         checked=True),
    Kind("Apple .stringsdict", (".stringsdict",), "catalogues.stringsdict", "bytes", keyed=True, checked=True),
    Kind("TMX", (".tmx",), "exchange.tmx", "bytes", by_language=True),
    Kind("YAML", (".yaml", ".yml"), "catalogues.yaml", "bytes", needs=True, keyed=True, by_language=True),
    Kind("Jupyter notebook", (".ipynb",), "office.ipynb", "bytes", needs=True, checked=True),
    Kind("Xcode strings", (".xcstrings",), "catalogues.xcstrings", "bytes", by_language=True),
    Kind(".NET resources", (".resx", ".resw"), "catalogues.resx", "bytes", keyed=True, checked=True),
    Kind("Qt", (".ts",), "catalogues.qt", "bytes", by_language=True, signs=(b"<TS", b"<!DOCTYPE TS")),
    Kind("Fluent", (".ftl",), "catalogues.fluent", "bytes", needs=True, keyed=True),
    Kind("OpenDocument spreadsheet", (".ods", ".ots"), "office.opendocument", "tree", needs=True, zipped=True,
         checked=True),
    Kind("OpenDocument presentation", (".odp", ".otp"), "office.opendocument", "tree", needs=True, zipped=True,
         checked=True),
    Kind("ASS subtitles", (".ass", ".ssa"), "plain.ass", "bytes", checked=True),
    Kind("MDX", (".mdx",), "markup.mdx", "bytes", checked=True),
    Kind("AsciiDoc", (".adoc", ".asciidoc"), "markup.asciidoc", "bytes", checked=True),
    Kind("PDF", (".pdf",), "office.pdf", "text", needs=True, checked=True, becomes=(".docx", ".md"), signs=(b"%PDF-",)),
)  # fmt: skip

SUFFIXES = tuple(suffix for kind in KINDS for suffix in kind.suffixes)
# What files begin with that are no text, and what they are.
SIGNATURES = {
    b"PK\x03\x04": "a zip archive, as .docx, .xlsx, .pptx, .odt and .epub are",
    b"PK\x05\x06": "an empty zip archive",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an encrypted file or one of an old Office (.doc, .xls, .ppt)",
    b"%PDF": "a PDF",
    b"{\\rtf": "rich text (RTF)",
    b"\x89PNG": "an image (PNG)",
    b"\xff\xd8\xff": "an image (JPEG)",
    b"GIF8": "an image (GIF)",
    b"\x1f\x8b": "compressed by gzip",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"\x7fELF": "a program",
}


def kind_of(path: Path) -> Kind:
    """The format of a file, by its name. Raises DataError for an unknown one."""
    name = path.name.lower()
    # The longest suffix decides: `.strings.xml` is more than `.xml`.
    kinds = [(suffix, kind) for kind in KINDS for suffix in kind.suffixes if name.endswith(suffix)]
    if not kinds:
        raise DataError(f"{path}: not a document that can be translated; give one of {' '.join(SUFFIXES)}")
    return max(kinds, key=lambda pair: len(pair[0]))[1]


def load(kind: Kind) -> Format:
    """The module of a format. Raises ResourceError if its packages are not installed."""
    try:
        module: Format = import_module(f"dragoman.documents.{kind.module}")
    except ModuleNotFoundError as error:
        if not kind.needs or (error.name or "").startswith("dragoman"):
            raise
        raise ResourceError(f"{kind.name}: needs {error.name}; pip install 'dragoman[documents]'") from None
    return module


def read_document(path: Path, kind: Kind, options: DocumentOptions) -> Document:
    """The document of a file. Raises DataError for what is not of this format, OSError if it cannot be read."""
    refuse_other_content(path, kind)
    module = load(kind)
    try:
        return module.read(path, options)
    except RecursionError:
        raise DataError(f"{path}: nested too deeply; it is damaged or made to do harm") from None


def refuse_other_content(path: Path, kind: Kind) -> None:
    """Raise DataError if the first bytes of a file are not those of its format."""
    with path.open("rb") as file:
        first = file.read(1024)
    if kind.signs:
        is_of_kind = any(sign in first for sign in kind.signs)
    else:
        is_of_kind = first.startswith(b"PK") if kind.zipped else not first.startswith(tuple(SIGNATURES))
    if is_of_kind:
        return
    remedy = "save it as what its name says, or give it the right name"
    raise DataError(f"{path}: is {_described(first)}, not {kind.name}; {remedy}")


def _described(first: bytes) -> str:
    known = next((name for signature, name in SIGNATURES.items() if first.startswith(signature)), None)
    if known:
        return known
    if not first:
        return "empty"
    start = first.lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "HTML"
    return "XML" if start.startswith(b"<?xml") else "another type of file"
