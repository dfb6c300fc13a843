"""The text of `decode/speed.py`, and a model with random weights for those who have no trained one."""

import argparse
import gzip
import os
from collections.abc import Sequence
from pathlib import Path

from dragoman.bundle import Bundle, open_bundle, write_bundle
from dragoman.config import CorpusConfig, DataConfig, ModelConfig, ProjectConfig, RunConfig, TokenizerConfig
from dragoman.data.corpus.corpus import sample_pairs
from dragoman.text.tokens.tokenizer import learn

EMBEDDED = Path(__file__).parents[2] / "src/dragoman/data/embedded"


def read_text(args: argparse.Namespace) -> tuple[str, list[str], list[str]]:
    """The name of the text, its sentences and their references."""
    if args.source:
        return args.source.name, _lines(args.source), _lines(args.reference)
    if folder := os.environ.get("DRAGOMAN_DATA"):
        text = Path(folder) / "multi30k"
        return "Multi30k en-de", *(_lines(text / f"test_2016_flickr.{language}.gz") for language in ("en", "de"))
    pairs = [line.split("\t") for line in _lines(EMBEDDED / "test.tsv.gz")]
    return "embedded en-ko", [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _lines(path: Path) -> list[str]:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return raw.decode().removesuffix("\n").split("\n")


def random_bundle(folder: Path) -> Bundle:
    """Paper-base with random weights and a learned vocabulary."""
    import torch

    from dragoman.model.transformer import Transformer

    if data := os.environ.get("DRAGOMAN_DATA"):
        train = CorpusConfig(source=Path(data) / "multi30k/train.en.gz", target=Path(data) / "multi30k/train.de.gz")
        size = 10_000
    else:
        train, size = CorpusConfig(source=EMBEDDED / "train.tsv.gz"), 8_000
    tokenizer = learn(sample_pairs([train], 50_000, 1), TokenizerConfig(kind="bpe", vocab_size=size))
    torch.manual_seed(0)
    config = RunConfig(
        project=ProjectConfig(name="random", source="en", target="und"),
        data=DataConfig(train=(train,), valid=train),
        model=ModelConfig.model_validate({"preset": "paper-base"}),
    )
    model = Transformer(config.model, len(tokenizer.source), len(tokenizer.target))
    write_bundle(folder, config=config, tokenizer=tokenizer, model=model, card="", facts={})
    return open_bundle(folder)


def evenly_spaced(texts: Sequence[str], count: int) -> list[str]:
    """`count` of the texts, evenly spaced."""
    count = min(count, len(texts))
    return [texts[index * len(texts) // count] for index in range(count)]
