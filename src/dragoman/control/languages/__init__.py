"""The languages of a translator: its pairs, the one of a call, and lines in another language."""
