"""A model bundle: a folder with everything that a model needs, written atomically and without pickle.

    bundle.json         format, name, languages (BCP-47), architecture, data, scores, size and sha256 of every file
    README.md           the model card
    config.toml         the configuration of the run
    model.safetensors   the weights
    tokenizer/          SentencePiece models
    confidence.json     what the model has learned about the quality of its translations, if anything
    golden.jsonl        translations by the PyTorch engine, for the verification of other engines
    ct2-*/              the network in CTranslate2's format; its quantization is in the name. A bundle that has
                        one may lack the weights; if its architecture is "ctranslate2", it never had any
    adapter.safetensors in an adapter, instead of weights and tokenizer, which are those of its base model

Opening a bundle checks format, names, sizes and hashes, and refuses files that `bundle.json` does not list where an
engine would read them. The hashes are in the same folder as the files: they detect damage, not tampering. Use bundles
only from sources that you trust. Opening needs no torch; loading the weights does.
"""

import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from dragoman.adapter import ADAPTER, Adapter, check_base, check_facts, is_adapter, locate_base
from dragoman.config import RunConfig
from dragoman.config.file import dump_config, portable, read_run_config
from dragoman.errors import ConfigError, ModelError, checked_path
from dragoman.model.weights import load_weights, save_tensors, tensor_shapes
from dragoman.system.files import atomic_folder, fingerprints, refuse_existing, restore, sha256
from dragoman.system.parsing import parse_json
from dragoman.text.tokens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from dragoman.model.parts.network import EncoderDecoder

FORMAT = 1
WEIGHTS = "model.safetensors"
PACKED = ".dragoman"  # a packed model: the end of its file name
# The architecture of a network that only CTranslate2 runs; its [model] gives sizes, model.bin what is computed.
CTRANSLATE2 = "ctranslate2"


@dataclass(frozen=True)
class Bundle:
    """A model folder whose files have been verified."""

    folder: Path
    manifest: dict[str, Any]
    config: RunConfig
    tokenizer: Tokenizer
    base: "Bundle | None" = None
    """The model that an adapter belongs to, whose weights and tokenizer it uses; None for a whole model."""

    @property
    def has_weights(self) -> bool:
        """Whether the torch engine, and what trains or looks inside, can use it."""
        return self.base is not None or self.weights_sha256 is not None

    @property
    def weights_sha256(self) -> str | None:
        """The hash of model.safetensors, by which an adapter knows its base; None if there is none."""
        recorded: str | None = self.manifest["files"].get(WEIGHTS, {}).get("sha256")
        return recorded

    def require_weights(self) -> None:
        """Raise ModelError if it has only CTranslate2's files: before long work that would need more."""
        if self.has_weights:
            return
        if self.manifest.get("architecture") == CTRANSLATE2:
            raise ModelError(
                f"{self.folder}: was imported from CTranslate2, which has no weights to train; import the original"
            )
        weights = self.folder / WEIGHTS
        raise ModelError(f"{weights}: not in this bundle, which is an export; use the bundle it was exported from")

    def load_model(self) -> "EncoderDecoder":
        """The network with its weights, on the CPU, in evaluation mode. Raises ModelError."""
        self.require_weights()
        if self.base:
            return self._merged_with(self.base.load_model())
        weights = self.folder / WEIGHTS
        _verify_size(weights, self.manifest["files"][weights.name])  # the file may have changed since it was opened
        try:
            from dragoman.model.build import build_network
            from dragoman.model.parts.device import without_values
        except ImportError:
            raise ModelError(f'{self.folder}: the torch engine needs `pip install "dragoman[train]"`') from None
        self._refuse_larger_shape(weights)
        with without_values():
            model = build_network(self.config.model, len(self.tokenizer.source), len(self.tokenizer.target))
        load_weights(model, weights)
        return model.eval()

    def _merged_with(self, model: "EncoderDecoder") -> "EncoderDecoder":
        from dragoman.model.lora import load_merged, read_adapter

        path, facts = self.folder / ADAPTER, self.manifest["adapter"]
        _verify_size(path, self.manifest["files"][ADAPTER])
        load_merged(model, model, read_adapter(path, model), facts["alpha"] / facts["rank"])
        return model

    def _refuse_larger_shape(self, weights: Path) -> None:
        """Raise ModelError, before memory is taken, if the configuration needs more weights than the file holds."""
        shape = self.config.model
        rows = len(self.tokenizer.target) + shape.encoder_layers + shape.decoder_layers
        held = sum(4 * math.prod(size) for size in tensor_shapes(weights).values())
        if 4 * shape.d_model * rows > held:  # an embedding, and one vector of each layer
            config = self.folder / "config.toml"
            raise ModelError(f"{config}: describes more weights than {weights.name} holds; copy the model again")

    @property
    def exports(self) -> list[Path]:
        """The folders for CTranslate2, the smallest quantization first."""
        names = {name.partition("/")[0] for name in self.manifest["files"] if name.startswith("ct2-")}
        return [self.folder / name for name in sorted(names, key=lambda name: ("int8" not in name, name))]


def open_bundle(folder: str | os.PathLike[str], base: str | os.PathLike[str] | None = None) -> Bundle:
    """Read and verify the bundle in `folder`, and if it is an adapter its base model too: `base`, or where that was.

    Raises ModelError that names the file at fault, or if the base model is missing or another one.
    """
    folder = checked_path("model", folder)
    manifest = verified_manifest(folder)
    try:
        config = read_run_config(folder)
    except ConfigError as error:
        raise ModelError(f"{error}; copy the bundle again, or update dragoman") from None
    if not is_adapter(manifest):
        return Bundle(folder, manifest, config, Tokenizer.load(folder / "tokenizer", config.tokenizer.shared))
    base_model = open_bundle(locate_base(folder, manifest, None if base is None else checked_path("base", base)))
    check_base(folder, manifest, base_model.folder, base_model.weights_sha256)
    return Bundle(folder, manifest, config, base_model.tokenizer, base_model)


def verified_manifest(folder: Path) -> dict[str, Any]:
    """The `bundle.json` of a bundle, after every file that it lists has been verified. Raises ModelError."""
    manifest = read_manifest(folder)
    for name, expected in manifest["files"].items():
        _verify(folder, name, expected)
    return manifest


def write_bundle(
    folder: Path,
    *,
    config: RunConfig,
    tokenizer: Tokenizer,
    model: "EncoderDecoder | None",
    card: str,
    facts: Mapping[str, Any],
    golden: str = "",
    files: Mapping[str, str] | None = None,
    engine_folder: Path | None = None,
    adapter: Adapter | None = None,
) -> None:
    """Write a bundle that replaces `folder`; `facts` (data, scores, …) are added to `bundle.json`, text `files` to it.

    Without a `model` the bundle is one that only CTranslate2 runs: `engine_folder`, whose name begins with "ct2-", has
    its files, and `facts` the number of its "parameters". With an `adapter` that alone is written, and not the weights
    and the tokenizer of `model`, which its base has. Raises DragomanError if writing fails; `folder` is unchanged
    then.
    """
    with atomic_folder(folder) as partial:
        if adapter:
            save_tensors(partial / ADAPTER, adapter.tensors)
        else:
            (partial / "tokenizer").mkdir()
            tokenizer.save(partial / "tokenizer")
        if model and not adapter:
            save_tensors(partial / WEIGHTS, dict(model.named_parameters()))
        if engine_folder:
            shutil.copytree(engine_folder, partial / engine_folder.name)
        (partial / "config.toml").write_text(dump_config(portable(config)), encoding="utf-8")
        (partial / "README.md").write_text(card, encoding="utf-8")
        if golden:
            (partial / "golden.jsonl").write_text(golden, encoding="utf-8")
        for name, text in (files or {}).items():
            (partial / name).write_text(text, encoding="utf-8")
        manifest = {
            "format": FORMAT,
            "name": config.project.name,
            "languages": {"source": config.project.source, "target": config.project.target},
            **({"pairs": [pair.name for pair in config.project.pairs]} if config.project.pairs else {}),
            "architecture": config.model.architecture if model else CTRANSLATE2,
            **({"parameters": model.parameter_count} if model else {}),
            **(adapter.facts(folder) if adapter else {}),
            **facts,
        }
        _write_manifest(partial, manifest)


@contextmanager
def update_bundle(bundle: Bundle, folder: Path, facts: Mapping[str, Any]) -> Iterator[Path]:
    """Yield a copy of the bundle to change in the block; at its end the copy, with `facts` added, replaces `folder`.

    Changes must replace files and not write into them, because they may be hard links to the old ones. Raises
    DragomanError if writing fails; `folder` is unchanged then.
    """
    folder, inside = folder.resolve(), bundle.folder  # a link is kept, the folder that it names is replaced
    with atomic_folder(folder) as partial:
        manifest = read_manifest(inside)  # again, because another process may have added to it
        listed = set(manifest["files"])
        paths = {path.relative_to(inside).as_posix(): path for path in inside.rglob("*")}
        others = paths.keys() - listed - {"bundle.json"}  # the user's own files stay, unlisted
        if folder == inside.resolve():
            for name in paths.keys() - {"bundle.json"}:
                _hardlink_or_copy(paths[name], partial / name)
        else:
            for name in listed:
                (partial / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(inside / name, partial / name)
        yield partial
        _write_manifest(partial, {**manifest, **facts}, leaving_out=others)


def add_files(bundle: Bundle, files: Mapping[str, str], facts: Mapping[str, Any]) -> None:
    """Add text files to the bundle, or replace its own, and add `facts` to its `bundle.json`, atomically.

    Raises ConfigError, before anything is changed, for a file of that name which `bundle.json` does not list: it is a
    person's own.
    """
    unlisted = [bundle.folder / name for name in files if name not in bundle.manifest["files"]]
    refuse_existing(unlisted, "it is not of the model; give it another name")
    with update_bundle(bundle, bundle.folder, facts) as partial:
        for name, text in files.items():
            (partial / name).unlink(missing_ok=True)
            (partial / name).write_bytes(text.encode("utf-8"))


def _write_manifest(folder: Path, facts: Mapping[str, Any], leaving_out: Set[str] = frozenset()) -> None:
    """Write `bundle.json` with these facts, and with size and hash of every file except `leaving_out`."""
    manifest = _without_nan({**facts, "files": fingerprints(folder, leaving_out)})
    text = json.dumps(manifest, ensure_ascii=False, indent=2)
    (folder / "bundle.json").write_text(text + "\n", encoding="utf-8")


def _without_nan(value: Any) -> Any:
    """`value` with None for every float that JSON has no number for."""
    if isinstance(value, Mapping):
        return {key: _without_nan(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(held) for held in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _hardlink_or_copy(source: Path, destination: Path) -> None:
    """Make `destination` a hard link to a file, or a copy where the file system has no hard links; create folders."""
    if source.is_dir() and not source.is_symlink():
        destination.mkdir(parents=True, exist_ok=True)
        return
    destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, destination, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, destination, follow_symlinks=False)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The `bundle.json` of a bundle whose files are not verified. Raises ModelError."""
    path = folder / "bundle.json"
    restore(folder)
    if folder.is_file():
        if folder.suffix == PACKED:
            raise ModelError(f"{folder}: a packed model; `dragoman model install {folder}` installs it under its name")
        raise ModelError(f"{folder}: is a file; a model is the folder that holds bundle.json, give that")
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such model folder; `dragoman train` writes one, `model list` names others")
    try:
        manifest = parse_json(path.read_bytes())
    except FileNotFoundError:
        inside = folder / "model"
        where = str(inside) if (inside / "bundle.json").exists() else "the folder that holds it"
        raise ModelError(f"{folder}: no bundle.json, so not a model; give {where}") from None
    except (OSError, ValueError) as error:
        if isinstance(error, PermissionError):
            raise ModelError(f"{path}: cannot be read: {error.strerror}; let this user read it") from None
        raise ModelError(f"{path}: cannot be read: {error}; copy the bundle again") from None
    if isinstance(manifest, dict) and manifest.get("format", FORMAT) != FORMAT:
        raise ModelError(f"{path}: format {manifest['format']}, this version reads {FORMAT}; update dragoman")
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise ModelError(f"{path}: not a bundle's manifest; copy the bundle again")
    if lacking := {"format", "name", "languages", "parameters"} - manifest.keys():
        raise ModelError(f"{path}: missing field: {min(lacking)}; copy the bundle again")
    exported = any(name.startswith("ct2-") and name.endswith("/model.bin") for name in manifest["files"])
    if is_adapter(manifest):
        check_facts(path, manifest)
    network = {ADAPTER} if is_adapter(manifest) else set() if exported else {WEIGHTS}
    if missing := ({"config.toml"} | network) - manifest["files"].keys():
        raise ModelError(f"{path}: does not list {min(missing)}; copy the bundle again")
    if unlisted := _files_for_engines(folder) - manifest["files"].keys():
        raise ModelError(f"{folder / min(unlisted)}: not listed in bundle.json; remove it, or copy the bundle again")
    return manifest


def _files_for_engines(folder: Path) -> set[str]:
    """The files in `folder` that an engine or a verification reads because of their names alone."""
    paths = [path for pattern in ("tokenizer/**/*", "ct2-*/**/*", "golden.jsonl") for path in folder.glob(pattern)]
    files = [path for path in paths if not path.is_dir()]
    # No engine reads hidden files, such as those of a file manager.
    return {path.relative_to(folder).as_posix() for path in files if not path.name.startswith(".")}


def _verify(folder: Path, name: str, expected: Any) -> None:
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or PurePosixPath(name).is_absolute() or "\\" in name:
        raise ModelError(f"{folder}/bundle.json: {name!r} leaves the folder; do not trust this bundle")
    path = folder / name
    try:
        _verify_content(folder, path, name, expected)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}; let this user read it") from None


def _verify_content(folder: Path, path: Path, name: str, expected: Any) -> None:
    if path.exists() and not path.resolve().is_relative_to(folder.resolve()):
        raise ModelError(f"{folder}/bundle.json: {name!r} leaves the folder; do not trust this bundle")
    if not path.is_file():
        raise ModelError(f"{path}: missing; copy the bundle again")
    _verify_size(path, expected)
    if sha256(path) != expected.get("sha256"):
        raise ModelError(f"{path}: its sha256 differs from bundle.json; the file is damaged, copy the bundle again")


def _verify_size(path: Path, expected: Any) -> None:
    size = path.stat().st_size if path.is_file() else 0
    if not isinstance(expected, dict) or size != expected.get("bytes"):
        raise ModelError(f"{path}: its size, {size:,} bytes, differs from bundle.json; copy the bundle again")
