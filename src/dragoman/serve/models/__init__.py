"""The models that are served: loaded, chosen, looked into."""
