"""Formats of translators: TMX and XLIFF."""
