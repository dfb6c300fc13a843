"""The languages of a translator: its pairs, the one that a call is for, and lines in another language.

The pair of a call is decided by what is given; what is not given, by the letters of the text, where those leave one
choice. No detector of languages is asked, because it is unsure of short text.

A line is warned of when most of it speaks for another script, or when the detector of languages is confident. Warnings
are only read if they are rare: on 20,000 lines of manuals, captions and everyday sentences it was wrong on fewer than
1 of 1,000 (`docs/log/2026-11.md`, 2026-11-22).
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from dragoman.config import ProjectConfig
from dragoman.config.sections.project import pair_name
from dragoman.control.faults.faults import PLAIN_LETTERS, PLAIN_WORDS, plain_words
from dragoman.errors import ConfigError, check_type
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.model_file import SPACE
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.text.words.language import detect_language, primary_language
from dragoman.text.words.normalise import normalise
from dragoman.text.words.script import script_of, script_shares, scripts_of_language
from dragoman.translation import Flag


@dataclass(frozen=True, slots=True)
class LanguagePair:
    """A source and a target language (BCP-47; None: not known), and their language tokens."""

    source: str
    target: str | None
    marks: Marks = NO_MARKS

    @property
    def name(self) -> str:
        """`ko-en`, or `pt-BR:en` for longer tags."""
        return pair_name(self.source, self.target or "und")


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs that a model translates, of which there is at least one."""

    pairs: tuple[LanguagePair, ...]

    @classmethod
    def of(cls, project: ProjectConfig, tokenizer: Tokenizer) -> "Pairs":
        """The pairs of a project. Raises ModelError if the tokenizer lacks a language token."""
        return cls(
            tuple(LanguagePair(pair.source, pair.target, Marks.of(pair, tokenizer)) for pair in project.all_pairs)
        )

    @property
    def names(self) -> str:
        return ", ".join(pair.name for pair in self.pairs)

    def choose(self, target: str | None, source: str | None, texts: Sequence[str]) -> LanguagePair:
        """The pair with this target and source; None: any. Raises ConfigError unless one is left."""
        pairs = self.matching(target, source)
        if len(pairs) > 1 and texts:
            pairs = _written_like(pairs, " ".join(texts)) or pairs
        if len({(pair.target, pair.marks) for pair in pairs}) == 1:
            return pairs[0]
        missing = "target (--to)" if len({pair.target for pair in pairs}) > 1 else "source (--from)"
        names = ", ".join(pair.name for pair in pairs)
        raise ConfigError(f"{missing}: this model has several pairs, {names}, and the text does not say which; give it")

    def matching(self, target: str | None, source: str | None) -> Sequence[LanguagePair]:
        """The pairs with this target and source; None: any. Raises ConfigError if there is none."""
        check_type("target", target, str | None, "a language, such as ko")
        check_type("source", source, str | None, "a language, such as ko")
        pairs = _with_language(_with_language(self.pairs, "target", target), "source", source)
        if not pairs:
            wanted = f"into {target or repr(target)}" if source is None else f"from {source or repr(source)}"
            wanted = pair_name(source, target) if source and target else wanted
            remedy = "source (--from)" if target is None else "target (--to)"
            raise ConfigError(f"no translation {wanted}: this model has {self.names}; choose another {remedy}")
        return pairs


def _with_language(pairs: Sequence[LanguagePair], side: str, tag: str | None) -> Sequence[LanguagePair]:
    """The pairs whose source or target is `tag`; if there is none, those with the same primary language."""
    if tag is None:
        return pairs
    known = [(pair, str(getattr(pair, side) or "und")) for pair in pairs]
    exact = [pair for pair, known_tag in known if known_tag.casefold() == tag.casefold()]
    return exact or [pair for pair, known_tag in known if primary_language(known_tag) == primary_language(tag)]


def _written_like(pairs: Sequence[LanguagePair], text: str) -> list[LanguagePair]:
    """The pairs whose source is written in the scripts of most letters of the text; the first for text without any."""
    shares = script_shares(text)
    if not shares:
        return [pairs[0]]
    scripts = [scripts_of_language(pair.source) for pair in pairs]
    covered = [sum(shares.get(script, 0.0) for script in of_pair) if of_pair else 1.0 for of_pair in scripts]
    return [pair for pair, share in zip(pairs, covered, strict=True) if share > 0.5 and share == max(covered)]


# More than half of the letters, and at least this number, must be of another script (or unknown to the vocabulary).
SCRIPT_LETTERS, UNKNOWN_CHARACTERS, MOST = 3, 2, 0.5
# Fewer letters than these, or a lower probability, say nothing about the language; less is enough where a line has no
# letter of a script of its language.
LANGUAGE_LETTERS, CONFIDENT, CONFIDENT_BY_SCRIPT = 16, 0.7, 0.3
# Names, commands and formulas are written in these letters in every language.
COMMON = frozenset(("Latn", "Zyyy", ""))
# Languages that the detector recognises well, and groups of them that it takes for each other.
_RECOGNISED = """
    ar bg ca cs da de el en es et fa fi fr he hi hr hu id it ja ko lt lv ms nl no pl pt ro ru sk sl sr sv th tr uk vi zh
"""
RECOGNISED = frozenset(_RECOGNISED.split())
CLOSE = tuple(
    frozenset(group.split())
    for group in (
        "no da sv", "cs sk", "id ms", "hr sr bs sl", "ru uk be bg mk", "es pt gl ca ast", "nl af", "hi mr ne", "zh ja"
    )
)  # fmt: skip

# Of the texts of a document together: letters that are looked at; those that a language needs, and how sure that is;
# the least share of letters that the source is written in.
MOST_LETTERS, LETTERS_OF_TEXTS, SURE_OF_TEXTS, LEAST_READ = 20_000, 400, 0.9, 0.25
_LONGER_WORD = re.compile(r"[^\W\d_]{2,}")

NO_TOKENS = Flag("script", "the model has no tokens for most of the source; check its language")


class LanguageCheck:
    """The checks of one model, which translates from `source` to `target` (BCP-47)."""

    def __init__(self, tokenizer: Tokenizer, source: str, target: str) -> None:
        self.tokenizer, self.source, self.target = tokenizer, source, target
        self.source_scripts, self.target_scripts = scripts_of_language(source), scripts_of_language(target)

    def source_flags(self, line: str) -> Iterator[Flag]:
        """The warning about a line that is copied because it has no letter of its language."""
        if foreign := _foreign_letter(line, script_shares(line), self.source_scripts):
            yield self._foreign_source(foreign)
        elif other := self._other_language(line):
            yield Flag("language", f"the source seems to be {other}, not {self.source}; check its language")

    def _foreign_source(self, letter: str) -> Flag:
        return Flag("script", f"the source is in {script_name(letter)} letters, not in those of {self.source}")

    def flags(self, line: str, ids: Iterable[int], translation: str) -> Iterator[Flag]:
        """The warnings about a line and its translation, at most one for each."""
        text = normalise(line)
        shares = script_shares(text)
        if foreign := _foreign_letter(text, shares, self.source_scripts):
            yield self._foreign_source(foreign)
        elif self._is_unknown(text, ids):
            yield NO_TOKENS
        elif other := self._other_language(text):
            yield Flag("language", f"the source seems to be {other}, not {self.source}; check its language")
        letter = _foreign_letter(translation, script_shares(translation), self.target_scripts)
        may_differ = self.target_scripts and not self.target_scripts & COMMON and text != translation
        if letter is None and may_differ and _has_only_other_words(translation, self.target_scripts):
            letter = plain_words(translation)[0][0]
        if letter:
            yield Flag("script", f"the translation is in {script_name(letter)} letters, not in those of {self.target}")

    def _is_unknown(self, text: str, ids: Iterable[int]) -> bool:
        """Whether most characters are unknown to the vocabulary, or known as bytes only."""
        characters = len(text) - text.count(" ")
        known = sum(map(self._lengths.__getitem__, ids))
        return known < (1 - MOST) * characters and characters - known >= UNKNOWN_CHARACTERS

    @cached_property
    def _lengths(self) -> list[int]:
        """The number of characters of each source piece; 0 for bytes and special tokens."""
        processor = self.tokenizer.source.processor
        return [
            0
            if processor.IsByte(token) or processor.IsControl(token) or processor.IsUnknown(token)
            else len(processor.IdToPiece(token).replace(SPACE, ""))
            for token in range(len(self.tokenizer.source))
        ]

    def _other_language(self, text: str) -> str | None:
        """The language of a text, if it is surely not the source language."""
        expected = primary_language(self.source)
        if expected not in RECOGNISED or sum(map(str.isalpha, text)) < LANGUAGE_LETTERS:
            return None
        detected, probability = detect_language(text)
        close = any({expected, detected} <= group for group in CLOSE)
        by_script = self.source_scripts and _has_only_other_words(text, self.source_scripts)
        enough = CONFIDENT_BY_SCRIPT if by_script else CONFIDENT
        return detected if detected != expected and not close and probability >= enough else None


def _foreign_letter(text: str, shares: dict[str, float], scripts: frozenset[str]) -> str | None:
    """A letter of the most frequent other script, if most letters are of scripts that the language does not use."""
    if not scripts or all(script in scripts or script in COMMON for script in shares):
        return None
    others = {script: share for script, share in shares.items() if script not in scripts | COMMON}
    letters = sum(map(str.isalpha, text))
    if sum(others.values()) <= MOST or letters < SCRIPT_LETTERS:
        return None
    return next(letter for letter in text if script_of(letter) == next(iter(others)))


def _has_only_other_words(text: str, scripts: frozenset[str]) -> bool:
    """Whether a text of several plain words, not names or code, has no letter of these scripts."""
    if any(script_of(letter) in scripts for letter in text):
        return False
    plain = plain_words(text)
    return len(plain) > PLAIN_WORDS and sum(map(len, plain)) > PLAIN_LETTERS


def script_name(letter: str) -> str:
    """The name of a letter's script, from its Unicode name: Hangul, Cyrillic, CJK."""
    name = unicodedata.name(letter, "unknown").split("-")[0].split(" ")[0]
    return name if name == "CJK" else name.capitalize()


def other_language(texts: Iterable[str], source: str, target: str) -> str:
    """What texts are in if that is not `source`: "Arabic letters" or "fr"; "" if it is, or if it is uncertain.

    By letters first: what is in neither the scripts of the source nor those of the target. Of a script of several
    languages, a model of languages says it; it counts where there is much text and it is sure.
    """
    text = "\n".join(_first(texts))
    read, written = scripts_of_language(source), scripts_of_language(target)
    if not read:
        return ""
    shares = {script: share for script, share in script_shares(text).items() if script not in written - read}
    total = sum(shares.values())
    if not total:
        return ""
    if sum(share for script, share in shares.items() if script in read) < LEAST_READ * total:
        script = max(shares, key=lambda script: shares[script])
        letter = next(letter for letter in text if script_of(letter) == script)
        return f"{script_name(letter)} letters"
    expected = primary_language(source)
    if expected not in RECOGNISED:
        return ""
    words = " ".join(word for word in _LONGER_WORD.findall(text) if script_of(word[0]) in read)
    if sum(map(len, words.split())) < LETTERS_OF_TEXTS:
        return ""
    language, probability = detect_language(words[:4000])
    near = any({expected, language} <= group for group in CLOSE)
    known = language in (expected, primary_language(target), "und")
    return "" if known or near or probability < SURE_OF_TEXTS else language


def _first(texts: Iterable[str]) -> Iterator[str]:
    """The first texts, as far as they are looked at."""
    count = 0
    for text in texts:
        yield text
        count += len(text)
        if count > MOST_LETTERS:
            return
