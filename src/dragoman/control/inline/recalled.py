"""Lines and texts with inline codes → their translations in a memory, where it has them. No torch.

A translation of a memory has to keep what every translation keeps (`control.faults.final_check`): one that lacks a
placeholder is left to the engine, and so is one with adapted numbers that differ from those of its source.
"""

from collections.abc import Collection, Sequence

from dragoman.config import DecodeConfig
from dragoman.control.faults.final_check import checked, inline_flags
from dragoman.control.search.splitting import LINE_BREAK
from dragoman.memory import Memory, MemoryMatch
from dragoman.text.words.inline import InlineText
from dragoman.translation import Candidate, Translation


def recall_line(memory: Memory, line: str, options: DecodeConfig) -> Translation | None:
    """The translation of a line in the memory; None if it has none that keeps what it must."""
    match = memory.find(line) if line.strip() else None
    if match is None:
        return None
    [found] = checked([_translation(line, match)], options)
    return found if _is_usable(match, {flag.kind for flag in found.warnings}) else None


def recall_text(
    memory: Memory, text: InlineText, patterns: Sequence[str] | None, max_length: int | None, options: DecodeConfig
) -> Translation | None:
    """The translation of a text in the memory, without its codes; None also if it is too long or has other lines."""
    match = memory.find(text.text) if text.text.strip() else None
    if match is None or len(LINE_BREAK.findall(text.text.strip())) != len(LINE_BREAK.findall(match.target)):
        return None
    if max_length is not None and len(match.target) > max_length:
        return None
    kinds = {flag.kind for flag in inline_flags(text, match.target, patterns, options)}
    return _translation(text.text, match) if _is_usable(match, kinds) else None


def _translation(source: str, match: MemoryMatch) -> Translation:
    return Translation(source, (Candidate(match.target, 0.0, 0.0),), match=match.score)


def _is_usable(match: MemoryMatch, kinds: Collection[str]) -> bool:
    """Whether these warnings allow it: a person's translation may write numbers in words, an adapted one may not."""
    return not kinds if match.score < 100 else "placeholder" not in kinds
