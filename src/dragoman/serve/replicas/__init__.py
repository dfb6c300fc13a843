"""Several processes that serve on one port."""
