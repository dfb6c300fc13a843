"""Whole trainings: from text files to a model bundle."""
