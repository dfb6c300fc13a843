"""`dragoman model shortlist`: which target pieces a source may need, learned from pairs and written into the model."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dragoman.bundle import Bundle, add_files, open_bundle
from dragoman.cli.console import console, print_json, say
from dragoman.cli.data import corpus_of
from dragoman.data.corpus import sample_pairs
from dragoman.errors import DataError
from dragoman.shortlist.file import MAPPING, NAME, Coverage, Shortlist, coverage

# Of the pairs drawn, one in so many is kept from learning and measured on; never more than `MEASURED`.
HELD_OUT, MEASURED = 20, 2000


@dataclass(frozen=True)
class Wanted:
    """How large the shortlist is to be, and from how many pairs it is learned."""

    per_piece: int
    frequent: int
    pairs: int


def make_shortlist(model: Path, source: Path, target: Path | None, wanted: Wanted, device: str, as_json: bool) -> None:
    """Learn, measure on pairs not learned from, write, and tell. Raises DataError if there is too little text."""
    corpus = corpus_of(source, target)
    bundle = open_bundle(model)
    pairs = sample_pairs([corpus], wanted.pairs, bundle.config.train.seed)
    if len(pairs) < 2:
        count = "1 pair" if pairs else "0 pairs"
        raise DataError(f"{source}: {count}; a shortlist is learned from some and measured on others")
    with console().status("aligning"):
        shortlist, found = _learn(bundle, pairs, wanted, device, str(source))
    facts = {**asdict(wanted), "pairs": len(pairs) - found.pairs, "measured": asdict(found)}
    text = shortlist.text(bundle.tokenizer)
    exports = {f"{folder.name}/{MAPPING}": text for folder in bundle.exports}
    add_files(bundle, {NAME: text} | exports, {"shortlist": facts})
    if as_json:
        print_json({"schema": "dragoman.model.shortlist/1", "model": str(model), **facts})
        return
    print(
        f"covers {100 * found.share:.2f} % of the target tokens of {found.pairs:,} pairs it was not learned from, "
        f"with {found.size:,.0f} of {found.vocabulary:,} pieces a sentence"
    )
    say(f"{model / NAME} is written; `translate -O shortlist=true` uses it")


def _learn(
    bundle: Bundle, pairs: Sequence[tuple[str, str]], wanted: Wanted, device: str, where: str
) -> tuple[Shortlist, Coverage]:
    """The shortlist of all pairs but every n-th, and its coverage of those."""
    network = bundle.load_model()  # says what to install where torch is not
    from dragoman.data.batch import Example
    from dragoman.model.device import pick_device
    from dragoman.shortlist.learn import learn_shortlist

    tokenizer = bundle.tokenizer
    sources = tokenizer.encode([source for source, _ in pairs], "source")
    targets = tokenizer.encode([target for _, target in pairs], "target")
    every = max(min(HELD_OUT, len(pairs)), len(pairs) // MEASURED)
    held = [(source, target) for source, target in zip(sources[::every], targets[::every], strict=True) if target]
    longest = bundle.config.data.max_length
    examples = [
        Example(source, target, "")
        for index, (source, target) in enumerate(zip(sources, targets, strict=True))
        if index % every and max(len(source), len(target)) <= longest
    ]
    if not examples:
        raise DataError(f"{where}: no pair has at most {longest} tokens a side, data.max_length of the model")
    learned = learn_shortlist(
        network, tokenizer, examples, pick_device(device), per_piece=wanted.per_piece, frequent=wanted.frequent
    )
    return learned, coverage(learned, held, len(tokenizer.target))
