"""Whole tasks on text: check, clean, mix, convert."""
