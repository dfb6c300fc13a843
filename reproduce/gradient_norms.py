"""The gradient of each layer before the first update, in Post-LN and in Pre-LN.

    python reproduce/gradient_norms.py

Xiong et al. (2020), section 3: at initialisation the gradients near the output are large in Post-LN whatever the depth,
and smaller by √L in Pre-LN, so that Post-LN needs a warm-up. Here paper-base, 6 + 6 layers of width 512, computes the
loss of a first batch of the embedded corpus with either order of normalisation, with label smoothing 0.1 and without
dropout. Printed are the norm of ∂L / ∂W_2 of each feed-forward network (the matrix of their Theorem 1 and Figure 3) and
of all parameters of a layer, as means over the seeds. Each seed draws new weights and a new batch, the same for both
orders. The result is saved for the page of `dragoman look` and is, as one JSON object, the last line.
"""

import json
import statistics
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from dragoman.config import CorpusConfig, DataConfig, ModelConfig, TokenizerConfig
from dragoman.data.batches.batch import Batch
from dragoman.data.batches.stream import BatchStream
from dragoman.data.corpus.corpus import sample_pairs
from dragoman.model.parts.attention import padding_mask
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import PAD, learn

PACKAGE = Path(__file__).parents[1] / "src" / "dragoman"
SEEDS = (1, 2, 3, 4, 5)
PIECES, BATCH_TOKENS, SMOOTHING = 8000, 1024, 0.1

Norms = dict[str, list[float]]


def norms_of(order: str, batch: Batch, seed: int) -> Norms:
    """By stack and by what is differentiated by, the norm of each layer's gradient."""
    torch.manual_seed(seed)
    config = ModelConfig.model_validate({"preset": "paper-base", "norm_order": order})
    model = Transformer(config, PIECES, PIECES).eval()
    logits = model(batch.src, padding_mask(batch.src, PAD), batch.tgt_in)
    F.cross_entropy(
        logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING
    ).backward()
    found: Norms = {}
    for stack, layers in (("encoder", model.encoder), ("decoder", model.decoder)):
        found[f"{stack} W_2"] = [norm([layer.feed_forward.w_2.weight]) for layer in layers]
        found[stack] = [norm(list(layer.parameters())) for layer in layers]
    return found


def norm(weights: list[Tensor]) -> float:
    """The length of their gradients taken as one vector."""
    return float(torch.stack([weight.grad.norm() for weight in weights]).norm())


def mean(each: list[Norms]) -> Norms:
    """Over the seeds, to four digits."""
    return {
        name: [float(f"{statistics.fmean(values):.4g}") for values in zip(*(one[name] for one in each), strict=True)]
        for name in each[0]
    }


def main() -> None:
    """Measure, print and keep."""
    train = CorpusConfig(source=PACKAGE / "data/embedded/train.tsv.gz")
    tokenizer = learn(sample_pairs((train,), 50_000, 1), TokenizerConfig(kind="bpe", vocab_size=PIECES))
    data = DataConfig(train=(train,), valid=train)
    streams = [BatchStream(data, tokenizer, batch_tokens=BATCH_TOKENS, seed=seed) for seed in SEEDS]
    batches = [stream.next_update(1).batches[0] for stream in streams]
    orders = {
        order: mean([norms_of(order, batch, seed) for batch, seed in zip(batches, SEEDS, strict=True)])
        for order in ("post", "pre")
    }
    print("norm of ∂L / ∂W_2 by layer, 1 to 6")
    for order, norms in orders.items():
        for stack in ("encoder", "decoder"):
            print(f"  {order}  {stack}  " + "  ".join(f"{value:.4f}" for value in norms[f"{stack} W_2"]))
    result = {
        "script": "reproduce/gradient_norms.py",
        "model": "paper-base: 6 + 6 layers, d_model 512, d_ff 2048, 8 heads, 8,000 pieces",
        "batch": f"embedded en-ko, {BATCH_TOKENS:,} tokens, label smoothing {SMOOTHING}, no dropout",
        "seeds": SEEDS,
        **orders,
    }
    (PACKAGE / "inspection/initial_gradients.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
