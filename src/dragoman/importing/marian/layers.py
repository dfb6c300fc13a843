"""The layer walk: tensors of another toolkit → weights by the names of `Transformer.named_parameters`.

Input: their tensors, and for each of our names theirs. Three things are changed on the way, and the function that the
network computes is not: rows of the vocabulary are renumbered; dtypes become float32; where their sinusoids have all
sines before all cosines, the axis of d_model is permuted (section 3.5 interleaves them). LayerNorm, residual sums and
the projection do not depend on that order, and the inside of heads and of feed-forward networks is not touched.
"""

from collections.abc import Callable, Iterable, MutableMapping

import torch
from torch import Tensor, nn

from dragoman.config import ModelConfig
from dragoman.errors import ModelError
from dragoman.importing.files.foreign import Foreign
from dragoman.importing.marian.checkpoint import Tensors
from dragoman.model.parts.device import without_values
from dragoman.model.parts.embedding import positional_encoding
from dragoman.model.transformer import Transformer
from dragoman.model.weights import is_finite
from dragoman.text.tokens.tokenizer import UNK

# Modules of our layers, and what Hugging Face calls them in models that come from Marian or fairseq.
ATTENTIONS = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
LINEAR = {"w_q": "q_proj", "w_k": "k_proj", "w_v": "v_proj", "w_o": "out_proj"}
HUGGING_FACE = {
    "feed_forward.w_1": "fc1",
    "feed_forward.w_2": "fc2",
    "feed_forward_norm.norm": "final_layer_norm",
    **{f"{ours}_norm.norm": f"{theirs}_layer_norm" for ours, theirs in ATTENTIONS.items()},
    **{f"{a}.{w}": f"{ATTENTIONS[a]}.{LINEAR[w]}" for a in ATTENTIONS for w in LINEAR},
}
# What has a row for each piece: rows are renumbered.
VOCABULARY = ("projection", "projection_bias", "source_embedding.weight", "target_embedding.weight")
# Logits of pieces that the network does not know are those of its unknown token minus this: never the best, and yet
# finite, so that fine-tuning can learn such a piece and a glossary can require it.
EXTRA_BIAS = 30.0
# Linear layers that read the residual stream; the output of the others is added to it.
READERS = ("w_q", "w_k", "w_v", "w_1")


def hugging_face_name(ours: str) -> str:
    """Hugging Face's name of a tensor of a layer, or of the norm after the last layer (Pre-LN)."""
    if ours.startswith(("encoder_norm.", "decoder_norm.")):
        return f"model.{ours.replace('_norm', '.layer_norm')}"
    stack, number, module = ours.split(".", 2)
    module, _, kind = module.rpartition(".")
    return f"model.{stack}.layers.{number}.{HUGGING_FACE[module]}.{kind}"


def interleaving(d_model: int) -> Tensor:
    """The permutation p with ours = theirs[p]: theirs has all sines, then all cosines. Raises ModelError."""
    if d_model % 2 or d_model < 4:
        raise ModelError(
            f"config.json: d_model: an even number from 4 on is needed, not {d_model}; fetch the file again"
        )
    return torch.arange(d_model).view(2, -1).T.flatten()


def marian_base(d_model: int) -> float:
    """The base with which the paper's formula is Marian's: 10000^(−i / (d/2 − 1)) = base^(−2i / d)."""
    return float(10000.0 ** ((d_model / 2) / (d_model / 2 - 1)))


def take_positions(tensors: Tensors, names: Iterable[str], config: ModelConfig) -> None:
    """Take stored positions out of the tensors, which must be those of the formula. Raises ModelError."""
    for name in names:
        if name in tensors:
            check_positions(tensors.pop(name), config, f"{tensors.path}: {name}")


def check_positions(table: Tensor, config: ModelConfig, name: str) -> None:
    """Check a stored table of sinusoids, all sines first, against the formula; a row of zeros is that of padding.

    Raises ModelError if it is another table.
    """
    expected = positional_encoding(0, len(table), config.d_model, config.position_base)
    actual = table.float()[:, interleaving(config.d_model)] if table.shape == expected.shape else None
    if actual is None or not torch.isclose(actual, expected, atol=2e-3).all(1)[actual.any(1)].all():
        raise ModelError(f"{name}: not the sinusoidal positions of this architecture; the model has another one")


def stream_axis(ours: str) -> int | None:
    """Which axis of a tensor is the residual stream, of d_model numbers; None: none is."""
    if ours in VOCABULARY:
        return None if ours == "projection_bias" else 1
    *_, module, kind = ours.split(".")
    if module in READERS:
        return 1 if kind == "weight" else None
    return 0


def our_weights(
    config: ModelConfig,
    rows: tuple[Tensor, Tensor],
    theirs: MutableMapping[str, Tensor],
    name_of: Callable[[str], str],
    *,
    permutation: Tensor | None = None,
    extras: int = 0,
    where: object = "the model",
) -> dict[str, Tensor]:
    """The weights of a Transformer, each taken out of `theirs`, so that little is in memory twice.

    `rows` are, for each source and each target id, the row of their vocabularies, −1 for zeros. The last `extras`
    target ids are of pieces that the network does not know. `name_of` maps our names to theirs; a bias on the logits
    that they lack is 0. Raises ModelError if a tensor is missing, left over, of another shape or not finite.
    """
    with without_values():
        expected = {name: tensor.shape for name, tensor in Transformer(config, *map(len, rows)).named_parameters()}
    weights = {}
    for ours, shape in expected.items():
        name, order = name_of(ours), None
        if ours in VOCABULARY:
            order = rows[0] if ours == "source_embedding.weight" else rows[1]
        if name in theirs:
            tensor = _plain(theirs.pop(name), len(shape))
        elif ours == "projection_bias":
            tensor = torch.zeros(int(rows[1].max()) + 1)
        else:
            raise ModelError(f"{where}: tensor {name} is missing; fetch the files again")
        if order is not None:
            if tensor.size(0) <= int(order.max()):
                raise ModelError(f"{where}: tensor {name} has {tensor.size(0):,} rows, too few for its vocabulary")
            tensor = tensor[order]
            tensor[order < 0] = 0
        if tensor.shape != shape:
            raise ModelError(
                f"{where}: tensor {name} has shape {' × '.join(map(str, tensor.shape))}, config.json says otherwise"
            )
        if not is_finite(tensor):
            raise ModelError(f"{where}: tensor {name} contains NaN or infinity; fetch the files again")
        axis = stream_axis(ours)
        if permutation is not None and axis is not None:
            tensor = tensor.index_select(axis, permutation)
        weights[ours] = tensor.float().contiguous()
    if theirs:
        raise ModelError(f"{where}: tensor {min(theirs)} is not one of this architecture; the model has another one")
    if extras:
        bias = weights["projection_bias"]
        bias[-extras:] = bias[UNK] - EXTRA_BIAS
    return weights


def network_of(foreign: Foreign) -> Transformer:
    """The network with the very tensors of `foreign`, whose dictionary is empty afterwards. Raises ModelError.

    No weights are initialised or copied, so that those of the model are in memory once.
    """
    tensors = foreign.tensors
    assert tensors is not None
    shape = foreign.config.model
    assert isinstance(shape, ModelConfig), "every kind that is imported is a Transformer"
    with without_values():
        model = Transformer(shape, len(foreign.tokenizer.source), len(foreign.tokenizer.target))
    parameters = dict(model.named_parameters())
    where = foreign.origin.name
    if odd := sorted(tensors.keys() ^ parameters.keys()):
        raise ModelError(f"{where}: missing or unexpected tensor {odd[0]}; fetch the model again")
    for name, parameter in parameters.items():
        tensor = tensors.pop(name)
        if tensor.shape != parameter.shape:
            shapes = f"{tuple(tensor.shape)}, expected {tuple(parameter.shape)}"
            raise ModelError(f"{where}: tensor {name} is {shapes}; weights and vocabulary differ")
        if not is_finite(tensor):
            raise ModelError(f"{where}: tensor {name} contains NaN or infinity; fetch the model again")
        torch.utils.swap_tensors(parameter, nn.Parameter(tensor.float()))  # in place: a shared matrix stays shared
    return model.eval()


def _plain(tensor: Tensor, dimensions: int) -> Tensor:
    """A bias that is stored as a matrix of one row, as a vector."""
    return tensor[0] if dimensions == 1 and tensor.dim() == 2 and tensor.size(0) == 1 else tensor
