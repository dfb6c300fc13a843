"""The network of an imported model: its tensors, checked once more against the configuration, in a Transformer."""

import torch
from torch import nn

from dragoman.config import ModelConfig
from dragoman.errors import ModelError
from dragoman.importing.files.foreign import Foreign
from dragoman.model.parts.device import without_values
from dragoman.model.transformer import Transformer
from dragoman.model.weights import is_finite


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
        found = tensors.pop(name)
        if found.shape != parameter.shape:
            shapes = f"{tuple(found.shape)}, expected {tuple(parameter.shape)}"
            raise ModelError(f"{where}: tensor {name} is {shapes}; weights and vocabulary differ")
        if not is_finite(found):
            raise ModelError(f"{where}: tensor {name} contains NaN or infinity; fetch the model again")
        torch.utils.swap_tensors(parameter, nn.Parameter(found.float()))  # in place: a shared matrix stays shared
    return model.eval()
