"""A shortlist for a model: which target pieces a source may need, learned from pairs and written into the bundle."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle, add_files, open_bundle
from dragoman.control.languages import Pairs
from dragoman.data.corpus.corpus import sample_pairs
from dragoman.errors import DataError, counted
from dragoman.installed import changeable_model
from dragoman.shortlist.file import MAPPING, NAME, Coverage, Shortlist, coverage
from dragoman.text.terms.symbols import Symbols
from dragoman.text.tokens.marks import Marks
from dragoman.workflows.data.check import corpus_of
from dragoman.workflows.listener import Listener, Listeners, Progress

# One in HELD_OUT of the sampled pairs measures the coverage and is not learned from; at most MEASURED pairs.
HELD_OUT, MEASURED = 20, 2000


@dataclass(frozen=True)
class ShortlistResult:
    """A shortlist that was written."""

    path: Path
    coverage: Coverage
    facts: dict[str, Any]
    """What `bundle.json` has about it: its sizes, the number of pairs, the coverage."""


def learn_model_shortlist(
    model: str | PathLike[str],
    source: str | PathLike[str],
    target: str | PathLike[str] | None = None,
    *,
    per_piece: int = 50,
    frequent: int = 1000,
    pairs: int = 100_000,
    to: str | None = None,
    from_: str | None = None,
    device: str = "auto",
    listeners: Iterable[Listener] = (),
) -> ShortlistResult:
    """Learn a shortlist from at most `pairs` pairs, measure it on others, and write it into the bundle `model`.

    A source piece adds at most `per_piece` candidates; the `frequent` most frequent target pieces are always allowed.
    Of a model of several pairs it is for one, that of the text: `to` and `from_` are its target and source, where the
    letters of the sources leave several. Raises DataError if there is too little text, ConfigError unless one is left.
    """
    corpus, bundle, listener = corpus_of(source, target), open_bundle(changeable_model(model)), Listeners(listeners)
    bundle.require_weights()
    listener.on_progress(Progress("reading", 0, None, "pairs"))
    sample = sample_pairs([corpus], pairs, bundle.config.train.seed)
    listener.on_progress(Progress("reading", len(sample), len(sample), "pairs"))
    if len(sample) < 2:
        raise DataError(
            f"{source}: {counted(len(sample), 'pair')}; a shortlist is learned from some pairs and measured on others"
        )
    pair = Pairs.of(bundle.config.project, bundle.tokenizer).choose(to, from_, [text for text, _ in sample])
    shortlist, measurement = _learn(bundle, sample, pair.marks, per_piece, frequent, device, str(source), listener)
    sizes = {"per_piece": per_piece, "frequent": frequent, "pairs": len(sample) - measurement.pairs}
    name = {"languages": pair.name} if len(bundle.config.project.pairs) > 1 else {}
    facts = {**sizes, **name, "measured": asdict(measurement)}
    text = shortlist.text(bundle.tokenizer)
    exports = {f"{folder.name}/{MAPPING}": text for folder in bundle.exports}
    add_files(bundle, {NAME: text} | exports, {"shortlist": facts})
    return ShortlistResult(Path(model) / NAME, measurement, facts)


def _learn(
    bundle: Bundle,
    pairs: Sequence[tuple[str, str]],
    marks: Marks,
    per_piece: int,
    frequent: int,
    device: str,
    where: str,
    listener: Listeners,
) -> tuple[Shortlist, Coverage]:
    """The shortlist learned from all pairs but every n-th, and its coverage of those."""
    network = bundle.load_model()  # without torch its error names what to install
    from dragoman.data.batches.batch import Example
    from dragoman.model.parts.device import pick_device
    from dragoman.shortlist.learn import PROBE, learn_shortlist

    tokenizer = bundle.tokenizer
    pairs = Symbols.of(bundle.config, tokenizer.symbols).mask_pairs(pairs)
    sources = tokenizer.encode([source for source, _ in pairs], "source")
    targets = tokenizer.encode([target for _, target in pairs], "target")
    every = max(min(HELD_OUT, len(pairs)), len(pairs) // MEASURED)
    held_out = [(source, target) for source, target in zip(sources[::every], targets[::every], strict=True) if target]
    longest = bundle.config.data.max_length
    examples = [
        Example(source, target, "", marks)
        for index, (source, target) in enumerate(zip(sources, targets, strict=True))
        if index % every and max(len(source), len(target)) <= longest
    ]
    if not examples:
        raise DataError(f"{where}: no pair has at most {longest} tokens per side, data.max_length of the model")
    progress = listener.counter("aligning", "pairs", min(PROBE, len(examples)) + len(examples))
    learned = learn_shortlist(
        network,
        tokenizer,
        examples,
        pick_device(device),
        per_piece=per_piece,
        frequent=frequent,
        progress=progress,
    )
    return learned, coverage(learned, held_out, len(tokenizer.target))
