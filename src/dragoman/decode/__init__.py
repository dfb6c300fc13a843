"""Decoding: model + state → hypotheses, section 6.1."""
