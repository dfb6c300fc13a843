"""Packages of office programs and e-books: Word, Excel, PowerPoint, OpenDocument, EPUB."""
