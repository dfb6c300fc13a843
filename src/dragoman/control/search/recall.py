"""Lines and texts with inline codes → their translations in a memory, where it has them.

A translation of a memory has to keep what every translation keeps (`control.faults.faults`): one that lacks a
placeholder is left to the engine, and so is one with adapted numbers that differ from those of its source.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import takewhile

from dragoman.config import DecodeConfig
from dragoman.control.faults.faults import Languages, Requirements, checked, inline_flags
from dragoman.control.languages import LanguagePair, Pairs
from dragoman.control.search.sentences import LINE_BREAK, Line
from dragoman.errors import ConfigError
from dragoman.memory import Memory, MemoryMatch
from dragoman.text.segment import sentences
from dragoman.text.words.inline import InlineText
from dragoman.text.words.language import primary_language
from dragoman.text.words.normalise import normalise
from dragoman.translation import Candidate, Translation


def check_memory(memory: Memory, pairs: Pairs) -> None:
    """Raises ConfigError for a memory of languages that a model does not translate."""
    if not any(suits(memory, pair) for pair in pairs.pairs):
        names = " → ".join(memory.pair)
        raise ConfigError(f"{memory.path}: a memory of {names}; the model translates {pairs.names}")


def suits(memory: Memory, pair: LanguagePair | None) -> bool:
    """Whether a memory is one of the languages of `pair`."""
    return pair is not None and memory.pair == (
        primary_language(pair.source),
        primary_language(pair.target or "und"),
    )


def recall(lines: Sequence[Line], memory: Memory, options: DecodeConfig) -> list[Line]:
    """Give lines the translations that the memory has; the other lines are returned."""
    rest = []
    for line in lines:
        translation = _recalled(memory, line.source, options, line.languages)
        if translation is None:
            rest.append(line)
        else:
            line.translation = translation
    return rest


def _recalled(memory: Memory, source: str, options: DecodeConfig, languages: Languages) -> Translation | None:
    """The translation of a line in the memory; None if it has none that keeps what it must.

    It is one line with as many columns, between the white space of the source.
    """
    text = source.strip()
    match = memory.find(source) if text else None
    if match is None or LINE_BREAK.search(match.target) or match.target.count("\t") != text.count("\t"):
        return None
    before, _, after = source.partition(text)
    around = [LINE_BREAK.sub("", space) for space in (before, after)]
    match = replace(match, target=match.target.join(around))
    translation = checked(_translation(source, match), Requirements.of(source, options, languages=languages))
    return translation if _is_usable(match, {flag.kind for flag in translation.warnings}) else None


def recall_text(
    memory: Memory,
    text: InlineText,
    language: str,
    patterns: Sequence[str] | None,
    max_length: int | None,
    options: DecodeConfig,
) -> Translation | None:
    """The translation of a text in the memory, or of all its sentences, without its codes.

    None also if it is too long or has other lines.
    """
    match = (memory.find(text.text) or _by_sentences(memory, text.text, language)) if text.text.strip() else None
    if match is None or len(LINE_BREAK.findall(text.text.strip())) != len(LINE_BREAK.findall(match.target)):
        return None
    if max_length is not None and len(match.target) > max_length:
        return None
    kinds = {flag.kind for flag in inline_flags(text, match.target, patterns, options)}
    return _translation(text.text, match) if _is_usable(match, kinds) else None


def _by_sentences(memory: Memory, text: str, language: str) -> MemoryMatch | None:
    """The translations of the sentences of one line, joined, if the memory has all of them."""
    if LINE_BREAK.search(text.strip()) or "\t" in text:
        return None
    parts = [part.strip() for part in sentences(normalise(text), language)]
    if len(parts) < 2:
        return None
    matches = list(takewhile(lambda match: match is not None, map(memory.find, parts)))
    known = [match for match in matches if match is not None]
    if len(known) < len(parts):
        return None
    return MemoryMatch(min(match.score for match in known), text, " ".join(match.target for match in known))


def _translation(source: str, match: MemoryMatch) -> Translation:
    return Translation(source, (Candidate(match.target, 0.0, 0.0),), match=match.score)


def _is_usable(match: MemoryMatch, kinds: Collection[str]) -> bool:
    """Whether these warnings allow it: a person's translation may write numbers in words, an adapted one may not."""
    return not kinds if match.score < 100 else "placeholder" not in kinds
