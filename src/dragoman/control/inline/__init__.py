"""Text with inline codes → its translation with the same codes."""
