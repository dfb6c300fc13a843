"""Pairs → batches of ids, shuffled, augmented and packed. The only part of the room that may load torch."""
