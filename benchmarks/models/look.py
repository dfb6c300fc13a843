"""Time to inspect a sentence of 20 tokens with a base model, and the size of its page.

    python benchmarks/models/look.py [--quick] [--threads 2] [--rounds 7]

The shapes are paper-base and today's `base`, with random weights and a vocabulary learned from the embedded corpus; the
translation is cut at 20 tokens. The two shapes take turns in each round. The time is from the text to the written page
(search, recording, all analyses, page), without loading torch and the weights. --quick takes 3 rounds. The last line is
one JSON object.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import torch

from dragoman.config import CorpusConfig, DecodeConfig, ModelConfig, TokenizerConfig
from dragoman.data.corpus.corpus import sample_pairs
from dragoman.inspection.inspect import BundleInspection
from dragoman.inspection.inspection import inspect_model
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Tokenizer, learn

EMBEDDED = Path(__file__).parents[2] / "src/dragoman/data/embedded/train.tsv.gz"
TOKENS = 20
SHAPES = ("paper-base", "base")


def sentence(pairs: list[tuple[str, str]], tokenizer: Tokenizer) -> str:
    """The first sentence of the corpus with TOKENS tokens, EOS included."""
    sources = [source for source, _ in pairs]
    lengths = map(len, tokenizer.encode(sources, "source"))
    return next(source for source, length in zip(sources, lengths, strict=True) if length == TOKENS - 1)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    pairs = sample_pairs([CorpusConfig(source=EMBEDDED)], 50_000, 1)
    tokenizer = learn(pairs, TokenizerConfig(vocab_size=8000))
    text, size = sentence(pairs, tokenizer), len(tokenizer.source)
    torch.manual_seed(0)
    models = {shape: Transformer(ModelConfig.model_validate({"preset": shape}), size, size).eval() for shape in SHAPES}
    options = DecodeConfig(beam=4, max_length=TOKENS - 1)
    seconds: dict[str, list[float]] = {shape: [] for shape in SHAPES}
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        sizes = {}
        for turn in range(-1, 3 if args.quick else args.rounds):  # the first is a warm-up and is not counted
            for shape, model in models.items():
                begin = time.perf_counter()
                inspection = inspect_model(model, tokenizer, text, None, options)
                BundleInspection.of(inspection, shape, ("en", "ko"), options).to_html(page)
                if turn >= 0:
                    seconds[shape].append(time.perf_counter() - begin)
                sizes[shape] = page.stat().st_size
    found = {}
    for shape, times in seconds.items():
        middle = statistics.median(times)
        print(f"{shape:12} {middle:.2f} s [{min(times):.2f}-{max(times):.2f}], page of {sizes[shape] / 1e6:.2f} MB")
        found[shape] = {"seconds": round(middle, 3), "page_bytes": sizes[shape]}
    print(json.dumps(found | {"tokens": TOKENS, "pieces": size, "threads": args.threads}))


if __name__ == "__main__":
    main()
