"""What the import of a MarianMT model of 75 million parameters costs: seconds and memory, from both formats of weights.

    python benchmarks/models/import_cost.py [--quick]

The model has the shape of an OPUS-MT model (6 + 6 layers of width 512, 58,000 pieces) and random weights; `--quick`
has 2 + 2 layers and 8,000 pieces. Each import is a process of its own; that with the trial, which scores 160 pairs,
ends with its refusal of random weights. Memory is the peak of the process (VmHWM) less what it has after its imports
(VmRSS), as a multiple of the weights in float32. The last line is one JSON object.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shared.memory import memory_bytes

WIDTH, INNER, HEADS = 512, 2048, 8


def make(folder: Path, layers: int, pieces: int, name: str) -> int:
    """Write a model with random weights in the format of file `name`; the number of its parameters."""
    import torch
    from safetensors.torch import save_file

    from dragoman.text.tokens.model_file import PIECES, Piece, field, fields, model_pieces

    folder.mkdir(parents=True)
    learned = files("dragoman") / "bundled/en-ko/tokenizer/joint.model"
    content = learned.read_bytes()
    texts = [piece.text for piece in model_pieces(content) if piece.type == 1]
    texts = [*texts, *(f"▁word{number}" for number in range(pieces - len(texts) - 3))][: pieces - 3]
    spm = [Piece("<unk>", 0.0, 2), Piece("<s>", 0.0, 3), Piece("</s>", 0.0, 3), *(Piece(text, -9.0) for text in texts)]
    kept = b"".join(field(number, value) for number, value in fields(content) if number == 3)
    for side in ("source.spm", "target.spm"):
        (folder / side).write_bytes(b"".join(field(PIECES, piece.message()) for piece in spm) + kept)
    order = ["</s>", "<unk>", *texts, "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: id_ for id_, piece in enumerate(order)}))
    config = {
        "model_type": "marian", "d_model": WIDTH, "encoder_layers": layers, "decoder_layers": layers,
        "encoder_ffn_dim": INNER, "decoder_ffn_dim": INNER, "encoder_attention_heads": HEADS,
        "decoder_attention_heads": HEADS, "activation_function": "swish", "scale_embedding": True,
        "eos_token_id": 0, "pad_token_id": len(order) - 1, "decoder_start_token_id": len(order) - 1,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    weights = {"model.shared.weight": torch.randn(len(order), WIDTH) * 0.02}
    weights["final_logits_bias"] = torch.randn(1, len(order)) * 0.1
    for stack, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"])):
        for layer in range(layers):
            where = f"model.{stack}.layers.{layer}"
            shapes = {"fc1": (INNER, WIDTH), "fc2": (WIDTH, INNER)}
            shapes |= {
                f"{a}.{p}": (WIDTH, WIDTH) for a in attentions for p in ("q_proj", "k_proj", "v_proj", "out_proj")
            }
            for module, shape in shapes.items():
                weights[f"{where}.{module}.weight"] = torch.randn(shape) * 0.02
                weights[f"{where}.{module}.bias"] = torch.zeros(shape[0])
            for norm in (*(f"{a}_layer_norm" for a in attentions), "final_layer_norm"):
                weights[f"{where}.{norm}.weight"] = torch.ones(WIDTH)
                weights[f"{where}.{norm}.bias"] = torch.zeros(WIDTH)
    count = sum(tensor.numel() for tensor in weights.values())
    if name.endswith(".safetensors"):
        save_file(weights, folder / name)
    else:  # with every name of the tied matrix, as the files of the hub have them
        for other in ("lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"):
            weights[other] = weights["model.shared.weight"]
        torch.save(weights, folder / name)
    return count


def measure(folder: Path, output: Path, trial: bool) -> dict[str, float]:
    """Import the model in this process."""
    from dragoman.engine import torch as engine  # noqa: F401 - what is imported is no cost of the model
    from dragoman.errors import QualityError
    from dragoman.importing.marian import layers, marian  # noqa: F401
    from dragoman.workflows.importing.import_model import import_model

    before, start = memory_bytes("VmRSS"), time.perf_counter()
    with suppress(QualityError):
        import_model(folder, output, pair="en-ko", license="none", trial=trial)
    return {"seconds": time.perf_counter() - start, "bytes": memory_bytes("VmHWM") - before}


def main() -> None:
    """Make the models, import each in a process of its own, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small model")
    parser.add_argument("--measure", nargs=2, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--trial", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(*arguments.measure, arguments.trial)))
        return
    layers, pieces = (2, 8_000) if arguments.quick else (6, 58_000)
    results = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name, trial in (("model.safetensors", False), ("pytorch_model.bin", False), ("model.safetensors", True)):
            what = f"{name}, with the trial" if trial else name
            folder, output = Path(temporary) / "original" / what, Path(temporary) / "imported" / what
            maker = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from import_cost import *; "
            maker += f"print(make(Path({str(folder)!r}), {layers}, {pieces}, {name!r}))"
            made = subprocess.run([sys.executable, "-c", maker], capture_output=True, text=True, check=True)
            parameters = int(made.stdout)
            command = [sys.executable, __file__, "--measure", str(folder), str(output), *["--trial"] * trial]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            results[what] = {
                "seconds": round(found["seconds"], 1),
                "peak_mb": round(found["bytes"] / 1e6),
                "times_weights": round(found["bytes"] / (4 * parameters), 2),
            }
            print(f"{what}: {results[what]}", file=sys.stderr)
    print(json.dumps({"parameters": parameters, "weights_mb": round(4 * parameters / 1e6), **results}))


if __name__ == "__main__":
    main()
