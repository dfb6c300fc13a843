"""M2M-100 (Fan et al. 2020) and the dense models of NLLB-200 (Costa-jussà et al. 2022), as Hugging Face publishes them.

Such a model is our Transformer: Pre-LN, ReLU, sinusoids, biases, one matrix for both embeddings and the projection.
What differs in form is removed here: sines come before cosines; positions are counted from 2, with tensor2tensor's
frequencies; BOS and EOS are the same token, `</s>`, and so copies of one row. A source begins with the token of its
language, a target with that of its own after BOS. A bundle is of one pair: its two language tokens are kept, those of
other languages, and rows that no piece has, are left out.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman.errors import ConfigError, ModelError, counted
from dragoman.importing.files.foreign import Foreign, foreign_config, is_non_commercial, origin_of_folder
from dragoman.importing.files.languages import choose, listed, tags_of
from dragoman.importing.files.pieces import NumberedSides, Renumbered, SpecialIds, read_model, read_vocabulary, renumber
from dragoman.importing.files.settings import dropout_notes, model_config, number, read_settings, require, shape_keys
from dragoman.importing.marian.checkpoint import Tensors, open_tensors, take_one_of
from dragoman.importing.marian.layers import hugging_face_name, interleaving, marian_base, our_weights, take_positions
from dragoman.text.tokens.model_file import model_pieces

# Keys of config.json with the values that they may have; None: the key may be missing.
REQUIRED: dict[str, tuple[Any, ...]] = {
    "model_type": ("m2m_100",),
    "scale_embedding": (True,),
    "tie_word_embeddings": (True, None),
    "decoder_start_token_id": (2, None),
    "eos_token_id": (2, None),
    "pad_token_id": (1, None),
}
START, PAD, END, UNKNOWN = 0, 1, 2, 3  # of `<s> <pad> </s> <unk>`
SPECIAL = {"<s>": START, "<pad>": PAD, "</s>": END, "<unk>": UNKNOWN}
# SentencePiece models of these networks have `<unk> <s> </s>` first, where the networks have four tokens.
OFFSET = 1
FIRST_POSITION = 2
SHARED = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)
POSITIONS = tuple(
    f"model.{stack}.embed_positions.{kind}" for stack in ("encoder", "decoder") for kind in ("weights", "weight")
)
# `__ko__` of M2M-100, `kor_Hang` of NLLB.
LANGUAGE = re.compile(r"__([a-z]{2,3})__|([a-z]{3}_[A-Z][a-z]{3})")
# Files that name the language tokens; those with their ids first.
ADDED = ("tokenizer_config.json", "added_tokens.json", "special_tokens_map.json", "tokenizer.json")
CHANGES = (
    "Dragoman renumbered the pieces, and with them the rows of the embedding matrix.",
    "Dragoman left out the rows of languages other than those of the pair, and of no piece.",
    "Dragoman permuted the axis of d_model, because its sines and cosines alternate; the function is the same.",
)


def read_m2m(path: Path, *, pair: tuple[str, str] | None = None, scratch: Path | None = None) -> Foreign:
    """The model in the folder `path`, for one `pair` of its languages.

    Raises ModelError if it is not a whole model of this architecture, ConfigError if it has not the pair.
    """
    settings = read_settings(path / "config.json")
    require(settings, REQUIRED, path / "config.json")
    vocabulary, file = _read_vocabulary(path)
    languages, named_in = _language_ids(path, vocabulary, number(settings, "vocab_size", path / "config.json"))
    project, source_mark, target_mark = _choose(pair, languages)
    model_file = path / "sentencepiece.bpe.model"
    marks = {mark: languages[mark] for mark in (source_mark, target_mark)}
    numbered = renumber(
        {model_file: read_model(model_file)},
        {**vocabulary, **marks},
        SpecialIds(UNKNOWN, END, END, (START, PAD)),
        marks.__contains__,
        file,
    )
    sides = NumberedSides(numbered, numbered)
    tensors = open_tensors(path)
    model, weights = _weights(tensors, settings, numbered, path / "config.json")
    config = foreign_config(path, project, model=model, tokenizer=sides.keys, decode={"beam": 5})
    notes = [f"1 pair of {counted(len(languages), 'language')}; another --pair makes another bundle"]
    if numbered.extras:
        notes.append(f"{counted(numbered.extras, 'piece')} unknown to the network")
    notes += [*tensors.notes, *dropout_notes(settings)]
    read = ("config.json", "sentencepiece.bpe.model", file.name, named_in, *tensors.files)
    origin = origin_of_folder("m2m", path, sorted(set(read)), CHANGES)
    if is_non_commercial(origin.license):
        notes.append(f"LICENCE {origin.license}: NOT FOR COMMERCIAL USE, nor is what is trained from it")
    return Foreign(config, sides.tokenizer, origin, tensors=weights, notes=notes)


def _read_vocabulary(path: Path) -> tuple[dict[str, int], Path]:
    """Piece → id of the network, and the file that says so. Raises ModelError."""
    file = path / "vocab.json"
    if file.is_file():  # M2M-100
        vocabulary = read_vocabulary(file)
        if any(vocabulary.get(piece) != id_ for piece, id_ in SPECIAL.items()):
            raise ModelError(f"{file}: the first ids are not those of {' '.join(SPECIAL)}; fetch the file again")
        return vocabulary, file
    file = path / "sentencepiece.bpe.model"  # NLLB: the ids follow from the model's own
    pieces = [piece.text for piece in model_pieces(read_model(file))]
    if pieces[: len(SPECIAL) - OFFSET] != ["<unk>", "<s>", "</s>"]:
        raise ModelError(f"{file}: begins with {' '.join(pieces[:3])}, not with <unk> <s> </s>; fetch it again")
    return SPECIAL | {text: id_ + OFFSET for id_, text in enumerate(pieces) if text not in SPECIAL}, file


def _language_ids(path: Path, vocabulary: Mapping[str, int], size: int) -> tuple[dict[str, int], str]:
    """The language tokens with their ids, and the file that names them. Raises ModelError."""
    for name in ADDED:
        settings = read_settings(path / name, required=False)
        tokens = {token: id_ for token, id_ in _added(settings, len(vocabulary)).items() if LANGUAGE.fullmatch(token)}
        if not tokens:
            continue
        outside = [token for token, id_ in tokens.items() if not len(vocabulary) <= id_ < size]
        if outside or len(set(tokens.values())) != len(tokens):
            token = (outside or list(tokens))[0]
            raise ModelError(f"{path / name}: {token} has an id of another token; fetch it again")
        return tokens, name
    raise ModelError(f"{path}: no language tokens in {', '.join(ADDED)}; fetch those files too")


def _added(settings: Mapping[str, Any], first: int) -> dict[str, int]:
    """Tokens beyond the vocabulary, as one of the files of ADDED has them: with ids, or in order from `first`."""
    listed = settings.get("added_tokens_decoder")  # id → token
    if isinstance(listed, dict):
        entries = [(entry.get("content"), id_) for id_, entry in listed.items() if isinstance(entry, dict)]
        return {str(token): int(id_) for token, id_ in entries if str(id_).isdecimal()}
    listed = settings.get("added_tokens")
    if isinstance(listed, list):  # tokenizer.json
        entries = [(entry.get("content"), entry.get("id")) for entry in listed if isinstance(entry, dict)]
        return {str(token): id_ for token, id_ in entries if type(id_) is int}
    for key in ("additional_special_tokens", "extra_special_tokens"):
        listed = settings.get(key)
        if isinstance(listed, list):
            tokens = [token.get("content") if isinstance(token, dict) else token for token in listed]
            languages = [token for token in tokens if isinstance(token, str) and LANGUAGE.fullmatch(token)]
            return {token: first + index for index, token in enumerate(languages)}
    return {token: id_ for token, id_ in settings.items() if type(id_) is int}


def _choose(pair: tuple[str, str] | None, languages: Mapping[str, int]) -> tuple[dict[str, Any], str, str]:
    """The keys of [project] for the pair that the user named, and its two tokens. Raises ConfigError."""
    marks = {match[1] or match[2]: token for token in languages if (match := LANGUAGE.fullmatch(token))}
    tags = tags_of(marks)
    if not pair:
        raise ConfigError(f"--pair: this model translates between {listed(list(tags))}; choose two, as in --pair ko-en")
    source, target = (marks[choose(tag, tags)] for tag in pair)
    if source == target:
        raise ConfigError(f"--pair: {pair[0]} and {pair[1]} are one language to this model; choose two")
    names = {"source": pair[0], "target": pair[1]}
    marked = {**names, "source_marks": [source], "target_marks": [target]}
    return {**names, "pairs": [marked]}, source, target


def _weights(
    tensors: Tensors, settings: Mapping[str, Any], numbered: Renumbered, where: Path
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The keys of [model] and our weights. Raises ModelError."""
    shape = shape_keys(settings, where)
    interleaving(width := shape["d_model"])
    model = {
        **shape,
        "norm_order": "pre",
        "position_base": marian_base(width),
        "first_position": FIRST_POSITION,
        "output_bias": numbered.extras > 0,
        "tie": "all",
    }
    config = model_config(model, where)
    take_positions(tensors, POSITIONS, config)
    names = {"projection": take_one_of(tensors, SHARED), "projection_bias": "projection_bias"}
    rows = torch.tensor(numbered.rows)
    weights = our_weights(
        config,
        (rows, rows),
        tensors,
        lambda ours: names.get(ours) or hugging_face_name(ours),
        permutation=interleaving(width),
        extras=numbered.extras,
        where=tensors.path,
    )
    return model, weights
