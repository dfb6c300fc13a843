"""Corrections of people → a new version of a model."""
