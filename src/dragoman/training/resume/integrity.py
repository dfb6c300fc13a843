"""Whether the files of a checkpoint are as they were written: sizes and hashes in its note, which has a hash of itself.

Input: the folder of a checkpoint. Output: what the note says, and the first file at fault. Checkpoints of earlier
versions have no hashes: they are taken as they are.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dragoman.errors import ModelError
from dragoman.system.files import fingerprint, fingerprints
from dragoman.system.parsing import parse_json

NOTE = "training.json"
WEIGHTS = "model.safetensors"


def seal(record: Mapping[str, Any]) -> str:
    """`record` as JSON, with the hash of its content as the last field."""
    content = json.dumps(record, indent=2)
    return json.dumps({**record, "sha256": hashlib.sha256(content.encode()).hexdigest()}, indent=2) + "\n"


def write_note(folder: Path, record: Mapping[str, Any]) -> None:
    """Write `record` with size and hash of every file in `folder` as the note of the checkpoint."""
    (folder / NOTE).write_text(seal({**record, "files": fingerprints(folder)}), encoding="utf-8")


def read_note(folder: Path) -> dict[str, Any]:
    """The record that `write_note` wrote, with `files`. Raises OSError, and ValueError if it is damaged."""
    content = (folder / NOTE).read_bytes()
    record = parse_json(content)
    if not isinstance(record, dict):
        raise ValueError("not a note of a checkpoint")
    if "sha256" in record or "files" in record:
        record.pop("sha256", None)
        if seal(record).encode() != content:
            raise ValueError("its content and its own sha256 differ")
        if not isinstance(record.get("files"), dict):
            raise ValueError("not a note of a checkpoint")
    return record


def has_hashes(folder: Path) -> bool:
    """Whether the note of a checkpoint records hashes; those of earlier versions do not."""
    try:
        return "files" in read_note(folder)
    except (OSError, ValueError):
        return True


def fault_in(folder: Path, which: Callable[[str], bool] = lambda name: True) -> str | None:
    """The first damage in a checkpoint, as `file: cause`, or None, among the note and the files that `which` chooses.

    Raises ModelError if this user may not read a file.
    """
    path = folder / NOTE
    try:
        files = read_note(folder).get("files", {})
        for name in filter(which, files):
            path = folder / name
            if not path.is_file():
                return f"{path}: missing"
            if (now := fingerprint(path)) != files[name]:
                same = now["bytes"] == files[name]["bytes"]
                return f"{path}: damaged: its {'sha256' if same else 'size'} is not the one in {NOTE}"
    except PermissionError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}; allow this user to read it") from None
    except OSError as error:
        return f"{path}: cannot be read: {error.strerror}"
    except ValueError as error:
        return f"{path}: damaged: {error}"
    return None
