"""Bilingual documents → pairs to train on: TMX memories, PO, XLIFF, Qt and Xcode catalogues into one `.tsv`.

Memories are read in constant memory. Of the others the finished translations count, nothing fuzzy, new or unfinished.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from dragoman.data.corpus.tmx import read_tmx
from dragoman.documents import DocumentOptions
from dragoman.documents.formats import kind_of, read_document
from dragoman.errors import ConfigError, DataError
from dragoman.system.files import atomic_file, refuse_existing

ENDINGS = (".tmx", ".tmx.gz", ".tmx.zst", ".po", ".pot", ".xlf", "xliff", ".ts", ".xcstrings")
# By the names of formats.
BILINGUAL = ("gettext PO", "XLIFF", "Qt", "Xcode strings")


@dataclass(frozen=True, slots=True)
class Conversion:
    """The file that was written, and how many pairs each source gave."""

    output: Path
    pairs: int
    files: dict[str, int]


def convert_data(
    files: Sequence[str | PathLike[str]],
    output: str | PathLike[str],
    *,
    source: str,
    target: str,
    force: bool = False,
) -> Conversion:
    """Write the pairs of bilingual documents to `output`, one per line: source, tab, target.

    White space is folded, so that a pair is one line; inline codes are left out. Raises ConfigError for files of other
    formats and for an output that exists, DataError for a file that cannot be read and if there is no pair.
    """
    path = Path(output)
    if not path.name.endswith(".tsv"):
        raise ConfigError(f"{path}: pairs are written as .tsv; give it that name")
    if not force:
        refuse_existing([path])
    request = DocumentOptions(source, target)
    counts: dict[str, int] = {}
    with atomic_file(path) as file:
        for name in map(Path, files):
            counts[str(name)] = 0
            for pair in bilingual_pairs(name, request):
                file.write("{}\t{}\n".format(*pair).encode())
                counts[str(name)] += 1
        if not any(counts.values()):
            raise DataError(f"{files[0]}: no pair of {source} and {target}; name the languages with --from and --to")
    return Conversion(path, sum(counts.values()), counts)


def bilingual_pairs(path: Path, request: DocumentOptions) -> Iterator[tuple[str, str]]:
    """The finished pairs of a bilingual document. Raises ConfigError for another format, DataError."""
    if path.name.lower().removesuffix(".gz").removesuffix(".zst").endswith(".tmx"):
        yield from ((pair.source, pair.target) for pair in read_tmx(path, request.source, request.target))
        return
    if path.is_file() and not path.name.lower().endswith(ENDINGS):
        raise ConfigError(f"{path}: not a bilingual document; give .tmx, .po, .xliff, .ts or .xcstrings files")
    kind = kind_of(path)
    if kind.name not in BILINGUAL:
        raise ConfigError(f"{path}: not a bilingual document; give .tmx, .po, .xliff, .ts or .xcstrings files")
    try:
        request = replace(request, confirmed=True)
        unfinished = {
            (unit.location, unit.source.text) for unit in read_document(path, kind, replace(request, update=True)).units
        }
        for unit in read_document(path, kind, request).units:
            if unit.existing is not None and (unit.location, unit.source.text) not in unfinished:
                pair = " ".join(unit.source.text.split()), " ".join(unit.existing.text.split())
                if all(pair):
                    yield pair
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; check the path") from None
