"""A TMX translation memory → pairs of a source and a target language, read one by one in constant memory.

Input: a `.tmx` file, also compressed (`.gz`, `.zst`). Output: `Pair`s whose number is the line of their `<tu>`. Inline
codes (`<bpt>`, `<ph>`, …) are left out with the native code in them, as training text has none; `<hi>` keeps its text.
A code that is a line break leaves a space. `pt` and `pt-BR` are one language, `zh-CN` and `zh-TW` are not; of several
variants of one the nearest is taken.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

from dragoman.data.corpus.corpus import Pair, decompressed, file_errors
from dragoman.errors import DataError
from dragoman.system.parsing import new_xml_parser, xml_blocks
from dragoman.text.words.language import names_language, tag_distance

# Elements of a segment whose text is native code, and which of them are a line break: by their type, or that text.
_NATIVE = frozenset(("bpt", "ept", "ph", "it", "ut"))
_BREAK = re.compile(r".*<(?:\w+:)?br\b.*|[^\S\n]*+(?:\n|\\n|\\line)\s*+", re.IGNORECASE | re.DOTALL)


class _TmxParser:
    """What expat has read so far: the variants of the current unit, and the pairs that are complete."""

    def __init__(self, path: Path, source: str, target: str) -> None:
        self.path, self.languages = path, (source, target)
        self.parser = new_xml_parser(str(path))
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.pairs: list[Pair] = []
        self.line = self.native = 0
        self.root = self.language = ""
        self.segment: list[str] | None = None
        self.code: list[str] = []
        self.is_break = False
        self.variants: list[tuple[str, str]] = []
        self.seen: set[str] = set()

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self.root:
            self.root = name
            if name != "tmx":
                raise DataError(f"{self.path}: not TMX, but <{name}>; check the file")
        if name == "tu":
            self.line, self.variants = self.parser.CurrentLineNumber, []
        elif name == "tuv":
            self.language = attributes.get("xml:lang") or attributes.get("lang", "")
            self.seen.add(self.language)
        elif name == "seg":
            self.segment, self.native = [], 0
        elif name in _NATIVE:
            if not self.native:
                self.code, self.is_break = [], attributes.get("type") == "lb"
            self.native += 1

    def _text(self, text: str) -> None:
        if self.segment is not None:
            (self.code if self.native else self.segment).append(text)

    def _end(self, name: str) -> None:
        if name in _NATIVE:
            self.native -= 1
            is_break = not self.native and (self.is_break or _BREAK.fullmatch("".join(self.code)))
            if self.segment is not None and is_break:
                self.segment.append(" ")
        elif name == "seg" and self.segment is not None:
            text = " ".join("".join(self.segment).split())
            if text:
                self.variants.append((self.language, text))
            self.segment = None
        elif name == "tu" and len(self.variants) > 1:
            ours, theirs = self.languages
            # Between regions of one language, what has the tag of the target is not the source.
            candidates = [variant for variant in self.variants if not _is_tag(variant[0], theirs)]
            source = _nearest(candidates, ours)
            target = _nearest([variant for variant in self.variants if variant is not source], theirs)
            if source and target:
                self.pairs.append(Pair(source[1], target[1], self.line))


def read_tmx(path: Path, source: str, target: str) -> Iterator[Pair]:
    """The units of a memory that have both languages, in order; units without one of them are left out.

    Raises DataError with the line if the file is not well-formed, or declares entities.
    """
    return _read(_TmxParser(path, source, target))


def tmx_languages(path: Path) -> list[str]:
    """The languages of the variants of a memory. Raises DataError as `read_tmx`."""
    handler = _TmxParser(path, "", "")
    for _ in _read(handler):
        pass
    return sorted(handler.seen - {""})


def _read(handler: _TmxParser) -> Iterator[Pair]:
    path = handler.path
    try:
        with file_errors(path), path.open("rb") as raw, decompressed(path, raw) as file:
            for block in xml_blocks(file, str(path)):
                handler.parser.Parse(block, False)
                yield from handler.pairs
                handler.pairs.clear()
            handler.parser.Parse(b"", True)
            yield from handler.pairs
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise DataError(f"{path}:{error.lineno}:{error.offset + 1}: not well-formed XML: {what}; repair it") from None


def _is_tag(tag: str, other: str) -> bool:
    return tag.replace("_", "-").casefold() == other.replace("_", "-").casefold()


def _nearest(variants: list[tuple[str, str]], wanted: str) -> tuple[str, str] | None:
    """The tag and the text of the variant in a language, of several the nearest to its region."""
    of_language = [variant for variant in variants if names_language(variant[0], wanted)]
    if len(of_language) < 2:
        return of_language[0] if of_language else None
    return min(of_language, key=lambda variant: tag_distance(variant[0], wanted))
