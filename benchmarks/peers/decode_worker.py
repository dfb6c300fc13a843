"""JoeyNMT or Hugging Face's Marian with our weights, behind the pipe of `decode_pipe.py`.

    python decode_worker.py convert FOLDER
    python decode_worker.py joeynmt|marian FOLDER [--precision float32|bfloat16] [--threads 2] [--device cpu|cuda]

Runs in the environment made from train-requirements.txt; on a GPU (`reproduce/gpu/peers.py`) in the one that is there,
where JoeyNMT searches in float16 instead of bfloat16. FOLDER contains `model.safetensors`, the weights of a bundle,
and `shape.json`: layers, widths, special tokens and the ε of LayerNorm. `convert` writes the files that each toolkit
loads into the same folder: `marian/` and `joeynmt.ckpt`. The shape must be the paper's: Post-LN, ReLU, sinusoidal
positions, biases, one matrix for both embeddings and the output. Sines and cosines are interleaved, unlike in Marian,
which gets our positions as a table. Everything else is the toolkit's own code; sentences are sorted by length and
batched by a budget.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from decode_pipe import Rows, SearchOptions, System, in_batches, serve, until_end
from safetensors.torch import load_file
from torch import Tensor, nn

POSITIONS = 1024


class Shape:
    """`shape.json`: vocab, encoder_layers, decoder_layers, d_model, d_ff, heads, epsilon and the special tokens."""

    def __init__(self, folder: Path, device: str = "cpu") -> None:
        self.device = torch.device(device)
        self.__dict__.update(json.loads((folder / "shape.json").read_text()))
        self.never = [self.pad, self.unk, self.bos]  # what no translation contains

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def padded(self, rows: Rows, begin: tuple[int, ...] = (), end: tuple[int, ...] = ()) -> Tensor:
        """Rows of ids as one rectangle."""
        tensors = [torch.tensor([*begin, *row, *end]) for row in rows]
        return nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=self.pad).to(self.device)

    def log_probs(self, logits: Tensor, targets: Rows) -> list[list[float]]:
        """log P of each target's tokens and EOS."""
        gold = self.padded(targets, end=(self.eos,))
        logits[..., self.never] = -torch.inf
        log_probs = logits.float().log_softmax(-1).gather(-1, gold[..., None]).squeeze(-1).tolist()
        return [row[: len(target) + 1] for row, target in zip(log_probs, targets, strict=True)]


def renamed(weights: dict[str, Tensor], parts: dict[str, str], layer: str) -> Iterator[tuple[str, Tensor]]:
    """The weights of the two stacks under another toolkit's names; `layer` holds {stack} and {number}."""
    for name, tensor in weights.items():
        if name == "projection":
            continue
        stack, number, rest = name.split(".", 2)
        part, kind = rest.rsplit(".", 1)
        new = parts.get(f"{stack}.{part}") or parts[part]
        yield f"{layer.format(stack=stack, number=number)}.{new}.{kind}", tensor


def convert(folder: Path) -> None:
    """Write what the toolkits load."""
    weights, shape = load_file(folder / "model.safetensors"), Shape(folder)
    save_marian(weights, shape, folder / "marian")
    torch.save(joeynmt_weights(weights), folder / "joeynmt.ckpt")


def save_marian(weights: dict[str, Tensor], shape: Shape, folder: Path) -> None:
    """A folder for `from_pretrained`."""
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=shape.vocab,
        d_model=shape.d_model,
        encoder_layers=shape.encoder_layers,
        decoder_layers=shape.decoder_layers,
        encoder_attention_heads=shape.heads,
        decoder_attention_heads=shape.heads,
        encoder_ffn_dim=shape.d_ff,
        decoder_ffn_dim=shape.d_ff,
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=POSITIONS,
        pad_token_id=shape.pad,
        bos_token_id=shape.bos,
        eos_token_id=shape.eos,
        forced_eos_token_id=shape.eos,
        decoder_start_token_id=shape.bos,
    )
    model = MarianMTModel(config)
    parts = {"feed_forward.w_1": "fc1", "feed_forward.w_2": "fc2", "self_attention_norm.norm": "self_attn_layer_norm"}
    parts |= {"cross_attention_norm.norm": "encoder_attn_layer_norm", "feed_forward_norm.norm": "final_layer_norm"}
    for ours, theirs in (("self_attention", "self_attn"), ("cross_attention", "encoder_attn")):
        parts |= {f"{ours}.w_{x}": f"{theirs}.{x}_proj" for x in "qkv"} | {f"{ours}.w_o": f"{theirs}.out_proj"}
    state = dict(renamed(weights, parts, "model.{stack}.layers.{number}"))
    embeddings = ("model.shared", "model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head")
    state |= {f"{name}.weight": weights["projection"] for name in embeddings}
    state["final_logits_bias"] = torch.zeros(1, shape.vocab).index_fill(1, torch.tensor(shape.never), -1e9)
    # Positions it neither loads nor saves.
    missing = model.load_state_dict(state, strict=False).missing_keys
    assert all("embed_positions" in name for name in missing), missing
    model.save_pretrained(folder)


def positions(d_model: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(…), section 3.5; Marian puts all sines first."""
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = torch.arange(POSITIONS, dtype=torch.float64)[:, None] / 10000 ** (even / d_model)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


def marian(folder: Path, precision: str, device: str) -> System:
    """Marian as Hugging Face's Transformers translates with it: `generate`, its cache, fused attention."""
    from transformers import MarianMTModel

    shape, dtype = Shape(folder, device), getattr(torch, precision)
    model = MarianMTModel.from_pretrained(folder / "marian", dtype=dtype, attn_implementation="sdpa").eval()
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = shape.epsilon
    for stack in (model.model.encoder, model.model.decoder):
        stack.embed_positions.weight.data.copy_(positions(shape.d_model))
    model.to(shape.device)

    def inputs(rows: Rows) -> dict[str, Tensor]:
        src = shape.padded(rows, end=(shape.eos,))
        return {"input_ids": src, "attention_mask": src.ne(shape.pad).long()}

    def search(rows: Rows, options: SearchOptions) -> list[list[int]]:
        most = options.limit(rows)
        lengths = {"min_new_tokens": options.min or None, "max_new_tokens": most + 1, "forced_eos_token_id": shape.eos}
        beams = {"num_beams": options.beam, "do_sample": False}
        if options.beam > 1:
            beams |= {"length_penalty": options.alpha, "early_stopping": True}
        found = model.generate(**inputs(rows), **lengths, **beams)
        return [until_end(row[1:], most, shape.eos) for row in found.tolist()]

    @torch.inference_mode()
    def score(sources: Rows, targets: Rows) -> list[list[float]]:
        logits = model(**inputs(sources), decoder_input_ids=shape.padded(targets, begin=(shape.bos,))).logits
        return shape.log_probs(logits, targets)

    return System(in_batches(search), score)


def joeynmt_weights(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """A state for JoeyNMT's model; it computes its positions itself."""
    parts = {"feed_forward.w_1": "feed_forward.pwff_layer.0", "feed_forward.w_2": "feed_forward.pwff_layer.3"}
    parts |= {"encoder.self_attention_norm.norm": "layer_norm", "feed_forward_norm.norm": "feed_forward.layer_norm"}
    parts |= {"decoder.self_attention_norm.norm": "x_layer_norm", "cross_attention_norm.norm": "dec_layer_norm"}
    for stack, ours, theirs in (
        ("encoder", "self_attention", "src_src_att"),
        ("decoder", "self_attention", "trg_trg_att"),
        ("decoder", "cross_attention", "src_trg_att"),
    ):
        parts |= {f"{stack}.{ours}.w_{x}": f"{theirs}.{x}_layer" for x in "qkv"}
        parts[f"{stack}.{ours}.w_o"] = f"{theirs}.output_layer"
    state = dict(renamed(weights, parts, "{stack}.layers.{number}"))
    embeddings = ("src_embed.lut", "trg_embed.lut", "decoder.output_layer")
    return state | {f"{name}.weight": weights["projection"] for name in embeddings}


def joeynmt(folder: Path, precision: str, device: str) -> System:
    """JoeyNMT with its own `search`, which decodes the whole prefix again for each token."""
    from joeynmt.batch import Batch
    from joeynmt.model import build_model
    from joeynmt.search import search as joeynmt_search
    from joeynmt.vocabulary import Vocabulary

    half = precision != "float32"
    assert device == "cuda" or not half, "its configuration turns half precision off on a CPU"
    shape = Shape(folder, device)

    class IdVocabulary(Vocabulary):
        """JoeyNMT's own puts padding at 1 and searches a list for each word it adds; this one has our ids."""

        def __init__(self) -> None:
            self.specials, self.lang_tags = [], []
            self._itos = [str(index) for index in range(shape.vocab)]
            self._stoi = {word: index for index, word in enumerate(self._itos)}
            self.pad_index, self.bos_index, self.eos_index = shape.pad, shape.bos, shape.eos
            self.unk_index, self.sep_index = shape.unk, None

    embeddings = {"embedding_dim": shape.d_model, "scale": True}
    stack = {"type": "transformer", "layer_norm": "post", "embeddings": embeddings}
    stack |= {"num_heads": shape.heads, "hidden_size": shape.d_model, "ff_size": shape.d_ff}
    stacks = {name: stack | {"num_layers": shape.__dict__[f"{name}_layers"]} for name in ("encoder", "decoder")}
    vocabulary = IdVocabulary()
    model = build_model({"tied_embeddings": True, "tied_softmax": True, **stacks}, vocabulary, vocabulary).eval()
    # Its state contains positions too; those that it computed itself are kept.
    missing = model.load_state_dict(torch.load(folder / "joeynmt.ckpt"), strict=False).missing_keys
    assert all(name.endswith(".pe") for name in missing), missing
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = shape.epsilon
    model.to(shape.device)

    def batch(rows: Rows) -> Batch:
        lengths, order = torch.tensor([len(row) + 1 for row in rows]), torch.arange(len(rows))
        src = shape.padded(rows, end=(shape.eos,))
        return Batch(src, lengths, None, None, None, order, shape.device, shape.pad, shape.eos, is_train=False)

    def search(rows: Rows, options: SearchOptions) -> list[list[int]]:
        most = options.limit(rows)
        lengths = {"max_output_length": most + 1, "min_output_length": options.min}
        choice = {"beam_size": options.beam, "beam_alpha": options.alpha, "generate_unk": False}
        with torch.autocast(device, torch.float16, enabled=half):
            found, _, _ = joeynmt_search(model=model, batch=batch(rows), **lengths, **choice)
        return [until_end([int(token) for token in row], most, shape.eos) for row in found]

    @torch.inference_mode()
    def score(sources: Rows, targets: Rows) -> list[list[float]]:
        asked, prefix = batch(sources), shape.padded(targets, begin=(shape.bos,))
        mask = prefix.ne(shape.pad)[:, None, :]
        asked_of = {"src": asked.src, "src_length": asked.src_length, "src_mask": asked.src_mask}
        logits = model._encode_decode(**asked_of, trg_input=prefix, trg_mask=mask)[0]
        return shape.log_probs(logits, targets)

    return System(in_batches(search), score)


PEERS = {"joeynmt": joeynmt, "marian": marian}


def main() -> None:
    """Convert, or load and answer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=["convert", *PEERS])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.name == "convert":
        convert(args.folder)
    else:
        serve(lambda: PEERS[args.name](args.folder, args.precision, args.device))


if __name__ == "__main__":
    main()
