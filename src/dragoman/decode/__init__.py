"""Decoding: model + state → hypotheses, section 6.1. Axes: see `dragoman.model`."""
