"""`inspect`: what a model computes for one sentence, as arrays or as a page.

inspection = inspect("runs/legal/model", "A man rides a bicycle.")
inspection["decoder.5.cross_attention.weights"].values
inspection.to_html("inspection.html")
"""

import os

from dragoman.bundle import Bundle
from dragoman.config import DecodeConfig
from dragoman.control.languages import Pairs
from dragoman.control.search.sentences import split_texts
from dragoman.errors import DataError, ModelError, check_type
from dragoman.exporting.page import SEARCH, embedded
from dragoman.inspection.inspect import BundleInspection, inspect_bundle
from dragoman.inspection.page import LiveModel
from dragoman.installed.opening import open_model
from dragoman.translator import Translator
from dragoman.workflows.models.dequantise import dequantised
from dragoman.workflows.models.html import page_model

# A page of more bytes of weights takes long to open, and every step in it seconds.
LARGEST = 48_000_000

Model = str | os.PathLike[str] | Bundle | Translator


def inspect(
    model: Model,
    text: str,
    target: str | None = None,
    *,
    options: DecodeConfig | None = None,
    to: str | None = None,
    source: str | None = None,
) -> BundleInspection:
    """Translate `text`, or force the translation `target`, and record everything the model computes.

    `model` is the folder of a bundle or the name of a bundled model, an opened bundle, or a translator, whose first
    bundle is taken; an export has its own weights. `options` replace those of the translator or the bundle; `to` is the
    target language and `source` that of the text, for a model of several. The text is translated as a whole by beam
    search, without a glossary, with float32 arithmetic on the CPU; `sentences_of` says how `translate` would divide it.
    Raises DataError if the text is empty or if `target` contains what the vocabulary cannot write, ModelError if the
    bundle has no weights for torch, ConfigError for `options` of another type.
    """
    check_type("options", options, DecodeConfig | None, "DecodeConfig(beam=8), for example")
    if isinstance(model, Translator):
        options = options or model.options
        to = to or (model.pair.target if model.pair else None)
        source = source or (model.pair.source if model.pair else None)
    bundle, network = dequantised(_bundle_of(model))
    return inspect_bundle(bundle, network, text, target, options or bundle.config.decode, to, source)


def live_model(bundle: Bundle, inspection: BundleInspection) -> LiveModel:
    """The model as a page runs it, which searches as `inspection` did.

    `bundle` is that which was opened, not the one with dequantised weights. Raises ConfigError for a model that is too
    large for a page, ModelError for one that no page can run.
    """
    return searching_as(packed(bundle), inspection)


def packed(bundle: Bundle) -> LiveModel:
    """The model as a page has it, before a direction and a search are chosen. Raises as `live_model` does."""
    facts, weights = embedded(page_model(bundle, largest=LARGEST), LARGEST)
    return LiveModel(facts, weights.encode("ascii"))


def searching_as(model: LiveModel, inspection: BundleInspection) -> LiveModel:
    """A packed model in the direction of `inspection`, and with its options of the search."""
    languages = [(source, target or "und") for source, target in (pair["languages"] for pair in model.facts["pairs"])]
    decode = model.facts["decode"] | {key: getattr(inspection.options, key) for key in SEARCH}
    return LiveModel({**model.facts, "decode": decode, "pair": languages.index(inspection.languages)}, model.weights)


def sentences_of(bundle: Bundle, text: str, to: str | None = None, source: str | None = None) -> list[str]:
    """The sentences of which `translate` makes one translation each. Raises DataError if there is none."""
    pair = Pairs.of(bundle.config.project, bundle.tokenizer).choose(to, source, [text])
    [sentences] = split_texts(bundle.tokenizer, [text], pair.source, bundle.config.data.max_length, pair.marks)
    if not sentences:
        raise DataError("the sentence is empty; give at least one word")
    return [sentence.text for sentence in sentences]


def _bundle_of(model: Model) -> Bundle:
    if isinstance(model, Bundle):
        return model
    if not isinstance(model, Translator):
        return open_model(model)
    if model.bundle is None:
        raise ModelError("this translator was made from an engine, not from a bundle; give the folder of its model")
    return model.bundle
