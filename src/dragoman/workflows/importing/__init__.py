"""Whole imports: a model of another toolkit → a verified bundle."""
