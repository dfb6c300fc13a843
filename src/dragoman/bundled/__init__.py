"""Bundled models: small ones that come with the package, for a first translation without a file or a network.

Input: a text or a name. Output: the folder of a bundle. Every folder here that holds a `bundle.json` is a model, made
by `reproduce/bundled_models.sh`. Its `bundle.json` has two more fields than other bundles: `scripts`, the distribution
of the letters of its source training text over writing systems, and `limits`, what to expect of it. No language is
named here: a text is matched with the model whose source language is written in the same script.
"""

import json
import math
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dragoman.errors import ConfigError, ModelError

HOME = Path(__file__).parent
# A script seen less often than LEARNED was not learned; a letter of one never seen is rare, not impossible.
LEARNED, UNSEEN = 1e-3, 1e-5


@dataclass(frozen=True)
class BundledModel:
    """A model in the box, as its `bundle.json` tells; nothing is verified yet."""

    folder: Path
    scripts: dict[str, float]
    limits: str

    @property
    def name(self) -> str:
        """What `-m` calls it."""
        return self.folder.name

    def log_likelihood(self, letters: Counter[str]) -> float:
        """Of letters of these scripts, drawn independently from the model's source text."""
        return sum(count * math.log(max(self.scripts.get(name, 0.0), UNSEEN)) for name, count in letters.items())

    def knows(self, letters: Counter[str]) -> bool:
        """Whether at least half of the letters are of scripts that it learned; of no letters, yes."""
        learned = sum(count for name, count in letters.items() if self.scripts.get(name, 0.0) >= LEARNED)
        return 2 * learned >= letters.total()


@cache
def bundled_models() -> tuple[BundledModel, ...]:
    """Those there are, by name. Raises ModelError if one cannot be read."""
    return tuple(_read(path.parent) for path in sorted(HOME.glob("*/bundle.json")))


def _read(folder: Path) -> BundledModel:
    try:
        manifest = json.loads((folder / "bundle.json").read_text(encoding="utf-8"))
        return BundledModel(folder, manifest["scripts"], manifest["limits"])
    except (OSError, ValueError, LookupError, TypeError):
        raise ModelError(f"{folder}: the model in the box cannot be read; install dragoman again") from None


def resolve_model(model: Path | str) -> Path:
    """The folder that `model` names: itself if it is there, else the model in the box that is called so."""
    folder = Path(model)
    bundled = HOME / folder
    return bundled if len(folder.parts) == 1 and not folder.exists() and (bundled / "bundle.json").exists() else folder


def bundled_model_for(text: str) -> BundledModel:
    """The model in the box whose source is likeliest written in the scripts of `text`; of equals the first by name.

    Raises ConfigError if none knows them, ModelError if the box is empty.
    """
    models = bundled_models()
    if not models:
        raise ModelError("no model came with this dragoman; name one with -m MODEL, `dragoman train` makes it")
    letters = scripts(text)
    found = max(models, key=lambda model: model.log_likelihood(letters))
    if not found.knows(letters):
        most = letters.most_common(1)[0][0].capitalize()
        known = ", ".join(model.name for model in models)
        raise ConfigError(f"no model in the box ({known}) reads {most} letters; name one with -m MODEL")
    return found


def scripts(text: str) -> Counter[str]:
    """How many letters of `text` are of each script, called as Unicode's names of letters begin: LATIN, HANGUL."""
    counts: Counter[str] = Counter()
    for letter, count in Counter(unicodedata.normalize("NFKC", text)).items():
        if letter.isalpha():
            counts[unicodedata.name(letter, "unnamed").split()[0]] += count
    return counts
