"""`inspect`: what a model computes for one sentence, as arrays or as a page.

inspection = inspect("runs/legal/model", "A man rides a bicycle.")
inspection["decoder.5.cross_attention.weights"].values
inspection.to_html("inspection.html")
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.config import DecodeConfig
from dragoman.control.languages import Pairs
from dragoman.errors import ModelError, check_type
from dragoman.inspection.checkpoints import CheckpointView
from dragoman.inspection.inspection import Inspection, inspect_model
from dragoman.inspection.page import analyse, free_bytes, render
from dragoman.inspection.payload import gather
from dragoman.installed.opening import open_model
from dragoman.model.build import require_transformer
from dragoman.model.parts.network import EncoderDecoder
from dragoman.system.files import write_text_atomically
from dragoman.text.terms.symbols import Symbols
from dragoman.translator import Translator

Model = str | os.PathLike[str] | Bundle | Translator


@dataclass(frozen=True, repr=False)
class BundleInspection(Inspection):
    """An inspection with what a page needs to know about the model."""

    name: str
    languages: tuple[str, str]
    """Source and target, BCP-47."""
    options: DecodeConfig

    @classmethod
    def of(
        cls, inspection: Inspection, name: str, languages: tuple[str, str], options: DecodeConfig
    ) -> "BundleInspection":
        values = {field.name: getattr(inspection, field.name) for field in fields(Inspection)}
        return cls(**values, name=name, languages=languages, options=options)

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        layers: Sequence[int] = (),
        checkpoints: Sequence[CheckpointView] | None = None,
    ) -> None:
        """Write one HTML file that shows every quantity and needs no network.

        `layers`, counted from 1, are shown in full before the others. `checkpoints` comes from `across_checkpoints`.
        Raises DragomanError if the file cannot be written.
        """
        facts, maps = analyse(self, checkpoints)
        payload = gather(
            self,
            name=self.name,
            languages=self.languages,
            byte_budget=free_bytes(max(len(self.source_ids), len(self.target_ids))),
            layers=layers,
            options=self.options,
            analyses=facts,
            maps=maps,
        )
        write_text_atomically(Path(path), render(payload))


def inspect(
    model: Model, text: str, target: str | None = None, *, options: DecodeConfig | None = None, to: str | None = None
) -> BundleInspection:
    """Translate `text`, or force the translation `target`, and record everything the model computes.

    `model` is the folder of a bundle, an opened bundle, or a translator, whose first bundle is taken. `options` replace
    those of the translator or the bundle; `to` is the target language, for a model of several. The text is translated
    as a whole by beam search, without a glossary, with the float32 weights on the CPU. Raises DataError if the text is
    empty or if `target` contains what the vocabulary cannot write, ModelError if the bundle has no weights for torch,
    ConfigError for `options` of another type.
    """
    check_type("options", options, DecodeConfig | None, "DecodeConfig(beam=8), for example")
    if isinstance(model, Translator):
        options = options or model.options
        to = to or (model.pair.target if model.pair else None)
    bundle = _bundle_of(model)
    return inspect_bundle(bundle, bundle.load_model(), text, target, options or bundle.config.decode, to)


def inspect_bundle(
    bundle: Bundle, network: EncoderDecoder, text: str, target: str | None, options: DecodeConfig, to: str | None = None
) -> BundleInspection:
    """`inspect` for a bundle whose network is loaded already."""
    transformer = require_transformer(network, "look")
    name, pairs = bundle.config.project.name, Pairs.of(bundle.config.project, bundle.tokenizer)
    pair = pairs.choose(to, None, [text])
    symbols = Symbols.of(bundle.config, bundle.tokenizer.symbols)
    inspection = inspect_model(transformer, bundle.tokenizer, text, target, options, pair.marks, symbols)
    return BundleInspection.of(inspection, name, (pair.source, pair.target or "und"), options)


def _bundle_of(model: Model) -> Bundle:
    if isinstance(model, Bundle):
        return model
    if not isinstance(model, Translator):
        return open_model(model)
    if model.bundle is None:
        raise ModelError("this translator was made from an engine, not from a bundle; give the folder of its model")
    return model.bundle
