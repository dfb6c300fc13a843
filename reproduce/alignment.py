"""Which attention of a model gives the best shortlist, and does mutual information predict it?

    python reproduce/alignment.py MODEL TRAIN_SOURCE TRAIN_TARGET HELD_SOURCE HELD_TARGET

Forces up to 30,000 training pairs through MODEL and reads the encoder-decoder attention of every layer in two ways: as
the alignment of the decoder's output token or of its input token. Prints for each the mutual information by which
`dragoman.shortlist.learn` chooses, and the held-out coverage of the resulting shortlist (1,000 frequent pieces, 50 per
source piece). The last line is one JSON object.
"""

import json
import sys
from itertools import product
from pathlib import Path

import torch

from dragoman.bundle import open_bundle
from dragoman.config import CorpusConfig
from dragoman.data.batches.batch import Example
from dragoman.data.corpus.corpus import sample_pairs
from dragoman.shortlist.file import coverage
from dragoman.shortlist.learn import PROBE, AttentionChoice, always_allowed, count, likeliest
from dragoman.text.tokens.tokenizer import Tokenizer

PAIRS, FREQUENT, PER_PIECE = 30_000, 1000, 50


def examples_of(tokenizer: Tokenizer, source: str, target: str) -> list[Example]:
    """Token ids of up to `PAIRS` pairs of two files."""
    pairs = sample_pairs([CorpusConfig(source=Path(source), target=Path(target))], PAIRS, seed=1)
    sources = tokenizer.encode([source for source, _ in pairs], "source")
    targets = tokenizer.encode([target for _, target in pairs], "target")
    return [Example(source, target, "") for source, target in zip(sources, targets, strict=True)]


def main(model: str, *files: str) -> None:
    """Measure and print."""
    bundle = open_bundle(Path(model))
    tokenizer, network = bundle.tokenizer, bundle.load_model()
    width = len(tokenizer.target)
    train, held = examples_of(tokenizer, *files[:2]), examples_of(tokenizer, *files[2:])
    choices = [AttentionChoice(layer, late) for layer, late in product(range(len(network.decoder)), (False, True))]
    probed = count(network, train[:PROBE], torch.device("cpu"), choices, width, positions=1)
    counted = count(network, train, torch.device("cpu"), choices, width)
    always, result = always_allowed(tokenizer, train, FREQUENT), []
    for choice in sorted(choices, key=lambda choice: -probed[choice].information()):
        shortlist, information = (
            likeliest(counted[choice], tokenizer, always, PER_PIECE),
            probed[choice].information(),
        )
        found = coverage(shortlist, [(example.source, example.target) for example in held], width)
        token = "goes in" if choice.aligns_input_token else "comes out"
        print(
            f"layer {choice.layer + 1}, the token that {token}: {information:.3f} nats, "
            f"covers {100 * found.share:.2f} % with {found.size:,.0f} of {width:,} pieces"
        )
        row = {"layer": choice.layer + 1, "late": choice.aligns_input_token, "information": round(information, 3)}
        result.append({**row, "coverage": round(found.share, 4), "size": round(found.size)})
    print(json.dumps({"model": bundle.manifest["name"], "pairs": len(train), "held": len(held), "readings": result}))


if __name__ == "__main__":
    main(*sys.argv[1:])
