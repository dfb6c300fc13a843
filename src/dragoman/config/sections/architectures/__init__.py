"""The architectures other than the Transformer: the keys that [model] has for each of them."""
