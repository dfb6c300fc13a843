"""What a translator knows of the pair of languages that it translates: language tokens and warnings. No torch."""

from collections.abc import Callable, Iterable
from typing import Self, TypeVar

from dragoman.control.languages.languages import LanguageCheck
from dragoman.control.languages.pairs import LanguagePair, Pairs
from dragoman.engine import Engine
from dragoman.engine.marked import with_marks
from dragoman.text.tokens.tokenizer import Tokenizer


class Directed:
    """A tokenizer and an engine for the pairs of languages of a model, of which calls are for one."""

    def __init__(self, tokenizer: Tokenizer, engine: Engine, pairs: Pairs) -> None:
        self.tokenizer, self.engine, self.pairs = tokenizer, engine, pairs
        self._set_pair(pairs.pairs[0])
        self.pair: LanguagePair | None = pairs.pairs[0] if len(pairs.pairs) == 1 else None
        """The pair that calls are for unless they ask for another; None: the text of each call decides."""

    def _set_pair(self, pair: LanguagePair) -> None:
        self.pair, self.language, self.marks = pair, pair.source, pair.marks
        self.language_check = LanguageCheck(self.tokenizer, pair.source, pair.target) if pair.target else None

    def to(self, target: str | None = None, source: str | None = None, texts: Iterable[str] = ()) -> Self:
        """This translator for one pair of languages of its model, to which its calls keep.

        `target` and `source` are BCP-47 tags; without both, and without `texts`, it is this translator. What is left
        open the letters of `texts` decide. Raises ConfigError unless one pair is left.
        """
        texts = list(texts)
        if target is None and source is None and (self.pair or not texts):
            return self
        pair = self.pairs.choose(target, source, texts)
        if pair == self.pair:
            return self
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._set_pair(pair)
        return other

    @property
    def marked_engine(self) -> Engine:
        """The engine with the language tokens of the pair."""
        return with_marks(self.engine, self.marks)


Loaded = TypeVar("Loaded", bound=Directed)


def load_pair(load: Callable[[], Loaded], pair: LanguagePair | None) -> Loaded:
    """A translator in another process, for the pair of languages that it was for here."""
    return load().to(pair.target, pair.source) if pair else load()
