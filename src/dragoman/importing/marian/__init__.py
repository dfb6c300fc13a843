"""Models of Marian and M2M-100 → weights by the names of our Transformer."""
