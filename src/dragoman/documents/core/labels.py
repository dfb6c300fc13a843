"""Labels of menus and buttons in documents: the mark of an accelerator key is taken off and set again.

Input: a text of a document that may be a label (`text.words.accelerators`). A text with inline codes or protected spans
is none.
"""

from dataclasses import replace

from dragoman.text.words.accelerators import Accelerator, find_accelerator, with_accelerator, without_accelerator
from dragoman.text.words.inline import InlineText


def without_mark(source: InlineText, translation: InlineText | None = None) -> InlineText:
    """What is translated of a source, or the text of its existing translation."""
    accelerator = _accelerator(source)
    if translation is None:
        return source if accelerator is None else InlineText(accelerator.text)
    return replace(translation, text=without_accelerator(translation.text)) if accelerator else translation


def with_mark(source: InlineText, translation: InlineText) -> InlineText:
    """A translation of `without_mark(source)`, with the key of the source."""
    accelerator = _accelerator(source)
    return translation if accelerator is None else InlineText(with_accelerator(translation.text, accelerator))


def _accelerator(source: InlineText) -> Accelerator | None:
    return None if source.codes or source.protected else find_accelerator(source.text)
