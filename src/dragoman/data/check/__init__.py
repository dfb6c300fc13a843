"""Checks of a corpus: lines that break a rule, and pairs whose sides do not say the same."""
