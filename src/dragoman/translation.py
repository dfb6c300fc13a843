"""What a translator returns: frozen values, the same for every engine."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal[
    "loop",
    "length",
    "copy",
    "segmented",
    "empty",
    "script",
    "language",
    "placeholder",
    "number",
    "inserted",
    "sign",
    "negation",
    "word",
    "markup",
    "too_long",
    "doubtful",
]
# Warnings that name no fault of a translation: that it was made in parts, and that it is probably wrong.
NO_FAULTS: frozenset[Kind] = frozenset({"segmented", "doubtful"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """One translation of a line: its text, its score (log P over the length penalty) and log P in nats.

    `log_probs`, present if `decode.token_scores` is set, are log P of each of the `tokens` and of EOS. They are all
    computed at once, in the search one after the other: with int8 their sum may differ from `log_prob` by hundredths.
    If a line was translated in parts, its k-th candidate joins the k-th candidates of the parts (of a part with fewer,
    the last one). Its log P is their sum and its score their mean, so that the best still comes first.
    """

    text: str
    score: float
    log_prob: float
    tokens: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Flag:
    """A warning about a translation: its kind for programs, a text for people."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Term:
    """A glossary term in the source and its translation: the one found, or the first required one if none was found."""

    source: str
    target: str
    satisfied: bool


class Span(NamedTuple):
    """The characters of a word in a text: from `begin` to before `end`."""

    begin: int
    end: int

    def moved(self, by: int) -> "Span":
        """Where the word is if `by` characters precede the text."""
        return Span(self.begin + by, self.end + by)


class Link(NamedTuple):
    """A word of the translation, and the word of the source that it comes from."""

    source: Span
    target: Span


@dataclass(frozen=True, slots=True, repr=False)
class Translation:
    """A line and its candidates, best first, never empty; warnings about the best, and the glossary's terms in it."""

    source: str
    candidates: tuple[Candidate, ...]
    warnings: tuple[Flag, ...] = ()
    terms: tuple[Term, ...] = ()
    confidence: float | None = None
    """The probability that a person would accept the best translation, if `decode.confidence` is set; None for one that
    is from a memory."""

    alignment: tuple[Link, ...] = ()
    """Which words of the best translation come from which of the source, if `decode.alignment` is set: characters of
    the normalised source and of `text`. Empty, as `terms` is, for one that is from a memory."""

    match: int | None = None
    """Of a translation from a memory: 100 for an equal source, 99 if its numbers were adapted; None: the engine's."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        """The texts, and what there is to know about them; the other candidates and the tokens are not in it."""
        facts = {
            "warnings": [flag.kind for flag in self.warnings] or None,
            "terms": self.terms or None,
            "confidence": self.confidence,
            "match": self.match,
            "candidates": len(self.candidates) if self.candidates[1:] else None,
        }
        shown = "".join(f", {name}={value!r}" for name, value in facts.items() if value is not None)
        return f"Translation({self.text!r}, source={self.source!r}{shown})"

    @property
    def text(self) -> str:
        """The best translation."""
        return self.candidates[0].text

    @property
    def score(self) -> float:
        """The score of the best translation."""
        return self.candidates[0].score

    @property
    def tokens(self) -> tuple[int, ...]:
        """The ids of the best translation."""
        return self.candidates[0].tokens
