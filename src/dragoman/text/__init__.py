"""Text: str ↔ list[int]. Input: lines of text. Output: the token ids that a model reads; and back."""
