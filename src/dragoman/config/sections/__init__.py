"""Every section of `run.toml`: one module each, with the keys, their defaults and their checks."""
