"""Metrics and traces: times, sizes and counts, never a text."""
