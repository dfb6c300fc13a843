"""Dragoman's engines, or CTranslate2 fed directly, behind the pipe of `peers/decode_pipe.py`.

    python benchmarks/decode_worker.py torch BUNDLE [--precision float32|bfloat16] [--threads 2]
    python benchmarks/decode_worker.py ctranslate2|direct BUNDLE --network FOLDER --precision float32|int8
                                       [--shortlist] [--threads 2]

FOLDER is the bundle's network as CTranslate2 reads it. `direct` is CTranslate2 alone: pieces spelt beforehand, not in
the time that counts, sorted by length and batched by a budget of tokens, with nothing asked of the result but the best
translation. Ours are given ids, batch as they think best, and turn ids to pieces and back in the time that counts.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from peers.decode_pipe import Rows, System, Wish, serve

from dragoman.bundle import Bundle, open_bundle
from dragoman.config import DecodeConfig
from dragoman.engine import Engine
from dragoman.text.tokenizer import EOS


def torch_engine(bundle: Bundle, precision: str, threads: int) -> Engine:
    """The reference engine."""
    import torch

    from dragoman.engine.torch import TorchEngine

    torch.set_num_threads(threads)
    return TorchEngine(bundle.load_model(), torch.device("cpu"), precision=precision)


def ctranslate2_engine(bundle: Bundle, network: Path, threads: int) -> Engine:
    """The fast engine."""
    from dragoman.engine.ctranslate2 import CTranslate2Engine

    return CTranslate2Engine(network, bundle.tokenizer, "cpu", threads)


def ours(engine: Engine, shortlist: bool) -> System:
    """An engine, asked as a Translator asks it."""

    def search(rows: Rows, wish: Wish) -> list[list[int]]:
        limits = {"min_length": wish.min, "max_length": wish.max}
        options = DecodeConfig(beam=wish.beam, length_penalty=wish.alpha, shortlist=shortlist, **limits)
        return [list(hypotheses[0].tokens) for hypotheses in engine.translate(rows, options)]

    return System(search, engine.score)


class Direct:
    """CTranslate2 fed by hand."""

    def __init__(self, bundle: Bundle, network: Path, precision: str, threads: int) -> None:
        self.network, self.precision, self.threads, self.apart = network, precision, threads, False
        self.translator = self.load()
        self.pieces = bundle.tokenizer.pieces(range(len(bundle.tokenizer.source)), "source")
        self.told = bundle.tokenizer.pieces(range(len(bundle.tokenizer.target)), "target")
        self.ids = {piece: token for token, piece in enumerate(self.told)}
        adds_end = json.loads((network / "config.json").read_text()).get("add_source_eos")
        self.end = [] if adds_end else [self.pieces[EOS]]
        self.spelt: dict[tuple[int, ...], list[str]] = {}

    def load(self) -> Any:
        """The network, for batches one after the other on all threads, or each on a thread of its own."""
        import ctranslate2

        inter, intra = (self.threads, 1) if self.apart else (1, self.threads)
        how = {"compute_type": self.precision, "inter_threads": inter, "intra_threads": intra}
        return ctranslate2.Translator(str(self.network), "cpu", **how)

    def spell(self, rows: Rows) -> list[list[str]]:
        """The pieces of each row; those asked for before are known."""
        for row in map(tuple, rows):
            self.spelt.setdefault(row, [self.pieces[token] for token in row] + self.end)
        return [self.spelt[tuple(row)] for row in rows]

    def search(self, rows: Rows, wish: Wish) -> list[list[int]]:
        """Translations of all."""
        if wish.apart != self.apart:
            self.apart = wish.apart
            self.translator = self.load()
        found = self.translator.translate_batch(
            self.spell(rows),
            beam_size=wish.beam,
            length_penalty=wish.alpha,
            min_decoding_length=wish.min,
            max_decoding_length=wish.limit(rows) + 1,
            max_batch_size=wish.batch,
            batch_type="tokens",
        )
        return [[self.ids[piece] for piece in result.hypotheses[0]][: wish.max] for result in found]

    def score(self, sources: Rows, targets: Rows) -> list[list[float]]:
        """log P of each target's tokens and end mark."""
        said = [[self.told[token] for token in target] for target in targets]
        return [result.log_probs for result in self.translator.score_batch(self.spell(sources), said)]


def main() -> None:
    """Load and answer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=["torch", "ctranslate2", "direct"])
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--network", type=Path)
    parser.add_argument("--precision", choices=["float32", "bfloat16", "int8"], default="float32")
    parser.add_argument("--shortlist", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()

    def load() -> System:
        bundle = open_bundle(args.bundle)
        if args.name == "torch":
            return ours(torch_engine(bundle, args.precision, args.threads), args.shortlist)
        if args.name == "ctranslate2":
            return ours(ctranslate2_engine(bundle, args.network, args.threads), args.shortlist)
        direct = Direct(bundle, args.network, args.precision, args.threads)
        return System(direct.search, direct.score)

    serve(load)


if __name__ == "__main__":
    main()
