"""Documents in, documents out: each format is read into units of text and written with their translations. No torch."""

from dragoman.documents.core.document import Document, Format, Request, Unit
from dragoman.documents.formats import Kind, kind_of, load, read_document

__all__ = ["Document", "Format", "Kind", "Request", "Unit", "kind_of", "load", "read_document"]
