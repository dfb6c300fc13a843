"""A text of a request → its translation: admission, deadline, markup, streaming, scores."""
