"""SentencePiece (Kudo and Richardson 2018): learning, loading, text ↔ token ids.

Input: text, which `encode` normalises. Output: token ids without BOS and EOS, which batches and searches add. With a
joint vocabulary both languages use the same model.
"""

import hashlib
import io
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, takewhile, zip_longest
from pathlib import Path
from typing import Any, Literal

import sentencepiece

from dragoman.config import TokenizerConfig
from dragoman.config.sections.project import SPECIAL_PIECES
from dragoman.errors import ConfigError, DataError, ModelError
from dragoman.text.terms.symbols import symbol
from dragoman.text.tokens.model_file import SPACE
from dragoman.text.tokens.sampling import sampler
from dragoman.text.words.normalise import is_text, normalise

# Fixed in every vocabulary, so that no function needs them as a parameter.
PAD, UNK, BOS, EOS = 0, 1, 2, 3

# Maximum number of pairs → size of the vocabulary, unless a size is set.
USUAL_SIZES = {10_000: 2000, 50_000: 4000, 250_000: 8000, 999_999: 16_000}
LARGEST_USUAL_SIZE = 32_000
# Longer lines teach the tokenizer nothing.
LONGEST_LINE = 1 << 16

# More texts than these are given to SentencePiece together. It starts threads then, which takes as long as 30 texts.
FEW = 32

Side = Literal["source", "target"]


@dataclass(frozen=True)
class Vocabulary:
    """A SentencePiece model: its serialized bytes and its processor."""

    serialized: bytes
    processor: Any

    @classmethod
    def load(cls, serialized: bytes, where: str) -> "Vocabulary":
        """Load serialized bytes. Raises ModelError if they are not a SentencePiece model with our special tokens."""
        processor = sentencepiece.SentencePieceProcessor()
        try:
            processor.LoadFromSerializedProto(serialized)
        except (RuntimeError, TypeError):
            raise ModelError(f"{where}: not a SentencePiece model; copy the model, or the run, again") from None
        special = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        if special != (PAD, UNK, BOS, EOS):
            raise ModelError(f"{where}: pad, unk, bos, eos are {special}, expected {(PAD, UNK, BOS, EOS)}")
        return cls(serialized, processor)

    def __len__(self) -> int:
        return int(self.processor.GetPieceSize())

    @property
    def characters(self) -> frozenset[str]:
        """The characters of all pieces, without those of bytes and special tokens."""
        processor = self.processor
        tokens = [
            token
            for token in range(len(self))
            if not (processor.IsByte(token) or processor.IsControl(token) or processor.IsUnknown(token))
        ]
        return frozenset("".join(map(processor.IdToPiece, tokens)))


@dataclass(frozen=True)
class Tokenizer:
    """The two vocabularies of a translation system; the same object if the vocabulary is joint."""

    source: Vocabulary
    target: Vocabulary

    @property
    def joint(self) -> bool:
        """Whether both languages share one SentencePiece model."""
        return self.source is self.target

    @cached_property
    def same_ids(self) -> bool:
        """Whether every id is the same piece on both sides: a joint vocabulary, or two models with one numbering."""
        return self.joint or self._first_difference() is None

    def _first_difference(self) -> int | None:
        """The first id that is not the same piece on both sides."""
        sides = self.pieces(range(len(self.source)), "source"), self.pieces(range(len(self.target)), "target")
        ids = (id_ for id_, (ours, theirs) in enumerate(zip_longest(*sides)) if ours != theirs)
        return next(ids, None)

    def encode(self, texts: Sequence[str], side: Side, *, sampling: float = 0.0, seed: str = "") -> list[list[int]]:
        """The token ids of each text, without BOS and EOS. Raises DataError if a text is not valid Unicode.

        With `sampling` (see `tokenizer.sampling`) the segmentation is random, but the same in every process for the
        same texts, side and seed.
        """
        for text in texts:
            if not is_text(text):
                raise DataError(f"{text!r}: contains an unpaired surrogate (invalid Unicode); give the text in UTF-8")
        vocabulary: Vocabulary = getattr(self, side)
        clean = [normalise(text) for text in texts]
        if sampling:
            rng = random.Random(f"{seed}/{side}")
            draw = sampler(vocabulary.serialized, sampling)
            if draw.normalises:  # an imported model; SentencePiece encodes with its normaliser by itself
                clean = [text.replace(SPACE, " ").strip() for text in vocabulary.processor.Normalize(clean)]
            return [draw.encode(text, rng) for text in clean]
        return _of_all(vocabulary.processor.EncodeAsIds, clean)

    def decode(self, sentences: Sequence[Sequence[int]], side: Side) -> list[str]:
        """The text of each list of ids; BOS, EOS and PAD are ignored."""
        clean = [[token for token in tokens if token > EOS or token == UNK] for tokens in sentences]
        return _of_all(getattr(self, side).processor.DecodeIds, clean)

    def pieces(self, tokens: Sequence[int], side: Side) -> list[str]:
        processor = getattr(self, side).processor
        return [processor.IdToPiece(int(token)) for token in tokens]

    def marks(self, names: Sequence[str], side: Side) -> list[int]:
        """The ids of language tokens, which no text contains. Raises ModelError for a name that is none."""
        processor = getattr(self, side).processor
        ids = [int(processor.PieceToId(name)) for name in names]
        for name, token in zip(names, ids, strict=True):
            if processor.IdToPiece(token) != name or not processor.IsControl(token):
                raise ModelError(f"project.pairs: {name} is no language token of the {side} vocabulary; see its pieces")
        return ids

    @cached_property
    def characters(self) -> frozenset[str]:
        """The characters that both vocabularies have in pieces; others are unknown, or bytes."""
        sides = [vocabulary.characters for vocabulary in dict.fromkeys((self.source, self.target))]
        return frozenset.intersection(*sides)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbols for placeholders, `⟦0⟧`, `⟦1⟧`, …, that are pieces of both vocabularies."""
        processors = self.source.processor, self.target.processor

        def known(name: str) -> bool:
            return all(processor.IdToPiece(processor.PieceToId(name)) == name for processor in processors)

        return tuple(takewhile(known, map(symbol, count())))

    def save(self, folder: Path) -> None:
        """Write `joint.model`, or `source.model` and `target.model`, into an existing folder."""
        for name, content in self.files.items():
            (folder / name).write_bytes(content)

    @property
    def sha256(self) -> dict[str, str]:
        """The SHA-256 of each file that `save` writes, by name."""
        return {name: hashlib.sha256(content).hexdigest() for name, content in self.files.items()}

    @property
    def files(self) -> dict[str, bytes]:
        """The content of each file that `save` writes, by name."""
        if self.joint:
            return {"joint.model": self.source.serialized}
        return {"source.model": self.source.serialized, "target.model": self.target.serialized}

    @classmethod
    def load(cls, folder: Path, shared: bool = False) -> "Tokenizer":
        """Read what `save` wrote. Raises ModelError, also if `shared` (`tokenizer.shared`) and the ids differ."""
        joint = folder / "joint.model"
        if joint.exists():
            vocabulary = Vocabulary.load(_read(joint), str(joint))
            return cls(vocabulary, vocabulary)
        source, target = folder / "source.model", folder / "target.model"
        tokenizer = cls(Vocabulary.load(_read(source), str(source)), Vocabulary.load(_read(target), str(target)))
        if shared and (different := tokenizer._first_difference()) is not None:
            raise ModelError(f"{target}: piece {different} is not that of source.model; copy the model again")
        return tokenizer


def learn(
    pairs: Sequence[tuple[str, str]],
    config: TokenizerConfig,
    source_marks: Sequence[str] = (),
    target_marks: Sequence[str] = (),
) -> Tokenizer:
    """Learn the vocabularies from sample pairs of normalised text, with the language tokens of each side.

    Raises ConfigError if the text does not suit a given `tokenizer.vocab_size`.
    """
    if config.shared:
        raise ConfigError("tokenizer.shared: only an imported tokenizer is; set tokenizer.joint = true instead")
    if twice := {*source_marks, *target_marks} & set(config.user_defined_symbols):
        raise ConfigError(f"tokenizer.user_defined_symbols: {min(twice)} is a language token; choose another string")
    if taken := SPECIAL_PIECES & set(config.user_defined_symbols):
        raise ConfigError(f"tokenizer.user_defined_symbols: {min(taken)} is a special token; choose another string")
    sources, targets = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if config.joint:
        both = tuple(dict.fromkeys([*source_marks, *target_marks]))
        joint = _learn_one([*sources, *targets], len(pairs), config, "both sides", both)
        return Tokenizer(joint, joint)
    return Tokenizer(
        _learn_one(sources, len(pairs), config, "the source side", source_marks),
        _learn_one(targets, len(pairs), config, "the target side", target_marks),
    )


def usual_size(pairs: int) -> int:
    """The size of the vocabulary for this many pairs: each piece should occur often enough to be learned."""
    return next((size for limit, size in USUAL_SIZES.items() if pairs <= limit), LARGEST_USUAL_SIZE)


class _Unfit(ConfigError):
    """The text has more characters, or fewer possible pieces, than the size requires; `nearest` is a size that fits."""

    def __init__(self, message: str, nearest: int) -> None:
        super().__init__(message)
        self.nearest = nearest


def _learn_one(
    lines: Sequence[str], pairs: int, config: TokenizerConfig, which: str, marks: Sequence[str]
) -> Vocabulary:
    if config.vocab_size:
        return _train(lines, config.vocab_size, config, which, marks)
    size = usual_size(pairs)
    for _ in range(2):  # at worst, the size is first too small for the characters and then too large for the text
        try:
            return _train(lines, size, config, which, marks)
        except _Unfit as unfit:
            size = unfit.nearest
    return _train(lines, size, config, which, marks)


def _train(lines: Sequence[str], size: int, config: TokenizerConfig, which: str, marks: Sequence[str]) -> Vocabulary:
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.Train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type=config.kind,
            vocab_size=size,
            character_coverage=config.character_coverage,
            byte_fallback=config.byte_fallback,
            user_defined_symbols=list(config.user_defined_symbols),
            control_symbols=list(marks),
            normalization_rule_name="identity",  # `normalise` has normalised it
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            max_sentence_length=LONGEST_LINE,
            num_threads=4,  # fixed, because the pieces must not depend on the machine
            minloglevel=2,
        )
    except RuntimeError as error:
        raise _cannot_learn(str(error), size, which) from None
    return Vocabulary.load(model.getvalue(), which)


def _cannot_learn(message: str, size: int, which: str) -> ConfigError | DataError:
    """An error that names the key to change, from the message of SentencePiece."""
    key = f"tokenizer.vocab_size: {size}"
    if too_high := re.search(r"<= (\d+)", message):
        most = int(too_high[1])
        return _Unfit(f"{key} pieces are more than {which} of the text can fill; set {most} or less", most)
    if required := re.search(r"smaller than required_chars.*?(\d+) vs (\d+)", message):
        least = max(map(int, required.groups()))
        # More than the number of characters, so that there are also pieces of several characters.
        return _Unfit(f"{key} pieces cannot hold every character of {which}; set more than {least}", least * 5 // 4)
    if "sentences" in message and "empty" in message:
        return DataError(
            f"{which} of the training text: no line of text shorter than {LONGEST_LINE:,} bytes, so there is "
            "nothing to learn pieces from; divide the lines into sentences"
        )
    return ConfigError(f"{key}: SentencePiece cannot learn from {which}: {message.splitlines()[-1]}")


def _of_all(call: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    """The results of `call`, which takes one item or a list of them."""
    return [call(item) for item in items] if len(items) <= FEW else call(items)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}; the tokenizer belongs to the bundle, copy it again") from None
