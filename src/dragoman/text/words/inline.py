"""Text with inline codes: what a document has inside a sentence and no model should see.

A code is a tag, the border of a run of one style, a footnote's mark, … at a position in the text. Codes are frozen
values: a reader of documents makes those of a source, the placement by alignment those of its translation.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Code:
    """An inline code after `position` characters of the text. Codes at one position keep their order.

    An opening and a closing code with the same `name` enclose a span. `text` is what the document writes, for people.
    """

    position: int
    kind: Literal["open", "close", "alone"]
    name: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class InlineText:
    """A text, its inline codes in the order of the document, and the spans of it that a translation copies.

    The text may have several lines. A `protected` span (begin, end) is visible to the model and stays as it is: a code
    span of Markdown, a variable's name. Spans are in order and do not overlap.
    """

    text: str
    codes: tuple[Code, ...] = ()
    protected: tuple[tuple[int, int], ...] = ()

    @property
    def visible(self) -> str:
        """The text without what is protected."""
        parts, at = [], 0
        for begin, end in self.protected:
            parts.append(self.text[at:begin])
            at = end
        return " ".join([*parts, self.text[at:]])

    @property
    def counted_codes(self) -> Counter[tuple[str, str]]:
        """How often each code occurs, by kind and name: the same in a translation."""
        return Counter((code.kind, code.name) for code in self.codes)
