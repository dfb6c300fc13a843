"""Multi30k as in Wu et al. (2021): lower-cased, punctuation normalised, tokenised by Moses.

    python reproduce/multi30k_text.py DATA OUTPUT LANGUAGE LANGUAGE

Writes OUTPUT/SPLIT.LANGUAGE.gz for the training, validation and test sets of DATA, line by line.
"""

import gzip
import sys
from collections.abc import Iterable
from pathlib import Path

from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer

TESTS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")


def moses(lines: Iterable[str], language: str) -> list[str]:
    """Lower-cased, punctuation-normalised, tokenised lines."""
    normalise = MosesPunctNormalizer(language).normalize
    tokenise = MosesTokenizer(language).tokenize
    return [tokenise(normalise(line.lower()), return_str=True) for line in lines]


def plain(lines: Iterable[str], language: str) -> list[str]:
    """Moses' words as running text again, still lower-cased."""
    join = MosesDetokenizer(language).detokenize
    return [join(line.split()) for line in lines]


def main(data: Path, output: Path, languages: list[str]) -> None:
    """Write every file."""
    output.mkdir(parents=True, exist_ok=True)
    for name in (f"{split}.{language}.gz" for split in ("train", "val", *TESTS) for language in languages):
        with gzip.open(data / name, "rt", encoding="utf-8", newline="\n") as file:
            lines = [line.rstrip("\n") for line in file]
        with gzip.open(output / name, "wt", encoding="utf-8", newline="\n") as file:
            file.writelines(line + "\n" for line in moses(lines, name.split(".")[-2]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
