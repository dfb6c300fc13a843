"""Text → text: segment, encode, search, decode, judge. As many translations come out as lines went in, in order.

Long lines are translated in parts (`text.segment`). A part whose translation shows a fault (`decode.degenerate`) is
searched for again, then in smaller parts; a fault that stays is told with the translation, never hidden.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, overload

from dragoman.boxed import located
from dragoman.bundle import Bundle, open_bundle
from dragoman.decode.degenerate import FLAGS, Flag, fault, is_copy
from dragoman.engine import Engine
from dragoman.engine.load import load_engine
from dragoman.options import DecodeConfig
from dragoman.text.normalise import normalise
from dragoman.text.segment import WHOLE_SHARE, Segment, seam, segments
from dragoman.text.tokenizer import Tokenizer

# Lines searched together by `stream`: enough to fill batches of equal length, few enough to appear soon; and of long
# lines no more than hold so many characters.
WINDOW, WINDOW_CHARACTERS = 1024, 1 << 20
# Second searches may say no n-gram of so many tokens twice: a phrase may come again, a sentence may not.
CAREFUL_N_GRAM = 4
# Parts of fewer tokens are not made smaller: what is left would be no clause.
SMALLEST = 8


@dataclass(frozen=True, slots=True)
class Candidate:
    """One translation of a line: its text, its score (log P over the length penalty) and log P in nats.

    Of a line translated in parts the k-th candidate joins the k-th of each part (the last of a part that has fewer);
    its log P is their sum and its score their mean, so that the best still comes first.
    """

    text: str
    score: float
    log_prob: float
    tokens: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Translation:
    """A line and its translations, best first, never empty; `warnings` say what a reader should know of the best."""

    source: str
    candidates: tuple[Candidate, ...]
    warnings: tuple[Flag, ...] = ()

    @property
    def text(self) -> str:
        """The best translation."""
        return self.candidates[0].text

    @property
    def score(self) -> float:
        """The score of the best translation."""
        return self.candidates[0].score


@dataclass(frozen=True, slots=True)
class _Part:
    """A segment and its tokens."""

    segment: Segment
    tokens: list[int]


@dataclass(frozen=True, slots=True)
class _Answer:
    """The translations of a part, best first, and what is wrong with the best."""

    candidates: tuple[Candidate, ...]
    flag: Flag | None


class Translator:
    """A tokenizer and an engine, with the options of the search.

    `longest` is the most tokens of a sentence in training, and `language` that of the source (BCP-47): with them long
    lines are translated in parts and faulty translations searched for again; without, each line once and whole.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        engine: Engine,
        options: DecodeConfig,
        *,
        longest: int | None = None,
        language: str = "en",
    ) -> None:
        self.tokenizer, self.engine, self.options = tokenizer, engine, options
        self.longest, self.language = longest, language

    @classmethod
    def load(
        cls, model: Path | str, *, engine: str = "auto", device: str = "auto", options: DecodeConfig | None = None
    ) -> Self:
        """The translator of the bundle in folder `model`, or of the one in the box of that name. Raises ModelError."""
        return cls.of_bundle(open_bundle(located(model)), engine=engine, device=device, options=options)

    @classmethod
    def of_bundle(
        cls, bundle: Bundle, *, engine: str = "auto", device: str = "auto", options: DecodeConfig | None = None
    ) -> Self:
        """The translator of an opened bundle; `options` replace those it was trained with."""
        config = bundle.config
        longest, language = config.data.max_length, config.project.source
        found = load_engine(bundle, engine, device)
        return cls(bundle.tokenizer, found, options or config.decode, longest=longest, language=language)

    @overload
    def translate(self, text: str) -> Translation: ...  # type: ignore[overload-overlap]  # a str is a Sequence too
    @overload
    def translate(self, text: Sequence[str]) -> list[Translation]: ...
    def translate(self, text: str | Sequence[str]) -> Translation | list[Translation]:
        """The translation of one line, or of each of several; an empty line translates to an empty line."""
        if isinstance(text, str):
            return self.translate([text])[0]
        lines = self._encode(text)
        answers = iter(self._answers([part for parts in lines for part in parts]))
        return [
            _translation(line, parts, [next(answers) for _ in parts]) for line, parts in zip(text, lines, strict=True)
        ]

    def stream(self, lines: Iterable[str], window: int = WINDOW) -> Iterator[Translation]:
        """The translations of endless lines, in order, up to `window` lines in memory at once."""
        for chunk in _chunks(lines, window):
            yield from self.translate(chunk)

    def _encode(self, lines: Sequence[str]) -> list[list[_Part]]:
        """The parts of each line, none for a blank one."""
        whole = self.tokenizer.encode(lines, "source")
        parts = (_Part(Segment(normalise(line), ""), tokens) for line, tokens in zip(lines, whole, strict=True))
        return [self._divided(part, self.longest) if part.tokens else [] for part in parts]

    def _divided(self, part: _Part, longest: int | None) -> list[_Part]:
        """The sentences of a part, none of more than `longest` tokens; itself where it is short or one of them."""
        if not longest or len(part.tokens) <= longest * WHOLE_SHARE:
            return [part]
        known = {part.segment.text: len(part.tokens)}  # most lines are one sentence: they are not encoded again
        found = segments(
            part.segment.text,
            self.language,
            longest,
            lambda text: known.get(text) or len(self.tokenizer.encode([text], "source")[0]),
        )
        if len(found) == 1:
            return [part]
        tokens = self.tokenizer.encode([segment.text for segment in found], "source")
        return list(map(_Part, found, tokens))

    def _answers(self, parts: Sequence[_Part]) -> list[_Answer]:
        """The translations of parts: those at fault are searched for again, and then in smaller parts."""
        answers = self._search(parts, self.options)
        if not self.longest:
            return answers
        n_gram = min(self.options.no_repeat_ngram or CAREFUL_N_GRAM, CAREFUL_N_GRAM)
        careful = self.options.model_copy(update={"no_repeat_ngram": n_gram})
        for mend in (self._search, self._search_smaller):
            doubtful = [index for index, answer in enumerate(answers) if answer.flag]
            for index, answer in zip(doubtful, mend([parts[index] for index in doubtful], careful), strict=True):
                if not answer.flag:
                    answers[index] = answer
        return answers

    def _search_smaller(self, parts: Sequence[_Part], options: DecodeConfig) -> list[_Answer]:
        """Translations of parts by translating their sentences or halves."""
        halves = [self._divided(part, max(len(part.tokens) // 2, SMALLEST)) for part in parts]
        answers = iter(self._search([half for pair in halves for half in pair], options))
        return [_joined(pair, [next(answers) for _ in pair]) for pair in halves]

    def _search(self, parts: Sequence[_Part], options: DecodeConfig) -> list[_Answer]:
        found = self.engine.translate([part.tokens for part in parts], options) if parts else []
        texts = map(normalise, self.tokenizer.decode([h.tokens for hypotheses in found for h in hypotheses], "target"))
        return [
            _Answer(
                tuple(Candidate(next(texts), h.score, h.log_prob, h.tokens) for h in hypotheses),
                fault(part.tokens, part.segment.text, hypotheses[0].tokens),
            )
            for part, hypotheses in zip(parts, found, strict=True)
        ]


def _chunks(lines: Iterable[str], window: int) -> Iterator[list[str]]:
    chunk: list[str] = []
    characters = 0
    for line in lines:
        chunk.append(line)
        characters += len(line)
        if len(chunk) == window or characters >= WINDOW_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _translation(line: str, parts: Sequence[_Part], answers: Sequence[_Answer]) -> Translation:
    if not parts:
        return Translation(line, (Candidate("", 0.0, 0.0),))
    candidates = _joined(parts, answers).candidates
    flags = list(dict.fromkeys(answer.flag for answer in answers if answer.flag))
    if is_copy(line, candidates[0].text):
        flags.append(FLAGS["copy"])
    if len(parts) > 1:
        flags.append(Flag("segmented", f"translated in {len(parts)} parts"))
    return Translation(line, candidates, tuple(flags))


def _joined(parts: Sequence[_Part], answers: Sequence[_Answer]) -> _Answer:
    """One answer of those of the parts; see `Candidate`."""
    if len(answers) == 1:
        return answers[0]
    most = max(len(answer.candidates) for answer in answers)
    ranks = [[answer.candidates[min(rank, len(answer.candidates) - 1)] for answer in answers] for rank in range(most)]
    flag = next((answer.flag for answer in answers if answer.flag), None)
    return _Answer(tuple(_combined(parts, candidates) for candidates in ranks), flag)


def _combined(parts: Sequence[_Part], candidates: Sequence[Candidate]) -> Candidate:
    pairs = list(zip(parts, candidates, strict=True))
    text = "".join(found.text + seam(part.segment, found.text) for part, found in pairs)
    return Candidate(
        normalise(text),
        sum(found.score for found in candidates) / len(candidates),
        sum(found.log_prob for found in candidates),
        tuple(token for found in candidates for token in found.tokens),
    )
