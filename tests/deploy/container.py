"""The steps of a container file, followed in folders: for a machine that has no container runtime.

A stage is a folder. What its base image has is bound into it, read-only, from this machine: `/usr`, `/etc` and Python.
Its instructions run in it, in a namespace of their own; nothing else of this machine is visible.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PYTHON = Path(sys.base_prefix)
BOUND = ("/usr", "/etc", "/proc", "/dev", str(PYTHON))
LINKS = ("bin", "sbin", "lib", "lib64")


@dataclass
class Stage:
    """A stage: its folder, and what its instructions say of a container."""

    root: Path
    base: str
    folder: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    user: str = "0:0"
    health: list[str] = field(default_factory=list)
    entry: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    def popen(
        self, command: list[str], more: dict[str, str] | None = None, sources: tuple[str, ...] = ()
    ) -> subprocess.Popen[str]:
        """A process in the stage, as its user; `sources` are further folders of this machine that it sees."""
        path = f"{PYTHON / 'bin'}:/usr/local/bin:/usr/bin:/bin"
        environment = {"PATH": path, **self.environment, **(more or {})}
        lines = ["set -e"]
        for one in (*BOUND, *sources):
            target = f"{self.root}{one}"
            lines += [f"mkdir -p {shlex.quote(target)}", f"mount --rbind {shlex.quote(one)} {shlex.quote(target)}"]
        lines.append('exec "$@"')
        inside = f'cd {shlex.quote(self.folder)} && exec "$@"'
        chroot = ["chroot", f"--userspec={self.user}", str(self.root), "/usr/bin/env", "-i"]
        chroot += [*(f"{name}={value}" for name, value in environment.items()), "/bin/sh", "-c", inside, "sh"]
        call = ["unshare", "--mount", "sh", "-c", "\n".join(lines), "sh", *chroot, *command]
        return subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, command: list[str], more: dict[str, str] | None = None, sources: tuple[str, ...] = ()) -> str:
        """What a process in the stage writes; it has to succeed."""
        process = self.popen(command, more, sources)
        written, _ = process.communicate(timeout=900)
        assert process.returncode == 0, f"{command}\n{written[-3000:]}"
        return written

    def size(self, *parts: str) -> int:
        """Bytes of the files in these folders, as they lie on the disk."""
        found = subprocess.run(
            ["du", "-sk", *(f"{self.root}/{one}" for one in parts)], capture_output=True, text=True, check=True
        )
        return sum(1024 * int(line.split()[0]) for line in found.stdout.splitlines())


def instructions(path: Path) -> list[tuple[str, str]]:
    """The instructions of a file: lines joined, comments left out."""
    text = re.sub(r"^#.*\n", "", path.read_text(encoding="utf-8"), flags=re.M).replace("\\\n", " ")
    return [
        (word.upper(), rest.strip()) for word, _, rest in (line.partition(" ") for line in text.splitlines()) if word
    ]


def build(path: Path, context: Path, work: Path) -> Stage:
    """Follow the file with the files of `context`; the last stage."""
    stages: dict[str, Stage] = {}
    stage = Stage(work, "")
    for word, rest in instructions(path):
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            stage = stages[name or "final"] = Stage(_empty(work / (name or "final")), base)
        elif word == "WORKDIR":
            stage.folder = rest
            (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif word == "COPY":
            _copy(rest, stage, stages, context)
        elif word == "RUN":
            stage.run(["/bin/sh", "-c", rest], _network(), _sources())
        elif word == "ENV":
            stage.environment |= dict(one.split("=", 1) for one in shlex.split(rest))
        elif word == "USER":
            stage.user = rest
        elif word == "HEALTHCHECK":
            stage.health = json.loads(rest.partition("CMD ")[2])
        elif word == "ENTRYPOINT":
            stage.entry = json.loads(rest)
        elif word == "CMD":
            stage.command = json.loads(rest)
        else:
            assert word in ("VOLUME", "EXPOSE", "STOPSIGNAL", "LABEL"), f"{word}: not followed here"
    return stage


def _empty(root: Path) -> Path:
    """A folder for a stage, with what every image has."""
    for name in ("tmp", "root", *(one.lstrip("/") for one in BOUND)):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    for name in LINKS:
        if Path(f"/{name}").exists():
            (root / name).symlink_to(f"usr/{name}")
    for folder in (root, *root.rglob("*")):
        if folder.is_dir() and not folder.is_symlink() and folder.name != "tmp":
            folder.chmod(0o755)
    return root


def _copy(rest: str, stage: Stage, stages: dict[str, Stage], context: Path) -> None:
    words = shlex.split(rest)
    source = context
    if words[0].startswith("--from="):
        source = stages[words.pop(0).removeprefix("--from=")].root
    *files, target = words
    where = stage.root / os.path.join(stage.folder, target).lstrip("/")
    for name in files:
        one = source / name.lstrip("/")
        if one.is_dir():
            shutil.copytree(one, where, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            where.mkdir(parents=True, exist_ok=True)
            shutil.copy2(one, where)


def _network() -> dict[str, str]:
    """How pip finds packages on this machine."""
    found = {name: value for name, value in os.environ.items() if re.match(r"(?i)pip_|ssl_|(https?|no)_proxy$", name)}
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    for name, value in re.findall(r"^(?:global|install)\.([\w-]+)='(.*)'$", listed.stdout, re.M):
        found.setdefault(f"PIP_{name.upper().replace('-', '_')}", value)
    return found


def _sources() -> tuple[str, ...]:
    """Folders of this machine in which pip looks for packages."""
    words = [part for value in _network().values() for part in value.split()]
    folders = {os.path.dirname(one.removeprefix("file://").rstrip("/")) for one in words if one.startswith("file://")}
    folders |= {one for one in words if one.startswith("/")}  # an index refers to files next to it
    return tuple(sorted(one for one in folders if Path(one).is_dir()))


def needs_namespaces() -> None:
    """Skip where no namespace may be made."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs root and a mount namespace")
