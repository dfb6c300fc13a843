"""`dragoman config`: the documentation of configuration keys in the terminal."""

import textwrap
from dataclasses import asdict

from dragoman.cli.console import print_json
from dragoman.config.reference import find, keys

WIDTH = 100


def explain(name: str | None, as_json: bool) -> None:
    """Print the key called `name`, the keys of the section, or all keys. It is data: stdout. Raises ConfigError."""
    found = find(name) if name else keys()
    if as_json:
        print_json({"schema": "dragoman.config/1", "keys": [asdict(key) for key in found]})
        return
    for key in found:
        print(
            f"{key.name}  ({key.values}; default: {key.default.strip('`')})".replace(
                "; default: required", "; required"
            )
        )
        print(textwrap.fill(key.doc, WIDTH, initial_indent="    ", subsequent_indent="    "))
