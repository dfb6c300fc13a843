"""Bodies of requests of the dialect of DeepL, for OpenAPI; its routes read them by a parser of their own."""

from typing import Literal

from dragoman.serve.http.body import LenientBody


class DeepLBody(LenientBody):
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
    """`nonewlines`: in plain text a line break within a paragraph is a space; `1`: in XML it ends a sentence."""
    formality: str | None = None
    """`default`, `prefer_more` or `prefer_less`, which have no effect."""
    context: str | None = None
    """Has no effect."""
    model_type: str | None = None
    """Has no effect but `model_type_used` in the answer."""
    auth_key: str | None = None
    """The key, as programs sent it before there was `Authorization: DeepL-Auth-Key`; also in the query."""


class DeepLDocumentForm(LenientBody):
    """What `/v2/document` of DeepL takes besides the file."""

    target_lang: str
    """A language."""
    source_lang: str | None = None
    """A language; none: detected."""
    filename: str | None = None
    """The name of the file, if its part has none."""
    glossary_id: str | None = None
    """A glossary that is kept; it needs `source_lang`."""


class DeepLDocumentBody(LenientBody):
    """What opens a document of DeepL."""

    document_key: str
    """As it was answered with the document's id."""


class DeepLDictionaryBody(LenientBody):
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


class DeepLGlossariesBody(LenientBody):
    """What `/v3/glossaries` of DeepL takes."""

    name: str
    """Of the glossary."""
    dictionaries: list[DeepLDictionaryBody]
    """One for each pair of languages."""


class DeepLGlossaryChange(LenientBody):
    """What changes a glossary of DeepL: a name, dictionaries, or both."""

    name: str | None = None
    """Another name."""
    dictionaries: list[DeepLDictionaryBody] | None = None
    """Entries to add."""
