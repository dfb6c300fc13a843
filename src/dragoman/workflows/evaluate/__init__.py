"""Whole tasks on quality: scores, confidence, robustness."""
