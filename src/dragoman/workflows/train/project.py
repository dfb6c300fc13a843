"""A new project: a folder with a commented configuration, and optionally a corpus split into its files.

Input: a pair of languages, or a base model to fine-tune. Output: FOLDER/run.toml and FOLDER/data.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.config.sections.project import NAME_RULE, is_name, pair_name, parse_pair
from dragoman.config.templates import FINE_TUNING, FROM_SCRATCH
from dragoman.data.corpus.corpus import read_pairs
from dragoman.errors import ConfigError, DragomanError, check_type, checked_path
from dragoman.installed.opening import open_model
from dragoman.system.files import refuse_existing, storage_error, write_text_atomically
from dragoman.workflows.data.check import corpus_of, split_data
from dragoman.workflows.models.dequantise import write_dequantised

DEFAULT_PAIR = "ko-en"
# The peak learning rate of fine-tuning: this part of that of Eq. (3) with 4,000 steps of warm-up.
PEAK, PEAK_WARMUP = 0.2, 4000
# The learning rate of an adapter as a multiple of it.
LORA_RATE = 10
# Up to how many pairs text counts as little: smaller updates and more dropout.
LITTLE = 20_000
EDIT_IT = "edit it, or choose another name"


@dataclass(frozen=True)
class Project:
    """A new project."""

    config: Path
    """Its run.toml."""
    pair: tuple[str, str]
    parts: Mapping[str, int] = field(default_factory=dict)
    """Pairs of each part of the text, if it was given."""
    warning: str = ""
    """What may not be as intended."""
    base: Path | None = None
    """The copy, with weights, of a base model that has none; None for others."""


def init_project(
    folder: str | PathLike[str],
    source: str | PathLike[str] | None = None,
    target: str | PathLike[str] | None = None,
    *,
    pair: str | None = None,
    start_from: str | PathLike[str] | None = None,
    held_out: int | None = None,
    near: bool = True,
    both_directions: bool = False,
) -> Project:
    """Write `folder`/run.toml, commented, and `folder`/data; with `source` and `target` the text is split into it.

    `start_from` is a model to fine-tune: the configuration then has defaults for 1,000 to 100,000 pairs. Of a model
    that has no weights but an export, such as a bundled one, a copy with dequantised weights is written to
    `folder`/base. `pair` are the languages, as in "ko-en", by default those of the model. `source` and `target` are two
    files of lines, or `source` is one .tsv or .jsonl file; `held_out` pairs each are kept for validation and test, and
    with `near` the near-duplicates of a sentence stay together. With `both_directions` one model translates between the
    two languages, trained on the same text in both directions.

    Raises ConfigError if the folder has a run.toml, ModelError for a model that cannot be trained, DataError for text
    that cannot be split.
    """
    folder = checked_path("folder", folder)
    check_type("pair", pair, str | None, 'two languages, such as "ko-en"')
    check_type("near", near, bool, "True or False")
    check_type("both_directions", both_directions, bool, "True or False")
    name = folder.name or folder.absolute().name  # "." is the folder we are in
    if not is_name(name):
        raise ConfigError(f"{name!r}: not a name: {NAME_RULE}")
    base = None if start_from is None else open_model(checked_path("start_from", start_from))
    languages = _languages_of(base) if base and pair is None else _languages(DEFAULT_PAIR if pair is None else pair)
    if base and both_directions:
        _refuse_one_direction(base, languages)
    pairs = None if source is None else sum(1 for _ in read_pairs(corpus_of(source, target)))
    path, new = folder / "run.toml", [candidate for candidate in (folder / "data", folder) if not candidate.exists()]
    copy = folder / "base" if base and not base.has_weights else None
    keys: dict[str, object] = {"file": path, "name": name, "source": languages[0], "target": languages[1]}
    keys |= _directions(languages, both_directions) | (_tuning_keys(base, copy, languages, pairs) if base else {})
    if base and copy:
        refuse_existing([path], EDIT_IT)
        write_dequantised(base, copy)
    _write(path, (FINE_TUNING if base else FROM_SCRATCH).format(**keys))
    try:
        parts = {} if source is None else split_data(path, source, target, held_out, near=near)
    except DragomanError:
        if copy:
            shutil.rmtree(copy)
        path.unlink()
        for new_folder in new:
            new_folder.rmdir()
        raise
    return Project(path, languages, parts, _other_languages(base, languages) if base else "", copy)


def _other_languages(base: Bundle, languages: tuple[str, str]) -> str:
    """A warning if fine-tuning begins with a model of other languages; empty if not."""
    known = {pair_name(pair.source, pair.target) for pair in base.config.project.all_pairs}
    if pair_name(*languages) in known:
        return ""
    return (
        f"{base.folder} translates {', '.join(sorted(known))}, and this project {pair_name(*languages)}: it begins "
        "with a model of other languages, and with its pieces"
    )


def _directions(languages: tuple[str, str], both: bool) -> dict[str, str]:
    """What the template holds for both directions; nothing for one."""
    if not both:
        return {"pairs": "", "held_out": "", "train": ""}
    names = [pair_name(*languages), pair_name(*languages[::-1])]
    comment = "# one model for both, with a language token before each source"
    return {
        "pairs": f"pairs = {json.dumps(names)}   {comment}\n",
        "held_out": ", both_directions = true",
        "train": "both_directions = true   # each pair of lines in both directions\n",
    }


def _refuse_one_direction(base: Bundle, languages: tuple[str, str]) -> None:
    """Raise ConfigError unless the base translates in both directions of the languages."""
    known = {(pair.source, pair.target) for pair in base.config.project.all_pairs}
    if not {languages, languages[::-1]} <= known:
        names = ", ".join(sorted(pair_name(*pair) for pair in known))
        raise ConfigError(f"--both: {base.folder} translates {names} only, and its pairs stay; leave --both out")


def _languages(pair: str) -> tuple[str, str]:
    if not (languages := parse_pair(pair)):
        raise ConfigError(
            f'--pair {pair}: not two languages; give, for example, "ko-en", or "pt-BR:en" for longer tags'
        )
    if languages[0].casefold() == languages[1].casefold():
        raise ConfigError(f"--pair {pair}: the same language twice, so both sides would be the same file; give two")
    return languages


def _languages_of(base: Bundle) -> tuple[str, str]:
    project = base.config.project
    return project.source, project.target


def _tuning_keys(base: Bundle, copy: Path | None, languages: tuple[str, str], pairs: int | None) -> dict[str, object]:
    """What the template of fine-tuning holds in addition to the names: values for this model and amount of text."""
    folder = copy or base.folder
    little = pairs is None or pairs <= LITTLE
    rate = PEAK * (base.config.model.d_model * PEAK_WARMUP) ** -0.5
    return {
        "base": folder,
        "start_from": json.dumps("base" if copy else str(folder.resolve()), ensure_ascii=False),
        "pairs": _pairs_of(base, languages),
        "license": json.dumps(base.config.project.license, ensure_ascii=False),
        "max_length": base.config.data.max_length,
        "dropout": 0.2 if little else 0.1,
        "learning_rate": f"{rate:.1e}".replace("e-0", "e-"),
        "lora_rate": f"{LORA_RATE * rate:.1e}".replace("e-0", "e-"),
        "batch_tokens": 2048 if little else 4096,
        "beam": base.config.decode.beam,
        "length_penalty": f"{base.config.decode.length_penalty:g}",
    }


def _pairs_of(base: Bundle, languages: tuple[str, str]) -> str:
    """The line `pairs = …` of a model of several pairs, these languages first; nothing for other models."""
    known = sorted(base.config.project.pairs, key=lambda pair: (pair.source, pair.target) != languages)
    if not known or (known[0].source, known[0].target) != languages:
        return ""
    tables = (f"    {{{', '.join(f'{key} = {json.dumps(value)}' for key, value in pair)}}},\n" for pair in known)
    return f"# What the model translates, and its language tokens.\npairs = [\n{''.join(tables)}]\n"


def _write(path: Path, text: str) -> None:
    """Write the configuration and an empty `data` next to it."""
    refuse_existing([path], EDIT_IT)
    try:
        (path.parent / "data").mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise ConfigError(f"{error.filename}: already exists; {EDIT_IT}") from None
    except OSError as error:
        raise storage_error(path, error) from None
    write_text_atomically(path, text)
