"""Pairs → batches of ids, shuffled, augmented and packed. The only part of `data` that may load torch."""
