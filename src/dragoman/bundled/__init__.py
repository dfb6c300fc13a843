"""Bundled models: small models that ship with the package, for a first translation without files or a network.

Input: a text or a name. Output: the folder of a bundle. Every folder here that holds a `bundle.json` is a model, made
by `reproduce/bundled_models.sh`. Its `bundle.json` has two more fields than other bundles: `scripts`, the distribution
of the letters of its source training text over writing systems, and `limits`, what to expect of it. No language is
named here: a text is matched with the model whose source language is written in the same script.
"""

import math
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dragoman.errors import ConfigError, ModelError
from dragoman.system.parsing import parse_json

HOME = Path(__file__).parent
# A script with a smaller share than LEARNED counts as unknown; letters of unseen scripts get the probability UNSEEN.
LEARNED, UNSEEN = 1e-3, 1e-7


@dataclass(frozen=True)
class BundledModel:
    """A bundled model, as described in its `bundle.json`; its files are not verified yet."""

    folder: Path
    scripts: dict[str, float]
    limits: str
    languages: tuple[str, str]
    """Source and target (BCP-47)."""

    @property
    def name(self) -> str:
        """Its name, as given to `-m`."""
        return self.folder.name

    def log_likelihood(self, letters: Counter[str]) -> float:
        """log P, in nats, of letters of these scripts, each drawn from the letters of the model's source text."""
        return sum(count * math.log(max(self.scripts.get(name, 0.0), UNSEEN)) for name, count in letters.items())

    def knows(self, letters: Counter[str]) -> bool:
        """Whether at least half of the letters, if there are any, belong to scripts that the model was trained on."""
        learned = sum(count for name, count in letters.items() if self.scripts.get(name, 0.0) >= LEARNED)
        return 2 * learned >= letters.total()


@cache
def bundled_models() -> tuple[BundledModel, ...]:
    """All bundled models, sorted by name. Raises ModelError if one cannot be read."""
    return tuple(_read(path.parent) for path in sorted(HOME.glob("*/bundle.json")))


def _read(folder: Path) -> BundledModel:
    try:
        manifest = parse_json((folder / "bundle.json").read_bytes())
        languages = manifest["languages"]
        return BundledModel(folder, manifest["scripts"], manifest["limits"], (languages["source"], languages["target"]))
    except (OSError, ValueError, LookupError, TypeError):
        raise ModelError(f"{folder}: the bundled model cannot be read; reinstall dragoman") from None


def bundled_names() -> list[str]:
    """The names of all bundled models, sorted."""
    return sorted(path.parent.name for path in HOME.glob("*/bundle.json"))


def bundled_folder(name: str) -> Path | None:
    """The folder of the bundled model `name`; None if there is none."""
    return HOME / name if name in bundled_names() else None


def opposite_of(folder: Path) -> Path | None:
    """The bundled model of the other direction than the bundled one in `folder`; None for another folder."""
    if folder.resolve().parent != HOME.resolve():
        return None
    languages = {model.folder.resolve(): model.languages for model in bundled_models()}
    here = languages.get(folder.resolve())
    return next((other for other, there in languages.items() if here and there == here[::-1]), None)


def bundled_model_for(text: str) -> BundledModel:
    """The bundled model whose source language most likely uses the scripts of `text`; the first by name if several do.

    Raises ConfigError if no model knows these scripts, ModelError if no model is bundled.
    """
    models = bundled_models()
    if not models:
        raise ModelError("this dragoman has no bundled models; give one with -m MODEL, `dragoman train` writes one")
    letters = scripts(text)
    likeliest = max(models, key=lambda model: model.log_likelihood(letters))
    if not likeliest.knows(letters):
        most = letters.most_common(1)[0][0]
        most = most if most == "CJK" else most.capitalize()
        known = ", ".join(model.name for model in models)
        raise ConfigError(f"no bundled model ({known}) reads {most} letters; give one with -m MODEL")
    return likeliest


def readable(text: str) -> bool:
    """Whether a bundled model knows the scripts of `text`."""
    letters = scripts(text)
    return any(model.knows(letters) for model in bundled_models())


def scripts(text: str) -> Counter[str]:
    """The number of letters of `text` in each script, named by the first word of their Unicode names: LATIN, HANGUL."""
    counts: Counter[str] = Counter()
    for letter, count in Counter(unicodedata.normalize("NFKC", text)).items():
        if letter.isalpha():
            counts[unicodedata.name(letter, "unnamed").split()[0]] += count
    return counts
