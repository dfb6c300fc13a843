"""MarianMT models of Hugging Face, the form in which most of OPUS-MT is published (Tiedemann and Thottingal 2020).

Such a model is our Transformer: Post-LN, sinusoids, biases, embeddings scaled by √d_model. What differs in form is
removed here, and the same function is computed: their sinusoids have all sines before all cosines, their ids are those
of `vocab.json`, and their first decoder input is the row of padding. Their softmax includes padding, ours does not
(decision 0009), so that log P differs by what their model gives to padding.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from dragoman.errors import ModelError
from dragoman.importing.files.foreign import Foreign, foreign_config, origin_of_folder
from dragoman.importing.files.languages import is_target_mark, languages
from dragoman.importing.files.pieces import NumberedSides, SpecialIds, read_model, read_vocabulary, renumber
from dragoman.importing.files.settings import REMEDY, dropout_notes, model_config, read_settings, require, shape_keys
from dragoman.importing.marian.checkpoint import Tensors, open_tensors, take_one_of
from dragoman.importing.marian.layers import hugging_face_name, interleaving, our_weights, take_positions

# Keys of config.json with the values that they may have; None: the key may be missing.
REQUIRED: dict[str, tuple[Any, ...]] = {
    "model_type": ("marian", None),
    "share_encoder_decoder_embeddings": (True, False, None),
    "tie_word_embeddings": (True, False, None),
    "scale_embedding": (True,),
    "static_position_embeddings": (True, None),
    "normalize_before": (False, None),
    "normalize_embedding": (False, None),
    "add_final_layer_norm": (False, None),
}
ENCODER = "model.encoder.embed_tokens.weight"
DECODER = ("lm_head.weight", "model.decoder.embed_tokens.weight")
SHARED = ("model.shared.weight", ENCODER, *DECODER)
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
BIAS = "final_logits_bias"
CHANGES = (
    "Dragoman renumbered the pieces, and with them the rows of the embeddings and of the projection.",
    "Dragoman permuted the axis of d_model, because its sines and cosines alternate; the function is the same.",
)


def read_marian(path: Path, *, pair: tuple[str, str] | None = None, scratch: Path | None = None) -> Foreign:
    """The model in the folder `path`. A model of several targets becomes one of a single `pair`, or of all its pairs.

    Raises ModelError if it is not a whole MarianMT model, ConfigError if its languages must be named.
    """
    settings = read_settings(path / "config.json")
    options = read_settings(path / "tokenizer_config.json", required=False)
    require(settings, REQUIRED, path / "config.json")
    sides, files = _read_tokenizer(path, settings, bool(options.get("separate_vocabs", False)))
    project, notes = languages(path, options, sides.source.marks, pair)
    shape = _shape(settings, path / "config.json", sides)
    tensors = open_tensors(path)
    model, weights = _weights(tensors, shape, sides, path / "config.json")
    config = foreign_config(path, project, model=model, tokenizer=sides.keys, decode={"beam": 4})
    notes += [*tensors.notes, *sides.notes, *dropout_notes(settings)]
    read = ["config.json", "tokenizer_config.json", *tensors.files, *files]
    origin = origin_of_folder("marian", path, [name for name in read if (path / name).is_file()], CHANGES)
    return Foreign(config, sides.tokenizer, origin, tensors=weights, notes=notes)


def _shape(settings: Mapping[str, Any], where: Path, sides: NumberedSides) -> dict[str, Any]:
    share, tie = (settings.get(key, True) for key in ("share_encoder_decoder_embeddings", "tie_word_embeddings"))
    if share and not (tie and sides.shared):
        what = "tie_word_embeddings is false" if sides.shared else "the vocabularies are separate"
        raise ModelError(f"{where}: share_encoder_decoder_embeddings is true, but {what}; {REMEDY}")
    tied = "all" if share else "target" if tie else "none"
    return {**shape_keys(settings, where), "norm_order": "post", "tie": tied}


def _read_tokenizer(path: Path, settings: Mapping[str, Any], separate: bool) -> tuple[NumberedSides, list[str]]:
    """The tokenizer of both sides and the names of its files. Raises ModelError."""
    models = {path / name: read_model(path / name) for name in ("source.spm", "target.spm")}
    numbered = {"vocab.json": list(models)}
    if separate:
        numbered = dict(zip(("vocab.json", "target_vocab.json"), ([file] for file in models), strict=True))
    sides = []
    for name, part in numbered.items():
        vocabulary = read_vocabulary(path / name)
        special = _special_ids(settings, vocabulary, path / name, len(part) == 2 or name != "vocab.json")
        sides.append(renumber({file: models[file] for file in part}, vocabulary, special, is_target_mark, path / name))
    return NumberedSides(sides[0], sides[-1]), ["source.spm", "target.spm", *numbered]


def _special_ids(settings: Mapping[str, Any], vocabulary: Mapping[str, int], where: Path, decoded: bool) -> SpecialIds:
    """The special ids of a vocabulary; config.json has those of the one that is `decoded`. Raises ModelError."""
    config = where.parent / "config.json"
    for piece in ("<unk>", "</s>", "<pad>"):
        if piece not in vocabulary:
            raise ModelError(f"{where}: has no {piece}; fetch the file again")
    unk, eos, padding = vocabulary["<unk>"], vocabulary["</s>"], vocabulary["<pad>"]
    if not decoded:
        return SpecialIds(unk, padding, eos)
    if settings.get("eos_token_id") != eos:
        raise ModelError(
            f"{config}: eos_token_id is {settings.get('eos_token_id')}, but </s> in {where.name} is {eos}; fetch both "
            "again"
        )
    start = settings.get("decoder_start_token_id")
    if type(start) is not int or not 0 <= start < len(vocabulary):
        raise ModelError(
            f"{config}: decoder_start_token_id is {start}, which is no id of {where.name}; fetch both again"
        )
    return SpecialIds(unk, start, eos, (padding,))


def _weights(
    tensors: Tensors, shape: Mapping[str, Any], sides: NumberedSides, where: Path
) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """The keys of [model], with `output_bias` if there is any, and our weights. Raises ModelError."""
    names = _names(tensors, shape["tie"])
    biased = BIAS in tensors and bool(tensors[BIAS].any())
    extras = sides.target.extras
    model = {**shape, "output_bias": biased or extras > 0}
    config = model_config(model, where)
    take_positions(tensors, POSITIONS, config)
    if BIAS in tensors and not model["output_bias"]:
        del tensors[BIAS]
    weights = our_weights(
        config,
        (torch.tensor(sides.source.rows), torch.tensor(sides.target.rows)),
        tensors,
        lambda ours: names.get(ours) or hugging_face_name(ours),
        permutation=interleaving(config.d_model),
        extras=extras,
        where=tensors.path,
    )
    return model, weights


def _names(tensors: Tensors, tie: str) -> dict[str, str]:
    """Their names of our tensors of the vocabulary; of equal ones that are tied one is kept."""
    if tie == "all":
        return {"projection": take_one_of(tensors, SHARED), "projection_bias": BIAS}
    names = {"source_embedding.weight": ENCODER, "projection_bias": BIAS}
    if tie == "target":
        return {**names, "projection": take_one_of(tensors, DECODER)}
    return {**names, "projection": DECODER[0], "target_embedding.weight": DECODER[1]}
