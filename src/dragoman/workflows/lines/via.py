"""Two models in a row, through a third language: a line is translated by the first, and its translation by the second.

Input: lines, and the models at hand. Output: translations with the warnings of both models. Either model copies
placeholders, names of the user and what is around a line; what is there at the end is compared with the source.
"""

import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from dragoman.bundled import HOME, bundled_names
from dragoman.config import DecodeConfig
from dragoman.config.file import read_run_config
from dragoman.control.faults.faults import Requirements, checked
from dragoman.control.languages import LanguagePair, Pairs
from dragoman.control.search.request import change_options
from dragoman.errors import ConfigError, DragomanError
from dragoman.installed import installed_names, models_folder, resolve_model
from dragoman.text.terms.glossary import Glossary, GlossaryLike
from dragoman.text.terms.keep import find_kept
from dragoman.text.words.language import primary_language, same_language
from dragoman.translation import Flag, Translation
from dragoman.translator import Translator

# What has no meaning for two models in a row: words of the third language, and a probability of the second model alone.
OF_ONE_MODEL = ("alignment", "confidence")


class Hop(NamedTuple):
    """A model at hand, and the languages (BCP-47) between which it translates."""

    folder: Path
    source: str
    target: str


@dataclass(frozen=True)
class PivotTranslator:
    """A translator of lines from the source of the `first` translator to the target of the `second`."""

    first: Translator
    second: Translator

    @property
    def options(self) -> DecodeConfig:
        """What holds for the output: the options of the second."""
        return self.second.options

    @property
    def glossary(self) -> Glossary | None:
        """The glossary of the second, whose terms are in the third language."""
        return self.second.glossary

    @property
    def pair(self) -> LanguagePair:
        """The languages of the two ends."""
        assert self.first.pair
        assert self.second.pair
        return LanguagePair(self.first.pair.source, self.second.pair.target)

    @property
    def pairs(self) -> Pairs:
        """The only pair."""
        return Pairs((self.pair,))

    @property
    def _languages(self) -> tuple[str, str] | None:
        pair = self.pair
        return (primary_language(pair.source), primary_language(pair.target)) if pair.target else None

    def to(self, target: str | None = None, source: str | None = None, texts: Iterable[str] = ()) -> Self:
        """This translator. Raises ConfigError for other languages than its own."""
        self.pairs.matching(target, source)
        return self

    def translate(
        self,
        text: Iterable[str],
        *,
        target_prefix: str = "",
        glossary: GlossaryLike | None = None,
        **changes: Any,
    ) -> list[Translation]:
        """The translation of each line; options hold for both models, prefix, glossary and `n_best` for the second.

        Raises what `Translator.translate` raises, and ConfigError for an option that belongs to one model.
        """
        for name in OF_ONE_MODEL:
            if changes.get(name) or getattr(self.second.options, name):
                raise ConfigError(f"{name}: belongs to one model, and these are two in a row; leave it or --via out")
        lines = list(text)
        earlier = self.first.translate(lines, **{**changes, "n_best": 1})
        between = [translation.text for translation in earlier]
        later = self.second.translate(between, target_prefix=target_prefix, glossary=glossary, **changes)
        options = change_options(self.second.options, changes)
        return [self._whole(*row, options) for row in zip(lines, earlier, later, strict=True)]

    def _whole(self, line: str, earlier: Translation, later: Translation, options: DecodeConfig) -> Translation:
        """A translation with the line as its source and the warnings of both, each kind of both once."""
        warnings = [*later.warnings]
        language = self.second.pair.source if self.second.pair else ""
        for flag in earlier.warnings:
            if flag.kind not in {other.kind for other in warnings}:
                warnings.append(Flag(flag.kind, f"on the way, in {language}: {flag.text}"))
        whole = replace(later, source=line, warnings=tuple(warnings))
        ends = html.unescape(line)  # entities of plain text are characters
        names = [span.text for span in find_kept(ends, options.keep)]
        compared = checked(
            replace(whole, source=ends, warnings=()), Requirements.of(ends, options, (), names, self._languages)
        )
        lost = [flag for flag in compared.warnings if flag.kind not in {other.kind for other in warnings}]
        return replace(whole, warnings=(*warnings, *lost))


def hops_at_hand(models: Sequence[Path | str] = ()) -> Iterator[Hop]:
    """The pairs of these models, or else of all installed and bundled ones that can be read."""
    named = [resolve_model(model) for model in models]
    folders = named or [*(models_folder() / name for name in installed_names()), *(HOME / n for n in bundled_names())]
    for folder in folders:
        try:
            pairs = read_run_config(folder).project.all_pairs
        except DragomanError:
            if named:
                raise
            continue
        for pair in pairs:
            yield Hop(folder, pair.source, pair.target)


def choose_hops(via: str, source: str | None, target: str | None, models: Sequence[Path | str] = ()) -> tuple[Hop, Hop]:
    """The first two models at hand that lead from `source` (None: any) through `via` to `target` (None: another).

    Raises ConfigError, which names the models at hand, unless there are two, and where several languages are left.
    """
    hops = list(hops_at_hand(models))
    into = [hop for hop in hops if same_language(hop.target, via) and _is(hop.source, source)]
    out = [hop for hop in hops if same_language(hop.source, via) and _is(hop.target, target)]
    routes = [
        (first, second)
        for first in into
        for second in out
        if same_language(first.target, second.source)
        and ((source and target) or not same_language(first.source, second.target))
    ]
    if not routes:
        names = ", ".join(dict.fromkeys(f"{hop.folder.name} ({hop.source} → {hop.target})" for hop in hops)) or "none"
        wanted = f"{source or 'a language'} → {via} → {target or 'another'}"
        raise ConfigError(f"--via {via}: no two models at hand for {wanted}; at hand: {names}")
    ends = dict.fromkeys((first.source, second.target) for first, second in routes)
    if len(ends) > 1 and not (source and target):
        names = ", ".join(f"{begin} → {end}" for begin, end in ends)
        raise ConfigError(f"--via {via}: several languages are possible, {names}; give --from and --to")
    return routes[0]


def load_route(load: Callable[..., Translator], route: tuple[Hop, Hop], **of_second: Any) -> PivotTranslator:
    """The translator of two models, each made by `load` from its folder, the second with more arguments."""
    first, second = route
    return PivotTranslator(
        load(first.folder).to(first.target, first.source),
        load(second.folder, **of_second).to(second.target, second.source),
    )


def _is(language: str, wanted: str | None) -> bool:
    return wanted is None or same_language(language, wanted)
