"""Corpora → other corpora: cleaned, split, mixed, or typed differently."""
