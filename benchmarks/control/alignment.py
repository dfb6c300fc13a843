"""Word alignment from a model's attention, erasure and gradients, compared with eflomal, a statistical aligner.

    DRAGOMAN_DATA=FOLDER python benchmarks/control/alignment.py [--quick] --model BUNDLE

BUNDLE translates English to German; FOLDER contains multi30k/. The German of the test set of 2016 is forced through the
model, and the links of each method, EOS left out, are compared with those of eflomal (Östling and Tiedemann 2016).
eflomal aligns the same sentences together with the training text, in both directions, in an environment of its own that
is made once from `peers/alignment-requirements.txt`.

Attention     The head, and the layer as a mean of its heads, with the best F1 on validation pairs, and the head that
              erasure chooses there: the one whose strongest source token is most often the token whose erasure
              costs most. `dragoman look` chooses by this rule on its one sentence, without any aligner.
Words         A word is a run of letters, digits and underscores, or one other character that is not a space. A piece
              belongs to the words whose characters it spells. The value of a source word for a target word is the sum
              over the source word's pieces and the mean over the target word's pieces. A target word is linked to the
              source word with the largest value.
eflomal       Lower-cased words. Links of both directions are sure (S), links of either are possible (P). For links A:
              precision |A ∩ P| / |A|, recall |A ∩ S| / |S|, F1 of the two, and the alignment error rate
              1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|) of Och and Ney (2003). eflomal samples at random, so the last digit
              changes between runs.
diagonal      Each word linked to the word at the same relative position of the source: the baseline without knowledge.

--quick uses 200 test pairs, 100 validation pairs and a third of the training text. The last line is one JSON object.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from dragoman.bundle import open_bundle
from dragoman.config import CorpusConfig, DecodeConfig
from dragoman.data.corpus.corpus import sample_pairs
from dragoman.inspection.attribution import erasure, gradient_by_input
from dragoman.inspection.heads import strongest
from dragoman.inspection.inspection import Inspection, inspect_model
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Side, Tokenizer
from dragoman.text.words.normalise import normalise

BENCHMARKS = Path(__file__).parents[1]
ENVIRONMENT = BENCHMARKS / "peers/environment-aligner"
WORD = re.compile(r"\w+|[^\w\s]")

Pair = tuple[str, str]
Links = set[tuple[int, int]]
Head = tuple[int, int]


@dataclass(frozen=True)
class Effort:
    """The numbers of pairs."""

    test: int
    chosen_by: int
    text: int


FULL = Effort(test=1000, chosen_by=300, text=29_000)
QUICK = Effort(test=200, chosen_by=100, text=9_000)


@dataclass
class Tally:
    """Counts of links, summed over sentences."""

    links: int = 0
    sure: int = 0
    both: dict[str, int] = field(default_factory=lambda: {"sure": 0, "possible": 0})

    def add(self, found: Links, sure: Links, possible: Links) -> None:
        """Add one sentence."""
        self.links, self.sure = self.links + len(found), self.sure + len(sure)
        self.both["sure"] += len(found & sure)
        self.both["possible"] += len(found & possible)

    def scores(self) -> dict[str, float]:
        """The measures, in percent."""
        precision, recall = self.both["possible"] / self.links, self.both["sure"] / self.sure
        error = 1 - sum(self.both.values()) / (self.links + self.sure)
        f1 = 2 * precision * recall / (precision + recall)
        scores = {"precision": precision, "recall": recall, "f1": f1, "aer": error}
        return {name: round(100 * value, 1) for name, value in scores.items()}


def pairs_of(data: Path, name: str, count: int) -> list[Pair]:
    """The first pairs of a file of Multi30k, normalised as for a model."""
    corpus = CorpusConfig(source=data / f"multi30k/{name}.en.gz", target=data / f"multi30k/{name}.de.gz")
    return [(normalise(source), normalise(target)) for source, target in sample_pairs([corpus], 10**6, 1)[:count]]


def crossing(inspection: Inspection) -> Tensor:
    """(L, H, T, S): the encoder-decoder attention of every layer."""
    layers = range(len(inspection.model.decoder))
    return torch.stack([inspection.recording[f"decoder.{layer}.cross_attention"].weights[0] for layer in layers])


def choose(
    model: Transformer, tokenizer: Tokenizer, pairs: Sequence[Pair], forward: Sequence[Links], reverse: Sequence[Links]
) -> dict[str, Head]:
    """The head and the layer (a head of number −1) with the best F1, and the head that erasure chooses."""
    tallies: dict[Head, Tally] = defaultdict(Tally)
    named: Counter[Head] = Counter()
    for place, (source, target) in enumerate(pairs):
        inspection = inspect_model(model, tokenizer, source, target, DecodeConfig())
        erased, sides = strongest(erasure(inspection)), words_of(tokenizer, source, target)
        for layer, heads in enumerate(crossing(inspection)):
            for head, weights in zip((-1, *range(len(heads))), (heads.mean(0), *heads), strict=True):
                both = forward[place] & reverse[place], forward[place] | reverse[place]
                tallies[layer, head].add(words_linked(weights, *sides), *both)
                named[layer, head] += int((strongest(weights) == erased).sum())
    scores = {head: tally.scores()["f1"] for head, tally in tallies.items()}
    single = [head for head in scores if head[1] >= 0]
    return {
        "head": max(single, key=scores.__getitem__),
        "layer": max(scores.keys() - single, key=scores.__getitem__),
        "by erasure": max(single, key=named.__getitem__),
    }


def words_of(tokenizer: Tokenizer, source: str, target: str) -> tuple[Tensor, Tensor]:
    """`membership` of both sides."""
    return membership(tokenizer, source, "source"), membership(tokenizer, target, "target")


def membership(tokenizer: Tokenizer, text: str, side: Side) -> Tensor:
    """(words, pieces): whether a piece spells characters of a word."""
    spelt = getattr(tokenizer, side).processor.encode(text, return_type="proto").pieces
    spans = [[len(text[:place].encode()) for place in match.span()] for match in WORD.finditer(text)]
    # Of a character in bytes, the last byte covers all of it, and the other bytes start where it starts.
    pieces = [(piece.begin, max(piece.end, piece.begin + 1)) for piece in spelt]
    rows = [[float(first < end and begin < last) for first, last in pieces] for begin, end in spans]
    return torch.tensor(rows).view(len(spans), len(spelt))


def words_linked(way: Tensor, source: Tensor, target: Tensor) -> Links:
    """The (source, target) word links of a matrix (T, S) by pieces, EOS last on both sides."""
    by_word = target @ way[:-1, :-1] @ source.T / target.sum(1, keepdim=True)
    return {(place, word) for word, place in enumerate(by_word.argmax(1).tolist())}


def diagonal(source: int, target: int) -> Links:
    """Each target word with the source word at the same relative position."""
    return {(round(word * (source - 1) / max(target - 1, 1)), word) for word in range(target)}


def align(text: Sequence[Pair]) -> tuple[list[Links], list[Links]]:
    """The links of eflomal between the words of every pair."""
    return align_words([(WORD.findall(source), WORD.findall(target)) for source, target in text])


def align_words(text: Sequence[tuple[Sequence[str], Sequence[str]]]) -> tuple[list[Links], list[Links]]:
    """The links of eflomal for every pair: one source word per target word, and one target word per source word."""
    if not (ENVIRONMENT / "made").exists():
        print("creating the environment of eflomal", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
        needed = str(BENCHMARKS / "peers/alignment-requirements.txt")
        subprocess.run([str(ENVIRONMENT / "bin/pip"), "install", "--quiet", "-r", needed], check=True)
        (ENVIRONMENT / "made").touch()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for side, name in enumerate(("source", "target")):
            lines = [" ".join(pair[side]) + "\n" for pair in text]
            (folder / name).write_text("".join(lines), encoding="utf-8")
        command = ["eflomal-align", "-s", "source", "-t", "target", "-f", "forward", "-r", "reverse", "--model", "3"]
        found = f"{ENVIRONMENT}/bin{os.pathsep}{os.environ['PATH']}"
        subprocess.run(command, cwd=folder, env=os.environ | {"PATH": found}, check=True, capture_output=True)
        forward, reverse = (read_links(folder / name) for name in ("forward", "reverse"))
    return forward, reverse


def read_links(path: Path) -> list[Links]:
    """Links of each sentence from a line such as `0-0 2-1`."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [{(int(s), int(t)) for s, t in (link.split("-") for link in line.split())} for line in lines]


def main() -> None:
    """Align, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="finish within 5 minutes")
    parser.add_argument("--model", type=Path, required=True, help="a bundle that translates English to German")
    args = parser.parse_args()
    if "DRAGOMAN_DATA" not in os.environ:
        parser.error("set DRAGOMAN_DATA to the folder that holds multi30k/")
    begin, effort, data = time.perf_counter(), QUICK if args.quick else FULL, Path(os.environ["DRAGOMAN_DATA"])
    bundle = open_bundle(args.model)
    model, tokenizer = bundle.load_model(), bundle.tokenizer
    test, held = pairs_of(data, "test_2016_flickr", effort.test), pairs_of(data, "val", effort.chosen_by)
    forward, reverse = align([*test, *held, *pairs_of(data, "train", effort.text)])
    of_held = slice(len(test), len(test) + len(held))
    chosen = choose(model, tokenizer, held, forward[of_held], reverse[of_held])
    tallies: dict[str, Tally] = {}
    seconds = dict.fromkeys(("erasure", "gradient × input"), 0.0)
    for place, (source, target) in enumerate(test):
        inspection = inspect_model(model, tokenizer, source, target, DecodeConfig())
        weights = crossing(inspection)
        ways = {
            "best head": weights[chosen["head"]],
            "mean of a layer's heads": weights[chosen["layer"][0]].mean(0),
            "head that erasure chose": weights[chosen["by erasure"]],
        }
        for name, analyse in zip(seconds, (erasure, gradient_by_input), strict=True):
            before = time.perf_counter()
            ways[name] = analyse(inspection)
            seconds[name] += time.perf_counter() - before
        sides = words_of(tokenizer, source, target)
        found = {name: words_linked(way, *sides) for name, way in ways.items()}
        found["diagonal"] = diagonal(*map(len, sides))
        for name, links in found.items():
            tally = tallies.setdefault(name, Tally())
            tally.add(links, forward[place] & reverse[place], forward[place] | reverse[place])
    result = {name: tally.scores() for name, tally in tallies.items()}
    numbers = {name: [layer + 1, head + 1] for name, (layer, head) in chosen.items()}  # 0: the mean of all
    print(f"by {len(held)} validation pairs, as [layer, head]: {json.dumps(numbers)}")
    print(f"{len(test)} test pairs, {tallies['diagonal'].sure:,} sure links\n")
    print(f"{'':26} precision  recall     F1    AER")
    for name, scores in result.items():
        print(f"{name:26} {scores['precision']:9} {scores['recall']:7} {scores['f1']:6} {scores['aer']:6}")
    print("\nms per sentence: " + ", ".join(f"{name} {1000 * each / len(test):.0f}" for name, each in seconds.items()))
    print(f"{time.perf_counter() - begin:.0f} seconds in total")
    facts = {"model": bundle.manifest["name"], "test": "Multi30k 2016", "pairs": len(test), "aligner": "eflomal 2.0.0"}
    print(json.dumps(facts | {"chosen": numbers, "ways": result}))


if __name__ == "__main__":
    main()
