"""Lines whose placeholders are symbols, for a model that was trained with `data.protect`, and their translations.

Everything between, from segmentation to alignment, sees symbols: a web address is one short piece that no sentence
boundary divides. A model without symbols sees every line as it is.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

from dragoman.control.search.sentences import Line
from dragoman.text.terms.symbols import Symbols, Table, drop_unknown, find_symbols, restore
from dragoman.text.words.normalise import normalise
from dragoman.translation import Link, Span, Term, Translation


def mask_texts(texts: Sequence[str], symbols: Symbols) -> tuple[list[str], list[Table]]:
    """Each text with symbols for its placeholders, and what they replace."""
    masked = [symbols.mask(text) for text in texts]
    return [text for text, _ in masked], [table for _, table in masked]


def mask(lines: Sequence[Line], symbols: Symbols) -> None:
    """Put symbols in place of the placeholders of each line, and the same ones in its target prefix."""
    for line in lines:
        line.text, line.table = symbols.mask(line.source)
        line.prefix = symbols.mask_as(line.target_prefix, line.table)


def restore_translation(translation: Translation, line: str, table: Table, symbols: Symbols) -> Translation:
    """The translation of `line` from that of its masked text: what each symbol replaces is in its place again.

    A symbol that the source did not have, which the model made up, is left out.
    """
    if not symbols.names:
        return translation
    if not table and "⟦" not in "".join(candidate.text for candidate in translation.candidates):
        return replace(translation, source=line)

    def known(text: str) -> str:
        return normalise(drop_unknown(text, table, symbols.names))

    candidates = tuple(
        replace(candidate, text=restore(known(candidate.text), table)) for candidate in translation.candidates
    )
    return replace(
        translation,
        source=line,
        candidates=candidates,
        terms=tuple(Term(restore(t.source, table), restore(t.target, table), t.satisfied) for t in translation.terms),
        alignment=_moved(translation, known(translation.text), table),
    )


def _moved(translation: Translation, target: str, table: Table) -> tuple[Link, ...]:
    """The alignment between the texts with symbols, as one between the restored texts."""
    if not translation.alignment:
        return ()
    source_table = {name: normalise(text) for name, text in table.items()}
    of_source, of_target = _position_in(normalise(translation.source), source_table), _position_in(target, table)
    return tuple(
        Link(Span(*map(of_source, link.source)), Span(*map(of_target, link.target))) for link in translation.alignment
    )


def _position_in(masked: str, table: Table) -> Callable[[int], int]:
    """Where a position of a masked text is in the restored one; one inside of a symbol is where that begins."""
    symbols = [symbol for symbol in find_symbols(masked) if symbol[0] in table]
    surplus = [0, *accumulate(len(table[name]) - len(name) for name, _, _ in symbols)]

    def position(at: int) -> int:
        passed = sum(end <= at for _, _, end in symbols)
        inside = next((begin for _, begin, end in symbols if begin < at < end), at)
        return inside + surplus[passed]

    return position
