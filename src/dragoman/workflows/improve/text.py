"""The text of an improvement next to its corrections: what is replayed, validated on and tested on.

Input: the model. Output: files in a working folder. If the text of the run that trained the model is where it was, that
is used. Otherwise the model translates sentences itself (self-distillation): those of the user, or those of the
embedded text, whose held-out parts then are the validation and test text too.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.config import CorpusConfig, PairConfig, RunConfig
from dragoman.config.file import read_run_config
from dragoman.data.corpus.corpus import Pair, embedded_pairs, read_lines, read_pairs, sample_evenly
from dragoman.data.corpus.directions import directions
from dragoman.errors import ConfigError, DataError, counted
from dragoman.text.words.language import primary_language
from dragoman.text.words.normalise import normalise
from dragoman.translator import Translator
from dragoman.workflows.evaluate.evaluate import translate_all
from dragoman.workflows.evaluate.held_out import held_out_by_pair
from dragoman.workflows.listener import Listeners

# Lines of each part: more takes time, and shows or keeps hardly more.
REPLAY_LINES, OWN_LINES, VALID_LINES, TEST_LINES = 20_000, 2000, 200, 1000
# Of lines that the model translated, a part is for validation.
VALID_PART = 10
# The languages of the embedded text, source and target.
EMBEDDED = ("en", "ko")
Lines = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Texts:
    """The corpora of a run of improvement, and where they come from."""

    replay: tuple[CorpusConfig, ...]
    valid: tuple[CorpusConfig, ...]
    test: tuple[CorpusConfig, ...]
    by_model: bool
    """Whether the validation text is translations of the model, from which no confidence can be learned."""


@dataclass(frozen=True)
class NamedTexts:
    """What text the user named, and for which pair of languages."""

    replay: Path | None = None
    test: CorpusConfig | None = None
    pair: str = ""


class TextWriter:
    """Writes corpora into a folder without the sources that were corrected: what is replayed would contradict them."""

    def __init__(self, folder: Path, bundle: Bundle, corrected: Collection[str]) -> None:
        self.folder, self.several = folder, bool(bundle.config.project.pairs)
        self._corrected = corrected

    def write(self, name: str, pair: PairConfig, lines: Iterable[tuple[str, str]], weight: float = 1.0) -> CorpusConfig:
        """The pairs of lines as two files."""
        clean_lines = [(normalise(source), normalise(other)) for source, other in lines]
        clean_lines = [both for both in clean_lines if all(both) and both[0] not in self._corrected]
        return self.write_all(name, pair, clean_lines, weight)

    def write_all(self, name: str, pair: PairConfig, lines: Lines, weight: float = 1.0) -> CorpusConfig:
        """All of them."""
        paths = [self.folder / f"{name}.{pair.name.replace(':', '-')}.{side}" for side in ("source", "target")]
        for side, path in enumerate(paths):
            path.write_text("".join(f"{both[side]}\n" for both in lines), encoding="utf-8")
        languages = pair.name if self.several else ""
        return CorpusConfig(source=paths[0], target=paths[1], weight=weight, languages=languages)


def prepare_texts(
    bundle: Bundle,
    writer: TextWriter,
    named: NamedTexts,
    pairs: Sequence[PairConfig],
    translator: Translator,
    listener: Listeners,
) -> Texts:
    """Write replay, validation and test text for these pairs, perhaps with the model's `translator`.

    Raises ConfigError if there is no text for one of them, with what to give; DataError for text that cannot be read.
    """
    run = _original_run(bundle)
    test = _held_out("test", run, bundle, named.test, pairs, writer, TEST_LINES)
    if not test:
        raise ConfigError(
            f"{bundle.folder}: the test text of its run is not here, which shows what a model loses; name some: "
            "--test SOURCE REFERENCE"
        )
    valid = _held_out("valid", run, bundle, None, pairs, writer, VALID_LINES)
    if run and not named.replay:
        listener.notice(f"replaying the text of the run {bundle.folder.parent}")
        return Texts(tuple(_original(run, pairs, writer)), valid, test, by_model=False)
    replay, more = [], []
    for pair in pairs:
        lines = _replayed(named, pair, pairs, bundle, translator, listener)
        if not valid:
            cut = max(1, len(lines) // VALID_PART)
            more.append(writer.write("valid", pair, lines[:cut]))
            lines = lines[cut:]
        replay.append(writer.write("replay", pair, lines))
    return Texts(tuple(replay), valid or tuple(more), test, by_model=not valid)


def _original_run(bundle: Bundle) -> RunConfig | None:
    """The run that trained the model, if its folder and all of its text are where they were."""
    try:
        run = read_run_config(bundle.folder.absolute().parent)
    except ConfigError:
        return None
    is_there = run.data.train and all(
        file.is_file() for corpus in run.data.named_corpora.values() for file in corpus.files
    )
    return run if is_there and run.project.all_pairs == bundle.config.project.all_pairs else None


def _held_out(
    name: str,
    run: RunConfig | None,
    bundle: Bundle,
    corpus: CorpusConfig | None,
    pairs: Sequence[PairConfig],
    writer: TextWriter,
    most: int,
) -> tuple[CorpusConfig, ...]:
    """The held-out text of each pair: `corpus`, that of the run, or that of the embedded text; () if none."""
    if corpus or run:
        config = bundle.config if corpus or run is None else run
        tests = config.data.test_corpora if name == "test" else ()
        texts = held_out_by_pair(config, (corpus,) if corpus else tests or config.data.valid_corpora, most)
        return tuple(
            writer.write(name, text.pair, zip(text.sources, text.references, strict=True))
            for text in texts
            if text.sources
        )
    if not all(_is_embedded(pair) for pair in pairs):
        return ()
    return tuple(writer.write(name, pair, islice(_embedded(name, pair), most)) for pair in pairs)


def _is_embedded(pair: PairConfig) -> bool:
    return {primary_language(pair.source), primary_language(pair.target)} == set(EMBEDDED)


def _embedded(part: str, pair: PairConfig) -> Iterator[tuple[str, str]]:
    """The embedded text in the direction of this pair."""
    forward = primary_language(pair.source) == EMBEDDED[0]
    for line in embedded_pairs(part):
        yield (line.source, line.target) if forward else (line.target, line.source)


def _original(run: RunConfig, pairs: Sequence[PairConfig], writer: TextWriter) -> Iterator[CorpusConfig]:
    """A sample of each training corpus, whose weight makes up for what was not drawn."""
    wanted = [direction for direction in directions(run, run.data.train) if (direction.pair or pairs[0]) in pairs]
    for number, direction in enumerate(wanted):
        read = count()  # its next number is that of the pairs that were read
        lines = sample_evenly((pair for pair, _ in zip(direction.read(), read, strict=False)), REPLAY_LINES, seed=1)
        weight = min(10_000.0, direction.corpus.weight * next(read) / max(len(lines), 1))
        yield writer.write(f"replay-{number}", direction.pair or pairs[0], lines, weight)


def _replayed(
    named: NamedTexts,
    pair: PairConfig,
    pairs: Sequence[PairConfig],
    bundle: Bundle,
    translator: Translator,
    listener: Listeners,
) -> list[tuple[str, str]]:
    """Pairs to replay: those of the user's file, or sentences with the model's own translations."""
    path = named.replay if len(pairs) == 1 or pair.name == named.pair else None
    if path and path.name.lower().removesuffix(".gz").removesuffix(".zst").endswith((".tsv", ".jsonl")):
        return sample_evenly(read_pairs(CorpusConfig(source=path)), REPLAY_LINES, seed=1)
    if path:
        read = (Pair(line, "", number) for number, line in enumerate(read_lines(path), 1) if line.strip())
    elif _is_embedded(pair):
        read = (Pair(source, target, 0) for source, target in _embedded("train", pair))
    else:
        raise ConfigError(
            f"{bundle.folder}: the text of its run is not here, without which it forgets; give text in "
            f"{pair.source}, which it translates itself: --replay FILE"
        )
    sources = [source for source, _ in sample_evenly(read, OWN_LINES, seed=1)]
    if not sources:
        raise DataError(f"{path}: no lines; give some text in {pair.source}")
    listener.notice(f"replaying {counted(len(sources), 'sentence')} with the model's own translations")
    chosen = translator.to(pair.target, pair.source)
    return list(zip(sources, translate_all(chosen, sources, listener), strict=True))
