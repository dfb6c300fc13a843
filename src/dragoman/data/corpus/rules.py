"""Faults of a pair that one look at it shows: one function per kind, `PairBlock` → [L] whether each pair has the fault.

`data check` counts what `data clean` removes: both go through `RULES`. Arrays find the few lines on which a regular
expression has to be tried.
"""

import html
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dragoman.config import CleanConfig
from dragoman.data.corpus.pair_block import (
    ADDRESS,
    AMPERSAND,
    BAD_BYTE,
    BLOCK_LINES,
    CONTROL,
    DIGIT,
    LETTER,
    PLACEHOLDER,
    SPACE,
    SUSPECT,
    ZERO_WIDTH,
    Lines,
    PairBlock,
    TextSide,
)
from dragoman.text.words.amounts import amounts_differ
from dragoman.text.words.script import scripts_of_language

# What columns of a table are called, in English and in the languages themselves; a heading has at most MOST_WORDS.
_COLUMNS = "source target src tgt trg reference ref translation text sentence segment original lang language"
_ENGLISH = "english korean german french spanish japanese chinese italian portuguese russian dutch arabic turkish"
_NATIVE = "원문 번역 번역문 소스 타깃 문장 영어 한국어 독일어 프랑스어 스페인어 일본어 중국어 deutsch 日本語 中文"
HEADINGS = frozenset(f"{_COLUMNS} {_ENGLISH} {_NATIVE}".split())
MOST_WORDS = 3
# Fewer letters than these say nothing about a line's script, or language.
SCRIPT_LETTERS, LANGUAGE_LETTERS = 4, 20
# Characters of both sides together below which lengths say nothing.
RATIO_CHARACTERS = 20
# Pairs, or characters if that is fewer, from which the usual ratio of lengths is taken: the first of a corpus.
RATIO_PAIRS, RATIO_TEXT = 12 * BLOCK_LINES, 32 << 20


@dataclass(frozen=True, slots=True)
class Context:
    """What the rules know about a corpus: thresholds, the languages of its sides, and the usual ratio of lengths."""

    source: str
    """BCP-47 tag of the source language; "und" is unknown."""
    target: str
    clean: CleanConfig = field(default_factory=CleanConfig)
    ratio: float = 1.0
    """Median of target characters per source character (`usual_ratio`)."""


Rule = Callable[[PairBlock, Context], Lines]


def bad_bytes(block: PairBlock, context: Context) -> Lines:
    """Bytes that are not UTF-8, or a line that holds no pair."""
    bad = _have(block, BAD_BYTE)
    bad[list(block.malformed)] = True
    return bad


def empty(block: PairBlock, context: Context) -> Lines:
    """A side without a character that is visible."""
    blank = without_text(block.source) | without_text(block.target)
    blank[list(block.malformed)] = False
    return blank


def script(block: PairBlock, context: Context) -> Lines:
    """A side whose letters are mostly in scripts that its language does not use."""
    return _other_script(block.source, context.source, context) | _other_script(block.target, context.target, context)


def copies(block: PairBlock, context: Context) -> Lines:
    """Equal texts on both sides, with a letter in them."""
    same = np.fromiter(map(str.__eq__, block.source.lines, block.target.lines), bool, len(block))
    return same & block.source.has(LETTER)


def length_ratio(block: PairBlock, context: Context) -> Lines:
    """A ratio of the lengths that is far from the usual one."""
    source, target = block.source.lengths, block.target.lengths
    factor = context.clean.length_ratio
    usual = context.ratio * source
    far = (target > factor * usual) | (usual > factor * target)
    return far & _say_something(source, target)


def too_long(block: PairBlock, context: Context) -> Lines:
    """A side of more characters than allowed."""
    return np.maximum(block.source.lengths, block.target.lengths) > context.clean.too_long


def numbers(block: PairBlock, context: Context) -> Lines:
    """Numbers that the other side lacks, in whatever way it writes them."""
    chosen = _have(block, DIGIT) & (block.source.digits != block.target.digits)
    return _try_on(block, chosen, amounts_differ)


def urls(block: PairBlock, context: Context) -> Lines:
    """Addresses that the other side lacks."""
    chosen = _have(block, ADDRESS) | _has_www(block.source) | _has_www(block.target)
    return _try_on(block, chosen, addresses_differ)


def placeholders(block: PairBlock, context: Context) -> Lines:
    """Placeholders and tags that the other side lacks."""
    return _try_on(block, _have(block, PLACEHOLDER), placeholders_differ)


def entities(block: PairBlock, context: Context) -> Lines:
    """HTML entities on a side."""
    return _try_on(block, _have(block, AMPERSAND), lambda source, target: has_entity(source) or has_entity(target))


def mojibake(block: PairBlock, context: Context) -> Lines:
    """Text decoded with a wrong encoding on a side."""
    damaged = np.zeros(len(block), bool)
    for side in (block.source, block.target):
        for index in np.flatnonzero(side.has(SUSPECT)).tolist():
            damaged[index] |= has_mojibake(side.lines[index])
    return damaged


def control(block: PairBlock, context: Context) -> Lines:
    """Control characters or line breaks on a side."""
    return _have(block, CONTROL)


def zero_width(block: PairBlock, context: Context) -> Lines:
    """Invisible characters without width on a side."""
    return _have(block, ZERO_WIDTH)


def header(block: PairBlock, context: Context) -> Lines:
    """A first line whose two sides name their columns or languages: `ko` and `en`, `Source` and `Target`."""
    named = np.zeros(len(block), bool)
    if block.first == 1 and len(block):
        sides = (block.source.lines[0], context.source), (block.target.lines[0], context.target)
        named[0] = all(_is_heading(text, language) for text, language in sides)
    return named


_TEXT: tuple[Rule, ...] = (
    bad_bytes,
    empty,
    header,
    script,
    copies,
    length_ratio,
    too_long,
    numbers,
    urls,
    placeholders,
)
_SIGNS: tuple[Rule, ...] = (entities, mojibake, control, zero_width)
RULES = {rule.__name__: rule for rule in (*_TEXT, *_SIGNS)}  # by the keys of [data.clean]


def active_rules(context: Context) -> dict[str, Rule]:
    """The rules that the configuration has not disabled."""
    return {kind: rule for kind, rule in RULES.items() if getattr(context.clean, kind)}


def usual_ratio(blocks: Iterable[PairBlock]) -> float:
    """The median of target characters per source character: a few absurd lines do not move it."""
    ratios = [np.zeros(0)]
    for block in blocks:
        source, target = block.source.lengths, block.target.lengths
        chosen = _say_something(source, target)
        ratios.append(np.log(target[chosen] / source[chosen]))
    logarithms = np.concatenate(ratios)
    return float(np.exp(np.median(logarithms))) if logarithms.size else 1.0


def with_usual_ratio(context: Context, blocks: Iterator[PairBlock]) -> tuple[Context, Iterator[PairBlock]]:
    """`context` with the usual ratio of the beginning of these blocks, and all of them again.

    The beginning has RATIO_PAIRS pairs, fewer if they are long: it stays in memory until it is known.
    """
    beginning: deque[PairBlock] = deque()
    pairs = characters = 0
    while pairs < RATIO_PAIRS and characters < RATIO_TEXT and (block := next(blocks, None)):
        beginning.append(block)
        pairs += len(block)
        characters += int(block.source.lengths.sum() + block.target.lengths.sum())
    context = replace(context, ratio=usual_ratio(beginning))

    def everything() -> Iterator[PairBlock]:
        while beginning:  # whose arrays are not kept
            yield beginning.popleft()
        yield from blocks

    return context, everything()


def _is_heading(text: str, language: str) -> bool:
    """Whether a text is the heading of a column with this language: its tag, or a word for such columns."""
    words = re.split(r"[\s_/-]+", text.strip().strip("\"'[]()").casefold())
    return len(words) <= MOST_WORDS and all(
        word in HEADINGS or word in language.casefold().split("-") for word in words
    )


def _say_something(source: NDArray[np.int64], target: NDArray[np.int64]) -> Lines:
    """Whether the ratio of these lengths says something about the pair."""
    return (source + target > RATIO_CHARACTERS) & (source > 0) & (target > 0)


def without_text(side: TextSide) -> Lines:
    """Lines of which only spaces and invisible characters are there."""
    blank = (side.classes & (SPACE | CONTROL | ZERO_WIDTH)) != 0
    return side.count(blank) == side.lengths


def _other_script(side: TextSide, language: str, context: Context) -> Lines:
    scripts = scripts_of_language(language)
    if not scripts:
        return np.zeros(len(side.lines), bool)
    return (side.letters >= SCRIPT_LETTERS) & (side.letters_in(scripts) < context.clean.script * side.letters)


def _has_www(side: TextSide) -> Lines:
    """Lines with "www", in letters of any case."""
    w = (side.codes | 32) == ord("w")
    w[2:] &= w[1:-1] & w[:-2]
    w[:2] = False
    return side.count(w) > 0


def _have(block: PairBlock, flag: int) -> Lines:
    return block.source.has(flag) | block.target.has(flag)


def _try_on(block: PairBlock, chosen: Lines, differ: Callable[[str, str], bool]) -> Lines:
    """`differ` on the chosen pairs; False for the others."""
    faults = np.zeros(len(block), bool)
    source, target = block.source.lines, block.target.lines
    for index in np.flatnonzero(chosen).tolist():
        faults[index] = differ(source[index], target[index])
    return faults


# --- what one side has and the other lacks --------------------------------------------------------------------------


_ADDRESS = re.compile(
    r"(?:(?:https?|ftp)://|www\.)[!#-&*-;=?-Z_a-z~]+|[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+", re.IGNORECASE
)
_PLACEHOLDER = re.compile(
    r"\$?\{[\w.:-]*\}"
    r"|(?<![\d%])%(?:\d+\$)?[-+#0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z|j|t|L)?[sdiufFgGeExXcCaApn@](?![A-Za-z])"
    r"|%\(\w+\)[sdifr]|%\{\w+\}|%[A-Z_]{2,}%|%\d+(?![\dA-Za-z])"
    r"|</?[A-Za-z][\w-]*(?:\s+[\w:-]+=(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s<>]+))*\s*/?>"
)
_ORDER = re.compile(r"(?<=%)\d+\$")  # "%1$s" is "%s" that may move
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
# The replacement character, also read as EUC-KR; Hangul read as Latin-1 or Windows-1252, three characters of which the
# first begins a word: in `Brontë’s` and `«Sí»` a word ends with it.
_CONTINUATION = "[\x80-\xbf" + bytes(range(0x80, 0xA0)).decode("cp1252", "ignore") + "]"
_DAMAGE = re.compile(f"\ufffd|Ã[\x80-\xbf]|â€|(?<![^\\W\\d_])[ìíëê]{_CONTINUATION}{{2}}|占쏙옙")


def addresses_differ(source: str, target: str) -> bool:
    """Whether web and mail addresses differ; a full stop or comma after one does not count."""
    return _addresses(source) != _addresses(target)


def placeholders_differ(source: str, target: str) -> bool:
    """Whether placeholders of programs and tags differ, in any order."""
    return _placeholders(source) != _placeholders(target)


def has_entity(text: str) -> bool:
    """Whether an HTML entity was left in the text."""
    return any(html.unescape(entity) != entity for entity in _ENTITY.findall(text))


def has_mojibake(text: str) -> bool:
    """Whether the text looks as if it had been decoded with a wrong encoding."""
    if _DAMAGE.search(text):
        return True
    from ftfy.badness import is_bad

    return is_bad(text)


def _addresses(text: str) -> list[str]:
    return sorted(address.rstrip(".,;:!?*") for address in _ADDRESS.findall(text))


def _placeholders(text: str) -> list[str]:
    return sorted(_ORDER.sub("", placeholder) for placeholder in _PLACEHOLDER.findall(text))
