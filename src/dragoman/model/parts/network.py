"""What training and decoding need of any architecture: encode(src) → state, decode(tokens, state) → (logits, state).

Training decodes all positions at once from an empty past; translation decodes one position at a time. The state is a
value: decoding takes one and returns a new one, and no module stores any.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dragoman.config import AnyModel
from dragoman.model.parts.embedding import Embedding


@runtime_checkable
class State(Protocol):
    """What a network knows of B source sentences and the R hypotheses decoded so far, which are grouped by sentence."""

    def select(self, rows: Int[Tensor, "R2"], sentences: Int[Tensor, "B2"] | None = None) -> "State":
        """The state of the hypotheses `rows`, in this order; a row may be repeated.

        Rows stay grouped by sentence, with an equal number for each. `sentences` are the sentences to keep when some
        are finished.
        """
        ...


class Attending(nn.Module):
    """An encoder-decoder attention: `attend` is called as `ScaledDotProduct` is, and can be watched."""

    attend: nn.Module


def initialise_linear(module: nn.Module) -> None:
    """Draw the matrices of the linear maps in `module` as Glorot and Bengio (2010); biases start at 0."""
    for linear in module.modules():
        if isinstance(linear, nn.Linear):
            nn.init.xavier_uniform_(linear.weight)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)


class EncoderDecoder(nn.Module):
    """A network of any architecture, for vocabularies of two sizes."""

    config: AnyModel
    source_embedding: Embedding
    target_embedding: Embedding
    projection: nn.Parameter
    projection_bias: nn.Parameter | None

    def tie_projection(self, config: AnyModel, target_vocab: int) -> None:
        """Make the projection onto the vocabulary, and share matrices as `config.tie` says (section 3.4)."""
        embedding = self.target_embedding
        if config.tie == "all":
            assert self.source_embedding.weight.size(0) == target_vocab, "the configuration refuses two vocabularies"
            self.source_embedding.weight = embedding.weight
        # A copy: a projection that is not tied starts where a tied one does.
        self.projection = nn.Parameter(embedding.weight.detach().clone())
        bias = nn.Parameter(torch.zeros(target_vocab)) if config.output_bias else None
        self.register_parameter("projection_bias", bias)
        if config.tie != "none":
            self.projection = embedding.weight

    @abstractmethod
    def encode(self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B 1 1 S"]) -> State:
        """The state before the first target token."""

    # Every network takes its own kind of state only: an argument of the type State would promise that it takes any.
    @abstractmethod
    def decode_features(self, tokens: Int[Tensor, "R T"], state: Any) -> tuple[Float[Tensor, "R T D"], State]:
        """`decode` before the projection onto the vocabulary."""

    def decode(self, tokens: Int[Tensor, "R T"], state: Any) -> tuple[Float[Tensor, "R T V"], State]:
        """Logits of the next token after each of T further tokens of R hypotheses, and the state after them."""
        x, state = self.decode_features(tokens, state)
        return self.project(x), state

    def project(self, x: Float[Tensor, "*any D"]) -> Float[Tensor, "*any V"]:
        """Decoder output → logits, section 3.4: the pre-softmax linear transformation."""
        return F.linear(x, self.projection, self.projection_bias)

    def forward(
        self, src: Int[Tensor, "B S"], src_mask: Bool[Tensor, "B 1 1 S"], tgt: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T V"]:
        """Logits at every target position at once, each computed from that position and those before it."""
        return self.decode(tgt, self.encode(src, src_mask))[0]

    def layers(self) -> Sequence[nn.Module]:
        """The modules that are each called once in a pass: they may be compiled, recomputed or sharded on their own."""
        return ()

    def cross_attentions(self) -> Sequence[Attending]:
        """The encoder-decoder attention of each decoder layer that has one."""
        return ()

    @property
    def vocabularies(self) -> tuple[int, int]:
        """The numbers of pieces of the source and of the target."""
        return self.source_embedding.weight.size(0), self.projection.size(0)

    @property
    def parameter_count(self) -> int:
        """The number of trained parameters, tied matrices counted once."""
        return sum(parameter.numel() for parameter in self.parameters())
