"""A package of Argos Translate and LibreTranslate (.argosmodel), or its folder → a bundle that CTranslate2 runs.

A package is a zip with one folder: `metadata.json` (languages), `model/` (CTranslate2), `sentencepiece.model`, README,
and a model that finds sentences, which is pickled and not read: Dragoman finds them by itself.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from dragoman.config.sections.project import parse_pair
from dragoman.errors import ConfigError, ModelError
from dragoman.importing.files.foreign import LICENSES, README, Foreign, Origin, name_of, origin_of_folder, readme_text
from dragoman.importing.files.settings import read_settings
from dragoman.importing.opennmt.ctranslate2 import CHANGES, foreign_of
from dragoman.importing.opennmt.folder import read_ct2_folder
from dragoman.importing.opennmt.tokenizer import read_tokenizer
from dragoman.system.archives import Archive, open_archive
from dragoman.system.files import sha256

METADATA, TOKENIZER, MODEL = "metadata.json", "sentencepiece.model", "model"
# The members that are read.
WANTED = re.compile(
    rf"{METADATA}|{TOKENIZER}|{README}|{'|'.join(map(re.escape, LICENSES))}"
    rf"|{MODEL}/(model\.bin|config\.json|\w*vocabulary\w*\.(json|txt))"
)
# Argos's codes that are not those of BCP-47.
CODES = {"zt": "zh-Hant", "pb": "pt-BR"}
# Argos divides log P by n^0.2, Dragoman by ((5 + n) / 6)^α: of 10 to 40 tokens, this α is the nearest.
DECODE = {"beam": 4, "length_penalty": 0.4}
LICENSE_LINE = re.compile(r"^\W*licen[cs]e\W*:\W*(\S.*?)\W*$", re.IGNORECASE | re.MULTILINE)


def read_argos(path: Path, *, pair: tuple[str, str] | None = None, scratch: Path, weights: bool = False) -> Foreign:
    """Read a package, or the folder that it was unpacked to; `weights` as for `read_ctranslate2`.

    Raises ConfigError and ModelError.
    """
    if path.is_dir():
        return _read(path, path, pair, scratch, weights)
    package = scratch / "package"
    try:
        return _read(path, _extract(path, package), pair, scratch, weights)
    except (ConfigError, ModelError) as error:  # the user knows the archive, not where its members are meanwhile
        raise type(error)(str(error).replace(str(package), str(path))) from None


def _read(path: Path, package: Path, pair: tuple[str, str] | None, scratch: Path, weights: bool) -> Foreign:
    """The model of the package at `path`, whose files are in the folder `package`."""
    metadata = _metadata(package / METADATA)
    _refuse_bpe(path, {file.name for file in package.iterdir()})
    prefix = metadata.get("target_prefix") or None
    folder = read_ct2_folder(package / MODEL, start=prefix)
    if prefix and prefix not in folder.target:
        raise ModelError(f"{path}: {METADATA}: target_prefix {prefix!r} is no piece of the model; fetch the file again")
    folder_tokenizer = read_tokenizer(folder, package, control={prefix} if prefix else ())
    languages = pair or _languages(path, metadata)
    project: dict[str, Any] = {"name": name_of(path.with_suffix("") if path.is_file() else path)}
    if prefix and prefix != folder.config["decoder_start_token"]:
        project["pairs"] = [{"source": languages[0], "target": languages[1], "target_marks": [prefix]}]
    names = [METADATA, *folder_tokenizer.files, *(f"{MODEL}/{name}" for name in folder.files)]
    origin = _origin(path, package, names, metadata)
    return foreign_of(
        folder,
        folder_tokenizer,
        path,
        languages,
        origin,
        scratch,
        decode=DECODE,
        project=project,
        notes=["sentences are found by Dragoman's own rules, not by the package's model"],
        weights=weights,
    )


def _extract(path: Path, package: Path) -> Path:
    """The members that are read, as files in `package`. Raises ModelError."""
    with open_archive(path) as archive:
        root = _root(archive)
        inside = {name.removeprefix(root): name for name in archive.members if name.startswith(root)}
        _refuse_bpe(path, {name.partition("/")[0] for name in inside})
        for name, member in inside.items():
            if WANTED.fullmatch(name):
                archive.extract(member, package / name)
    return package


def _root(archive: Archive) -> str:
    """The folder of the package, with its slash; empty if there is none."""
    roots = [name for name in archive.members if PurePosixPath(name).name == METADATA and name.count("/") <= 1]
    if len(roots) != 1:
        raise ModelError(f"{archive.path}: {len(roots)} × {METADATA}, where a package of Argos Translate has one")
    return roots[0].removesuffix(METADATA)


def _refuse_bpe(path: Path, names: set[str]) -> None:
    if TOKENIZER not in names and "bpe.model" in names:
        raise ModelError(
            f"{path}: bpe.model: cut by Moses and BPE, which is not supported; take the SentencePiece model of this "
            "pair"
        )


def _metadata(path: Path) -> Mapping[str, Any]:
    metadata = read_settings(path)
    if (kind := metadata.get("type", "translate")) != "translate":
        raise ModelError(f"{path}: a package of the type {kind}, not a translation model; take one that translates")
    for key in ("from_code", "to_code", "target_prefix", "package_version"):
        if not isinstance(metadata.get(key, ""), str):
            raise ModelError(f"{path}: {key}: text in quotes, not {metadata[key]!r}; fetch the package again")
    return metadata


def _languages(path: Path, metadata: Mapping[str, Any]) -> tuple[str, str]:
    """Source and target as BCP-47 tags. Raises ConfigError if the package does not name one of each."""
    codes = [metadata.get(key) for key in ("from_code", "to_code")]
    if not all(codes):
        raise ConfigError(f"--pair: {path} does not name one pair of languages; give one, as in --pair en-ko")
    pair = parse_pair(":".join(CODES.get(str(code), str(code).replace("_", "-")) for code in codes))
    if pair is None:
        raise ConfigError(
            f"--pair: {path} names {codes[0]!r} and {codes[1]!r}, no languages; give them, as in --pair en-ko"
        )
    return pair


def _origin(path: Path, package: Path, names: list[str], metadata: Mapping[str, Any]) -> Origin:
    origin = origin_of_folder("argos", package, names, CHANGES)
    files = dict(origin.files) | ({path.name: sha256(path)} if path.is_file() else {})
    origin = replace(origin, name=path.name, files=files, revision=metadata.get("package_version") or None)
    if origin.license_from is None and (license := _license(package / README)):
        return replace(origin, license=license, license_from=README)
    return origin


def _license(readme: Path) -> str | None:
    """The licence that a README names, unless it names several, as for each of its corpora."""
    if not readme.is_file():
        return None
    named = {match[1] for match in LICENSE_LINE.finditer(readme_text(readme))}
    return named.pop() if len(named) == 1 else None
