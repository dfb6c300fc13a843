"""The keys of [tokenizer]: how SentencePiece segments text into pieces."""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dragoman.config.sections.base import Fraction, Positive, Section

# A piece of `byte_fallback`.
BYTE_PIECE = re.compile(r"<0x[0-9A-F]{2}>")


class TokenizerConfig(Section):
    """How SentencePiece segments text into pieces (Kudo and Richardson 2018)."""

    kind: Literal["unigram", "bpe"] = "unigram"
    """Unigram language model (Kudo 2018) or byte-pair encoding (Sennrich et al. 2016)."""
    vocab_size: Annotated[int, Field(ge=16, le=1_000_000)] | None = None
    """Size of the vocabulary in pieces (of each vocabulary with `joint = false`); depends on the amount of text unless
    set."""
    joint: bool = True
    """One vocabulary for both languages, as in the paper, section 5.1."""
    shared: bool = False
    """Two SentencePiece models in which an id is the same piece, as an imported model has them: its languages have
    vocabularies of their own, and one embedding matrix. None can be learned; needs `joint = false`."""
    byte_fallback: bool = True
    """Represent characters that are not in the vocabulary as UTF-8 bytes, so that no text is unknown."""
    character_coverage: Annotated[float, Field(ge=0.98, le=1)] = 0.9995  # SentencePiece's own bounds
    """Fraction of the characters of the text that the vocabulary covers."""
    user_defined_symbols: tuple[str, ...] = ()
    """Strings that are always a single piece."""
    placeholders: Annotated[int, Field(ge=1, le=256)] = 16
    """With `data.protect`: symbols that are reserved for placeholders. Of more different ones in a line the last stay
    text."""
    sample: Positive = 1_000_000
    """Maximum number of training pairs from which the pieces are learned."""
    extend: Annotated[int, Field(ge=0, le=100_000)] = 0
    """Fine-tuning: how many pieces are learned from the new text and added to the vocabulary of the base model. Old
    pieces keep their ids; a new embedding is the mean of those of the pieces that it replaces."""
    sampling: Fraction = 0.0
    """Subword regularisation: segment training text at random, differently in each epoch; 0 disables. `bpe`: the
    fraction of merges that are skipped; higher is more varied (BPE-dropout, Provilkov et al. 2020; often 0.1).
    `unigram`: α of Kudo 2018, where a segmentation is drawn in proportion to P^α; lower is more varied (often 0.2 to
    0.5)."""

    @model_validator(mode="after")
    def _learnable_symbols(self) -> Self:
        before = set[str]()
        for number, symbol in enumerate(self.user_defined_symbols):
            if not symbol or "\0" in symbol:
                what = "has a null character" if symbol else "is empty"
                raise ValueError(f"user_defined_symbols[{number}]: {symbol!r} {what}; remove it")
            if symbol in before:
                raise ValueError(f"user_defined_symbols[{number}]: {symbol!r} is there twice; remove one")
            if self.byte_fallback and BYTE_PIECE.fullmatch(symbol):
                raise ValueError(
                    f"user_defined_symbols[{number}]: {symbol} is a byte; remove it, or set byte_fallback = false"
                )
            before.add(symbol)
        return self

    @model_validator(mode="after")
    def _one_or_two_models(self) -> Self:
        if self.shared and self.joint:
            raise ValueError("shared: two models, but tokenizer.joint is one; set joint = false, or remove shared")
        return self
