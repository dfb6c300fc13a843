"""The models that are served: their names and pairs, which of them translates a request, and what becomes of them.

Input: folders, folders of models or names, as `-m` takes them; none: the bundled models. Which model translates a
request follows from its languages: the first one given that has them. `refresh` serves what the folders have now.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from dragoman.bundled import HOME, bundled_names
from dragoman.errors import ConfigError, DragomanError, ModelError
from dragoman.installed import resolve_model
from dragoman.installed.opening import open_model
from dragoman.serve.models.loading import Loader, ServedModel, ServedPair, describe, golden_source
from dragoman.serve.requests.record import log_event
from dragoman.serve.requests.ticket import QueueFull
from dragoman.text.words.language import primary_language
from dragoman.translator import Translator

__all__ = ["Models", "ServedModel", "ServedPair", "UnknownLanguage", "UnknownModel"]


class UnknownLanguage(ConfigError):
    """A language, or a pair of them, that no served model has; the message names those that there are."""


class UnknownModel(ConfigError):
    """A model that is not served; the message names those that are."""


class Models:
    """The served models in the order given, by name; how they are loaded is for the `loader`.

    Raises ModelError for what is no model, ConfigError for two of one name.
    """

    def __init__(
        self,
        names: Sequence[str | Path] = (),
        threads: int | None = None,
        exact: bool = False,
        loader: Loader | None = None,
    ) -> None:
        self.loader = loader or Loader(threads=threads, exact=exact)
        self._names: list[str | Path] = [*names] or [HOME / name for name in bundled_names()]
        self.models: dict[str, ServedModel] = {}
        for folder in [folder for name in self._names for folder in folders_of(name)]:
            model = describe(folder)
            if model.name in self.models:
                raise ConfigError(f"{folder}: a second model with the name {model.name}; serve one of them")
            self.models[model.name] = model
        if not self.models:
            raise ModelError("there are no models to serve; give one with -m MODEL")
        self._served = {name: _signature(model.folder) for name, model in self.models.items()}
        self._seen = dict(self._served)

    @property
    def pairs(self) -> list[ServedPair]:
        """All pairs of all models, each once."""
        return list(dict.fromkeys(pair for model in self.models.values() for pair in model.pairs))

    @property
    def sources(self) -> list[str]:
        """All source languages, each once."""
        return list(dict.fromkeys(pair.source for pair in self.pairs))

    @property
    def first_pair(self) -> ServedPair:
        """The first pair of the first model. Raises QueueFull if there is none any more."""
        if not self.pairs:
            raise _no_models()
        return self.pairs[0]

    def targets_of(self, source: str) -> list[str]:
        """The target languages of a source language, each once."""
        return list(dict.fromkeys(pair.target for pair in self.pairs if pair.source == source))

    def named(self, name: str) -> ServedModel:
        """The model of this name. Raises UnknownModel."""
        if name not in self.models:
            raise UnknownModel(f"no model {name!r:.60} is served; there are: {', '.join(self.models)}")
        return self.models[name]

    def sources_to(self, target: str | None, names: Sequence[str] = ()) -> list[str]:
        """The source languages that there are for a target, of which a text is in one. Raises as `choose` does."""
        return list(dict.fromkeys(pair.source for _, pair in self.matching(None, target, names)))

    def choose(
        self, source: str | None, target: str | None, names: Sequence[str] = ()
    ) -> tuple[ServedModel, ServedPair]:
        """The first model with these languages, and its pair; None: any, if one is left. `names`: as in `matching`.

        A tag is compared as a whole, then by its primary language: `EN-US` is served by a model of `en`. Raises
        UnknownLanguage and UnknownModel, which name what there is.
        """
        matches = self.matching(source, target, names)
        targets = dict.fromkeys(pair.target for _, pair in matches)
        if len(targets) > 1:
            raise UnknownLanguage(
                f"the target language is missing; from {source or 'any'} there are: {', '.join(targets)}"
            )
        return matches[0]

    def matching(
        self, source: str | None, target: str | None, names: Sequence[str] = ()
    ) -> list[tuple[ServedModel, ServedPair]]:
        """The models with these languages, and their pairs: of those with these `names`, in their order, or of all.

        A name that is not served is left out, if another one is. Raises UnknownLanguage, UnknownModel.
        """
        models = [self.models[name] for name in names if name in self.models]
        if not models:
            models = [self.named(names[0])] if names else list(self.models.values())
        every = [(served, pair) for served in models for pair in served.pairs]
        if not every:
            raise _no_models()
        for name, language, tags in (
            ("source", source, [pair.source for _, pair in every]),
            ("target", target, [pair.target for _, pair in every]),
        ):
            if language and not any(_fits(language, tag) for tag in tags):
                known = ", ".join(dict.fromkeys(tags))
                by = f" by {', '.join(model.name for model in models)}" if names else ""
                raise UnknownLanguage(f"{name} language {language!r:.40} is not served{by}; there are: {known}")
        matches = [candidate for candidate in every if _is_pair(candidate[1], source, target, _fits)]
        if not matches:
            known = ", ".join(dict.fromkeys(pair.name for _, pair in every))
            raise UnknownLanguage(f"no model translates from {source} into {target}; there are: {known}")
        return [candidate for candidate in matches if _is_pair(candidate[1], source, target, _equal)] or matches

    def translator(self, model: ServedModel, pair: ServedPair) -> Translator:
        """The translator of a pair for one request, loaded now if it is not yet; blocks.

        Raises ModelError, ResourceError, QueueFull.
        """
        return self.loader.translator(model, self.models.values()).to(pair.target, pair.source)

    def refresh(self) -> None:
        """Serve what the folders have now: what changed and is the same since the last call; blocks.

        A model that is loaded is replaced once the new version is and has translated a sentence. Requests keep the
        version that they began with. A version that cannot be used is reported once, and the one before is kept.
        """
        there = {folder.name: folder for folder in self._folders()}
        for name in dict.fromkeys((*self.models, *there)):
            signature = _signature(there[name]) if name in there else None
            seen, self._seen[name] = self._seen.get(name), signature
            if signature == seen != self._served.get(name):
                self._served[name] = signature
                self._refresh(name, there.get(name))

    def _refresh(self, name: str, folder: Path | None) -> None:
        models = dict(self.models)
        before = models.pop(name, None)
        if folder is None:
            self._report(name, "removed")
        else:
            try:
                new = self._replacement(folder, before)
            except DragomanError as error:
                self._report(name, "refused", str(error))
                return
            if new is before:
                return
            models = {**self.models, name: new}
            self._report(name, "replaced" if before else "added")
        self.models = models

    def _replacement(self, folder: Path, before: ServedModel | None) -> ServedModel:
        """The model in its folder; verified, and loaded if the one before is. Raises DragomanError."""
        new = describe(folder)
        if before and new.digest == before.digest:
            open_model(folder)
            return before
        if before and before.translator:
            new.translator = self.loader.load(new)
            new.translator.translate(golden_source(folder))
        else:
            open_model(folder)
        return new

    def _report(self, name: str, event: str, why: str = "") -> None:
        self.loader.on_event(name, event)
        log_event(model=name, event=event, why=why)

    def _folders(self) -> list[Path]:
        """The folders of all models; what was given and is no longer there is left out."""
        folders = list[Path]()
        for name in self._names:
            with suppress(ModelError, OSError):
                folders += folders_of(name)
        return folders


def folders_of(name: str | Path) -> list[Path]:
    """The folder of a model, or of all models in a folder of models. Raises ModelError if there is none."""
    path = Path(name)
    inside = sorted(path.glob("*/bundle.json")) if path.is_dir() and not (path / "bundle.json").exists() else []
    folders = [file.parent for file in inside if not file.parent.name.startswith(".")]
    if folders and [folder.name for folder in folders] != ["model"]:  # which is the folder of a run
        return folders
    return [resolve_model(name)]


def _signature(folder: Path) -> frozenset[tuple[str, int, int]] | None:
    """What changes with the files of a folder; None if it holds no model."""
    try:
        files = [(path, path.stat()) for path in folder.rglob("*")]
    except OSError:
        return frozenset()
    if not any(path == folder / "bundle.json" for path, _ in files):
        return None
    return frozenset((str(path), stat.st_mtime_ns, stat.st_size) for path, stat in files)


def _no_models() -> QueueFull:
    return QueueFull("there are no models any more; put one where they were", 5)


def _fits(language: str, tag: str) -> bool:
    return primary_language(language) == primary_language(tag)


def _equal(language: str, tag: str) -> bool:
    return language.replace("_", "-").casefold() == tag.casefold()


def _is_pair(pair: ServedPair, source: str | None, target: str | None, same: Callable[[str, str], bool]) -> bool:
    return (not source or same(source, pair.source)) and (not target or same(target, pair.target))
