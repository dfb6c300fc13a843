"""Candidate target pieces of a source: learned from attention, stored, read."""
