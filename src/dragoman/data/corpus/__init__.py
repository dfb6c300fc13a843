"""Corpora: files of pairs, the rules that pairs are held to, near-duplicates, and the reports about them."""
