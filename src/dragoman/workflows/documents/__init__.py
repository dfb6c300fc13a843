"""Whole translations of documents, resumable, with what a person should review."""
