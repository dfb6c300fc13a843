"""What a translator answers: frozen values, whole lines made of the answers for their parts."""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.control.faults import FLAGS, Flag, is_copy
from dragoman.control.terms import Term
from dragoman.control.texts import Source
from dragoman.text.normalise import normalise
from dragoman.text.segment import Segment, seam


@dataclass(frozen=True, slots=True)
class Candidate:
    """One translation of a line: its text, its score (log P over the length penalty) and log P in nats.

    `log_probs`, where `decode.token_scores` asks for them, are log P of each of the `tokens` and of the end mark. Of a
    line translated in parts the k-th candidate joins the k-th of each part (the last of a part that has fewer); its
    log P is their sum and its score their mean, so that the best still comes first.
    """

    text: str
    score: float
    log_prob: float
    tokens: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Translation:
    """A line and its translations, best first, never empty.

    `warnings` say what a reader should know of the best, `terms` how it keeps to the glossary.
    """

    source: str
    candidates: tuple[Candidate, ...]
    warnings: tuple[Flag, ...] = ()
    terms: tuple[Term, ...] = ()

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


@dataclass(frozen=True, slots=True)
class Part:
    """A segment of a line, its tokens, and the tokens that its translation begins with."""

    segment: Segment
    tokens: list[int]
    prefix: tuple[int, ...] = ()

    @property
    def source(self) -> Source:
        """What is searched for."""
        return Source(self.segment.text, self.tokens, self.prefix)


@dataclass(frozen=True, slots=True)
class Answer:
    """The translations of a part, best first, and what is wrong with the best."""

    candidates: tuple[Candidate, ...]
    flag: Flag | None = None
    terms: tuple[Term, ...] = ()


def translation(line: str, parts: Sequence[Part], answers: Sequence[Answer]) -> Translation:
    """The translation of a line from those of its parts; a line without any, a blank one, has a blank translation."""
    if not parts:
        return Translation(line, (Candidate("", 0.0, 0.0),))
    candidates = joined(parts, answers).candidates
    flags = list(dict.fromkeys(answer.flag for answer in answers if answer.flag))
    if is_copy(line, candidates[0].text):
        flags.append(FLAGS["copy"])
    if len(parts) > 1:
        flags.append(Flag("segmented", f"translated in {len(parts)} parts"))
    return Translation(line, candidates, tuple(flags), tuple(term for answer in answers for term in answer.terms))


def joined(parts: Sequence[Part], answers: Sequence[Answer]) -> Answer:
    """One answer of those of the parts; see `Candidate`."""
    if len(answers) == 1:
        return answers[0]
    most = max(len(answer.candidates) for answer in answers)
    ranks = [[answer.candidates[min(rank, len(answer.candidates) - 1)] for answer in answers] for rank in range(most)]
    flag = next((answer.flag for answer in answers if answer.flag), None)
    terms = tuple(term for answer in answers for term in answer.terms)
    return Answer(tuple(_combined(parts, candidates) for candidates in ranks), flag, terms)


def _combined(parts: Sequence[Part], candidates: Sequence[Candidate]) -> Candidate:
    pairs = list(zip(parts, candidates, strict=True))
    text = "".join(found.text + seam(part.segment, found.text) for part, found in pairs)
    return Candidate(
        normalise(text),
        sum(found.score for found in candidates) / len(candidates),
        sum(found.log_prob for found in candidates),
        tuple(token for found in candidates for token in found.tokens),
        tuple(log_prob for found in candidates for log_prob in found.log_probs),
    )
