"""HTML, XML and Markdown as a text of a request: read, translated and written as a document is, but in memory."""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import compress
from pathlib import Path
from typing import Literal

from dragoman.control.inline.inline import InlineTranslation
from dragoman.documents import Document, DocumentOptions
from dragoman.documents.markup import html, markdown, markup
from dragoman.documents.markup.markup import ANY_TAGS, LostTags, Tags
from dragoman.text.terms.glossary import GlossaryLike
from dragoman.text.words.script import scripts_of_language
from dragoman.translation import Flag, Term
from dragoman.translator import Translator
from dragoman.workflows.documents.work import is_translatable


@dataclass(frozen=True, slots=True)
class MarkupTranslation:
    """The translated text, and what its units were warned of."""

    text: str
    warnings: tuple[Flag, ...]
    terms: tuple[Term, ...]


Markup = Literal["html", "markdown", "xml"]


def texts_within(text: str, format: Markup, tags: Tags) -> str:
    """The texts that are translated of one with markup, a line each, without what they protect. Raises DataError."""
    return "\n".join(unit.source.visible for unit in _parsed(text, format, tags).units)


def translate_markup(
    texts: Sequence[str],
    format: Markup,
    translator: Translator,
    glossary: GlossaryLike | None,
    tags: Tags,
    keep: tuple[str, ...] = (),
) -> list[MarkupTranslation]:
    """The texts with their markup, of which each tag is there as often as before; `tags` are of XML. Raises DataError.

    The units of all texts are translated together.
    """
    documents = [_parsed(text, format, tags) for text in texts]
    pair = translator.pair
    request = DocumentOptions(pair.source if pair else "und", (pair.target if pair else None) or "und")
    scripts = scripts_of_language(request.source)
    units = [unit for document in documents for unit in document.units]
    chosen = [is_translatable(unit, scripts) for unit in units]
    shown = list(compress(units, chosen))
    translations = iter(
        translator.translate_inline(
            [unit.source for unit in shown],
            patterns=[unit.patterns for unit in shown],
            max_lengths=[unit.max_length for unit in shown],
            glossary=glossary,
            keep=keep or None,
        )
    )
    results = iter([next(translations) if is_shown else None for is_shown in chosen])
    written = []
    for text, document in zip(texts, documents, strict=True):
        try:
            written.append(_written(document, [next(results) for _ in document.units], format, request))
        except LostTags:  # the model has not copied what it was to leave as it is: it does not see it
            written += translate_markup([text], format, translator, glossary, replace(tags, shown=False), keep)
    return written


def _written(
    document: Document, translations: Sequence[InlineTranslation | None], format: Markup, request: DocumentOptions
) -> MarkupTranslation:
    file = BytesIO()
    _MODULES[format].write(
        document, [translation and translation.inline for translation in translations], request, file
    )
    flags = dict.fromkeys(
        flag for translation in translations if translation for flag in translation.translation.warnings
    )
    terms = tuple(term for translation in translations if translation for term in translation.translation.terms)
    return MarkupTranslation(file.getvalue().removeprefix(codecs.BOM_UTF8).decode(), tuple(flags), terms)


_MODULES = {"html": html, "markdown": markdown, "xml": markup}


def check_xml(text: str, where: str) -> None:
    """Raise DataError, which begins with `where`, unless this can be read as XML."""
    markup.parse(Path(where), codecs.BOM_UTF8 + text.encode(), ANY_TAGS)


def _parsed(text: str, format: Markup, tags: Tags) -> Document:
    name = Path(format)  # for errors
    # The mark says that the text is UTF-8, in spite of what is declared in it.
    content = codecs.BOM_UTF8 + text.encode()
    if format == "xml":
        return markup.parse(name, content, tags)
    return html.parse(name, content) if format == "html" else markdown.parse(name, content)
