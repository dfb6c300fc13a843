"""Documents in, documents out: each format is read into units of text and written with their translations."""

from dragoman.documents.core.document import Document, DocumentOptions, Format, Unit
from dragoman.documents.formats import Kind, kind_of, load, read_document

__all__ = ["Document", "DocumentOptions", "Format", "Kind", "Unit", "kind_of", "load", "read_document"]
