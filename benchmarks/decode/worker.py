"""Dragoman's engines, or direct calls of CTranslate2, behind the pipe of `peers/decode_pipe.py`.

    python benchmarks/decode/worker.py torch BUNDLE [--precision float32|bfloat16] [--threads 2] [--device cpu|cuda]
                                       [--search auto|host|device]
    python benchmarks/decode/worker.py ctranslate2|direct BUNDLE --network FOLDER --precision float32|int8
                                       [--shortlist] [--threads 2]

FOLDER is the bundle's network in the format of CTranslate2. `direct` is CTranslate2 alone: ids become pieces before the
clock starts, sentences are sorted by length and batched by a budget of tokens, and only the best translation is
requested. Our engines get ids, choose their own batches, and convert ids to pieces and back within the measured time.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from peers.decode_pipe import Rows, SearchOptions, System, serve

from dragoman.bundle import Bundle, open_bundle
from dragoman.config import DecodeConfig
from dragoman.engine import Engine, queries
from dragoman.text.tokens.tokenizer import EOS

ON_DEVICE = {"host": False, "device": True}


def torch_engine(bundle: Bundle, precision: str, threads: int, device: str, search: str = "host") -> Engine:
    """The reference engine; `search` says who starts the operations of a step, one by one or as one recording."""
    import torch

    from dragoman.engine.torch import TorchEngine
    from dragoman.system.processes import retain_freed_memory

    torch.set_num_threads(threads)
    retain_freed_memory(torch.get_num_threads())  # as the command line does
    on_device = ON_DEVICE[search]
    return TorchEngine(bundle.load_model(), torch.device(device), precision=precision, on_device=on_device)


def ctranslate2_engine(bundle: Bundle, network: Path, threads: int) -> Engine:
    """The fast engine."""
    from dragoman.engine.ctranslate2 import CTranslate2Engine

    return CTranslate2Engine(network, bundle.tokenizer, "cpu", threads)


def ours(engine: Engine, shortlist: bool) -> System:
    """An engine, called as a Translator calls it."""

    def search(rows: Rows, options: SearchOptions) -> list[list[int]]:
        limits = {"min_length": options.min, "max_length": options.max}
        how = {"beam": options.beam, "length_penalty": options.alpha, "batch_tokens": options.batch}
        config = DecodeConfig(**how, shortlist=shortlist, **limits)
        return [list(hypotheses[0].tokens) for hypotheses in engine.translate(queries(rows), config)]

    return System(search, lambda sources, targets: engine.score(queries(sources), targets))


class Direct:
    """Direct calls of CTranslate2."""

    def __init__(self, bundle: Bundle, network: Path, precision: str, threads: int) -> None:
        self.network, self.precision, self.threads, self.apart = network, precision, threads, False
        self.translator = self.load()
        self.pieces = bundle.tokenizer.pieces(range(len(bundle.tokenizer.source)), "source")
        self.target_pieces = bundle.tokenizer.pieces(range(len(bundle.tokenizer.target)), "target")
        self.ids = {piece: token for token, piece in enumerate(self.target_pieces)}
        adds_end = json.loads((network / "config.json").read_text()).get("add_source_eos")
        self.end = [] if adds_end else [self.pieces[EOS]]
        self.known: dict[tuple[int, ...], list[str]] = {}

    def load(self) -> Any:
        """The network, with all threads on one batch, or (`apart`) one thread per batch."""
        import ctranslate2

        inter, intra = (self.threads, 1) if self.apart else (1, self.threads)
        how = {"compute_type": self.precision, "inter_threads": inter, "intra_threads": intra}
        return ctranslate2.Translator(str(self.network), "cpu", **how)

    def to_pieces(self, rows: Rows) -> list[list[str]]:
        """The pieces of each row, remembered for the next call."""
        for row in map(tuple, rows):
            self.known.setdefault(row, [self.pieces[token] for token in row] + self.end)
        return [self.known[tuple(row)] for row in rows]

    def search(self, rows: Rows, options: SearchOptions) -> list[list[int]]:
        """The best translation of each row."""
        if options.apart != self.apart:
            self.apart = options.apart
            self.translator = self.load()
        found = self.translator.translate_batch(
            self.to_pieces(rows),
            beam_size=options.beam,
            length_penalty=options.alpha,
            min_decoding_length=options.min,
            max_decoding_length=options.limit(rows) + 1,
            max_batch_size=options.batch,
            batch_type="tokens",
        )
        return [[self.ids[piece] for piece in result.hypotheses[0]][: options.max] for result in found]

    def score(self, sources: Rows, targets: Rows) -> list[list[float]]:
        """log P of each target's tokens and EOS."""
        pieces = [[self.target_pieces[token] for token in target] for target in targets]
        return [result.log_probs for result in self.translator.score_batch(self.to_pieces(sources), pieces)]


def main() -> None:
    """Load the system and answer requests."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=["torch", "ctranslate2", "direct"])
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--network", type=Path)
    parser.add_argument("--precision", choices=["float32", "bfloat16", "int8"], default="float32")
    parser.add_argument("--shortlist", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="of the torch engine")
    parser.add_argument("--search", choices=ON_DEVICE, default="host", help="of the torch engine")
    args = parser.parse_args()

    def load() -> System:
        bundle = open_bundle(args.bundle)
        if args.name == "torch":
            return ours(torch_engine(bundle, args.precision, args.threads, args.device, args.search), args.shortlist)
        if args.name == "ctranslate2":
            return ours(ctranslate2_engine(bundle, args.network, args.threads), args.shortlist)
        direct = Direct(bundle, args.network, args.precision, args.threads)
        return System(direct.search, direct.score)

    serve(load)


if __name__ == "__main__":
    main()
