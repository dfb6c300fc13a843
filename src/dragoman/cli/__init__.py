"""Command line: parse, call a workflow, print. Only this package prints and catches DragomanError."""
