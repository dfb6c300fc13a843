"""Markup: HTML, Markdown, reStructuredText, LaTeX."""
