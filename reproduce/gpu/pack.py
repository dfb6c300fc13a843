"""What travels to the machine of a job: the text of the bundled models with pieces, and packages.

    python reproduce/gpu/pack.py text [TEXT] [FOLDER] [--pieces FOLDER] [--every N]
    python reproduce/gpu/pack.py wheels package|tests|peers …

`text` reads TEXT, which `bundled_text.py write` wrote (runs/bundled-text), and writes into FOLDER (runs/gpu/text):
train.en.xz and train.ko.xz, the domains one after the other; domains.json, their names and lines; the validation pairs;
and two tokenizers, 32,000 pieces for the teacher and 12,000 for the students, or for these the ones in --pieces. How
often a domain occurs is in `bundled_text.py`, which travels with the repository. `wheels` downloads the packages that
wheels.toml names, a folder of runs/gpu/wheels for each group. The last line is JSON, with the size of FOLDER.
"""

import argparse
import json
import lzma
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import jobs
from bundled_text import DECIDING, EVERYDAY, GENERAL, INTO, MORE, NEWEST, OPEN, OWN, SIDES, file_name

from dragoman.config import TokenizerConfig
from dragoman.system.files import atomic_folder
from dragoman.text.tokens.tokenizer import learn

OWN_WEIGHTS = {EVERYDAY: OWN, NEWEST: OWN}
WEIGHTS = {domain: weight for domain, weight in (OPEN | GENERAL | MORE | OWN_WEIGHTS).items() if weight}
TEACHER, STUDENTS = "teacher", "students"
# Pairs from which the pieces are learned: more add rare words alone.
SAMPLE = 200_000
PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014", "manylinux_2_34", "manylinux1")
GROUPS: dict[str, list[str]] = tomllib.loads((Path(__file__).parent / "wheels.toml").read_text(encoding="utf-8"))
Corpus = dict[str, object]
"""An entry of `data.train`."""
Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class PackedText:
    """The training pairs of all domains, one domain after the other, and the validation pairs."""

    train: dict[str, list[str]]
    """The lines of each language."""
    domains: dict[str, range]
    """The numbers of the lines of each domain."""
    valid: dict[str, list[str]]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """What `write` wrote."""
        counts = json.loads((folder / "domains.json").read_bytes())
        domains, begin = {}, 0
        for domain, count in counts.items():
            domains[domain] = range(begin, begin + count)
            begin += count
        train = {side: lzma.decompress((folder / f"train.{side}.xz").read_bytes()) for side in SIDES}
        return cls({side: lines_of(text) for side, text in train.items()}, domains, _valid(folder))

    @classmethod
    def of(cls, folder: Path, every: int = 1) -> Self:
        """The files of `bundled_text.py write`, or of each domain one line of `every`."""
        train: dict[str, list[str]] = {side: [] for side in SIDES}
        domains = {}
        for domain in WEIGHTS:
            sides = {side: folder / f"{file_name(domain)}.train.{side}" for side in SIDES}
            if not all(path.exists() for path in sides.values()):
                print(f"{domain}: not in {folder}", file=sys.stderr)
                continue
            begin = len(train[SIDES[0]])
            for side, path in sides.items():
                train[side] += lines_of(path.read_bytes())[::every]
            domains[domain] = range(begin, len(train[SIDES[0]]))
        return cls(train, domains, {side: lines[::every] for side, lines in _valid(folder).items()})

    def write(self, folder: Path) -> None:
        """Write it, compressed."""
        for side, lines in self.train.items():
            text = "".join(line + "\n" for line in lines).encode()
            (folder / f"train.{side}.xz").write_bytes(lzma.compress(text, preset=9))
            (folder / f"valid.{side}").write_text("".join(line + "\n" for line in self.valid[side]), encoding="utf-8")
        counts = {domain: len(numbers) for domain, numbers in self.domains.items()}
        (folder / "domains.json").write_text(json.dumps(counts, ensure_ascii=False), encoding="utf-8")

    def held_out(self, pair: str) -> Pairs:
        """The validation pairs of a direction."""
        source, target = pair.split("-")
        return list(zip(self.valid[source], self.valid[target], strict=True))

    def people(self, pair: str, deciding: bool = False) -> dict[float, Pairs]:
        """The pairs of a direction as people wrote them, by weight; `deciding`: of the domains of what people say."""
        source, target = (self.train[side] for side in pair.split("-"))
        found: dict[float, Pairs] = {}
        for domain, numbers in self.domains.items():
            weight = INTO.get((domain, pair.split("-")[1]), WEIGHTS[domain])
            if not deciding or domain in {*DECIDING, EVERYDAY, NEWEST}:
                found.setdefault(weight, []).extend((source[number], target[number]) for number in numbers)
        return found

    def distilled(self, pair: str, translations: dict[int, str]) -> dict[float, Pairs]:
        """The pairs of a direction by weight, with the translations in place of what people wrote."""
        source, target = (self.train[side] for side in pair.split("-"))
        found: dict[float, Pairs] = {}
        for domain, numbers in self.domains.items():
            pairs = ((source[number], translations.get(number, target[number])) for number in numbers)
            found.setdefault(WEIGHTS[domain], []).extend(pairs)
        return found


def lines_of(text: bytes) -> list[str]:
    """The lines of a text in UTF-8, which end only at a line feed."""
    return text.decode("utf-8").split("\n")[:-1]


def _valid(folder: Path) -> dict[str, list[str]]:
    return {side: lines_of((folder / f"valid.{side}").read_bytes()) for side in SIDES}


def write_corpora(folder: Path, name: str, pair: str, by_weight: dict[float, Pairs]) -> list[Corpus]:
    """Write a file for each side of each weight, `NAME-WEIGHT.SIDE`: fewer corpora than domains, drawn from faster."""
    folder.mkdir(parents=True, exist_ok=True)
    entries: list[Corpus] = []
    for weight, pairs in by_weight.items():
        sides = pair.split("-")
        paths = [folder / f"{name}-{weight:g}.{side}" for side in sides]
        for path, lines in zip(paths, zip(*pairs, strict=True), strict=True):
            path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        entries.append({"source": str(paths[0]), "target": str(paths[1]), "weight": weight})
    return entries


def pack_text(text: Path, folder: Path, sizes: dict[str, int], pieces: Path | None = None, every: int = 1) -> None:
    """Text and tokenizers. The pieces of the students are those in the folder `pieces`, if it is given."""
    packed = PackedText.of(text, every)
    pairs = list(zip(*packed.train.values(), strict=True))
    sample = pairs[:: max(1, len(pairs) // SAMPLE)]
    with atomic_folder(folder) as partial:
        packed.write(partial)
        for name, size in sizes.items():
            (partial / name).mkdir()
            if pieces and name == STUDENTS:
                shutil.copy(pieces / "joint.model", partial / name)
            else:
                learn(sample, TokenizerConfig(vocab_size=size)).save(partial / name)


def download_wheels(folder: Path, packages: Sequence[str]) -> None:
    """The packages for Python 3.12 on Linux."""
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    pip += ["--python-version", "3.12", "--implementation", "cp", "-d", str(folder)]
    pip += [f"--platform={platform}_x86_64" for platform in PLATFORMS]
    for package in packages:
        if subprocess.run([*pip, package]).returncode:
            print(f"{package}: not downloaded", file=sys.stderr)


def sizes_of(keys: Sequence[int] | None = None) -> dict[str, int]:
    """The pieces of the teacher and of the students."""
    bundled = tomllib.loads((jobs.ROOT / "configs/bundled.toml").read_text(encoding="utf-8"))
    teacher, students = keys or (32_000, bundled["tokenizer"]["vocab_size"])
    return {TEACHER: teacher, STUDENTS: students}


def main() -> None:
    """Pack, and print the size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    text = verbs.add_parser("text")
    text.add_argument("text", nargs="?", type=Path, default=jobs.ROOT / "runs/bundled-text")
    text.add_argument("folder", nargs="?", type=Path, default=jobs.CARRIED / "text")
    text.add_argument("--pieces", type=Path, help="folder of the tokenizer of the students")
    text.add_argument("--every", type=int, default=1, help="one line of N of each domain", metavar="N")
    text.add_argument("--sizes", type=int, nargs=2, help="pieces of the teacher and of the students")
    wheels = verbs.add_parser("wheels")
    wheels.add_argument("groups", nargs="+", choices=GROUPS)
    wheels.set_defaults(folder=jobs.WHEELS)
    given = parser.parse_args()
    if given.verb == "text":
        pack_text(given.text, given.folder, sizes_of(given.sizes), given.pieces, given.every)
    else:
        for group in given.groups:
            download_wheels(given.folder / group, GROUPS[group])
    paths = [path for path in sorted(given.folder.rglob("*")) if path.is_file()]
    files = {path.relative_to(given.folder).as_posix(): path.stat().st_size for path in paths}
    print(json.dumps({"folder": str(given.folder), "mib": round(sum(files.values()) / 2**20, 2), "files": files}))


if __name__ == "__main__":
    main()
