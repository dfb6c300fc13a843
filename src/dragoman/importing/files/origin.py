"""Where an imported model comes from: kind, name, address, licence and hashes, for `bundle.json` and the model card."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dragoman.system.files import sha256

# Files that may name the licence, in this order; the YAML header of the first, the text of the others.
README = "README.md"
LICENSES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "COPYING")
# Beyond this many characters a README is no model card.
LONGEST_README = 1 << 20
UNKNOWN = "unknown"
# Words of a licence's text, and its usual name; the first that occurs decides.
TEXTS = {
    "Attribution-NonCommercial-ShareAlike 4.0": "cc-by-nc-sa-4.0",
    "Attribution-NonCommercial 4.0": "cc-by-nc-4.0",
    "Attribution-ShareAlike 4.0": "cc-by-sa-4.0",
    "Attribution 4.0 International": "cc-by-4.0",
    "Apache License": "apache-2.0",
    "Mozilla Public License": "mpl-2.0",
    "MIT License": "mit",
    "Permission is hereby granted, free of charge": "mit",
    "GNU AFFERO GENERAL PUBLIC LICENSE": "agpl-3.0",
    "GNU GENERAL PUBLIC LICENSE": "gpl",
}


@dataclass(frozen=True)
class Origin:
    """What is known about a model that another toolkit made."""

    kind: str
    """The kind of its files: marian, m2m, npz, ctranslate2 or argos."""
    name: str
    """Its name: that of the repository, the folder or the file."""
    revision: str | None = None
    """The commit that was downloaded."""
    url: str | None = None
    """Where it was downloaded from."""
    license: str = UNKNOWN
    license_from: str | None = None
    """The file or option that names the licence; None if nothing does."""
    author: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of every file that was read, by its name."""
    changes: Sequence[str] = ()
    """What the import changed, one sentence each."""

    def facts(self) -> dict[str, Any]:
        """The entry "origin" of `bundle.json`."""
        return {**asdict(self), "files": dict(self.files), "changes": list(self.changes)}


def origin_of_folder(kind: str, folder: Path, files: Sequence[str], changes: Sequence[str]) -> Origin:
    """The origin of a model whose named files were read from a folder; README and licence are read here.

    Raises OSError if a file cannot be read.
    """
    texts = {name: _text(folder / name) for name in (README, *LICENSES) if (folder / name).is_file()}
    hashes = {name: sha256(folder / name) for name in sorted({*files, *texts})}
    return origin_of(kind, folder.absolute().name, texts, hashes, changes)


def origin_of(
    kind: str, name: str, texts: Mapping[str, str], hashes: Mapping[str, str], changes: Sequence[str]
) -> Origin:
    """The origin of a model whose README and licence have these `texts`, by file name."""
    header = front_matter(texts.get(README, ""))
    license, license_from = header.get("license"), README
    if not license:
        for file in LICENSES:
            if spdx := license_of_text(texts.get(file, "")):
                license, license_from = spdx, file
                break
    return Origin(
        kind,
        name,
        license=license or UNKNOWN,
        license_from=license_from if license else None,
        author=header.get("author"),
        files=dict(hashes),
        changes=tuple(changes),
    )


def front_matter(readme: str) -> dict[str, str]:
    """The plain `key: value` lines of the YAML header of a README; lists and nested keys are left out."""
    header = re.match(r"\ufeff?---\s*\n(.*?)\n---\s*(?:\n|\Z)", readme, re.DOTALL)
    lines = header[1].splitlines() if header else []
    matches = (re.fullmatch(r"([\w-]+):\s*(['\"]?)([^\n'\"\[{|>#]+?)\2\s*", line) for line in lines)
    return {match[1]: match[3].strip() for match in matches if match}


def license_of_text(text: str) -> str | None:
    """The usual name of a licence from its text; None if it is not one of the common ones."""
    return next((name for words, name in TEXTS.items() if words.lower() in text[:4000].lower()), None)


def _text(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(LONGEST_README)
