"""New text files that appear together: lines in, files (compressed as their names ask) out, or none of them."""

import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from dragoman.config import CorpusConfig
from dragoman.data.corpus.corpus import compressed_writer
from dragoman.data.corpus.pair_block import PairBlock
from dragoman.errors import ConfigError, DragomanError
from dragoman.system.files import atomic_new_files, storage_error


class TextFiles:
    """Open files, written to by the index of their path. Raises DragomanError that names the file if writing fails."""

    def __init__(self, paths: Sequence[Path], files: Sequence[IO[bytes]]) -> None:
        self.paths, self._files = paths, files
        self._stacks = [ExitStack() for _ in paths]
        self._writers = [
            compressed_writer(file, path.name, stack)
            for path, file, stack in zip(paths, files, self._stacks, strict=True)
        ]

    def write(self, index: int, lines: Iterable[str]) -> None:
        """Append lines to the file number `index`; an unpaired surrogate, which is a bad byte, becomes "?"."""
        if text := "\n".join([*lines, ""]):
            try:
                self._writers[index].write(text.encode("utf-8", "replace"))
            except OSError as error:
                raise storage_error(self.paths[index], error) from None

    def write_pairs(self, corpus: CorpusConfig, pairs: Iterable[tuple[str, str]]) -> None:
        """Append pairs to the file or the two files of `corpus`, which are the first ones here."""
        if corpus.target:
            both = list(pairs)
            self.write(0, (source for source, _ in both))
            self.write(1, (target for _, target in both))
        else:
            self.write(0, (_line_of_both(corpus, *pair) for pair in pairs))

    def finish(self) -> None:
        """Write what compressors and buffers still hold."""
        for path, file, stack in zip(self.paths, self._files, self._stacks, strict=True):
            try:
                stack.close()
                file.flush()
            except OSError as error:
                raise storage_error(path, error) from None


@contextmanager
def new_text_files(paths: Sequence[Path]) -> Iterator[TextFiles]:
    """Files that do not exist yet, which get their names when the block ends well. Raises DragomanError."""
    with ExitStack() as made:
        for path in paths:
            _make_folder(path.parent, made)
        try:
            with atomic_new_files(paths) as opened:
                files = TextFiles(paths, opened)
                yield files
                files.finish()
        except OSError as error:
            if isinstance(error.__context__, DragomanError):  # closing a file that cannot be written fails as well
                raise error.__context__ from None
            raise storage_error(Path(error.filename) if error.filename else paths[0].parent, error) from None
        made.pop_all()  # they stay


def _make_folder(folder: Path, made: ExitStack) -> None:
    """Make a folder and those above it; `made` removes what was made, if it is empty then."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(folder, error) from None
    for path in reversed(missing):
        made.callback(_remove_if_empty, path)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def real_path(path: Path) -> str:
    """Equal for paths of the same file, through links too; a loop of links, which cannot be opened, stays as it is."""
    return os.path.realpath(path)  # Path.resolve() raises RuntimeError for a loop, before Python 3.13


def refuse_same(paths: Iterable[Path], remedy: str) -> None:
    """Raise ConfigError if two of the paths are one file."""
    seen: set[str] = set()
    for path in paths:
        if real_path(path) in seen:
            raise ConfigError(f"{path}: named twice; {remedy}")
        seen.add(real_path(path))


def refuse_pipes(paths: Iterable[Path]) -> None:
    """Raise ConfigError for standard input, pipes and devices: the text is read more than once."""
    for path in paths:
        if str(path) == "-" or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)):
            name = "standard input" if str(path) == "-" else str(path)
            raise ConfigError(f"{name}: is read twice, which a pipe does not allow; write the text to a file first")


def reject_line(block: PairBlock, row: int, reasons: Sequence[str], score: float | None = None) -> str:
    """A line of a rejects file, which is JSON Lines: the pair with its line number, and why it is not used."""
    reject: dict[str, object] = {
        "line": block.first + row,
        "reasons": list(reasons),
        "source": block.source.lines[row],
        "target": block.target.lines[row],
    }
    if line := block.malformed.get(row):
        reject |= {"problem": line.problem, "text": line.text}
    if score is not None:
        reject["score"] = round(score, 4) if math.isfinite(score) else None
    return json.dumps(reject, ensure_ascii=False)


def _line_of_both(corpus: CorpusConfig, source: str, target: str) -> str:
    """A line of a file of both sides, `.tsv` or `.jsonl`; in a `.tsv` file a tab of the text becomes a space."""
    if corpus.single_file == "tsv":
        return "\t".join(text.replace("\t", " ") for text in (source, target))
    return json.dumps(dict(zip(corpus.fields, (source, target), strict=True)), ensure_ascii=False)
