"""Bodies and errors of the two other dialects, for OpenAPI; their routes read them by parsers of their own."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dragoman.serve.http.body import FORMS
from dragoman.serve.http.described import inlined


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


class LibreTranslateSuggestBody(_Lenient):
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


class LibreTranslateFileForm(_Lenient):
    """What `/translate_file` of LibreTranslate takes besides the file."""

    source: str
    """A language, or `auto`."""
    target: str
    """A language."""
    api_key: str = ""
    """The key."""


class DeepLDocumentForm(_Lenient):
    """What `/v2/document` of DeepL takes besides the file."""

    target_lang: str
    """A language."""
    source_lang: str | None = None
    """A language; none: detected."""
    filename: str | None = None
    """The name of the file, if its part has none."""
    glossary_id: str | None = None
    """A glossary that is kept; it needs `source_lang`."""


class DeepLDocumentBody(_Lenient):
    """What opens a document of DeepL."""

    document_key: str
    """As it was answered with the document's id."""


class DeepLDictionaryBody(_Lenient):
    """A dictionary of a glossary of DeepL."""

    source_lang: str
    """A language."""
    target_lang: str
    """A language."""
    entries: str
    """A line for each term."""
    entries_format: Literal["tsv", "csv"] = "tsv"
    """The format of `entries`."""


class DeepLGlossaryBody(DeepLDictionaryBody):
    """What `/v2/glossaries` of DeepL takes."""

    name: str
    """Of the glossary."""


class DeepLGlossariesBody(_Lenient):
    """What `/v3/glossaries` of DeepL takes."""

    name: str
    """Of the glossary."""
    dictionaries: list[DeepLDictionaryBody]
    """One for each pair of languages."""


class DeepLGlossaryChange(_Lenient):
    """What changes a glossary of DeepL: a name, dictionaries, or both."""

    name: str | None = None
    """Another name."""
    dictionaries: list[DeepLDictionaryBody] | None = None
    """Entries to add."""


def takes_file(model: type[BaseModel]) -> dict[str, Any]:
    """The body of an upload: a field `file`, and those of the model."""
    schema = model.model_json_schema()
    file = {"type": "string", "format": "binary", "description": "The document"}
    schema["properties"] = {"file": file, **schema["properties"]}
    schema["required"] = ["file", *schema.get("required", ())]
    return {"requestBody": {"required": True, "content": {FORMS[1]: {"schema": schema}}}}


def takes_forms(model: type[BaseModel]) -> dict[str, Any]:
    """The body of a request as JSON or a form, for OpenAPI."""
    schema = inlined(model.model_json_schema())
    content = {media: {"schema": schema} for media in ("application/json", *FORMS)}
    return {"requestBody": {"required": True, "content": content}}


def error_as(name: str) -> dict[str, Any]:
    """An error of a dialect: an object with a text of this name."""
    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    return {"description": "An error", "content": {"application/json": {"schema": schema}}}
