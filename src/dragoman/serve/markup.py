"""HTML and Markdown as a text of a request: read, translated and written as a document is, but in memory."""

import codecs
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Literal

from dragoman.documents import Request, html, markdown
from dragoman.text.glossary import GlossaryLike
from dragoman.text.inline import InlineText
from dragoman.text.script import scripts_of_language
from dragoman.translation import Flag, Term
from dragoman.translator import Translator
from dragoman.workflows.document_work import is_translatable


@dataclass(frozen=True, slots=True)
class MarkupTranslation:
    """The translated text, and what its units were warned of."""

    text: str
    warnings: tuple[Flag, ...]
    terms: tuple[Term, ...]


def translate_markup(
    text: str, format: Literal["html", "markdown"], translator: Translator, glossary: GlossaryLike | None
) -> MarkupTranslation:
    """The text with its markup, of which each tag is there as often as before. Raises DataError."""
    name = Path(format)  # for errors
    # The mark says that the text is UTF-8, in spite of any <meta charset> in it.
    content = codecs.BOM_UTF8 + text.encode()
    module = html if format == "html" else markdown
    document = module.parse(name, content)
    pair = translator.pair
    request = Request(pair.source if pair else "und", (pair.target if pair else None) or "und")
    units = list(document.units)
    scripts = scripts_of_language(request.source), scripts_of_language(request.target)
    chosen = [n for n, unit in enumerate(units) if is_translatable(unit, *scripts)]
    found = translator.translate_inline(
        [units[n].source for n in chosen],
        patterns=[units[n].patterns for n in chosen],
        max_lengths=[units[n].max_length for n in chosen],
        glossary=glossary,
    )
    written: list[InlineText | None] = [None] * len(units)
    for n, one in zip(chosen, found, strict=True):
        written[n] = one.inline
    file = BytesIO()
    module.write(document, written, request, file)
    flags = dict.fromkeys(flag for one in found for flag in one.translation.warnings)
    terms = tuple(term for one in found for term in one.translation.terms)
    return MarkupTranslation(file.getvalue().removeprefix(codecs.BOM_UTF8).decode(), tuple(flags), terms)
