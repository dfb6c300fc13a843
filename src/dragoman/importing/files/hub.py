"""`hf:NAME[@REVISION]` → a folder, through huggingface_hub: the only part of Dragoman that downloads anything.

The commit is looked up and recorded, the files are listed with their sizes before one is fetched, and only those that a
reader needs are: no pickle but `pytorch_model.bin`, and that only where there are no safetensors. Nothing is sent but
the name of the repository and of its files. Cache, proxy and mirror are the library's own: HF_HOME, HTTPS_PROXY,
HF_ENDPOINT, HF_HUB_OFFLINE.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from dragoman.errors import ConfigError, DragomanError, ModelError, counted
from dragoman.importing.files.foreign import Origin

PREFIX = "hf:"
NAME = re.compile(r"(?P<name>(?:[\w.-]+/)?[\w.-]+)(?:@(?P<revision>[\w./-]+))?")
# Files at the top of a repository that readers need; of the weights the first that exists.
NEEDED = (
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "*vocab*.json",
    "*vocabulary*.json",
    "*vocabulary*.txt",
    "*vocab.yml",
    "*.spm",
    "*spm.model",
    "*sentencepiece*.model",
    "spm.*.model",
    "decoder.yml",
    "README.md",
    "LICENSE*",
    "COPYING",
)
WEIGHTS = ("model.safetensors", "pytorch_model.bin", "model.bin", "*.npz")
# An index of weights in several files, and the files.
PARTS = {
    "model.safetensors": ("model.safetensors.index.json", "model-*-of-*.safetensors"),
    "pytorch_model.bin": ("pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin"),
}
OFFLINE = "download the repository on another machine, and import its folder"


@dataclass(frozen=True)
class Repository:
    """What a hub knows about a repository at one commit."""

    name: str
    commit: str
    url: str
    files: Mapping[str, int | None]
    """Sizes in bytes by name; None where the hub does not know."""
    license: str | None = None
    author: str | None = None

    @property
    def needed(self) -> list[str]:
        """The files to fetch. Raises ModelError if there are no weights."""
        top = [name for name in self.files if "/" not in name]
        weights = next(filter(None, (_matching(top, pattern) for pattern in WEIGHTS)), [])
        if not weights:
            names = ", ".join(sorted(top)[:8]) or "no files"
            wanted = ", ".join(WEIGHTS)
            raise ModelError(f"{PREFIX}{self.name}: has none of {wanted}, only {names}; give another repository")
        return sorted({*weights, *(name for name in top if any(fnmatch(name, pattern) for pattern in NEEDED))})

    def describe(self) -> list[str]:
        """What will be fetched, for the user, before it is."""
        sizes = {name: self.files[name] for name in self.needed}
        total = sum(size or 0 for size in sizes.values())
        return [
            f"{PREFIX}{self.name} at commit {self.commit[:12]}; licence: {self.license or 'none named'}",
            f"fetching {counted(len(sizes), 'file')}, {_megabytes(total)}: "
            + ", ".join(f"{name} ({_megabytes(size)})" for name, size in sizes.items()),
        ]


def _matching(names: list[str], pattern: str) -> list[str]:
    """The names of this pattern, or those of an index and its parts."""
    index, parts = PARTS.get(pattern, ("", ""))
    whole = [name for name in names if fnmatch(name, pattern)]
    return whole or [name for name in names if index in names and (name == index or fnmatch(name, parts))]


class Hub:
    """Where models are downloaded from: huggingface.co, or the mirror that HF_ENDPOINT names."""

    def look_up(self, name: str, revision: str | None) -> Repository:
        """The repository at a branch, tag or commit; its main branch for None. Raises DragomanError."""
        hub = _library()
        try:
            info = hub.HfApi().model_info(name, revision=revision, files_metadata=True)
        except Exception as error:
            raise _hub_error(name, revision, error) from None
        return Repository(
            name=info.id,
            commit=str(info.sha),
            url=f"{hub.constants.ENDPOINT}/{info.id}",
            files={file.rfilename: file.size for file in info.siblings or ()},
            license=_plain(getattr(info.card_data, "license", None)),
            author=info.author,
        )

    def download(self, repository: Repository, progress: Callable[[int], None]) -> Path:
        """A folder with the needed files of the repository; `progress` is called with bytes. Raises DragomanError."""
        hub = _library()
        from tqdm import tqdm

        class SilentBar(tqdm):  # type: ignore[misc]  # a bar that shows nothing and counts
            def __init__(self, *positional: Any, **named: Any) -> None:
                named.pop("name", None)
                super().__init__(*positional, **{**named, "disable": True})

            def update(self, n: float | None = 1) -> None:
                progress(int(n or 0))

        try:
            paths = [
                hub.hf_hub_download(repository.name, name, revision=repository.commit, tqdm_class=SilentBar)
                for name in repository.needed
            ]
        except Exception as error:
            raise _hub_error(repository.name, repository.commit, error) from None
        return Path(paths[0]).parent


def parse_name(model: str) -> tuple[str, str | None] | None:
    """Name and revision of `hf:NAME[@REVISION]`; None for a path. Raises ConfigError."""
    if not model.startswith(PREFIX):
        return None
    match = NAME.fullmatch(model.removeprefix(PREFIX))
    if match is None:
        raise ConfigError(f"{model}: not a name; give hf:OWNER/NAME or hf:OWNER/NAME@REVISION")
    return match["name"], match["revision"]


def origin_on_hub(origin: Origin, repository: Repository) -> Origin:
    """The origin of files that were downloaded: name, commit and address; the hub's licence if the files name none."""
    known = replace(
        origin,
        name=repository.name,
        revision=repository.commit,
        url=repository.url,
        author=origin.author or repository.author,
    )
    if origin.license_from is None and repository.license:
        return replace(known, license=repository.license, license_from=repository.url)
    return known


def _library() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise DragomanError('hf: needs huggingface_hub; `pip install "dragoman[hub]"`') from None
    return huggingface_hub


def _hub_error(name: str, revision: str | None, error: Exception) -> DragomanError:
    """One line for what the library raises, by the names of its classes, which versions keep."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    where = f"{PREFIX}{name}"
    if "OfflineModeIsEnabled" in kinds or "LocalEntryNotFoundError" in kinds:
        return DragomanError(f"{where}: offline (HF_HUB_OFFLINE is set, or there is no connection); {OFFLINE}")
    if "RevisionNotFoundError" in kinds:
        return ModelError(f"{where}: has no revision {revision}; give a branch, a tag or a commit that exists")
    if "GatedRepoError" in kinds:
        return ModelError(
            f"{where}: asks for its terms to be accepted; accept them on its page, and log in with `hf auth`"
        )
    if "RepositoryNotFoundError" in kinds:
        return ModelError(f"{where}: no such repository, or a private one; check the name")
    if isinstance(error, ValueError):
        return ConfigError(f"{where}: {_first_line(error)}")
    if isinstance(error, OSError) and error.strerror and "HTTPError" not in kinds:
        return DragomanError(f"{where}: cannot be written: {error.strerror}; free some space, or set HF_HOME")
    return DragomanError(f"{where}: cannot be downloaded: {_first_line(error)}; go online, or {OFFLINE}")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _plain(value: Any) -> str | None:
    return ", ".join(map(str, value)) if isinstance(value, list) else value and str(value)


def _megabytes(size: int | None) -> str:
    if size is None:
        return "size unknown"
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{size / 1e3:,.1f} kB"
