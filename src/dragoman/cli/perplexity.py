"""`dragoman model perplexity`: how surprising each line of a text is to a language model, for choosing text."""

import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from dragoman.cli.console import print_json
from dragoman.data.corpus.corpus import decode_lines, read_lines
from dragoman.installed.opening import open_model
from dragoman.text.words.lines import WINDOW
from dragoman.workflows.train.language_model import LineScorer


def run_perplexity(model: Path, files: Sequence[Path], device: str, as_json: bool) -> None:
    """Print the perplexity per piece of each line, its end counted, in order."""
    scorer, number = LineScorer(open_model(model), device), 0
    texts: Iterable[Iterable[str]] = map(read_lines, files) if files else [decode_lines(sys.stdin.buffer, "stdin")]
    for lines in map(iter, texts):
        while window := list(islice(lines, WINDOW)):
            for perplexity in scorer.perplexities(window):
                number += 1
                if as_json:
                    print_json({"line": number, "perplexity": perplexity})
                else:
                    print(f"{perplexity:.3f}")
