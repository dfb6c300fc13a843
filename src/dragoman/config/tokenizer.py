"""The keys of [tokenizer]: how text is cut into pieces."""

from typing import Annotated, Literal

from pydantic import Field

from dragoman.config.base import Fraction, Positive, Section


class TokenizerConfig(Section):
    """How SentencePiece cuts text into pieces (Kudo and Richardson 2018)."""

    kind: Literal["unigram", "bpe"] = "unigram"
    """Unigram language model (Kudo 2018) or byte-pair encoding (Sennrich et al. 2016)."""
    vocab_size: Annotated[int, Field(ge=16, le=1_000_000)] | None = None
    """Pieces in the vocabulary (with `joint = false`, in each of the two); as suits the amount of text unless given."""
    joint: bool = True
    """One vocabulary for both languages, as in the paper, section 5.1."""
    byte_fallback: bool = True
    """Spell characters never seen in training as UTF-8 bytes, so that nothing is unknown."""
    character_coverage: Annotated[float, Field(ge=0.98, le=1)] = 0.9995  # SentencePiece's own bounds
    """Share of the characters that get pieces of their own."""
    user_defined_symbols: tuple[str, ...] = ()
    """Strings that always stay one piece."""
    sample: Positive = 1_000_000
    """Pairs drawn from the training text, at the most, to learn from."""
    sampling: Fraction = 0.0
    """Training text is cut at random, anew in each epoch, unless 0. `bpe`: the share of merges left out, the more the
    more varied (BPE-dropout, Provilkov et al. 2020; often 0.1). `unigram`: α of Kudo 2018, by whose P^α one is drawn
    among all segmentations, the less the more varied (often 0.2 to 0.5)."""
