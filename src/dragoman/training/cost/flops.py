"""A training update in floating-point operations: shapes of model and batch → a number. Arithmetic only.

The matrix products of Figure 1 are counted; a multiply-add is two operations, so that (m × n)(n × p) costs 2 m n p.
With D = d_model, F = d_ff, K = d_k, W = d_v, h heads and V pieces, a sentence of S source and T target positions costs

    attention(T, S)       2 [ T D hK  +  S D h(K + W)  +  T S h(K + W)  +  T hW D ]     section 3.2
                              queries    keys, values     scores, sums     W^O
    feed-forward          4 T D F                                                       Eq. (2)
    encoder layer         attention(S, S) + feed-forward(S)
    decoder layer         attention(T, T) + attention(T, S) + feed-forward(T)
    logits                2 T D V                                                       section 3.4
    k of n experts        4 k T D F  +  2 T D n, and as much for the noise              Shazeer et al. 2017

forward, and twice that backward, because each product has two gradients of the same size. Softmax, LayerNorm, biases,
ReLU, dropout, residual sums, embeddings, the loss beyond its logits, and the optimizer are not counted: they take a few
operations per number, the products hundreds. Positions that the look-ahead mask hides are counted, because their
products are computed too. What a kernel computes again in its backward pass is not counted, because it is not part of
the model (Chowdhery et al. 2022, appendix B). The other architectures are in `dragoman.training.cost.other_flops`.
"""

import re

from dragoman.config import AnyModel, ModelConfig, MoeConfig
from dragoman.training.cost.other_flops import other_flops

# Operations per second of dense matrix products in bfloat16 with sums in float32, from the vendors' data sheets (where
# those say "with sparsity", half of it); V100 and T4 have no bfloat16, theirs is float16. The first name that fits
# counts; None is a chip that shares its name with a faster one.
PEAK_FLOPS: dict[str, float | None] = {
    "MIG": None,  # a slice of a GPU
    "Laptop GPU": None,
    "H200 NVL": 835e12,
    "H100 NVL": 835e12,
    "H100 PCIe": 756e12,
    "GH200": 989e12,
    "H200": 989e12,
    "H100": 989e12,
    "A100": 312e12,
    "L40S": 362e12,
    "L4": 121e12,
    "RTX 4090 D": None,
    "RTX 4090": 165e12,
    "V100-PCIE": 112e12,
    "V100": 125e12,
    "T4": 65e12,
}


def training_flops(model: AnyModel, vocab: int, sentences: int, source: int, target: int) -> int:
    """Operations of one update, forward and backward.

    `sentences` of `source` and `target` positions each, EOS and padding counted; `vocab` pieces on the target
    side. Batches of different shapes add up. Padded target positions are counted in the logits too, although
    training leaves them out.
    """
    return 3 * forward_flops(model, vocab, sentences, source, target)


def forward_flops(model: AnyModel, vocab: int, sentences: int, source: int, target: int) -> int:
    """Operations of the forward pass alone, logits of every target position included."""
    if not isinstance(model, ModelConfig):
        return sentences * (other_flops(model, source, target) + 2 * target * model.d_model * vocab)
    encoder = model.encoder_layers * encoder_layer_flops(model, source)
    decoder = model.decoder_layers * decoder_layer_flops(model, source, target)
    if isinstance(model, MoeConfig):
        encoder += model.encoder_layers // model.every * experts_more_flops(model, source)
        decoder += model.decoder_layers // model.every * experts_more_flops(model, target)
    return sentences * (encoder + decoder + 2 * target * model.d_model * vocab)


def encoder_layer_flops(model: ModelConfig, source: int) -> int:
    """Figure 1 left, one sentence."""
    return attention_flops(model, source, source) + feed_forward_flops(model, source)


def decoder_layer_flops(model: ModelConfig, source: int, target: int) -> int:
    """Figure 1 right, one sentence; the keys and values of the memory are the layer's own."""
    self_attention, cross_attention = attention_flops(model, target, target), attention_flops(model, target, source)
    return self_attention + cross_attention + feed_forward_flops(model, target)


def attention_flops(model: ModelConfig, queries: int, keys: int) -> int:
    """Multi-head attention from `queries` positions to `keys` positions."""
    projected_queries = queries * model.d_model * model.heads * model.d_k
    projected_keys_values = keys * model.d_model * model.heads * (model.d_k + model.d_v)
    scores_sums = queries * keys * model.heads * (model.d_k + model.d_v)
    output = queries * model.heads * model.d_v * model.d_model
    return 2 * (projected_queries + projected_keys_values + scores_sums + output)


def feed_forward_flops(model: ModelConfig, positions: int) -> int:
    """The two layers of Eq. (2), or the three of SwiGLU."""
    layers = 3 if model.feed_forward == "swiglu" else 2
    return 2 * layers * positions * model.d_model * model.d_ff


def experts_more_flops(model: MoeConfig, positions: int) -> int:
    """What k of n experts and their gate, W_g and W_noise, take more than one feed-forward network."""
    gate = 2 * positions * model.d_model * model.experts * (2 if model.noise else 1)
    return gate + (model.active - 1) * feed_forward_flops(model, positions)


def peak_flops(device_name: str) -> float | None:
    """Peak operations per second of a device in bfloat16 (V100 and T4: float16); None if unknown.

    `device_name` is what `torch.cuda.get_device_name()` returns.
    """
    for fragment, peak in PEAK_FLOPS.items():
        if re.search(rf"\b{fragment}\b", device_name):
            return peak
    return None
