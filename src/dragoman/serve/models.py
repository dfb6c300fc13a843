"""The models that are served: their names and pairs, and their translators, each loaded when it is first used.

Input: folders or names, as `-m` takes them; none: the bundled models. Which model translates a request follows from its
languages: the first one given that has them.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dragoman.bundle import read_manifest
from dragoman.bundled import HOME, bundled_names
from dragoman.config.file import read_run_config
from dragoman.config.project import pair_name
from dragoman.errors import ConfigError, ModelError
from dragoman.installed import resolve_model
from dragoman.text.language import primary_language
from dragoman.translator import Translator


class UnknownLanguage(ConfigError):
    """A language, or a pair of them, that no served model has; the message names those that there are."""


class UnknownModel(ConfigError):
    """A model that is not served; the message names those that are."""


@dataclass(frozen=True, slots=True)
class ServedPair:
    """A source and a target language (BCP-47) of a model."""

    source: str
    target: str

    @property
    def name(self) -> str:
        """`ko-en`, or `pt-BR:en` for longer tags."""
        return pair_name(self.source, self.target)


@dataclass(eq=False)
class ServedModel:
    """A model in a folder, and its translator once it is loaded."""

    name: str
    folder: Path
    pairs: tuple[ServedPair, ...]
    license: str
    translator: Translator | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class Models:
    """The served models in the order given; `exact` is `decode.exact` for all.

    Raises ModelError for what is no model, ConfigError for two of one name.
    """

    def __init__(self, given: Sequence[str | Path] = (), threads: int | None = None, exact: bool = False) -> None:
        folders = [resolve_model(one) for one in given] if given else [HOME / name for name in bundled_names()]
        self.threads, self.exact = threads, exact
        self.models: dict[str, ServedModel] = {}
        for folder in folders:
            model = _described(folder)
            if model.name in self.models:
                raise ConfigError(f"{folder}: a second model with the name {model.name}; serve one of them")
            self.models[model.name] = model
        if not self.models:
            raise ModelError("there are no models to serve; give one with -m MODEL")

    @property
    def pairs(self) -> list[ServedPair]:
        """All pairs of all models, each once."""
        return list(dict.fromkeys(pair for model in self.models.values() for pair in model.pairs))

    @property
    def sources(self) -> list[str]:
        """All source languages, each once."""
        return list(dict.fromkeys(pair.source for pair in self.pairs))

    def targets_of(self, source: str) -> list[str]:
        """The target languages of a source language, each once."""
        return list(dict.fromkeys(pair.target for pair in self.pairs if pair.source == source))

    def named(self, name: str) -> ServedModel:
        """The model of this name. Raises UnknownModel."""
        if name not in self.models:
            raise UnknownModel(f"no model {name!r} is served; there are: {', '.join(self.models)}")
        return self.models[name]

    def sources_to(self, target: str | None, model: str | None = None) -> list[str]:
        """The source languages that there are for a target, of which a text is in one. Raises as `choose` does."""
        return list(dict.fromkeys(pair.source for _, pair in self._matching(None, target, model)))

    def choose(
        self, source: str | None, target: str | None, model: str | None = None
    ) -> tuple[ServedModel, ServedPair]:
        """The first model with these languages, and its pair; None: any, if one is left.

        A tag is compared as a whole, then by its primary language: `EN-US` is served by a model of `en`. Raises
        UnknownLanguage and UnknownModel, which name what there is.
        """
        found = self._matching(source, target, model)
        targets = dict.fromkeys(pair.target for _, pair in found)
        if len(targets) > 1:
            raise UnknownLanguage(
                f"the target language is missing; from {source or 'any'} there are: {', '.join(targets)}"
            )
        return found[0]

    def _matching(
        self, source: str | None, target: str | None, model: str | None
    ) -> list[tuple[ServedModel, ServedPair]]:
        models = [self.named(model)] if model else list(self.models.values())
        every = [(one, pair) for one in models for pair in one.pairs]
        for name, given, tags in (
            ("source", source, [pair.source for _, pair in every]),
            ("target", target, [pair.target for _, pair in every]),
        ):
            if given and not any(_fits(given, tag) for tag in tags):
                known = ", ".join(dict.fromkeys(tags))
                raise UnknownLanguage(f"{name} language {given!r:.40} is not served; there are: {known}")
        found = [each for each in every if _is_pair(each[1], source, target, _fits)]
        if not found:
            names = ", ".join(dict.fromkeys(pair.name for _, pair in every))
            raise UnknownLanguage(f"no model translates from {source} into {target}; there are: {names}")
        return [each for each in found if _is_pair(each[1], source, target, _equal)] or found

    def translator(self, model: ServedModel, pair: ServedPair) -> Translator:
        """The translator of a pair, loaded now if it is the first use; blocks. Raises ModelError, ResourceError."""
        with model.lock:
            if model.translator is None:
                found = Translator.load(model.folder, threads=self.threads)
                found.options = found.options.model_copy(update={"exact": self.exact or found.options.exact})
                model.translator = found
        return model.translator.to(pair.target, pair.source)


def _fits(given: str, tag: str) -> bool:
    return primary_language(given) == primary_language(tag)


def _equal(given: str, tag: str) -> bool:
    return given.replace("_", "-").casefold() == tag.casefold()


def _is_pair(pair: ServedPair, source: str | None, target: str | None, same: Callable[[str, str], bool]) -> bool:
    return (not source or same(source, pair.source)) and (not target or same(target, pair.target))


def _described(folder: Path) -> ServedModel:
    """What the files of a model say about it; they are verified when it is loaded."""
    manifest, config = read_manifest(folder), read_run_config(folder)
    pairs = tuple(ServedPair(pair.source, pair.target) for pair in config.project.all_pairs)
    return ServedModel(folder.name or str(manifest["name"]), folder, pairs, config.project.license)
