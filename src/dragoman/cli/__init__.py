"""Command line: one module a verb; the only place that composes, prints and catches DragomanError."""
