"""Placeholders: masked by symbols, restored, and repaired where a translation lost some."""
