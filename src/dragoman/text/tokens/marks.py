"""The language tokens of a pair of languages as ids: what is put before a source, and behind BOS of its target.

No text contains them: batches and searches put them in, as they do with EOS. They are no part of a hypothesis, of its
score or of the loss, and no length limit counts them.
"""

from dataclasses import dataclass

from dragoman.config import PairConfig
from dragoman.text.tokens.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Marks:
    """The ids before the source, and those between BOS and the target; empty for a model of one pair."""

    source: tuple[int, ...] = ()
    target: tuple[int, ...] = ()

    @classmethod
    def of(cls, pair: PairConfig, tokenizer: Tokenizer) -> "Marks":
        """The language tokens of a pair. Raises ModelError if the tokenizer has not got them."""
        source = tokenizer.marks(pair.source_marks, "source")
        return cls(tuple(source), tuple(tokenizer.marks(pair.target_marks, "target")))

    def __bool__(self) -> bool:
        return bool(self.source or self.target)


NO_MARKS = Marks()
