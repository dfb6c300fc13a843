"""A packed model: a bundle as one file, a zip archive whose members are `bundle.json` and the files that it lists.

The same bundle gives the same bytes on every machine: `bundle.json` first and the others sorted by name, dated 1980,
not compressed (weights hardly can be, and compressed bytes depend on the version of zlib). The SHA-256 of every file is
in `bundle.json`, whose own integrity is that of the zip. Hashes detect damage, not tampering.
"""

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from dragoman.bundle import WEIGHTS, Bundle
from dragoman.errors import ModelError
from dragoman.system.archives import Archive, open_archive
from dragoman.system.parsing import parse_json

MANIFEST = "bundle.json"
# A bundle.json of more bytes is none.
LARGEST_MANIFEST = 64 << 20
BLOCK = 1 << 20
# A file of this size or more needs the longer headers of ZIP64.
LONG = 1 << 31


def write_packed(bundle: Bundle, file: IO[bytes], weights: bool = True) -> None:
    """Write the files of a verified bundle as a zip archive; without the weights of training if `weights` is false.

    Raises ModelError if there is nothing else that can translate, or if a file has changed since it was verified.
    """
    files, manifest = dict(bundle.manifest["files"]), (bundle.folder / MANIFEST).read_bytes()
    if not weights and files.pop(WEIGHTS, None):
        if not bundle.exports:
            remedy = f"`dragoman export -m {bundle.folder}` makes one"
            raise ModelError(f"{bundle.folder}: has no export, so without its weights nothing translates; {remedy}")
        text = json.dumps({**bundle.manifest, "files": files}, ensure_ascii=False, indent=2) + "\n"
        manifest = text.encode("utf-8")
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(_member(MANIFEST, len(manifest)), manifest)
        for name in sorted(files):
            _write_member(archive, bundle.folder / name, name, files[name])


def _member(name: str, size: int) -> zipfile.ZipInfo:
    """A member that says nothing of the machine it was written on."""
    member = zipfile.ZipInfo(name)
    member.create_system, member.external_attr, member.file_size = 3, 0o100644 << 16, size
    return member


def _write_member(archive: zipfile.ZipFile, path: Path, name: str, expected: Mapping[str, Any]) -> None:
    member, digest = _member(name, expected["bytes"]), hashlib.sha256()
    with path.open("rb") as source, archive.open(member, "w", force_zip64=member.file_size >= LONG) as target:
        while block := source.read(BLOCK):
            digest.update(block)
            target.write(block)
    if digest.hexdigest() != expected["sha256"]:
        raise ModelError(f"{path}: changed while it was packed; try again")


def packed_name(path: Path) -> str:
    """The name of a packed model, as its `bundle.json` has it. Raises ModelError."""
    with open_archive(path) as archive:
        name = _manifest(archive).get("name")
    if not isinstance(name, str):
        raise ModelError(f"{path}: bundle.json has no name; fetch the file again")
    return name


def unpack(path: Path, folder: Path) -> None:
    """Write the members of a packed model into an empty folder; `open_bundle` verifies them there.

    Every member must be listed in its `bundle.json` with its size. Raises ModelError, OSError if writing fails.
    """
    with open_archive(path) as archive:
        files = _manifest(archive)["files"]
        for name in archive.members.keys() - files.keys() - {MANIFEST}:
            raise ModelError(f"{path}: {name} is not listed in its bundle.json; do not trust this archive")
        for name, expected in files.items():
            if name not in archive.members:
                raise ModelError(f"{path}: {name} is missing; fetch the file again")
            size = archive.members[name].file_size
            if not isinstance(expected, dict) or expected.get("bytes") != size:
                raise ModelError(f"{path}: {name}: its size, {size:,} bytes, differs from bundle.json; fetch it again")
        for name in archive.members:
            archive.extract(name, folder / name)


def _manifest(archive: Archive) -> dict[str, Any]:
    """What `bundle.json` says. Raises ModelError if the archive is no packed model."""
    path = archive.path
    if MANIFEST not in archive.members:
        inside = next((name for name in archive.members if name.endswith(f"/{MANIFEST}")), None)
        if inside:
            remedy = f"unpack it and install the folder {inside.removesuffix(f'/{MANIFEST}')}"
            raise ModelError(f"{path}: bundle.json is in a folder, and `dragoman model pack` puts it first; {remedy}")
        remedy = "`dragoman import` reads models of other toolkits"
        raise ModelError(f"{path}: no bundle.json, so not a packed model; {remedy}")
    try:
        manifest = parse_json(archive.read(MANIFEST, LARGEST_MANIFEST))
    except ValueError as error:
        raise ModelError(f"{path}: bundle.json cannot be read: {error}; fetch the file again") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise ModelError(f"{path}: bundle.json is not a bundle's manifest; fetch the file again")
    return manifest
