"""The formats of documents: names, ends of file names, the module of each; reading a file by its format.

The name of a file says its format, and its first bytes must agree: a .docx that was named .txt is refused.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from dragoman.documents.document import Document, Format, Request
from dragoman.errors import DataError, ResourceError


@dataclass(frozen=True, slots=True)
class Kind:
    """A format: `module` in this package, loaded when it is used; `needs` is true where `dragoman[documents]` is."""

    name: str
    suffixes: tuple[str, ...]
    module: str
    keeps: str
    """What of a file stays as it is: "bytes" or "tree"."""
    needs: bool = False
    zipped: bool = False
    """Whether its files are zip archives."""

    @property
    def keyed(self) -> bool:
        """Whether the locations of its units are keys, by which an earlier translation is found again."""
        return self.module in KEYED

    @property
    def checked(self) -> bool:
        """Whether its `write` reads again what it writes, because codes and attributes change places in it."""
        return self.module in CHECKED


# By modules.
CHECKED = frozenset((
    "arb", "json", "html", "markdown", "subtitles", "rst", "latex", "android", "stringsdict",
    "docx", "pptx", "xlsx", "odt", "epub",
))  # fmt: skip
KEYED = frozenset(("json", "arb", "properties", "strings", "yaml", "android", "stringsdict"))

KINDS = (
    Kind("plain text", (".txt",), "plain", "bytes"),
    Kind("HTML", (".html", ".htm", ".xhtml"), "html", "bytes"),
    Kind("Markdown", (".md", ".markdown"), "markdown", "bytes"),
    Kind("LaTeX", (".tex",), "latex", "bytes", needs=True),
    Kind("reStructuredText", (".rst",), "rst", "bytes", needs=True),
    Kind("subtitles", (".srt", ".vtt"), "subtitles", "bytes"),
    Kind("JSON", (".json",), "json", "bytes"),
    Kind("gettext PO", (".po", ".pot"), "po", "bytes"),
    Kind("Word", (".docx", ".docm"), "docx", "tree", needs=True, zipped=True),
    Kind("table", (".csv", ".tsv"), "table", "bytes"),
    Kind("Excel", (".xlsx", ".xlsm"), "xlsx", "tree", needs=True, zipped=True),
    Kind("EPUB", (".epub",), "epub", "tree", needs=True, zipped=True),
    Kind("OpenDocument text", (".odt", ".ott"), "odt", "tree", needs=True, zipped=True),
    Kind("PowerPoint", (".pptx", ".pptm", ".ppsx"), "pptx", "tree", needs=True, zipped=True),
    Kind("Java properties", (".properties",), "properties", "bytes"),
    Kind("Apple strings", (".strings",), "strings", "bytes"),
    Kind("Flutter ARB", (".arb",), "arb", "bytes", needs=True),
    Kind("XLIFF", (".xlf", ".xliff"), "xliff", "bytes"),
    Kind("Android strings", ("strings.xml", "plurals.xml", "arrays.xml"), "android", "bytes"),
    Kind("Apple .stringsdict", (".stringsdict",), "stringsdict", "bytes"),
    Kind("TMX", (".tmx",), "tmx", "bytes"),
    Kind("YAML", (".yaml", ".yml"), "yaml", "bytes", needs=True),
)  # fmt: skip

SUFFIXES = tuple(suffix for kind in KINDS for suffix in kind.suffixes)
ZIP = b"PK"
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


def kind_of(path: Path, name: str | None = None) -> Kind:
    """The format of a file, by its name or by the one asked for. Raises DataError for an unknown one."""
    name = (name or path.name).lower()
    # The longest suffix decides: `.strings.xml` is more than `.xml`.
    found = [(suffix, kind) for kind in KINDS for suffix in kind.suffixes if name.endswith(suffix)]
    if not found:
        raise DataError(f"{path}: not a document that can be translated; give one of {' '.join(SUFFIXES)}")
    return max(found, key=lambda each: len(each[0]))[1]


def load(kind: Kind) -> Format:
    """The module of a format. Raises ResourceError if its packages are not installed."""
    try:
        module: Format = import_module(f"dragoman.documents.{kind.module}")
    except ModuleNotFoundError as error:
        if not kind.needs or (error.name or "").startswith("dragoman"):
            raise
        raise ResourceError(f"{kind.name}: needs {error.name}; pip install 'dragoman[documents]'") from None
    return module


def read_document(path: Path, kind: Kind, request: Request) -> Document:
    """The document of a file. Raises DataError for what is not of this format, OSError if it cannot be read."""
    refuse_other_content(path, kind)
    module = load(kind)
    try:
        return module.read(path, request)
    except RecursionError:
        raise DataError(f"{path}: nested too deeply; it is damaged or made to do harm") from None


def refuse_other_content(path: Path, kind: Kind) -> None:
    """Raise DataError if the first bytes of a file are not those of its format."""
    with path.open("rb") as file:
        first = file.read(512)
    if first.startswith(ZIP) if kind.zipped else not first.startswith(tuple(SIGNATURES)):
        return
    remedy = "save it as what its name says, or give it the right name"
    raise DataError(f"{path}: is {_described(first)}, not {kind.name}; {remedy}")


def _described(first: bytes) -> str:
    """What a file that begins with these bytes is."""
    known = next((name for signature, name in SIGNATURES.items() if first.startswith(signature)), None)
    if known:
        return known
    if not first:
        return "empty"
    start = first.lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "HTML"
    return "XML" if start.startswith(b"<?xml") else "another type of file"
