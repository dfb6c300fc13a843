"""The pairs that an imported model is tried on: the user's own, or the embedded ones if the languages are theirs."""

from dataclasses import dataclass
from itertools import islice
from os import PathLike, fspath
from pathlib import Path

from dragoman.config.sections.project import ProjectConfig
from dragoman.data.corpus.corpus import embedded_pairs, read_pairs
from dragoman.errors import DataError
from dragoman.text.words.language import primary_language
from dragoman.workflows.data.check import corpus_of

# Lines that are translated and scored, for the card.
LINES = 200
# The languages of the embedded text, and the words of its English sentences that are used.
EMBEDDED, WORDS = ("en", "ko"), range(4, 16)


@dataclass(frozen=True)
class TrialText:
    """Pairs, and what they are called; `remedy` says what to do if there are none."""

    name: str
    pairs: tuple[tuple[str, str], ...] = ()
    remedy: str = ""


def text_of_files(source: str | PathLike[str], reference: str | PathLike[str] | None) -> TrialText:
    """The first pairs of two files, or of one .tsv or .jsonl file. Raises ConfigError and DataError."""
    pairs = tuple((pair.source, pair.target) for pair in islice(read_pairs(corpus_of(source, reference)), LINES))
    if not pairs:
        raise DataError(f"{fspath(source)}: no lines to try the model on; give some pairs")
    return TrialText(Path(source).name, pairs)


def embedded_text(project: ProjectConfig) -> TrialText:
    """Pairs of the embedded text in the direction of the model; none if it has another language."""
    pair = tuple(primary_language(tag) for tag in (project.source, project.target))
    if sorted(pair) != sorted(EMBEDDED):
        remedy = f"give SOURCE REFERENCE, some pairs of {project.source} and {project.target}, to try it"
        return TrialText("no text", remedy=f"To know, import it again: {remedy}")
    short = ((line.source, line.target) for line in embedded_pairs("valid") if len(line.source.split()) in WORDS)
    lines = tuple(islice(short, LINES))
    pairs = lines if pair == EMBEDDED else tuple(line[::-1] for line in lines)
    return TrialText("the embedded text (LibreOffice's help)", pairs)
