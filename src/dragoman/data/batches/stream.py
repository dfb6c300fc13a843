"""Corpora → an endless, seeded, resumable sequence of batches.

At most `data.shuffle_buffer` pairs are in memory: each epoch is read in parts of that size, and each part is augmented
(`data.augment`), gets symbols for placeholders (`data.protect`), is tokenised, shuffled and packed into batches. A
corpus of up to that size is shuffled as a whole. Order, augmentation, symbols and sampled pieces depend only on the
seed, the epoch, the part and the data, so that a position of three numbers is enough to resume a run exactly.
"""

import math
import random
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from dragoman.config import AugmentConfig, DataConfig
from dragoman.data.batches.augment import augment
from dragoman.data.batches.batch import Batch, Example, collate
from dragoman.data.batches.batching import bucket_width, pack
from dragoman.data.batches.rows import NumberedText, PackedRows, pack_rows, row_width
from dragoman.data.corpus.corpus import Pair
from dragoman.data.corpus.directions import Direction
from dragoman.errors import DataError
from dragoman.text.terms.symbols import NO_SYMBOLS, Symbols
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.tokenizer import Tokenizer

Group = TypeVar("Group")
Pairs = TypeVar("Pairs")

# Weights below 1 may draw no pair in an epoch, but hardly in this many consecutive epochs.
EMPTY_EPOCHS = 1000


@dataclass(frozen=True, slots=True)
class Position:
    """The next batch: the `batch`-th of the `part`-th part of an epoch, each counted from 0."""

    epoch: int = 0
    part: int = 0
    batch: int = 0


@dataclass(frozen=True, slots=True)
class Update:
    """What one update is computed from, and where the stream is after it."""

    batches: list[Batch]
    """The micro-batches of this process."""
    target_tokens: int
    """Target tokens with EOS in the batches of all processes."""
    position: Position
    skipped: "Skipped"
    terms: int | None = None
    """What the summed loss is divided by, in all processes, if not the target tokens."""

    @property
    def divisor(self) -> int:
        return self.target_tokens if self.terms is None else self.terms


@dataclass(slots=True)
class Skipped:
    """Pairs that are skipped because a side has more tokens than `data.max_length`."""

    count: int = 0
    first: str | None = None

    def add(self, location: str) -> None:
        self.count, self.first = self.count + 1, self.first or location


class Located(NamedTuple):
    """A pair, the file that error messages name, and the language tokens of its direction."""

    path: Path
    pair: Pair
    marks: Marks = NO_MARKS


@dataclass(frozen=True, slots=True)
class ConstantText:
    """Corpora that are tokenised once."""

    text: NumberedText
    numbers: Sequence[Sequence[int]]
    """For each corpus the number in `text` of each of its pairs, or −1 − its number in `too_long`."""
    too_long: Sequence[str]
    """The locations of the pairs that are skipped."""

    @classmethod
    def of(cls, directions: Sequence[Direction], tokenizer: Tokenizer, data: DataConfig) -> "ConstantText | None":
        """The text of an epoch; None if it has more than `data.shuffle_buffer` pairs."""
        examples, numbers, too_long = list[Example](), list[Sequence[int]](), list[str]()
        left = data.shuffle_buffer
        for direction in directions:
            weight = int(direction.corpus.weight)
            pairs = list(islice(located(direction, tokenizer), left // weight + 1))
            left -= weight * len(pairs)
            if left < 0:
                return None
            known, fitting = array("q"), tokenise(pairs, tokenizer, data.max_length, Skipped())
            left_over = iter(fitting)
            following = next(left_over, None)
            for path, pair, _ in pairs:
                location = f"{path}:{pair.line}"
                if following and following.location == location:
                    known.append(len(examples))
                    examples.append(following)
                    following = next(left_over, None)
                else:
                    known.append(~len(too_long))
                    too_long.append(location)
            numbers.append(known)
        return cls(NumberedText(examples), numbers, too_long)

    def corpora(self, directions: Sequence[Direction]) -> list[Iterator[tuple[int, float]]]:
        """What `_repeated` is of each corpus, as numbers."""

        def repeated(numbers: Sequence[int], weight: int) -> Iterator[tuple[int, float]]:
            return ((number, 1.0) for _ in range(weight) for number in numbers)

        weights = [int(direction.corpus.weight) for direction in directions]
        return [*map(repeated, self.numbers, weights)]


class BatchStream:
    """The training text as batches, for one of the processes of a run.

    `directions` are those of the training corpora; None: each corpus as it is, without language tokens.

    The `weight` of a corpus repeats or samples its pairs within an epoch. With `world` processes each update takes
    `world × accumulate` consecutive batches, and process `rank` gets every `world`-th of them. `sampling` is
    `tokenizer.sampling`. With `few_shapes` both sides of a batch have the same width, rounded up by
    `bucket_width`, and as many rows as the budget allows. `symbols` has the symbols for placeholders. `terms` are those
    of the loss that a pair has, if not its target tokens. `in_rows`, which is set before the first update, packs the
    pairs into rows of one width (`dragoman.data.batches.rows`); it is for a single process.
    """

    def __init__(
        self,
        data: DataConfig,
        tokenizer: Tokenizer,
        *,
        batch_tokens: int,
        seed: int,
        rank: int = 0,
        world: int = 1,
        sampling: float = 0.0,
        few_shapes: bool = False,
        directions: Sequence[Direction] | None = None,
        symbols: Symbols = NO_SYMBOLS,
        terms: Callable[[Example], int] | None = None,
    ) -> None:
        self.terms = terms
        self.data, self.tokenizer, self.symbols = data, tokenizer, symbols
        self.batch_tokens, self.seed, self.few_shapes = batch_tokens, seed, few_shapes
        self.rank, self.world, self.sampling = rank, world, sampling
        self.directions = directions or [Direction(corpus) for corpus in data.train]
        self.in_rows = False
        self.constant: ConstantText | None = None
        self.position = Position()
        self.skipped = Skipped()
        self._begin()

    def _begin(self) -> None:
        """From the position on, one of the two is drawn from."""
        self._batches = self._run(self._parts, self._groups)
        self._rows = self._run_rows()

    def next_update(self, accumulate: int) -> Update:
        """The next update, of `accumulate` micro-batches for each process. Raises DataError if the text has no pair."""
        if self.in_rows:
            packed = [text.batch(rows) for text, rows in islice(self._rows, accumulate)]
            tokens = sum(batch.target_tokens for batch in packed)
            return Update(packed, tokens, self.position, replace(self.skipped))
        drawn = [next(self._batches) for _ in range(accumulate * self.world)]
        target_tokens = sum(example.target_tokens for examples in drawn for example in examples)
        batches = [self._collated(examples) for examples in drawn[self.rank :: self.world]]
        terms = sum(self.terms(example) for examples in drawn for example in examples) if self.terms else None
        return Update(batches, target_tokens, self.position, replace(self.skipped), terms)

    def _collated(self, examples: Sequence[Example]) -> Batch:
        if not self.few_shapes:
            return collate(examples)
        width = max(self._sides(example)[0] for example in examples)
        return collate(examples, self.batch_tokens // width, width)

    def _sides(self, example: Example) -> tuple[int, int]:
        """The lengths by which a pair is packed."""
        return (bucket_width(max(example.lengths)),) * 2 if self.few_shapes else example.lengths

    def state_dict(self) -> dict[str, int]:
        """The position after the last update, for a checkpoint."""
        return asdict(self.position)

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.position = Position(**state)
        self._begin()

    def _groups(self, examples: list[Example], rng: random.Random) -> Iterator[list[Example]]:
        """The pairs of each micro-batch of a part."""
        groups = pack([self._sides(example) for example in examples], self.batch_tokens, rng)
        return ([examples[index] for index in group] for group in groups)

    def _run_rows(self) -> Iterator[tuple[NumberedText, PackedRows]]:
        """A part as numbers, and the rows of each of its micro-batches."""
        if self.constant is None and self._is_constant():
            self.constant = ConstantText.of(self.directions, self.tokenizer, self.data)
        if self.constant:
            yield from self._run(self._constant_parts, self._packed_again)
        else:
            yield from self._run(self._parts, self._packed)

    def _is_constant(self) -> bool:
        """Whether every epoch has the same pairs in the same pieces."""
        changes = self.sampling or self.symbols.names or self.data.augmentation != AugmentConfig()
        return not changes and all(direction.corpus.weight % 1 == 0 for direction in self.directions)

    def _constant_parts(self, epoch: int, start: int) -> Iterator[tuple[int, list[int]]]:
        """`_parts` of a text that is known: the only one, as numbers of its pairs."""
        assert self.constant is not None
        pairs = self._drawn(epoch, self.constant.corpora(self.directions))
        counting, order = self.skipped if epoch == 0 and not start else Skipped(), list[int]()
        for number in pairs:
            if number >= 0:
                order.append(number)
            else:
                counting.add(self.constant.too_long[~number])
        if order and not start:
            yield 0, order

    def _packed_again(self, order: list[int], rng: random.Random) -> Iterator[tuple[NumberedText, PackedRows]]:
        assert self.constant is not None
        text = self.constant.text
        lengths = [text.lengths[number] for number in order]
        for packed in pack_rows(lengths, self.batch_tokens, row_width(self.data.max_length), rng):
            yield text, replace(packed, rows=tuple(tuple(order[at] for at in row) for row in packed.rows))

    def _packed(self, examples: list[Example], rng: random.Random) -> Iterator[tuple[NumberedText, PackedRows]]:
        """Numbers take the place of the part in memory."""
        text = NumberedText(examples)
        examples.clear()
        packed = pack_rows(text.lengths, self.batch_tokens, row_width(self.data.max_length), rng)
        return ((text, rows) for rows in packed)

    def _run(
        self,
        parts: Callable[[int, int], Iterator[tuple[int, list[Pairs]]]],
        grouped: Callable[[list[Pairs], random.Random], Iterator[Group]],
    ) -> Iterator[Group]:
        nothing = 0
        while True:
            before = self.position
            for part, examples in parts(before.epoch, before.part):
                first = self.position.batch
                rng = random.Random(f"{self.seed}/{before.epoch}/{part}")
                for number, group in enumerate(islice(grouped(examples, rng), first, None), first + 1):
                    self.position = Position(before.epoch, part, number)
                    yield group
                self.position = Position(before.epoch, part + 1)
                examples.clear()  # before the next part is read, so that memory holds only one
            nothing = nothing + 1 if self.position == Position(before.epoch) else 0
            if nothing and (nothing == EMPTY_EPOCHS or all(corpus.weight >= 1 for corpus in self.data.train)):
                raise self._nothing_in(before.epoch)
            self.position = Position(before.epoch + 1)

    def _nothing_in(self, epoch: int) -> DataError:
        if next(self._epoch(epoch), None) is None:
            return DataError(f"the weights of data.train drew no pair by epoch {epoch + 1}; raise them, or add text")
        return DataError("the training text has no pair within data.max_length; raise it or add text")

    def _parts(self, epoch: int, start: int) -> Iterator[tuple[int, list[Example]]]:
        pairs = self._epoch(epoch)
        part = 0
        while chunk := list(islice(pairs, self.data.shuffle_buffer)):
            if part >= start:
                counting = self.skipped if epoch == 0 else Skipped()
                seed = f"{self.seed}/{epoch}/{part}"
                chunk = augmented(chunk, self.data.augmentation, f"{seed}/augment")
                chunk = protected(chunk, self.symbols, f"{seed}/symbols")
                cutting = (self.sampling, f"{seed}/pieces")
                examples = tokenise(chunk, self.tokenizer, self.data.max_length, counting, *cutting)
                chunk.clear()
                if examples:
                    yield part, examples
            part += 1

    def _epoch(self, epoch: int) -> Iterator[Located]:
        """The pairs of one epoch."""
        return self._drawn(epoch, [_repeated(direction, self.tokenizer) for direction in self.directions])

    def _drawn(self, epoch: int, corpora: list[Iterator[tuple[Pairs, float]]]) -> Iterator[Pairs]:
        """Pairs are drawn from the corpora in proportion to their sizes on disk."""
        rng = random.Random(f"{self.seed}/{epoch}")
        read = [direction.corpus for direction in self.directions]
        sizes = [(1 + _size(corpus.source)) * math.ceil(corpus.weight) for corpus in read]
        while corpora:
            index = rng.choices(range(len(corpora)), sizes)[0] if len(corpora) > 1 else 0
            pair, share = next(corpora[index], (None, 0.0))
            if pair is None:
                del corpora[index], sizes[index]
            elif share == 1.0 or rng.random() < share:
                yield pair


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}; restore it, and continue with --resume") from None


def _repeated(direction: Direction, tokenizer: Tokenizer) -> Iterator[tuple[Located, float]]:
    """The pairs of a corpus, repeated according to its weight, each with its probability of being drawn."""
    whole, rest = divmod(direction.corpus.weight, 1)
    for share in [1.0] * int(whole) + [rest] * (rest > 0):
        for pair in located(direction, tokenizer):
            yield pair, share


def located(direction: Direction, tokenizer: Tokenizer) -> Iterator[Located]:
    """The pairs of a corpus in one direction."""
    marks = Marks.of(direction.pair, tokenizer) if direction.pair else NO_MARKS
    return (Located(direction.corpus.source, pair, marks) for pair in direction.read())


def augmented(pairs: list[Located], rates: AugmentConfig, seed: str) -> list[Located]:
    """`pairs` in the same order, some of them changed."""
    if rates == AugmentConfig():
        return pairs
    rng = random.Random(seed)
    changed = []
    for path, pair, marks in pairs:
        source, target = augment(pair.source, pair.target, rates, rng)
        changed.append(Located(path, replace(pair, source=source, target=target), marks))
    return changed


def protected(pairs: list[Located], symbols: Symbols, seed: str = "") -> list[Located]:
    """`pairs` in the same order, with symbols for their placeholders.

    With a `seed` the numbers do not always count from 0: low numbers are more frequent, as in texts, but no symbol is
    so rare that the model does not learn it.
    """
    if not (size := len(symbols.names)):
        return pairs
    rng = random.Random(seed)
    masked = []
    for path, pair, marks in pairs:
        first = min(rng.randrange(size), rng.randrange(size)) if seed else 0
        source, target = symbols.mask_pair(pair.source, pair.target, first)
        masked.append(Located(path, replace(pair, source=source, target=target), marks))
    return masked


def tokenise(
    pairs: Sequence[Located],
    tokenizer: Tokenizer,
    max_length: int,
    skipped: Skipped,
    sampling: float = 0.0,
    seed: str = "",
) -> list[Example]:
    """The examples of `pairs`, in order, without those longer than `max_length`, which `skipped` counts."""
    sources = tokenizer.encode([pair.source for _, pair, _ in pairs], "source", sampling=sampling, seed=seed)
    targets = tokenizer.encode([pair.target for _, pair, _ in pairs], "target", sampling=sampling, seed=seed)
    examples = []
    for (path, pair, marks), source, target in zip(pairs, sources, targets, strict=True):
        location = f"{path}:{pair.line}"
        if max(len(source), len(target)) > max_length:
            skipped.add(location)
        else:
            examples.append(Example(source, target, location, marks))
    return examples


def validation_batches(
    held_out: Sequence[Direction],
    tokenizer: Tokenizer,
    *,
    max_length: int,
    batch_tokens: int,
    symbols: Symbols = NO_SYMBOLS,
) -> tuple[list[Batch], Skipped]:
    """Held-out corpora as batches in a fixed order, and the pairs skipped. Raises DataError if no pair is left."""
    skipped = Skipped()
    pairs = protected([pair for direction in held_out for pair in located(direction, tokenizer)], symbols)
    examples = tokenise(pairs, tokenizer, max_length, skipped)
    if not examples:
        name = held_out[0].corpus.source
        raise DataError(f"{name}: no pair within data.max_length = {max_length}; nothing to validate on")
    groups: Iterable[list[int]] = pack([example.lengths for example in examples], batch_tokens, random.Random(0))
    return [collate([examples[index] for index in group]) for group in groups], skipped
