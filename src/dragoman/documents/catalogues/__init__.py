"""Catalogues of messages: PO, JSON, YAML, ARB, properties, and those of Android and Apple."""
