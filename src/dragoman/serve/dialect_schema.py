"""Bodies and errors of the two other dialects, for OpenAPI; their routes read them by parsers of their own."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dragoman.serve.body import FORMS


class _Lenient(BaseModel):
    """A request of a dialect: what this service does not know is ignored."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class LibreTranslateBody(_Lenient):
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


class LibreTranslateDetectBody(_Lenient):
    """What `/detect` of LibreTranslate takes."""

    q: str
    """A text."""
    api_key: str = ""
    """The key."""


class DeepLBody(_Lenient):
    """What `/v2/translate` of DeepL takes."""

    text: str | list[str]
    """A text, or several."""
    target_lang: str
    """A language."""
    source_lang: str | None = None
    """A language; none: detected."""
    tag_handling: str | None = None
    """How tags are treated: `xml`, `html`; none: as text."""
    tag_handling_version: str | None = None
    """`v1` or `v2`, which are the same here."""
    outline_detection: bool | str | None = None
    """Of XML: find out which tags divide sentences, besides `splitting_tags`."""
    splitting_tags: str | list[str] | None = None
    """Of XML: the names of tags that divide sentences, as a list or with commas."""
    non_splitting_tags: str | list[str] | None = None
    """Of XML: the names of tags that do not."""
    ignore_tags: str | list[str] | None = None
    """Of XML: the names of tags whose content stays as it is."""
    split_sentences: str | None = None
    """`1`: in XML a line break ends a sentence; otherwise it is white space there."""
    formality: str | None = None
    """`default`, `prefer_more` or `prefer_less`, which have no effect."""
    context: str | None = None
    """Has no effect."""


def takes_forms(model: type[BaseModel]) -> dict[str, Any]:
    """The body of a request as JSON or a form, for OpenAPI."""
    content = {media: {"schema": model.model_json_schema()} for media in ("application/json", *FORMS)}
    return {"requestBody": {"required": True, "content": content}}


def error_as(name: str) -> dict[str, Any]:
    """An error of a dialect: an object with a text of this name."""
    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    return {"description": "An error", "content": {"application/json": {"schema": schema}}}
