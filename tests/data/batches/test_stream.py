"""The stream: every pair once an epoch, mixed, bounded in memory, and resumable at every batch."""

import os
import random
import resource
from collections import Counter
from dataclasses import asdict
from itertools import takewhile
from pathlib import Path

import pytest

from dragoman.config import CorpusConfig, DataConfig, TokenizerConfig
from dragoman.data.batches import stream as stream_module
from dragoman.data.batches.batch import Batch
from dragoman.data.batches.stream import BatchStream, Skipped, tokenise, validation_batches
from dragoman.data.corpus.directions import Direction
from dragoman.errors import DataError
from dragoman.text.terms.symbols import Symbols, symbol
from dragoman.text.tokens.tokenizer import EOS, Tokenizer, learn

WORDS = ["dog", "cat", "bird", "tree", "red", "small"]


def corpus(folder: Path, name: str, count: int, weight: float = 1.0) -> CorpusConfig:
    rng = random.Random(name)
    lines = [" ".join(rng.choices(WORDS, k=rng.randint(1, 6))) for _ in range(count)]
    (folder / name).write_text("".join(f"{line}\t{line}\n" for line in lines))
    return CorpusConfig(source=folder / name, weight=weight)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    lines = [(f"{a} {b}", f"{b} {a}") for a in WORDS for b in WORDS]
    return learn(lines, TokenizerConfig(vocab_size=24, byte_fallback=False))


def data_of(*train: CorpusConfig, **changes: object) -> DataConfig:
    return DataConfig.model_validate({"train": train, "valid": train[0], **changes})


def stream_of(
    data: DataConfig, tokenizer: Tokenizer, *, seed: int = 1, in_rows: bool = False, **changes: int
) -> BatchStream:
    stream = BatchStream(data, tokenizer, batch_tokens=60, seed=seed, **changes)
    stream.in_rows = in_rows
    return stream


padded_and_packed = pytest.mark.parametrize("in_rows", [False, True], ids=["padded", "packed"])


def epoch(stream: BatchStream, number: int = 0) -> list[tuple[str, ...]]:
    """The places of each batch of one epoch, the stream standing at its beginning."""
    batches = []
    while True:
        batch = stream.next_update(1).batches[0]
        if stream.position.epoch != number:
            return batches
        batches.append(batch.locations)


def epochs(stream: BatchStream, count: int) -> list[list[str]]:
    """The places of the pairs of the first epochs, in their order."""
    found: list[list[str]] = [[] for _ in range(count)]
    drawn = (stream.next_update(1).batches[0] for _ in iter(int, 1))
    for batch in takewhile(lambda _: stream.position.epoch < count, drawn):
        found[stream.position.epoch] += batch.locations
    return found


def same(a: Batch, b: Batch) -> bool:
    return a.locations == b.locations and a.src.equal(b.src) and a.tgt_in.equal(b.tgt_in) and a.tgt_out.equal(b.tgt_out)


@padded_and_packed
@pytest.mark.parametrize("buffer", [1, 7, 50, 1000], ids=lambda n: f"buffer {n}")
def test_an_epoch_gives_every_pair_exactly_once(
    tmp_path: Path, tokenizer: Tokenizer, buffer: int, in_rows: bool
) -> None:
    data = data_of(corpus(tmp_path, "a.tsv", 50), shuffle_buffer=buffer)
    every = sorted(f"{tmp_path}/a.tsv:{n}" for n in range(1, 51))
    for places in epochs(stream_of(data, tokenizer, in_rows=in_rows), 3):
        assert sorted(places) == every


def test_few_shapes_hold_the_same_pairs(tmp_path: Path, tokenizer: Tokenizer) -> None:
    data = data_of(corpus(tmp_path, "a.tsv", 200))
    few, exact = (BatchStream(data, tokenizer, batch_tokens=100, seed=1, few_shapes=few) for few in (True, False))
    shapes, places = set(), []
    while (update := few.next_update(1)) and few.position.epoch == 0:
        [batch] = update.batches
        assert batch.src.shape == batch.tgt_in.shape == batch.tgt_out.shape
        shapes.add(tuple(batch.src.shape))
        places += batch.locations
        assert batch.target_tokens == update.target_tokens
    assert shapes <= {(100 // width, width) for width in (8, 16, 24, 32)}
    assert sorted(places) == sorted(place for group in epoch(exact) for place in group)


def test_few_shapes_leave_a_pair_over_the_budget_alone(tmp_path: Path, tokenizer: Tokenizer) -> None:
    data = data_of(corpus(tmp_path, "a.tsv", 9))
    few = BatchStream(data, tokenizer, batch_tokens=5, seed=1, few_shapes=True)
    assert all(few.next_update(1).batches[0].src.size(0) == 1 for _ in range(9))


@padded_and_packed
@pytest.mark.parametrize("buffer", [8, 25])
def test_never_more_than_the_buffer_is_in_memory(
    tmp_path: Path, tokenizer: Tokenizer, buffer: int, in_rows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def watched(pairs: list, *rest: object) -> list:  # type: ignore[type-arg]
        sizes.append(len(pairs))
        return tokenise(pairs, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(stream_module, "tokenise", watched)
    data = data_of(corpus(tmp_path, "a.tsv", 60), shuffle_buffer=buffer)
    epochs(stream_of(data, tokenizer, in_rows=in_rows), 2)
    assert max(sizes) == buffer


def test_epochs_hold_the_same_pairs_in_another_order(tmp_path: Path, tokenizer: Tokenizer) -> None:
    first, second = epochs(stream_of(data_of(corpus(tmp_path, "a.tsv", 60)), tokenizer), 2)
    assert sorted(first) == sorted(second)
    assert first != second


def test_the_same_seed_gives_the_same_batches_and_another_seed_others(tmp_path: Path, tokenizer: Tokenizer) -> None:
    data = data_of(corpus(tmp_path, "a.tsv", 60), corpus(tmp_path, "b.tsv", 30, weight=1.5))
    assert epoch(stream_of(data, tokenizer)) == epoch(stream_of(data, tokenizer))
    assert epoch(stream_of(data, tokenizer)) != epoch(stream_of(data, tokenizer, seed=2))


def test_batches_respect_the_budget(tmp_path: Path, tokenizer: Tokenizer) -> None:
    stream = stream_of(data_of(corpus(tmp_path, "a.tsv", 80)), tokenizer)
    for _ in range(30):
        [batch] = stream.next_update(1).batches
        rows = len(batch.locations)
        assert rows * max(batch.src.size(1), batch.tgt_in.size(1)) <= 60 or rows == 1


# --- weights -----------------------------------------------------------------------------------------------------


def shown(places: list[str]) -> Counter[str]:
    return Counter(place.rsplit(":", 1)[0].rsplit("/", 1)[1] for place in places)


def test_a_corpus_of_weight_three_is_shown_thrice(tmp_path: Path, tokenizer: Tokenizer) -> None:
    data = data_of(corpus(tmp_path, "a.tsv", 20, weight=3), corpus(tmp_path, "b.tsv", 40))
    [places] = epochs(stream_of(data, tokenizer), 1)
    assert shown(places) == {"a.tsv": 60, "b.tsv": 40}
    assert set(Counter(place for place in places if "a.tsv" in place).values()) == {3}


@pytest.mark.parametrize(("weight", "low", "high"), [(0.5, 160, 240), (1.5, 560, 640), (0.1, 20, 60)])
def test_a_fraction_draws_about_that_share_and_another_one_each_epoch(
    tmp_path: Path, tokenizer: Tokenizer, weight: float, low: int, high: int
) -> None:
    first, second = epochs(stream_of(data_of(corpus(tmp_path, "a.tsv", 400, weight=weight)), tokenizer), 2)
    assert low <= len(first) <= high
    assert sorted(first) != sorted(second)
    assert max(Counter(first).values()) == -(-weight // 1)


def test_corpora_are_mixed_rather_than_read_one_after_the_other(tmp_path: Path, tokenizer: Tokenizer) -> None:
    data = data_of(corpus(tmp_path, "a.tsv", 100), corpus(tmp_path, "b.tsv", 300), shuffle_buffer=40)
    places = epochs(stream_of(data, tokenizer), 1)[0]
    quarters = [shown(places[start : start + 100])["a.tsv"] for start in range(0, 400, 100)]
    assert all(8 <= quarter <= 50 for quarter in quarters), quarters


def test_a_heavy_corpus_is_spread_over_the_whole_epoch(tmp_path: Path, tokenizer: Tokenizer) -> None:
    data = data_of(corpus(tmp_path, "a.tsv", 20, weight=5), corpus(tmp_path, "b.tsv", 300), shuffle_buffer=40)
    places = epochs(stream_of(data, tokenizer), 1)[0]
    quarters = [shown(places[start : start + 100])["a.tsv"] for start in range(0, 400, 100)]
    assert all(8 <= quarter <= 50 for quarter in quarters), quarters


def test_a_heavy_corpus_needs_no_more_open_files_than_a_light_one(tmp_path: Path, tokenizer: Tokenizer) -> None:
    data = data_of(corpus(tmp_path, "a.tsv", 2, weight=600), corpus(tmp_path, "b.tsv", 2, weight=600.5))
    spare = [os.open(os.devnull, os.O_RDONLY) for _ in range(8)]  # the limit is on numbers, and some may be taken
    for number in spare:
        os.close(number)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(spare) + 1, before[1]))
    try:
        [places] = epochs(stream_of(data, tokenizer), 1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert shown(places)["a.tsv"] == 1200
    assert 1200 <= shown(places)["b.tsv"] <= 1202


def test_text_without_a_remaining_pair_is_distinguished_from_text_that_is_too_long(
    tmp_path: Path, tokenizer: Tokenizer
) -> None:
    thin = data_of(corpus(tmp_path, "a.tsv", 10, weight=0.002))
    assert next(iter(stream_of(thin, tokenizer).next_update(1).batches)), "some epochs have none"
    stream = stream_of(data_of(corpus(tmp_path, "b.tsv", 10, weight=1e-9)), tokenizer)
    with pytest.raises(DataError, match=r"^the weights of data\.train drew no pair by epoch \d+; raise them"):
        epochs(stream, 50)


# --- positions ---------------------------------------------------------------------------------------------------


@padded_and_packed
@pytest.mark.parametrize("buffer", [13, 1000], ids=["by parts", "whole"])
def test_the_stream_resumes_exactly_from_every_position(
    tmp_path: Path, tokenizer: Tokenizer, buffer: int, in_rows: bool
) -> None:
    first, second = corpus(tmp_path, "a.tsv", 30), corpus(tmp_path, "b.tsv", 10, weight=3.5)
    data = data_of(first, second, shuffle_buffer=buffer)
    stream = stream_of(data, tokenizer, in_rows=in_rows)
    states, batches = [stream.state_dict()], []
    for _ in range(30):
        batches += stream.next_update(1).batches
        states.append(stream.state_dict())
    assert stream.position.epoch >= 1
    for number, state in enumerate(states[:-1]):
        resumed = stream_of(data, tokenizer, in_rows=in_rows)
        resumed.load_state_dict(state)
        assert all(
            same(a, b) for a, b in zip(batches[number : number + 4], resumed.next_update(4).batches, strict=False)
        )


def test_text_that_is_tokenised_once_gives_the_updates_of_text_that_is_read_again(
    tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpora = corpus(tmp_path, "a.tsv", 40, weight=2), corpus(tmp_path, "b.tsv", 25)
    data = data_of(*corpora, max_length=5)
    once, again = (stream_of(data, tokenizer, in_rows=True) for _ in range(2))
    monkeypatch.setattr(again, "_is_constant", lambda: False)
    for _ in range(25):
        one, other = once.next_update(2), again.next_update(2)
        assert all(map(same, one.batches, other.batches))
        assert (one.position, one.skipped, one.target_tokens) == (other.position, other.skipped, other.target_tokens)
    assert once.position.epoch >= 2
    assert once.skipped.count > 0, "some pairs are too long"
    assert once.constant
    assert not again.constant


def test_a_text_over_the_buffer_or_one_that_changes_is_read_again(tmp_path: Path, tokenizer: Tokenizer) -> None:
    whole, part = corpus(tmp_path, "a.tsv", 40), corpus(tmp_path, "b.tsv", 40, weight=0.5)
    for data, is_constant in [
        (data_of(whole, shuffle_buffer=40), True),
        (data_of(whole, shuffle_buffer=39), False),
        (data_of(whole, part), False),
        (data_of(whole, augment={"upper": 0.1}), False),
    ]:
        stream = stream_of(data, tokenizer, in_rows=True)
        stream.next_update(1)
        assert bool(stream.constant) == is_constant


@pytest.mark.parametrize("world", [2, 3])
def test_processes_share_each_update_without_overlap(tmp_path: Path, tokenizer: Tokenizer, world: int) -> None:
    data = data_of(corpus(tmp_path, "a.tsv", 60))
    alone = stream_of(data, tokenizer).next_update(2 * world).batches
    shares = [stream_of(data, tokenizer, rank=rank, world=world).next_update(2).batches for rank in range(world)]
    assert [batch.locations for batch in alone] == [shares[n % world][n // world].locations for n in range(2 * world)]


# --- changes and sampled pieces ----------------------------------------------------------------------------------

CHANGES = {"upper": 0.2, "title": 0.2, "unpunctuated": 0.2, "typos": 0.2, "fragments": 0.15}


def changing(folder: Path, tokenizer: Tokenizer, *, sampling: float = 0.3, **changes: int) -> BatchStream:
    rng = random.Random(5)
    sentences = [" ".join(rng.choices(WORDS, k=4)) + "." for _ in range(80)]
    lines = [f"{a} {b}\t{a} {b}\n" for a, b in zip(sentences[::2], sentences[1::2], strict=True)]
    (folder / "s.tsv").write_text("".join(lines))
    data = data_of(CorpusConfig(source=folder / "s.tsv"), shuffle_buffer=17, augment=CHANGES)
    return BatchStream(data, tokenizer, batch_tokens=200, seed=1, sampling=sampling, **changes)


def sources(stream: BatchStream, count: int) -> dict[str, list[list[int]]]:
    """The source tokens under each place, in the order of the epochs."""
    found: dict[str, list[list[int]]] = {}
    for batch in stream.next_update(count).batches:
        for place, row in zip(batch.locations, batch.src.tolist(), strict=True):
            found.setdefault(place, []).append([token for token in row if token])
    return found


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def cutting(request: pytest.FixtureRequest) -> Tokenizer:
    rng = random.Random(2)
    words = ["".join(rng.choices(["dog", "cat", "bi", "rd", "tr", "ee", "red"], k=3)) for _ in range(300)]
    lines = [(f"{a} {a.upper()}.", f"{a.title()} {a}") for a in words]
    return learn(lines, TokenizerConfig(kind=request.param, vocab_size=400))


def test_a_changing_stream_resumes_exactly_from_every_position(tmp_path: Path, cutting: Tokenizer) -> None:
    stream = changing(tmp_path, cutting)
    states, batches = [stream.state_dict()], []
    while stream.position.epoch < 2:
        batches += stream.next_update(1).batches
        states.append(stream.state_dict())
    assert any(state["part"] and state["batch"] for state in states)
    for number, state in enumerate(states[:-1]):
        resumed = changing(tmp_path, cutting)
        resumed.load_state_dict(state)
        assert all(
            same(a, b) for a, b in zip(batches[number : number + 3], resumed.next_update(3).batches, strict=False)
        )


@pytest.mark.parametrize("world", [2, 3])
def test_processes_share_changed_text_without_overlap(tmp_path: Path, cutting: Tokenizer, world: int) -> None:
    alone = changing(tmp_path, cutting).next_update(4 * world).batches
    shares = [changing(tmp_path, cutting, rank=rank, world=world).next_update(4).batches for rank in range(world)]
    assert all(same(alone[n], shares[n % world][n // world]) for n in range(4 * world))


@pytest.mark.slow
def test_each_epoch_changes_and_cuts_the_text_again_in_its_place(tmp_path: Path, cutting: Tokenizer) -> None:
    found = sources(changing(tmp_path, cutting), 60)
    assert sorted(found) == sorted(f"{tmp_path}/s.tsv:{n}" for n in range(1, 41))
    assert sum(first != second for first, second, *_ in found.values()) > 20


def test_a_place_names_the_line_that_was_changed(tmp_path: Path, cutting: Tokenizer) -> None:
    stream = changing(tmp_path, cutting)
    lines = (tmp_path / "s.tsv").read_text().splitlines()
    for place, [first, *_] in sources(stream, 25).items():
        [text] = cutting.decode([first], "source")
        written = lines[int(place.rsplit(":", 1)[1]) - 1].split("\t")[0]
        assert sum((Counter(text.lower()) - Counter(written)).values()) <= 3  # no more than a few letters doubled


def encoded(path: Path, tokenizer: Tokenizer) -> dict[str, list[int]]:
    """The source ids of each line as it is written, with EOS, under its location."""
    lines = [line.split("\t")[0] for line in path.read_text().splitlines()]
    ids = tokenizer.encode(lines, "source")
    return {f"{path}:{number}": [*row, EOS] for number, row in enumerate(ids, 1)}


def test_no_augmentation_by_default(tmp_path: Path, tokenizer: Tokenizer) -> None:
    """Every epoch has the tokens of the text as it is written."""
    data = data_of(corpus(tmp_path, "a.tsv", 20))
    expected = encoded(tmp_path / "a.tsv", tokenizer)
    found = sources(stream_of(data, tokenizer), 30)
    assert found.keys() == expected.keys()
    assert all(row == expected[location] for location, rows in found.items() for row in rows)
    assert min(map(len, found.values())) > 1


def test_held_out_text_is_neither_changed_nor_sampled(tmp_path: Path, cutting: Tokenizer) -> None:
    stream = changing(tmp_path, cutting)
    expected = encoded(tmp_path / "s.tsv", cutting)
    batches, skipped = validation_batches(
        [*map(Direction, stream.data.valid_corpora)], cutting, max_length=200, batch_tokens=200
    )
    found = {
        place: [token for token in row if token]
        for batch in batches
        for place, row in zip(batch.locations, batch.src.tolist(), strict=True)
    }
    assert (found, skipped.count) == (expected, 0)
    trained = sources(stream, 12)
    assert sum(row != expected[place] for place, rows in trained.items() for row in rows) > 20  # unlike training text


# --- length limit ------------------------------------------------------------------------------------------------


def long_line(folder: Path) -> CorpusConfig:
    lines = ["dog\tcat", "red " * 40 + "\tdog", "bird\ttree", "dog\t" + "small " * 40]
    (folder / "l.tsv").write_text("\n".join(lines) + "\n")
    return CorpusConfig(source=folder / "l.tsv")


def too_long(folder: Path) -> CorpusConfig:
    (folder / "o.tsv").write_text("red " * 40 + "\tdog\n")
    return CorpusConfig(source=folder / "o.tsv")


def test_pairs_over_the_limit_are_skipped_counted_and_placed(tmp_path: Path, tokenizer: Tokenizer) -> None:
    stream = stream_of(data_of(long_line(tmp_path), max_length=10), tokenizer)
    for places in epochs(stream, 3):
        assert sorted(places) == [f"{tmp_path}/l.tsv:1", f"{tmp_path}/l.tsv:3"]
    assert stream.skipped == Skipped(2, f"{tmp_path}/l.tsv:2")


def test_training_text_all_over_the_limit_is_refused(tmp_path: Path, tokenizer: Tokenizer) -> None:
    stream = stream_of(data_of(too_long(tmp_path), max_length=10), tokenizer)
    with pytest.raises(DataError, match=r"no pair within data.max_length; raise it or add text"):
        epochs(stream, 2)


def test_held_out_text_comes_in_a_fixed_order_without_what_is_too_long(tmp_path: Path, tokenizer: Tokenizer) -> None:
    first, skipped = validation_batches([Direction(long_line(tmp_path))], tokenizer, max_length=10, batch_tokens=60)
    again, _ = validation_batches([Direction(long_line(tmp_path))], tokenizer, max_length=10, batch_tokens=60)
    assert skipped == Skipped(2, f"{tmp_path}/l.tsv:2")
    assert all(same(a, b) for a, b in zip(first, again, strict=True))


def test_held_out_text_all_over_the_limit_is_refused(tmp_path: Path, tokenizer: Tokenizer) -> None:
    with pytest.raises(DataError, match=r"o\.tsv: no pair within data.max_length = 10; nothing to validate on$"):
        validation_batches([Direction(too_long(tmp_path))], tokenizer, max_length=10, batch_tokens=60)


def test_symbols_are_the_same_in_every_process_and_after_a_resumption(tmp_path: Path) -> None:
    lines = [(f"open {{a}} and %s {n}", f"%s und {{a}} {n} auf") for n in range(40)]
    (tmp_path / "a.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in lines))
    names = tuple(map(symbol, range(4)))
    own = learn(lines, TokenizerConfig.model_validate({"user_defined_symbols": names}))
    data = data_of(CorpusConfig(source=tmp_path / "a.tsv"), shuffle_buffer=15, protect=True)
    assert data.augmentation.placeholders == 0.1

    def stream(**changes: int) -> BatchStream:
        return BatchStream(data, own, batch_tokens=120, seed=1, symbols=Symbols(names), **changes)

    alone, resumed = stream(), stream()
    updates = [alone.next_update(2) for _ in range(9)]
    for update in updates:
        for batch in update.batches:
            for source, target in zip(batch.src.tolist(), batch.tgt_out.tolist(), strict=True):
                found = [sorted(set(own.pieces(side, "source")) & set(names)) for side in (source, target)]
                assert found[0] == found[1]
                assert len(found[0]) >= 2
    resumed.load_state_dict(asdict(updates[3].position))
    assert all(map(same, resumed.next_update(2).batches, updates[4].batches))
    shards = [stream(rank=rank, world=2) for rank in (0, 1)]
    for update in updates:
        halves = [shard.next_update(1).batches[0] for shard in shards]
        assert all(map(same, halves, update.batches))
    first = [number for update in updates for batch in update.batches for number in numbers_in(batch, own)]
    assert set(first) == {0, 1, 2, 3}, "no symbol is so rare that it is not learned"


def numbers_in(batch: Batch, tokenizer: Tokenizer) -> list[int]:
    """The number of the first symbol of each source."""
    pieces = [tokenizer.pieces(row, "source") for row in batch.src.tolist()]
    return [int(next(piece for piece in row if piece.startswith("⟦"))[1:-1]) for row in pieces]
