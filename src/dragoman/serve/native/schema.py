"""Requests and answers of the native dialect, `/v1`, as OpenAPI shows them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Body(BaseModel):
    """A request: unknown fields are refused, so that a misspelt one is never ignored."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)


def language_of(tag: str | None) -> str | None:
    """The language of a field; None where it is to be detected."""
    return None if tag in (None, "", "auto") else tag


class TagsBody(Body):
    """What the tags of XML mean, by the names of their elements."""

    splitting: list[str] = []
    """Their tags divide sentences."""
    non_splitting: list[str] = []
    """Their tags are inside of sentences."""
    ignored: list[str] = []
    """Their content stays as it is."""
    outline: bool = True
    """Find out which others divide sentences; otherwise none does."""


class TranslateBody(Body):
    """What is to be translated, and how."""

    text: str | list[str]
    """A text, or several."""
    source: str | None = None
    """Source language, BCP-47; `auto` or none: detected among those that are served."""
    target: str | None = None
    """Target language, BCP-47; may be left out where there is only one."""
    model: str | None = None
    """Name of a model of `/v1/models`; none: the first one that has the languages."""
    format: Literal["text", "html", "markdown", "xml"] = "text"
    """What the text is. Tags, code and addresses stay."""
    tags: TagsBody | None = None
    """Only of XML."""
    glossary: dict[str, str | list[str]] | None = None
    """Terms and their required translations; the first of several is preferred."""
    glossary_id: str | None = None
    """Also the terms of this glossary of `/v1/glossaries`; those of `glossary` come before them."""
    keep: Annotated[list[Annotated[str, Field(min_length=1, max_length=202)]], Field(max_length=1000)] = []
    """Texts to be copied, such as names of products, and regular expressions between slashes."""
    alternatives: Annotated[int, Field(ge=0, le=16)] = 0
    """Up to this many other translations of each text; only of plain text."""
    alignment: bool = False
    """Also which words come from which words of the source; only of plain text."""
    memory: bool = True
    """Ask the translation memory of the service first, if it has one."""


class DetectBody(Body):
    """A text whose language is asked for."""

    text: str


class Warned(BaseModel):
    """A warning about a translation: its kind for programs, a text for people."""

    kind: str
    text: str


class TermUse(BaseModel):
    """A term of the glossary in the source, and whether its translation is there."""

    source: str
    target: str
    satisfied: bool


class LinkSpans(BaseModel):
    """A word of the translation and one of the source that it comes from: from one character to before another."""

    source: tuple[int, int]
    target: tuple[int, int]


class Translated(BaseModel):
    """The translation of one text."""

    text: str
    source: str
    target: str
    model: str
    detected: float | None = None
    """The probability of the source language, if it was detected; 0 if the text has no letters."""
    alternatives: list[str] = []
    warnings: list[Warned] = []
    terms: list[TermUse] = []
    alignment: list[LinkSpans] = []
    normalised: str | None = None
    """With an alignment: the source as its characters are counted."""
    match: int | None = None
    """100 if the translation is from the memory, 99 if only its numbers were adapted; none: the model's."""


class TranslateAnswer(BaseModel):
    """The translations, one for each text, in order."""

    translations: list[Translated]


class SentenceEvent(BaseModel):
    """An event `sentence` of a stream: a sentence, and what separates it from the one before."""

    index: int
    before: str
    source: str
    text: str
    warnings: list[Warned] = []


class StreamEnd(BaseModel):
    """The event `done` of a stream: the whole translation."""

    text: str
    source: str
    target: str
    model: str
    detected: float | None = None


class Detected(BaseModel):
    """A language that the text may be in."""

    language: str
    probability: float


class DetectAnswer(BaseModel):
    """The languages that are served and that the text may be in, the most likely first."""

    languages: list[Detected]


class PairOf(BaseModel):
    """A source and a target language."""

    source: str
    target: str


class ModelOf(BaseModel):
    """A model that is served."""

    name: str
    pairs: list[PairOf]
    license: str
    loaded: bool


class ModelsAnswer(BaseModel):
    """All models, in the order in which they are chosen."""

    models: list[ModelOf]


class LanguageOf(BaseModel):
    """A source language, and those that it is translated into."""

    code: str
    name: str
    targets: list[str]


class LanguagesAnswer(BaseModel):
    """All source languages."""

    languages: list[LanguageOf]
