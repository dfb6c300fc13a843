"""Dragoman behind the pipe of `peers/train_worker.py`, whose docstring has the protocol.

python benchmarks/train/worker.py BATCHES.json --shape tiny|base [--threads 2] [--precision auto|float32|bfloat16]
                                  [--architecture rnn|convs2s --weights OURS.pt]
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import torch
from products import products_seconds

from dragoman.config import ModelConfig, TrainConfig
from dragoman.config.sections.architectures.known import ARCHITECTURES
from dragoman.data.batches.batch import Batch
from dragoman.model.build import build_network
from dragoman.model.parts.network import EncoderDecoder
from dragoman.model.transformer import Transformer
from dragoman.system.processes import limit_kernel_caches, retain_freed_memory
from dragoman.training.objective.objective import batch_loss
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.gradient import GradientAccumulator
from dragoman.training.update.optimizer import build_optimizer
from dragoman.training.update.precision import choose_precision

SHAPES = {
    "tiny": {"layers": 4, "d_model": 128, "d_ff": 256, "heads": 4, "dropout": 0.3},
    "base": {"layers": 6, "d_model": 512, "d_ff": 2048, "heads": 8, "dropout": 0.1},
}


RNN = {"architecture": "rnn", "attention": "general", "output_bias": False, "dropout": 0.2, "layers": 2}
CONVS2S = {"architecture": "convs2s", "dropout": 0.2}
OTHER_SHAPES = {
    "rnn": {
        "tiny": {**RNN, "d_model": 256, "encoder_hidden": 512},
        "base": {**RNN, "d_model": 512, "encoder_hidden": 1024},
    },
    "convs2s": {
        "tiny": {**CONVS2S, "encoder_layers": 4, "decoder_layers": 3, "d_model": 256},
        "base": {**CONVS2S, "layers": 10, "d_model": 512},
    },
}


def build(architecture: str, shape: str, vocab: int) -> EncoderDecoder:
    """The model in training; a decoder's first state is 0, as the peers can have it too."""
    if architecture == "transformer":
        return Transformer(ModelConfig(**SHAPES[shape], norm_order="post"), vocab, vocab).train()
    keys = OTHER_SHAPES[architecture][shape]
    model = build_network(ARCHITECTURES[architecture].model_validate(keys), vocab, vocab).train()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".bridges." in name:
                parameter.zero_()
    return model


@torch.no_grad()
def check(model: EncoderDecoder, batch: Batch) -> float:
    """The mean negative log-likelihood of a target token."""
    loss = float(batch_loss(model.eval(), batch, 0.0)) / batch.target_tokens
    model.train()
    return loss


def read(path: Path) -> tuple[int, list[Batch]]:
    """The vocabulary size, and the batches as tensors."""
    raw = json.loads(path.read_bytes())
    sides = [[torch.tensor(batch[side]) for side in ("src", "tgt_in", "tgt_out")] for batch in raw["batches"]]
    return raw["vocab"], [Batch(*tensors, locations=("",) * len(tensors[0])) for tensors in sides]


def peak_mb() -> float:
    """The peak memory of this process, in MiB."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if "VmHWM" in line) / 1024


def main() -> None:
    """Build the model, then answer requests until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("batches", type=Path)
    parser.add_argument("--shape", choices=SHAPES, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=["auto", "float32", "bfloat16"], default="auto")
    parser.add_argument("--architecture", choices=["transformer", *OTHER_SHAPES], default="transformer")
    parser.add_argument("--weights", type=Path, help="where to write the first weights, for the peers")
    args = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    retain_freed_memory(torch.get_num_threads())
    vocab, batches = read(args.batches)
    device = torch.device("cpu")
    model = build(args.architecture, args.shape, vocab)
    limit_kernel_caches(model.config.d_model)
    if args.weights:
        torch.save({name: parameter.detach() for name, parameter in model.state_dict().items()}, args.weights)
    train = TrainConfig(precision=args.precision)
    gradient, optimizer = GradientAccumulator(model, train, ProcessGroup(), device), build_optimizer(model, train)
    for group in optimizer.param_groups:
        group["lr"] = 1e-4
    print(f"dragoman: {model.parameter_count:,} parameters", file=sys.stderr)
    if args.precision == "auto":
        gradient.precision, why = choose_precision(model, device)
        print(why, file=sys.stderr)
    print("ready", file=answers)
    for line in sys.stdin:
        if line.startswith("check"):
            print(json.dumps({"nll": check(model, batches[int(line.split()[1])])}), file=answers)
            continue
        if line.startswith("products"):
            answer = {"seconds": None}
            if isinstance(model, Transformer):
                dtype = torch.bfloat16 if gradient.precision == "bfloat16" else torch.float32
                turn = [batches[index % len(batches)] for index in range(*map(int, line.split()[1:]))]
                answer = {"seconds": products_seconds(model.config, vocab, turn, dtype)}
            print(json.dumps(answer), file=answers)
            continue
        turn = [index % len(batches) for index in range(*map(int, line.split()))]
        tokens, loss, start = 0, 0.0, time.perf_counter()
        for index in turn:
            count = batches[index].target_tokens
            summed = gradient.backward([batches[index]], count)
            optimizer.step()
            optimizer.zero_grad()
            tokens, loss = tokens + count, summed / count
        answer = {
            "tokens": tokens,
            "seconds": time.perf_counter() - start,
            "loss": loss,
            "peak_mb": round(peak_mb(), 1),
            "precision": gradient.precision,
        }
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main()
