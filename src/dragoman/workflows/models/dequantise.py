"""A model that has only an export for CTranslate2 → the same model with weights that training can start from.

The weights of int8 are those that CTranslate2 computes with, not those that were quantised: a start for fine-tuning.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.bundle import WEIGHTS, Bundle, add_files, open_bundle, update_bundle
from dragoman.config import ModelConfig
from dragoman.config.file import dump_config, portable
from dragoman.engine.load import load_engine
from dragoman.errors import ModelError
from dragoman.exporting.golden import FILE as GOLDEN
from dragoman.exporting.golden import Golden, golden_sentences, golden_text, read_golden
from dragoman.importing.opennmt.ctranslate2 import model_shape
from dragoman.importing.opennmt.folder import ENDED, CT2Folder, read_ct2_folder
from dragoman.importing.opennmt.rows import Renumbering
from dragoman.model.weights import save_tensors, use_weights
from dragoman.system.files import folder_next_to, refuse_existing, refuse_unwritable_folder
from dragoman.text.tokens.marks import Marks
from dragoman.text.tokens.tokenizer import Side, Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.model.parts.network import EncoderDecoder

# The keys of [model] that the files of the network decide.
SHAPE_KEYS = ("output_bias", "position_base", "first_position")
# What the card says of it.
NOTE = "## Weights\n\nDequantised from `{export}`, to train from; the scores above are those of the original.\n"


def write_dequantised(bundle: Bundle, output: Path) -> Bundle:
    """Write `bundle`, which has no weights, to `output` with those of its most precise export, and open that.

    The PyTorch engine translates the golden sentences again. Raises ConfigError if `output` exists, ModelError if the
    network is not one of ours, or PyTorch is missing.
    """
    refuse_existing([output], "remove it, or choose another folder")
    refuse_unwritable_folder(output)
    export = bundle.exports[-1]
    changed, tensors = _weights(bundle)
    with folder_next_to(output) as temporary:
        made = temporary / "model"
        with update_bundle(bundle, made, {"architecture": "transformer", "dequantised": export.name}) as partial:
            save_tensors(partial / WEIGHTS, tensors)
            (partial / GOLDEN).unlink(missing_ok=True)
            for name, text in _texts(bundle, changed, export.name).items():
                (partial / name).unlink()
                (partial / name).write_text(text, encoding="utf-8")
        _add_golden(open_bundle(made), read_golden(bundle.folder, bundle.tokenizer))
        made.rename(output)
    return open_bundle(output)


def dequantised(bundle: Bundle) -> tuple[Bundle, "EncoderDecoder"]:
    """`bundle` and its network in evaluation mode: of an export, with the weights that CTranslate2 computes with.

    Nothing is written. Raises ModelError if the network is not one of ours, or PyTorch is missing.
    """
    if bundle.has_weights or not bundle.exports:
        return bundle, bundle.load_model()
    changed, tensors = _weights(bundle)
    from dragoman.model.build import build_network
    from dragoman.model.parts.device import without_values

    config = bundle.config.model_copy(update={"model": bundle.config.model.model_copy(update=changed)})
    with without_values():
        network = build_network(config.model, len(bundle.tokenizer.source), len(bundle.tokenizer.target))
    use_weights(network, {name: tensors[name].float() for name, _ in network.named_parameters()})
    return replace(bundle, config=config), network.eval()


def _weights(bundle: Bundle) -> tuple[dict[str, Any], dict[str, "Tensor"]]:
    """The keys of [model] that the most precise export decides, and its weights by their names. Raises ModelError."""
    folder = read_ct2_folder(bundle.exports[-1])
    folder.refuse_source_start()
    if not model_shape(folder)[1]:
        raise ModelError(f"{bundle.folder}: an architecture that Dragoman's network has no options for; train another")
    try:
        from dragoman.importing.opennmt.weights import weights_of
    except ImportError:
        raise ModelError(f'{bundle.folder}: computing with it needs `pip install "dragoman[train]"`') from None
    source, target = _rows(folder, bundle.tokenizer, "source"), _rows(folder, bundle.tokenizer, "target")
    assert isinstance(bundle.config.model, ModelConfig), "CTranslate2 runs Transformers alone"
    shape, tensors = weights_of(folder, bundle.config.model, source, target)
    return {key: getattr(shape, key) for key in SHAPE_KEYS}, tensors


def _texts(bundle: Bundle, changed: dict[str, Any], export: str) -> dict[str, str]:
    """The files that are not those of `bundle`: the card, and the configuration if the network's shape says more."""
    ended = "" if read_ct2_folder(bundle.folder / export).config["add_source_eos"] else f"\n{ENDED.capitalize()}.\n"
    card = (bundle.folder / "README.md").read_text(encoding="utf-8")
    texts = {"README.md": f"{card}\n{NOTE.format(export=export)}{ended}"}
    model = bundle.config.model.model_copy(update=changed)
    if model != bundle.config.model:
        texts["config.toml"] = dump_config(portable(bundle.config.model_copy(update={"model": model})))
    return texts


def _rows(folder: CT2Folder, tokenizer: Tokenizer, side: Side) -> Renumbering:
    """The rows of the network's tables in the order of the tokenizer's ids."""
    pieces = tokenizer.pieces(range(len(getattr(tokenizer, side))), side)
    return Renumbering.of(pieces, getattr(folder, side), folder.config["decoder_start_token"])


def _add_golden(bundle: Bundle, sentences: Sequence[Golden]) -> None:
    """Translate the golden sentences again, each with the language tokens of its pair, and keep them in the bundle."""
    engine = load_engine(bundle, engine="torch", device="cpu", precision="float32")
    golden: list[Golden] = []
    for name, group in groupby(sentences, key=lambda sentence: sentence.pair):
        pair = bundle.config.project.pair(name) or bundle.config.project.all_pairs[0]
        marks = Marks.of(pair, bundle.tokenizer)
        texts = [sentence.source for sentence in group]
        golden += golden_sentences(bundle.tokenizer, engine, bundle.config.decode, texts, name, len(texts), marks)
    if golden:
        add_files(bundle, {GOLDEN: golden_text(golden)}, {})
