"""Whole translations of files of lines: requests, shards, and an output that a killed process continues."""
