"""Corpora → other corpora: cleaned, split, mixed, or with planted typing errors."""
