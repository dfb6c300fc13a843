"""The probability that a person would accept a translation, learned from validation lines."""
