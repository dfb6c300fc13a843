"""What a reader of another toolkit's model returns, and where the model comes from: licence, address, hashes.

    def read_KIND(path: Path, *, pair: tuple[str, str] | None, scratch: Path) -> Foreign

`pair` are the languages that the user named, source first; a reader that finds them in the files may ignore it, and
raises ConfigError that starts with "--pair: " where it needs them. `scratch` is an empty temporary folder on the disk
of the output, for files that cannot be used where they are; it is removed after the bundle has been written.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.config import RunConfig
from dragoman.config.file import build_config
from dragoman.config.sections.project import is_name
from dragoman.system.files import sha256
from dragoman.text.tokens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

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
    texts = {name: readme_text(folder / name) for name in (README, *LICENSES) if (folder / name).is_file()}
    hashes = {name: sha256(folder / name) for name in sorted({*files, *texts})}
    header, repository = _front_matter(texts.get(README, "")), cached_repository(folder)
    licenses = {README: header.get("license")} | {file: _license_of_text(texts.get(file, "")) for file in LICENSES}
    license, license_from = next(((name, file) for file, name in licenses.items() if name), (UNKNOWN, None))
    return Origin(
        kind,
        repository or folder.absolute().name,
        revision=folder.absolute().name if repository else None,
        license=license,
        license_from=license_from,
        author=header.get("author"),
        files=hashes,
        changes=tuple(changes),
    )


def cached_repository(folder: Path) -> str | None:
    """`OWNER/NAME` of a folder in the cache of huggingface_hub, whose name is that of a commit; None elsewhere."""
    match = re.search(r"models--([^/]+?)(?:--([^/]+))?/snapshots/[^/]+$", folder.absolute().as_posix())
    return "/".join(filter(None, match.groups())) if match else None


def _front_matter(readme: str) -> dict[str, str]:
    """The keys of the YAML header of a README with their values; those of a list are joined, nested keys left out."""
    header = re.match(r"\ufeff?---[^\S\n]*\n(.*?)\n---[^\S\n]*(?:\n|\Z)", readme, re.DOTALL)
    values: dict[str, list[str]] = {}
    items: list[str] = []
    for line in header[1].split("\n") if header else []:
        if key := re.fullmatch(r"([\w-]+):(?:\s+(.*))?", line.rstrip()):
            items = values[key[1]] = _yaml_items(key[2] or "")
        elif item := re.fullmatch(r"\s*-\s+(.*)", line):
            items += _yaml_items(item[1])
        elif line.strip():
            items = []  # below a key that is nested
    return {key: ", ".join(texts) for key, texts in values.items() if texts}


def _yaml_items(text: str) -> list[str]:
    """A plain or quoted value of YAML, or those of `[a, b]`; nothing for what has further lines or keys."""
    text = re.sub(r"(?:^|\s)#.*", "", text).strip()
    parts = text[1:-1].split(",") if text.startswith("[") and text.endswith("]") else [text]
    plain = (re.fullmatch(r"""(['"]?)([^'"\[{|>]+)\1""", part.strip()) for part in parts)
    return [match[2].strip() for match in plain if match]


def is_non_commercial(license: str) -> bool:
    """Whether the name of a licence is that of one without commercial use: `cc-by-nc-4.0`, `CC BY-NC 4.0`."""
    return re.search(r"\bnc\b|non[ -]?commercial", license.lower().replace("_", "-")) is not None


def _license_of_text(text: str) -> str | None:
    """The usual name of a licence from its text; None if it is not one of the common ones."""
    return next((name for words, name in TEXTS.items() if words.lower() in text[:4000].lower()), None)


def readme_text(path: Path) -> str:
    """The text of a README or a licence, as far as it can be one."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(LONGEST_README)


# A longer source is cut: models of sentences were not trained on more.
LONGEST_SOURCE = 128


@dataclass(frozen=True)
class Foreign:
    """A model of another toolkit in Dragoman's terms."""

    config: RunConfig
    tokenizer: Tokenizer
    origin: Origin
    tensors: "dict[str, Tensor] | None" = None
    """Weights by the names of `Transformer.named_parameters`; None for a model that only CTranslate2 runs."""
    engine_folder: Path | None = None
    """A folder of CTranslate2 files, all of which go into the bundle; None for a model with weights."""
    parameters: int | None = None
    """The number of weights in `engine_folder`; None for a model with weights."""
    notes: Sequence[str] = ()
    """What the user is to know, one line each: what was mapped, left out or assumed."""


def foreign_config(path: Path, project: Mapping[str, Any], **sections: Mapping[str, Any]) -> RunConfig:
    """The configuration of a model that was read from `path` and that has no text. Raises ConfigError.

    `project` has the languages; `sections` are [model], [tokenizer] and [decode].
    """
    tree = {"project": {"name": name_of(path), **project}, "data": {"max_length": LONGEST_SOURCE}, **sections}
    return build_config(tree, str(path), Path())


def name_of(path: Path) -> str:
    """The name of a model from that of its folder or file: letters, digits, dots, dashes and underscores."""
    plain = "".join(sign if sign.isalnum() or sign in "._-" else "-" for sign in path.absolute().name).strip("._-")
    return plain if is_name(plain) else "imported"
