"""Bodies of requests of the dialect of LibreTranslate, for OpenAPI; its routes read them by a parser of their own."""

from typing import Literal

from pydantic import Field

from dragoman.serve.http.body import LenientBody


class LibreTranslateBody(LenientBody):
    """What `/translate` of LibreTranslate takes."""

    q: str | list[str]
    """A text, or several."""
    source: str
    """A language, or `auto`."""
    target: str
    """A language."""
    format: Literal["text", "html"] = "text"
    """What the text is."""
    alternatives: int = Field(0, ge=0, le=16)
    """Up to this many other translations."""
    api_key: str = ""
    """The key."""


class LibreTranslateDetectBody(LenientBody):
    """What `/detect` of LibreTranslate takes."""

    q: str
    """A text."""
    api_key: str = ""
    """The key."""


class LibreTranslateSuggestBody(LenientBody):
    """What `/suggest` of LibreTranslate takes."""

    q: str
    """A text."""
    s: str
    """Its right translation."""
    source: str
    """A language."""
    target: str
    """A language."""
    api_key: str = ""
    """The key."""


class LibreTranslateFileForm(LenientBody):
    """What `/translate_file` of LibreTranslate takes besides the file."""

    source: str
    """A language, or `auto`."""
    target: str
    """A language."""
    api_key: str = ""
    """The key."""
