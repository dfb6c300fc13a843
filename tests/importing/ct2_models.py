"""Folders of CTranslate2 as other toolkits write them: small random networks, other orders and names of pieces."""

import json
import random
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import ctranslate2
import torch
from ctranslate2.specs.model_spec import OPTIONAL

from dragoman.config import ModelConfig, TokenizerConfig
from dragoman.exporting.ctranslate2 import TransformerConverter
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import EOS, Tokenizer, learn

WORDS = ["dog", "cat", "bird", "tree", "red", "small", "two", "sees"]
LINES = [(f"{a} {b} {c}", f"{c} {a} {b}") for a in WORDS for b in WORDS for c in WORDS[:3]]
TEXTS = [
    "dog cat bird", "two small red dog sees tree", "tree", "a wombat sees ½ two dogs", "bird ☃ cat tree red", "red",
    "two two two", "small cats see trees", "dog", "sees tree dog cat small", "cat cat", "a bird sees two small dogs",
]  # fmt: skip
SHAPE: dict[str, Any] = {
    "encoder_layers": 2, "decoder_layers": 2, "d_model": 24, "d_ff": 40, "heads": 4, "norm_order": "pre"
}  # fmt: skip
OPENNMT = {"<pad>": "<blank>"}
# Logits of special tokens in a trained network, which has never seen them as targets.
NEVER_SEEN = -30.0


@cache
def toy_tokenizer(joint: bool = True) -> Tokenizer:
    """Bytes, and 20 pieces of several letters or one."""
    return learn(LINES, TokenizerConfig(vocab_size=282 if joint else 278, joint=joint))


def network(tokenizer: Tokenizer, **shape: Any) -> Transformer:
    """Random weights, large enough that predictions differ clearly."""
    torch.manual_seed(5)
    config = ModelConfig.model_validate(SHAPE | {"output_bias": True} | shape)
    model = Transformer(config, len(tokenizer.source), len(tokenizer.target)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.6 + 0.2 * torch.randn_like(parameter)) if parameter.dim() > 1 else parameter.add_(
                0.1 * torch.randn_like(parameter)
            )
        if model.projection_bias is not None:
            model.projection_bias[EOS] += 6.0  # so that a translation ends
    return model


class ForeignConverter(TransformerConverter):
    """Our network in another toolkit's order of pieces, with its names; `dropped` pieces have no row.

    `special_logit` is the bias of special tokens; None: the network has no bias on its logits.
    """

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        *,
        names: dict[str, str],
        dropped: Sequence[str] = (),
        special_logit: float | None = NEVER_SEEN,
        zero_start: bool = False,
        **config: Any,
    ) -> None:
        super().__init__(model, tokenizer)
        self.names, self.dropped, self.special_logit, self.config = names, dropped, special_logit, config
        self.zero_start = zero_start

    def _load(self) -> Any:
        spec = super()._load()
        spec._vocabularies = {"source": [], "target": []}
        order = {side: self._order(side) for side in ("source", "target")}
        bias = spec.decoder.projection.bias
        if self.special_logit is None:
            spec.decoder.projection.bias = OPTIONAL
        else:
            bias[[0, 1, 2]] = self.special_logit
            spec.decoder.projection.bias = bias[order["target"]]
        spec.encoder.embeddings[0].weight = spec.encoder.embeddings[0].weight[order["source"]]
        for part in (spec.decoder.embeddings, spec.decoder.projection):
            part.weight = part.weight[order["target"]]
        spec.register_source_vocabulary(self._names("source", order["source"]))
        spec.register_target_vocabulary(self._names("target", order["target"]))
        spec.decoder.start_from_zero_embedding = self.zero_start
        spec.config.add_source_eos = False
        for key, value in self.config.items():
            setattr(spec.config, key, value)
        return spec

    def _order(self, side: Any) -> list[int]:
        """The unknown piece first, the others in an order of their own; the same on both sides of one tokenizer."""
        pieces = self.tokenizer.pieces(range(len(getattr(self.tokenizer, side))), side)
        rest = [token for token, piece in enumerate(pieces) if token != 1 and piece not in self.dropped]
        random.Random(7).shuffle(rest)
        return [1, *rest]

    def _names(self, side: Any, order: list[int]) -> list[str]:
        return [self.names.get(piece, piece) for piece in self.tokenizer.pieces(order, side)]


def foreign_folder(
    folder: Path, model: Transformer, tokenizer: Tokenizer, quantization: str = "float32", **options: Any
) -> Path:
    """A folder of CTranslate2 with its SentencePiece models, which are the tokenizer's own."""
    converter = ForeignConverter(model, tokenizer, **{"names": OPENNMT} | options)
    converter.convert(str(folder), quantization=quantization)
    if tokenizer.joint:
        (folder / "sentencepiece.model").write_bytes(tokenizer.source.serialized)
    else:
        (folder / "source.spm").write_bytes(tokenizer.source.serialized)
        (folder / "target.spm").write_bytes(tokenizer.target.serialized)
    return folder


def as_version_5(folder: Path) -> None:
    """The folder as CTranslate2 before version 4 wrote it: no config.json, vocabularies as plain lines."""
    content = bytearray((folder / "model.bin").read_bytes())
    content[:4] = (5).to_bytes(4, "little")
    (folder / "model.bin").write_bytes(content)
    (folder / "config.json").unlink()
    for path in folder.glob("*_vocabulary.json"):
        pieces = json.loads(path.read_text(encoding="utf-8"))
        path.with_suffix(".txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
        path.unlink()


def by_ctranslate2(
    folder: Path, sources: Sequence[Sequence[str]], prefix: Sequence[str] = (), **options: Any
) -> list[list[str]]:
    """What CTranslate2 itself finds for sources of pieces, each alone, after a prefix, which is taken away."""
    engine = ctranslate2.Translator(str(folder), device="cpu", intra_threads=1)
    defaults: dict[str, Any] = {"length_penalty": 1e-9, "max_input_length": 0, "min_decoding_length": 0}
    if prefix:
        defaults["target_prefix"] = [prefix]
    found = (
        engine.translate_batch([source], max_decoding_length=len(source) + 50 + len(prefix), **defaults | options)
        for source in map(list, sources)
    )
    return [result[0].hypotheses[0][len(prefix) :] for result in found]


def pieces_of(tokenizer: Tokenizer, texts: Sequence[str] = TEXTS) -> list[list[str]]:
    """What the toolkit's own SentencePiece model cuts the texts into."""
    return [tokenizer.source.processor.EncodeAsPieces(text) for text in texts]


def copy_folder(folder: Path, to: Path) -> Path:
    """A copy to damage."""
    shutil.copytree(folder, to)
    return to
