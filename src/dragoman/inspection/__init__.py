"""What a model did with a sentence: watched from outside, named as in the paper, shown on a page."""
