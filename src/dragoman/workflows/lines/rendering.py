"""What a list of requests becomes: the text of the output, and the warnings about it.

Input: the requests of lines that follow each other, and the number of the first. Output: `TranslatedLines`, the same in
this process and on another machine.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dragoman.config import DecodeConfig
from dragoman.control.alignment import pharaoh
from dragoman.translation import Translation
from dragoman.translator import Translator
from dragoman.workflows.lines.requests import LineRequest, translate_requests


@dataclass(frozen=True, slots=True)
class TranslatedLines:
    """The output for some lines: its text, the warnings in order, how many lines have one, how many a memory had."""

    text: str = ""
    warnings: tuple[str, ...] = ()
    flagged: int = 0
    from_memory: int = 0


def translated_lines(
    requests: Sequence[LineRequest],
    first: int,
    choose: Callable[[str], Translator | Translation],
    options: DecodeConfig,
    *,
    as_json: bool,
) -> TranslatedLines:
    """The output for these lines, of which the first has the number `first`. Raises as `translate_requests` does."""
    translations = translate_requests(requests, choose)
    numbered = list(zip(range(first, first + len(requests)), requests, translations, strict=True))
    return TranslatedLines(
        "".join(render(*row, options, as_json=as_json) for row in numbered),
        tuple(text for number, _, translation in numbered for text in warnings(number, translation)),
        sum(any(True for _ in _flags(translation)) for translation in translations),
        sum(translation.match is not None for translation in translations),
    )


def warnings(number: int, translation: Translation) -> Iterator[str]:
    """The warnings about the translation of a line, and the terms that it lacks."""
    for text in _flags(translation):
        yield f"line {number}: {text}"
    for term in translation.terms:
        if not term.satisfied:
            yield f"line {number}: {term.source!r} is not translated as {term.target!r}; check it by hand"


def _flags(translation: Translation) -> Iterator[str]:
    """The warnings besides those about terms; that a line was segmented is no fault."""
    return (flag.text for flag in translation.warnings if flag.kind != "segmented")


def render(number: int, request: LineRequest, translation: Translation, options: DecodeConfig, *, as_json: bool) -> str:
    """The output for one line of the input: a record of JSON, or lines of text with columns separated by tabs."""
    if as_json:
        return json.dumps(record(number, request, translation), ensure_ascii=False) + "\n"
    confidence = "" if translation.confidence is None else f"{translation.confidence:.3f}"
    best = ([confidence] if options.confidence else []) + ([pharaoh(translation)] if options.alignment else [])
    rows = [[candidate.text] for candidate in translation.candidates]
    if options.n_best > 1:
        rows = [[f"{number}", f"{c.score:.4f}", c.text] for c in translation.candidates]
    others = [[""] * len(best)] * (len(rows) - 1)  # as many columns in every row
    rows = [row + more for row, more in zip(rows, [best, *others], strict=True)]
    if len(rows[0]) > 1:  # a line that no bundled model reads is left as it is, with its tabs
        rows = [[cell.replace("\t", " ") for cell in row] for row in rows]
    return "".join("\t".join(row) + "\n" for row in rows)


def record(number: int, request: LineRequest, translation: Translation) -> dict[str, Any]:
    """What --json has of one line: optional fields only where there is something in them."""
    candidates = [
        {"text": c.text, "score": c.score, "log_prob": c.log_prob} | ({"log_probs": c.log_probs} if c.log_probs else {})
        for c in translation.candidates
    ]
    fields = {"line": number, **request.identity, "source": translation.source, "translations": candidates}
    fields["warnings"] = [{"kind": flag.kind, "text": flag.text} for flag in translation.warnings]
    if translation.confidence is not None:
        fields["confidence"] = translation.confidence
    if translation.match is not None:
        fields["match"] = translation.match
    if translation.alignment:
        fields["alignment"] = pharaoh(translation)
    if translation.terms:
        fields["terms"] = [asdict(term) for term in translation.terms]
    return fields
