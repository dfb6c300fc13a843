"""One toolkit that trains, behind a pipe: built once, then whole training steps on demand.

    python train_worker.py joeynmt|eole|marian|pytorch|compiled BATCHES.json --shape tiny|base|big [--threads 2]
                           [--precision float32|bfloat16] [--device cpu|cuda]
    python train_worker.py joeynmt-rnn|conv1d BATCHES.json --shape tiny|base --weights OURS.pt […]

Runs in an environment of its own, made from train-requirements.txt; on a GPU (`reproduce/gpu/peers.py`) in the one that
is there. `compiled` is `pytorch` after `torch.compile`; on a GPU JoeyNMT trains in float16 instead of bfloat16.
BATCHES.json holds `vocab`, `pad`, `bos`, `eos` and `batches`: rows of ids `src`, `tgt_in` and `tgt_out`, padded to one
rectangle each. Prints `ready`, then answers every line `N M` by training on batches N to M - 1 (beyond the last, the
first again) with one JSON line: the target `tokens` that are not padding, the `seconds`, the `loss` of the last step
per token, and the process's `peak_mb` so far, on a GPU that of its tensors. With --weights, `check N` is answered by
the mean negative log-likelihood of batch N with those weights. A step is forward, label-smoothed cross-entropy,
backward and Adam. All else a toolkit says goes to stderr.

The shape is the paper's: Post-LN, ReLU, sinusoidal positions, biases in every projection of a layer, one matrix for
both embeddings and the output. Where a toolkit departs from it without a choice, its function says so.
"""

import argparse
import json
import math
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from train_others import OtherShape, PlainConvS2S, joeynmt_config, load_into_joeynmt

SMOOTHING, LEARNING_RATE, BETAS = 0.1, 1e-4, (0.9, 0.98)


@dataclass(frozen=True)
class Shape:
    """The size of a model; `layers` is the number in each of the two stacks."""

    layers: int
    d_model: int
    d_ff: int
    heads: int
    dropout: float


SHAPES = {
    "tiny": Shape(4, 128, 256, 4, 0.3),
    "base": Shape(6, 512, 2048, 8, 0.1),
    "big": Shape(6, 1024, 4096, 16, 0.1),
}
OTHER_SHAPES = {
    "joeynmt-rnn": {"tiny": OtherShape(2, 2, 256, 512, 0.2), "base": OtherShape(2, 2, 512, 1024, 0.2)},
    "conv1d": {"tiny": OtherShape(4, 3, 256, 0, 0.2), "base": OtherShape(10, 10, 512, 0, 0.2)},
}


@dataclass(frozen=True)
class Ids:
    """A batch as tensors: [B, S], [B] and three of target ids, the last with both ends; the tokens to predict."""

    src: Tensor
    lengths: Tensor
    tgt_in: Tensor
    tgt_out: Tensor
    target: Tensor
    tokens: int


@dataclass(frozen=True)
class Data:
    """The contents of BATCHES.json."""

    vocab: int
    pad: int
    bos: int
    eos: int
    batches: list[Ids]
    device: torch.device


Trainee = tuple[nn.Module, Callable[[Any], Tensor | float], list[Any]]
"""A model, a training step that returns the loss per token, and the batches in the form of that step."""


def joeynmt(shape: Shape, data: Data, precision: str) -> Trainee:
    """JoeyNMT's Transformer. One dropout rate serves attention and feed-forward too."""
    sizes = {"num_layers": shape.layers, "num_heads": shape.heads, "hidden_size": shape.d_model, "ff_size": shape.d_ff}
    embeddings = {"embedding_dim": shape.d_model, "scale": True, "dropout": shape.dropout}
    stack = {"type": "transformer", "layer_norm": "post", "dropout": shape.dropout, "embeddings": embeddings, **sizes}
    config = {"tied_embeddings": True, "tied_softmax": True, "encoder": stack, "decoder": stack}
    return joeynmt_of(config, data, precision)


def joeynmt_rnn(shape: OtherShape, data: Data, precision: str) -> Trainee:
    """JoeyNMT's RNN."""
    return joeynmt_of(joeynmt_config(shape), data, precision)


def joeynmt_of(config: dict[str, Any], data: Data, precision: str) -> Trainee:
    """JoeyNMT: the step is that of its TrainManager.

    Its loss is a divergence, lower than the others' by the entropy of the smoothed target; the gradient is theirs.
    """
    from joeynmt.builders import build_optimizer
    from joeynmt.model import build_model
    from joeynmt.training import Batch, TrainManager
    from joeynmt.vocabulary import Vocabulary

    half, on_gpu = precision != "float32", data.device.type == "cuda"
    if half and not on_gpu:
        sys.exit("JoeyNMT trains in float32 alone on a CPU: its configuration turns half precision off there")

    class IdVocabulary(Vocabulary):
        """JoeyNMT's own puts padding at 1 and searches a list for each word it adds; this one has the file's ids."""

        def __init__(self) -> None:
            self.specials, self.lang_tags = [], []
            self._itos = [str(index) for index in range(data.vocab)]
            self._stoi = {word: index for index, word in enumerate(self._itos)}
            self.pad_index, self.bos_index, self.eos_index = data.pad, data.bos, data.eos
            self.unk_index, self.sep_index = 1, None

    model = build_model(config, IdVocabulary(), IdVocabulary()).to(data.device)
    model.loss_function = ("crossentropy", SMOOTHING)
    choice = {"optimizer": "adam", "adam_betas": BETAS, "learning_rate": LEARNING_RATE}
    optimizer = build_optimizer(choice, model.parameters())
    # The attributes that `_train_step` uses of its manager, whose constructor needs data, a folder and a log.
    args = SimpleNamespace(normalization="tokens", batch_multiplier=1)
    autocast = {"device_type": data.device.type, "enabled": half} | ({"dtype": torch.float16} if half else {})
    scaler = torch.amp.GradScaler(data.device.type) if half else None
    manager = SimpleNamespace(model=model, n_gpu=int(on_gpu), scaler=scaler, autocast=autocast, args=args)

    def step(batch: Batch) -> float:
        loss, _ = TrainManager._train_step(manager, batch)
        if scaler is None:
            optimizer.step()
        else:
            scaler.step(optimizer)
            scaler.update()
        model.zero_grad()
        return loss

    def batch(ids: Ids) -> Batch:
        order, device = torch.arange(len(ids.src), device=data.device), data.device
        longest_first = ids.lengths.argsort(descending=True)  # its recurrent encoder needs that
        sides = (ids.src[longest_first], ids.lengths[longest_first], None, ids.target[longest_first])
        return Batch(*sides, None, order, device, data.pad, data.eos)

    return model, step, [batch(ids) for ids in data.batches]


def eole(shape: Shape, data: Data, precision: str) -> Trainee:
    """Eole: the step is that of its Trainer. Its decoder is Pre-LN only, so its encoder is too, each with a final norm.

    On a CPU it computes attention itself: its way to PyTorch's scaled_dot_product_attention is closed there.
    """
    sys.modules.setdefault("pyonmttok", pyonmttok())
    from eole.config.models import TransformerModelConfig
    from eole.config.training import TrainingConfig
    from eole.models.model import EncoderDecoderModel
    from eole.trainer import Trainer, TrainerConfig
    from eole.utils import Statistics
    from eole.utils.loss import LossCompute
    from eole.utils.optimizers import Optimizer

    sizes = {"hidden_size": shape.d_model, "layers": shape.layers, "heads": shape.heads, "transformer_ff": shape.d_ff}
    embeddings = {"word_vec_size": shape.d_model, "position_encoding_type": "SinusoidalInterleaved"}
    tied = {"share_embeddings": True, "share_decoder_embeddings": True, "generator_bias": False}
    biases = {"add_qkvbias": True, "add_final_linear_bias": True, "add_ffnbias": True}
    architecture = TransformerModelConfig(embeddings=embeddings, **sizes, **tied, **biases)
    dropout = {"dropout": [shape.dropout], "attention_dropout": [0.0]}
    adam = {"optim": "adam", "adam_beta1": BETAS[0], "adam_beta2": BETAS[1], "learning_rate": LEARNING_RATE}
    recipe = {"max_grad_norm": 0, "label_smoothing": SMOOTHING, "param_init_method": "xavier_uniform"}
    # With mixed precision it uses PyTorch's Adam; without, the faster one of torch-optimi.
    mixed = precision == "bfloat16"
    dtype = {"compute_dtype": "bf16" if mixed else "fp32", "use_amp": mixed}
    on_gpu = data.device.type == "cuda"
    devices = {"world_size": 1, "gpu_ranks": [0]} if on_gpu else {}
    training = TrainingConfig(**(dropout | adam | recipe | dtype | devices))
    words = {"<blank>" if index == data.pad else str(index): index for index in range(data.vocab)}
    vocabs = {"src": words, "tgt": words, "specials": {}}
    model = EncoderDecoderModel.for_training(architecture, vocabs, training, device_id=0 if on_gpu else -1)
    config = SimpleNamespace(model=architecture, training=training)
    loss, optimizer = LossCompute.from_config(config, model, vocabs), Optimizer.from_config(model, config)
    # No validation.
    config = TrainerConfig(n_gpu=int(on_gpu), gpu_rank=0 if on_gpu else -1)
    trainer = Trainer(model, loss, None, None, [], optimizer, config)

    def step(batch: dict[str, Any]) -> float:
        total, report = Statistics(), Statistics()
        trainer._train_step([batch], batch["tokens"], total, report)
        return report.loss / report.n_tokens

    def batch(ids: Ids) -> dict[str, Any]:
        names = {"cid": ["train"] * len(ids.src), "cid_line_number": [*range(len(ids.src))]}
        inputs = {"src": ids.src, "srclen": ids.lengths, "tgt": ids.target, "tokens": ids.tokens}
        return inputs | names | {"images": None, "prefix_len": None}

    return model, step, [batch(ids) for ids in data.batches]


def pyonmttok() -> ModuleType:
    """The module that Eole imports and training does not use: the one that is installed, or names without content."""
    try:
        return import_module("pyonmttok")
    except ImportError:
        module = ModuleType("pyonmttok")
        for name in ("Vocab", "Tokenizer", "SubwordLearner"):
            setattr(module, name, type(name, (), {}))
        return module


def marian(shape: Shape, data: Data, precision: str) -> Trainee:
    """Marian as Hugging Face's Transformers trains it, with the label smoother of its Trainer."""
    from transformers import MarianConfig, MarianMTModel
    from transformers.trainer_pt_utils import LabelSmoother

    sizes = {"layers": shape.layers, "attention_heads": shape.heads, "ffn_dim": shape.d_ff}
    stacks = {f"{stack}_{name}": size for stack in ("encoder", "decoder") for name, size in sizes.items()}
    tokens = {"pad_token_id": data.pad, "eos_token_id": data.eos, "decoder_start_token_id": data.bos}
    paper = {"d_model": shape.d_model, "dropout": shape.dropout, "activation_function": "relu", "scale_embedding": True}
    running = {"attn_implementation": "sdpa", "use_cache": False}
    model = MarianMTModel(MarianConfig(vocab_size=data.vocab, **(stacks | tokens | paper | running)))
    model.train().to(data.device)
    smoother = LabelSmoother(epsilon=SMOOTHING)

    def loss(batch: tuple[dict[str, Tensor], Tensor]) -> Tensor:
        inputs, labels = batch
        return smoother(model(**inputs), labels)

    def batch(ids: Ids) -> tuple[dict[str, Tensor], Tensor]:
        inputs = {"input_ids": ids.src, "attention_mask": ids.src.ne(data.pad).long(), "decoder_input_ids": ids.tgt_in}
        return inputs, ids.tgt_out.masked_fill(ids.tgt_out == data.pad, -100)

    return model, torch_step(model, loss, precision), [batch(ids) for ids in data.batches]


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with the embeddings that its user must add."""

    def __init__(self, shape: Shape, data: Data, positions: int = 1024) -> None:
        super().__init__()
        self.pad, self.rate = data.pad, shape.dropout
        self.embedding = nn.Embedding(data.vocab, shape.d_model, padding_idx=data.pad)
        nn.init.normal_(self.embedding.weight, std=shape.d_model**-0.5)
        angle = torch.arange(positions)[:, None] / 1e4 ** (torch.arange(0, shape.d_model, 2) / shape.d_model)
        self.register_buffer("positions", torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1))
        stacks = (shape.layers, shape.layers, shape.d_ff, shape.dropout)
        self.transformer = nn.Transformer(shape.d_model, shape.heads, *stacks, batch_first=True)
        self.transformer.encoder.norm = self.transformer.decoder.norm = None  # Post-LN needs no last norm
        for module in self.modules():  # the paper's dropout: not inside attention nor the feed-forward network
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0

    def embed(self, ids: Tensor) -> Tensor:
        """Scaled embeddings with positions, then dropout."""
        scaled = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)
        return F.dropout(scaled + self.positions[: ids.size(1)], self.rate, self.training)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Logits. The target needs no padding mask: padding comes last, and the causal mask hides it."""
        padding = src == self.pad
        size = {"device": tgt_in.device, "dtype": torch.bool}
        future = nn.Transformer.generate_square_subsequent_mask(tgt_in.size(1), **size)
        masks = {"src_key_padding_mask": padding, "memory_key_padding_mask": padding, "tgt_mask": future}
        features = self.transformer(self.embed(src), self.embed(tgt_in), tgt_is_causal=True, **masks)
        return F.linear(features, self.embedding.weight)


def pytorch(shape: Shape, data: Data, precision: str) -> Trainee:
    """PyTorch alone."""
    return pytorch_of(TorchTransformer(shape, data).to(data.device), data, precision)


def compiled(shape: Shape, data: Data, precision: str) -> Trainee:
    """PyTorch alone, compiled once for all widths."""
    model = TorchTransformer(shape, data).to(data.device)
    model.compile(dynamic=True)
    return pytorch_of(model, data, precision)


def pytorch_of(model: nn.Module, data: Data, precision: str) -> Trainee:
    """A model that gives logits, with PyTorch's own loss."""

    def loss(ids: Ids) -> Tensor:
        logits = model(ids.src, ids.tgt_in).flatten(0, 1)
        return F.cross_entropy(logits, ids.tgt_out.flatten(), ignore_index=data.pad, label_smoothing=SMOOTHING)

    return model, torch_step(model, loss, precision), data.batches


def torch_step(model: nn.Module, loss: Callable[[Any], Tensor], precision: str) -> Callable[[Any], Tensor]:
    """The step of a toolkit without its own: fused Adam, and autocast for bfloat16."""
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, betas=BETAS, fused=True)
    device = next(model.parameters()).device.type

    def step(batch: Any) -> Tensor:
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"):
            value = loss(batch)
        value.backward()
        optimizer.step()
        optimizer.zero_grad()
        return value.detach()

    return step


def convs2s(shape: OtherShape, data: Data, precision: str) -> Trainee:
    """ConvS2S as fairseq computes it."""
    model = PlainConvS2S(shape, data.vocab, data.pad)

    def loss(ids: Ids) -> Tensor:
        logits = model(ids.src, ids.tgt_in).flatten(0, 1)
        return F.cross_entropy(logits, ids.tgt_out.flatten(), ignore_index=data.pad, label_smoothing=SMOOTHING)

    return model, torch_step(model, loss, precision), data.batches


PEERS: dict[str, Callable[[Any, Data, str], Trainee]] = {
    "joeynmt": joeynmt,
    "eole": eole,
    "marian": marian,
    "pytorch": pytorch,
    "compiled": compiled,
    "joeynmt-rnn": joeynmt_rnn,
    "conv1d": convs2s,
}


@torch.no_grad()
def check(model: Any, ids: Ids) -> float:
    """The mean negative log-likelihood of a target token."""
    model.eval()
    if isinstance(model, PlainConvS2S):
        logits = model(ids.src, ids.tgt_in)
    else:
        order = ids.lengths.argsort(descending=True)
        src, mask = ids.src[order], (ids.src != model.pad_index)[order][:, None]
        logits = model._encode_decode(src, ids.tgt_in[order], mask, ids.lengths[order])[0][order.argsort()]
    model.train()
    gold = ids.tgt_out[ids.tgt_out != model_pad(model)]
    return float(F.cross_entropy(logits[ids.tgt_out != model_pad(model)], gold))


def model_pad(model: Any) -> int:
    """The id of padding."""
    return int(getattr(model, "pad", None) or getattr(model, "pad_index", 0))


def read(path: Path, device: torch.device) -> Data:
    """BATCHES.json as tensors."""
    raw = json.loads(path.read_bytes())

    def ids(batch: dict[str, list[list[int]]]) -> Ids:
        src, tgt_in, tgt_out = (torch.tensor(batch[side], device=device) for side in ("src", "tgt_in", "tgt_out"))
        target = torch.cat((tgt_in[:, :1], tgt_out), dim=1)
        lengths, tokens = (src != raw["pad"]).sum(dim=1), int((tgt_out != raw["pad"]).sum())
        return Ids(src, lengths, tgt_in, tgt_out, target, tokens)

    return Data(raw["vocab"], raw["pad"], raw["bos"], raw["eos"], [ids(batch) for batch in raw["batches"]], device)


def wait_for(device: torch.device) -> None:
    """Until a GPU has done what was started."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def peak_mb(device: torch.device) -> float:
    """The peak memory of this process, in MiB; on a GPU that of its tensors.

    getrusage counts from before exec on Linux, so a big parent would show through; /proc counts from after.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated() / (1 << 20)
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if "VmHWM" in line) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main() -> None:
    """Build the toolkit's model, then answer requests until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=PEERS)
    parser.add_argument("batches", type=Path)
    parser.add_argument("--shape", choices=SHAPES, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--weights", type=Path, help="ours, of another architecture than the Transformer")
    args = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # anything that a toolkit prints, from Python or from C, goes to stderr
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    data = read(args.batches, torch.device(args.device))
    model, step, batches = PEERS[args.name](OTHER_SHAPES.get(args.name, SHAPES)[args.shape], data, args.precision)
    if args.weights:
        ours = torch.load(args.weights)
        model.load_ours(ours) if isinstance(model, PlainConvS2S) else load_into_joeynmt(model, ours)
    parameters = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    print(f"{args.name}: {parameters:,} parameters", file=sys.stderr)
    print("ready", file=answers)
    for line in sys.stdin:
        if line.startswith("check"):
            print(json.dumps({"nll": check(model, data.batches[int(line.split()[1])])}), file=answers)
            continue
        first, end = map(int, line.split())
        turn = [index % len(batches) for index in range(first, end)]
        loss: Tensor | float = math.nan
        start = time.perf_counter()
        for index in turn:
            loss = step(batches[index])
        wait_for(data.device)
        seconds = time.perf_counter() - start
        tokens = sum(data.batches[index].tokens for index in turn)
        answer = {"tokens": tokens, "seconds": seconds, "loss": float(loss), "peak_mb": round(peak_mb(data.device), 1)}
        print(json.dumps(answer), file=answers)
        if data.device.type == "cuda":  # the others need it in their turns
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()


if __name__ == "__main__":
    main()
