"""Whole tasks on finished models: list, pack, verify, export, merge."""
