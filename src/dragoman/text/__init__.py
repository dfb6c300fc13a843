"""Text: str ↔ list[int]. Enters a line as a person wrote it, leaves the token ids a model reads; and back."""
