"""Text → text: normalise, encode, search, decode. As many translations come out as lines went in, in order."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Self, overload

from dragoman.bundle import Bundle, open_bundle
from dragoman.engine import Engine
from dragoman.engine.load import load_engine
from dragoman.options import DecodeConfig
from dragoman.text.normalise import normalise
from dragoman.text.tokenizer import Tokenizer

# Lines searched together by `stream`: enough to fill batches of equal length, few enough to appear soon.
WINDOW = 1024


@dataclass(frozen=True, slots=True)
class Candidate:
    """One translation of a line: its text, its score (log P over the length penalty) and log P in nats."""

    text: str
    score: float
    log_prob: float
    tokens: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Translation:
    """A line and its translations, best first; never empty."""

    source: str
    candidates: tuple[Candidate, ...]

    @property
    def text(self) -> str:
        """The best translation."""
        return self.candidates[0].text

    @property
    def score(self) -> float:
        """The score of the best translation."""
        return self.candidates[0].score


class Translator:
    """A tokenizer and an engine, with the options of the search."""

    def __init__(self, tokenizer: Tokenizer, engine: Engine, options: DecodeConfig) -> None:
        self.tokenizer, self.engine, self.options = tokenizer, engine, options

    @classmethod
    def load(
        cls, model: Path | str, *, engine: str = "auto", device: str = "auto", options: DecodeConfig | None = None
    ) -> Self:
        """The translator of the bundle in folder `model`. Raises ModelError."""
        return cls.of_bundle(open_bundle(Path(model)), engine=engine, device=device, options=options)

    @classmethod
    def of_bundle(
        cls, bundle: Bundle, *, engine: str = "auto", device: str = "auto", options: DecodeConfig | None = None
    ) -> Self:
        """The translator of an opened bundle; `options` replace those it was trained with."""
        return cls(bundle.tokenizer, load_engine(bundle, engine, device), options or bundle.config.decode)

    @overload
    def translate(self, text: str) -> Translation: ...  # type: ignore[overload-overlap]  # a str is a Sequence too
    @overload
    def translate(self, text: Sequence[str]) -> list[Translation]: ...
    def translate(self, text: str | Sequence[str]) -> Translation | list[Translation]:
        """The translation of one line, or of each of several; an empty line translates to an empty line."""
        if isinstance(text, str):
            return self.translate([text])[0]
        sources = self.tokenizer.encode(text, "source")
        spoken = [index for index, source in enumerate(sources) if source]
        found = self.engine.translate([sources[index] for index in spoken], self.options)
        texts = map(normalise, self.tokenizer.decode([h.tokens for hypotheses in found for h in hypotheses], "target"))
        translated = {
            index: tuple(Candidate(next(texts), h.score, h.log_prob, h.tokens) for h in hypotheses)
            for index, hypotheses in zip(spoken, found, strict=True)
        }
        nothing = (Candidate("", 0.0, 0.0),)
        return [Translation(line, translated.get(index, nothing)) for index, line in enumerate(text)]

    def stream(self, lines: Iterable[str], window: int = WINDOW) -> Iterator[Translation]:
        """The translations of endless lines, in order, `window` lines in memory at once."""
        waiting = iter(lines)
        while chunk := list(islice(waiting, window)):
            yield from self.translate(chunk)
