"""Models of another toolkit, as a reader returns them: a bundled model, or one with weights, in place of real files."""

import json
import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dragoman.bundle import open_bundle
from dragoman.bundled import HOME
from dragoman.config import DataConfig, RunConfig
from dragoman.importing.files.foreign import Foreign, origin_of_folder

Reader = Callable[..., Foreign]
BUNDLED = HOME / "en-ko"
PAIRS = HOME.parent / "data/embedded/valid.tsv.gz"


def right(pieces: list[str]) -> list[str]:
    return pieces


def shifted(pieces: list[str]) -> list[str]:
    return pieces[1:] + pieces[:1]


def half_wrong(pieces: list[str]) -> list[str]:
    found, rng = list(pieces), random.Random(0)
    some = rng.sample(range(len(found)), len(found) // 2)
    for index, other in zip(some, rng.sample(some, len(some)), strict=True):
        found[index] = pieces[other]
    return found


def all_wrong(pieces: list[str]) -> list[str]:
    return random.Random(0).sample(pieces, len(pieces))


def without_text(config: RunConfig, **project: str) -> RunConfig:
    return config.model_copy(
        update={"data": DataConfig(max_length=128), "project": config.project.model_copy(update=project)}
    )


def bundled_reader(order: Callable[[list[str]], list[str]] = right, **project: str) -> Reader:
    """A reader of the bundled model, whose vocabulary has another order."""

    def read(path: Path, *, pair: tuple[str, str] | None, scratch: Path) -> Foreign:
        bundle = open_bundle(BUNDLED)
        folder = Path(shutil.copytree(BUNDLED / "ct2-int8", scratch / "ct2-int8"))
        vocabulary = folder / "shared_vocabulary.json"
        pieces = json.loads(vocabulary.read_text(encoding="utf-8"))
        vocabulary.write_text(json.dumps(pieces[:4] + order(pieces[4:])), encoding="utf-8")
        return Foreign(
            without_text(bundle.config, **project),
            bundle.tokenizer,
            origin_of_folder("ctranslate2", path, [], ["Its vocabulary is renumbered."]),
            engine_folder=folder,
            parameters=bundle.manifest["parameters"],
            notes=["2 pieces are unknown"],
        )

    return read


def weights_reader(model: Path, **changed: Any) -> Reader:
    """A reader of the weights of a trained bundle; tensors may be `changed`, None leaves one out."""

    def read(path: Path, *, pair: tuple[str, str] | None, scratch: Path) -> Foreign:
        bundle = open_bundle(model)
        tensors = {name: one.detach().clone() for name, one in bundle.load_model().named_parameters()}
        found: Mapping[str, Any] = {**tensors, **changed}
        return Foreign(
            without_text(bundle.config),
            bundle.tokenizer,
            replace(origin_of_folder("marian", path, [], ["Nothing."]), name="toy"),
            tensors={name: one for name, one in found.items() if one is not None},
        )

    return read
