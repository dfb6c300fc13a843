"""What a model computes for a sentence: recorded from outside, named as in the paper, shown on a page."""
