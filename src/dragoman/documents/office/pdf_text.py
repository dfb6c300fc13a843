"""A PDF → its paragraphs, by pdfminer.six. For a process of its own, which `pdf` starts.

Input: a file. Output: JSON, {"paragraphs": [[style, prefix, text, page], …], "notices": […]} or {"error": …}.
A PDF can unpack to any size and be read without end: the process has limits of memory and of processor time. What is
repeated at the edges of pages is left out.
"""

import json
import os
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from dragoman.documents.office.pdf_paragraphs import UNKNOWN, PdfLine, paragraphs_of

MOST_PAGES, MEMORY = 5_000, 2 << 30
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\xa0": " "})
_PAGE_NUMBER = re.compile(r"(?:[-–—\s]*|page\s+|p\.\s*)\d{1,4}(?:\s*(?:of|/)\s*\d{1,4}|[-–—\s쪽]*)", re.IGNORECASE)


class PdfRefused(Exception):
    """Why a PDF has no text to translate."""


def lines_of(path: str) -> Iterator[PdfLine]:
    """The lines of all pages that have letters, in reading order. Raises PdfRefused."""
    from pdfminer.high_level import extract_pages
    from pdfminer.layout import LAParams, LTChar, LTTextBox, LTTextLineHorizontal
    from pdfminer.pdfdocument import PDFEncryptionError, PDFPasswordIncorrect

    try:
        for number, page in enumerate(extract_pages(path, laparams=LAParams()), 1):
            if number > MOST_PAGES:
                raise PdfRefused(f"more than {MOST_PAGES:,} pages; split it")
            for box in page:
                for line in box if isinstance(box, LTTextBox) else ():
                    letters = [part for part in line if isinstance(part, LTChar) and part.get_text().strip()]
                    text = line.get_text().translate(_LIGATURES).rstrip("\n")
                    if not letters or not isinstance(line, LTTextLineHorizontal):
                        continue
                    bold = sum(bool(re.search("bold|black|heavy", part.fontname, re.I)) for part in letters)
                    yield PdfLine(
                        text, line.x0, line.x1, line.y1, line.y0, statistics.median(part.size for part in letters),
                        2 * bold > len(letters), (box.x0, box.x1), number,
                        line.y0 > page.y0 + 0.92 * page.height or line.y1 < page.y0 + 0.08 * page.height,
                    )  # fmt: skip
    except (PDFPasswordIncorrect, PDFEncryptionError):
        raise PdfRefused("encrypted; save it without password") from None


def without_edges(lines: Sequence[PdfLine]) -> list[PdfLine]:
    """The lines without numbers of pages, and without what several pages have in their margins."""
    keys = {line: re.sub(r"\d+", "#", " ".join(line.text.split())) for line in lines if line.edge}
    counts = Counter(key for key, _ in {(key, line.page) for line, key in keys.items()})
    running = {key for key, count in counts.items() if count > 2}
    return [
        line
        for line in lines
        if not line.edge or not (keys[line] in running or _PAGE_NUMBER.fullmatch(line.text.strip()))
    ]


def extract(path: str) -> dict[str, Any]:
    """The paragraphs and notices of a PDF. Raises PdfRefused where it has no text that can be read."""
    lines = list(lines_of(path))
    letters = sum(len("".join(line.text.split())) for line in lines)
    unknown = sum(len(UNKNOWN.findall(line.text)) for line in lines)
    known = sum(character.isalpha() for line in lines for character in UNKNOWN.sub("", line.text))
    if not letters or not (known or unknown):
        raise PdfRefused("has no text, only pictures of it; make a text layer first, for example with ocrmypdf")
    if unknown > 0.1 * (known + unknown):
        raise PdfRefused("its fonts do not say which letters they show; make a text layer, for example with ocrmypdf")
    notices = [f"{unknown:,} signs without a known letter are left out"] if unknown else []
    return {"paragraphs": paragraphs_of(without_edges(lines)), "notices": notices}


def seconds_for(size: int) -> int:
    """The most processor time for a file of a size in bytes: ten times what a page full of text takes."""
    return min(30 + size // (1 << 14), 300)


def _limit(kind: str, most: int) -> None:
    """Limit this process, unless it is limited to less already. `kind` is a name of the module `resource`."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return
    number = getattr(resource, kind)
    _, hard = resource.getrlimit(number)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(number, (most, most))


def answer(path: str) -> str:
    """What `extract` returns, or why there is no such thing, as JSON. Limits this process: it is for one file."""
    _limit("RLIMIT_AS", MEMORY)
    _limit("RLIMIT_CPU", seconds_for(os.stat(path).st_size))
    try:
        result = extract(path)
    except PdfRefused as error:
        result = {"error": str(error)}
    except MemoryError:
        result = {"error": "unpacks to more than is read; refused"}
    except Exception as error:  # pdfminer raises errors of any type for a broken file
        result = {"error": f"damaged ({type(error).__name__}: {' '.join(str(error).split())[:80]}); get the file again"}
    return json.dumps(result)
