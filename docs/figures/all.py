"""Every figure by the name of its file: `NAME.svg` in English, `NAME.ko.svg` in Korean."""

import tomllib
from collections.abc import Callable
from pathlib import Path

from figures import attention, heads, layers, positions, search, training
from figures.draw import Sheet

FOLDER = Path(__file__).parents[1] / "images/learn"
LABELS = Path(__file__).parent / "labels.toml"
FIGURES: dict[str, Callable[["Labels"], Sheet]] = {
    function.__name__.replace("_", "-"): function
    for module in (attention, positions, layers, training, search, heads)
    for function in module.FIGURES
}


class Labels:
    """The labels of one figure in one language: `labels("key")`; the keys that were read are in `used`."""

    def __init__(self, table: dict[str, list[str]], language: int) -> None:
        self.table, self.language = table, language
        self.used: set[str] = set()

    def __call__(self, key: str) -> str:
        self.used.add(key)
        return self.table[key][self.language]


def labels() -> dict[str, dict[str, list[str]]]:
    """The table of labels: figure → key → [English, Korean]."""
    return tomllib.loads(LABELS.read_text(encoding="utf-8"))


def drawings() -> dict[str, str]:
    """Each figure's file and what is in it. Raises KeyError for a missing label, ValueError for an unused one."""
    table = labels()
    drawn = {}
    for name, draw in FIGURES.items():
        for language, ending in enumerate((".svg", ".ko.svg")):
            texts = Labels(table[name], language)
            sheet = draw(texts)
            drawn[f"{name}{ending}"] = sheet.svg(texts("title"))
            if unused := set(table[name]) - texts.used:
                raise ValueError(f"labels.toml: {name}: not used: {', '.join(sorted(unused))}")
    return drawn
