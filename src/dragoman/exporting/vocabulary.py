"""SentencePiece models as facts that the engine of a page encodes and decodes with."""

import base64
from typing import Any

import numpy as np

from dragoman.errors import ModelError
from dragoman.text.tokens.model_file import (
    ADD_DUMMY_PREFIX,
    BPE,
    BYTE,
    CHARACTER_MAP,
    MODEL_TYPE,
    NORMAL,
    NORMALIZER_SPEC,
    TRAINER_SPEC,
    fields,
    model_pieces,
    section,
)
from dragoman.text.tokens.tokenizer import Tokenizer, Vocabulary

UNIGRAM = 1
# Fields of the messages, which `model_file` has no names for.
TRIM, ESCAPE, SUFFIX, DENORMALIZER_SPEC = 4, 5, 24, 5


def vocabularies(tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """What the engine needs to know of each vocabulary: one if it is joint. Raises ModelError."""
    models = [tokenizer.source] if tokenizer.joint else [tokenizer.source, tokenizer.target]
    return [vocabulary_facts(model) for model in models]


def vocabulary_facts(vocabulary: Vocabulary) -> dict[str, Any]:
    """The pieces, and how text is prepared for them. Raises ModelError for a kind that the engine does not know."""
    pieces = model_pieces(vocabulary.serialized)
    trainer, normalizer = (section(vocabulary.serialized, number) for number in (TRAINER_SPEC, NORMALIZER_SPEC))
    kind = trainer.get(MODEL_TYPE, UNIGRAM)
    if kind not in (UNIGRAM, BPE):
        raise ModelError(f"its tokenizer is of kind {kind!r} of SentencePiece; a page knows unigram and bpe")
    back = dict(fields(b"".join(v for n, v in fields(vocabulary.serialized) if n == DENORMALIZER_SPEC and v)))  # type: ignore[misc]
    if back.get(CHARACTER_MAP) or not normalizer.get(ESCAPE, 1):
        raise ModelError("its tokenizer rewrites translations or spaces in a way that a page does not know")
    characters = normalizer.get(CHARACTER_MAP)
    assert not isinstance(characters, int)
    return {
        "kind": "bpe" if kind == BPE else "unigram",
        "texts": [piece.text for piece in pieces],
        "scores": [float(str(np.float32(piece.score))) for piece in pieces],
        "types": {id_: piece.type for id_, piece in enumerate(pieces) if piece.type != NORMAL},
        "bytes": any(piece.type == BYTE for piece in pieces),
        "map": base64.b64encode(characters).decode() if characters else None,
        "prefix": bool(normalizer.get(ADD_DUMMY_PREFIX, 1)),
        "trim": bool(normalizer.get(TRIM, 1)),
        "suffix": bool(trainer.get(SUFFIX, 0)),
    }
