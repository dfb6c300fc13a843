"""The network of an imported model: its tensors, checked once more against the configuration, in a Transformer."""

import torch

from dragoman.errors import ModelError
from dragoman.importing.foreign import Foreign
from dragoman.model.transformer import Transformer


def network_of(foreign: Foreign) -> Transformer:
    """The network with the weights of `foreign`, whose dictionary is empty afterwards. Raises ModelError.

    Each tensor is given up as soon as it is copied, so that no more than twice the weights are in memory.
    """
    tensors = foreign.tensors
    assert tensors is not None
    with torch.random.fork_rng(devices=[]):
        model = Transformer(foreign.config.model, len(foreign.tokenizer.source), len(foreign.tokenizer.target))
    parameters = dict(model.named_parameters())
    where = foreign.origin.name
    if odd := sorted(tensors.keys() ^ parameters.keys()):
        raise ModelError(f"{where}: missing or unexpected tensor {odd[0]}; fetch the model again")
    with torch.no_grad():
        for name, parameter in parameters.items():
            found = tensors.pop(name)
            if found.shape != parameter.shape:
                shapes = f"{tuple(found.shape)}, expected {tuple(parameter.shape)}"
                raise ModelError(f"{where}: tensor {name} is {shapes}; weights and vocabulary differ")
            if not found.isfinite().all():
                raise ModelError(f"{where}: tensor {name} contains NaN or infinity; fetch the model again")
            parameter.copy_(found)
    return model.eval()
