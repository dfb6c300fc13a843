"""What is done with every line: lines → requests → the parts of the output, the same here and in a worker of Ray."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dragoman.bundled import BundledModel, bundled_model_for, bundled_models, opposite_of, scripts
from dragoman.config import DecodeConfig
from dragoman.control.alignment import pharaoh
from dragoman.control.languages import LanguagePair
from dragoman.control.search.request import price_of
from dragoman.engine.resources import window_size
from dragoman.errors import ConfigError
from dragoman.memory import Memory
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.tbx import TermBase
from dragoman.text.words.language import primary_language
from dragoman.text.words.lines import WindowSize
from dragoman.translation import NO_FAULTS, Candidate, Flag, Translation
from dragoman.translator import Translator
from dragoman.workflows.lines.requests import LineRequest, parse_lines, translate_requests
from dragoman.workflows.lines.shards import FIRST_WINDOW
from dragoman.workflows.lines.via import PivotTranslator
from dragoman.workflows.listener import Listeners


def _is_unlabelled(path: Path) -> bool:
    """Whether a memory is of a format that names no languages."""
    return path.name.lower().removesuffix(".gz").removesuffix(".zst").endswith((".tsv", ".jsonl", ".po"))


def _is(language: str, wanted: str | None) -> bool:
    return not wanted or primary_language(language) == primary_language(wanted)


def ignore(notice: str) -> None:
    """Do nothing with a notice."""


@dataclass
class BundledTranslators:
    """A function from a text to its translator; each is made by `load` and named by `notice` when it is first used."""

    load: Callable[[Path], Translator]
    """From the folder of a model to its translator, with these `options` and this `glossary`."""
    options: DecodeConfig = field(default_factory=DecodeConfig)
    glossary: Glossary | TermBase | None = None
    to: str | None = None
    from_: str | None = None
    notice: Callable[[str], None] = ignore
    loaded: dict[str, Translator] = field(default_factory=dict, init=False)
    """The translators by the names of their models."""

    def __call__(self, text: str, to: str | None = None, from_: str | None = None) -> Translator | Translation:
        """The translator of a line; where no model reads its letters, the line as it is, with a warning.

        `to` and `from_` are languages that the line asks for by itself. Raises ConfigError for those of no model.
        """
        models = self.models(to or self.to, from_ or self.from_)
        try:
            model = self._model_for(text, models)
        except ConfigError as error:
            cause = str(error).partition(";")[0]
            flag = Flag("script", f"{cause}; the line is left as it is")
            return Translation(text, (Candidate(text, 0.0, 0.0),), (flag,))
        if model.name not in self.loaded:
            self.notice(f"Using the bundled model {model.name}: {model.limits} Train your own with `dragoman train`")
            self.loaded[model.name] = self._with_reverse(model)
        return self.loaded[model.name]

    def models(self, to: str | None = None, from_: str | None = None) -> list[BundledModel]:
        """The models that translate into and from these languages (None: any). Raises ConfigError if there is none."""
        models = [
            model
            for model in bundled_models()
            for language, wanted in [model.languages]
            if _is(language, from_) and _is(wanted, to)
        ]
        if not models and bundled_models():
            wanted = "".join(f" {word} {tag}" for word, tag in (("from", from_), ("into", to)) if tag)
            names = ", ".join(model.name for model in bundled_models())
            raise ConfigError(f"no bundled model translates{wanted}, they are {names}; give another with -m MODEL")
        return models

    def _model_for(self, text: str, models: Sequence[BundledModel]) -> BundledModel:
        """Of these models the one that most likely reads a text. Raises ConfigError if none does."""
        likeliest, letters = bundled_model_for(text), scripts(text)
        if likeliest in models:
            return likeliest
        readers = [model for model in models if model.knows(letters)]
        if not readers:
            names = ", ".join(model.name for model in models)
            raise ConfigError(
                f"{names} reads other letters than these, which {likeliest.name} reads; give -m {likeliest.name}"
            )
        return max(readers, key=lambda model: model.log_likelihood(letters))

    def _with_reverse(self, model: BundledModel) -> Translator:
        """The translator of a model, which the one of the other direction helps."""
        translator, opposite = self.load(model.folder), opposite_of(model.folder)
        return translator if opposite is None or translator.reverse else translator.with_reverse(self.load(opposite))

    def refuse_unreadable(self, lines: Sequence[str]) -> None:
        """Raise ConfigError if no model of these languages reads any of these lines."""
        models = self.models(self.to, self.from_)
        if not any(model.knows(scripts(line)) for model in models for line in lines):
            self._model_for("\n".join(lines), models)


@dataclass(frozen=True, slots=True)
class TranslatedLines:
    """The output for some lines: text, warnings in order, how many have a fault, how many are from the memory."""

    text: str = ""
    warnings: tuple[str, ...] = ()
    flagged: int = 0
    from_memory: int = 0


def warnings(number: int, translation: Translation) -> Iterator[str]:
    """The warnings about the translation of a line, and the terms that it lacks."""
    for text in _flags(translation):
        yield f"line {number}: {text}"
    for term in translation.terms:
        if not term.satisfied:
            yield f"line {number}: {term.source!r} is not translated as {term.target!r}; check it by hand"


def _flags(translation: Translation) -> Iterator[str]:
    """The warnings besides those about terms; that a line was segmented is no fault."""
    return (flag.text for flag in translation.warnings if flag.kind != "segmented")


def render(number: int, request: LineRequest, translation: Translation, options: DecodeConfig, *, as_json: bool) -> str:
    """The output for one line of the input: a record of JSON, or lines of text with columns separated by tabs."""
    if as_json:
        return json.dumps(record(number, request, translation), ensure_ascii=False) + "\n"
    confidence = "" if translation.confidence is None else f"{translation.confidence:.3f}"
    best = ([confidence] if options.confidence else []) + ([pharaoh(translation)] if options.alignment else [])
    rows = [[candidate.text] for candidate in translation.candidates]
    if options.n_best > 1:
        rows = [[f"{number}", f"{c.score:.4f}", c.text] for c in translation.candidates]
    others = [[""] * len(best)] * (len(rows) - 1)  # as many columns in every row
    rows = [row + more for row, more in zip(rows, [best, *others], strict=True)]
    if len(rows[0]) > 1:  # a line that no bundled model reads is left as it is, with its tabs
        rows = [[cell.replace("\t", " ") for cell in row] for row in rows]
    return "".join("\t".join(row) + "\n" for row in rows)


def record(number: int, request: LineRequest, translation: Translation) -> dict[str, Any]:
    """What --json has of one line: optional fields only where there is something in them."""
    candidates = [
        {"text": c.text, "score": c.score, "log_prob": c.log_prob} | ({"log_probs": c.log_probs} if c.log_probs else {})
        for c in translation.candidates
    ]
    fields = {"line": number, **request.identity, "source": translation.source, "translations": candidates}
    fields["warnings"] = [{"kind": flag.kind, "text": flag.text} for flag in translation.warnings]
    if translation.confidence is not None:
        fields["confidence"] = translation.confidence
    if translation.match is not None:
        fields["match"] = translation.match
    if translation.alignment:
        fields["alignment"] = pharaoh(translation)
    if translation.terms:
        fields["terms"] = [asdict(term) for term in translation.terms]
    return fields


@dataclass
class LineWork:
    """The translators of lines, and what holds for every line."""

    translators: Translator | BundledTranslators | PivotTranslator
    name: str
    """The input in an error: a file, `text` or `stdin`."""
    target_prefix: str = ""
    jsonl: bool = False
    as_json: bool = False
    memory: Path | None = None
    listener: Listeners = field(default_factory=Listeners)
    _memories: dict[str, Memory | None] = field(default_factory=dict, init=False)
    """What the memory has, by the names of pairs of languages."""

    def requests(self, lines: Iterable[str], first: int = 1) -> Iterator[LineRequest]:
        """The lines, of which the first has this number, as requests. Raises DataError for a line that is none."""
        translators, prefix = self.translators, self.target_prefix
        if self.jsonl:
            check = translators.models if isinstance(translators, BundledTranslators) else translators.pairs.matching
            has_glossary = translators.glossary is not None
            return parse_lines(lines, self.name, translators.options, prefix, has_glossary, check, first)
        return (LineRequest(line, target_prefix=prefix, line=line) for line in lines)

    def decide(self, requests: Sequence[LineRequest]) -> None:
        """For one pair of languages: where none is asked for, that of the first lines, which the others keep."""
        texts = [request.text for request in requests if not (request.to or request.from_)]
        if not isinstance(self.translators, Translator) or self.translators.pair or not texts:
            return
        self.translators = self.translators.to(texts=texts)
        if pair := self.translators.pair:
            self.listener.notice(f"{pair.source} → {pair.target}, by the letters of the text; --to chooses another")

    def price(self, lines: int) -> str | None:
        """What the translation of this number of lines costs, if a person should know: `price_of`."""
        loaded = self._loaded
        return price_of(loaded[0].engine, loaded[0].options, lines) if loaded else None

    @property
    def window(self) -> WindowSize:
        """How much is translated together; with bundled models, which are loaded for a line, always as on a CPU."""
        engine = None if isinstance(self.translators, BundledTranslators) else self._loaded[0].engine
        return window_size(engine, self.translators.options, FIRST_WINDOW)

    @property
    def _loaded(self) -> list[Translator]:
        translators = self.translators
        if isinstance(translators, BundledTranslators):
            return [*translators.loaded.values()]
        return [translators.first if isinstance(translators, PivotTranslator) else translators]

    def translate(self, requests: Sequence[LineRequest], first: int) -> TranslatedLines:
        """The output for these requests, of which the first is of the line with this number."""
        translations = translate_requests(requests, self._choose, self._with_memory)
        options = self.translators.options
        numbered = list(zip(range(first, first + len(requests)), requests, translations, strict=True))
        return TranslatedLines(
            "".join(render(*row, options, as_json=self.as_json) for row in numbered),
            tuple(text for number, _, translation in numbered for text in warnings(number, translation)),
            sum(any(flag.kind not in NO_FAULTS for flag in translation.warnings) for translation in translations),
            sum(translation.match is not None for translation in translations),
        )

    def _choose(self, request: LineRequest) -> Translator | PivotTranslator | Translation:
        """The translator of a line."""
        if isinstance(self.translators, BundledTranslators):
            return self.translators(request.text, request.to, request.from_)
        return self.translators

    def _with_memory(
        self, translator: Translator | PivotTranslator, texts: Sequence[str]
    ) -> Translator | PivotTranslator:
        """The translator of these texts with what the memory has in their languages, opened once for each pair."""
        if self.memory is None or not isinstance(translator, Translator):
            return translator
        translator = translator.to(texts=texts)
        pair = translator.pair
        assert pair, "the texts leave one"
        if pair.name not in self._memories:
            self._memories[pair.name] = self._memory_of(self.memory, pair)
        return translator.with_memory(self._memories[pair.name])

    def _memory_of(self, path: Path, pair: LanguagePair) -> Memory | None:
        """What the memory has in a pair of languages, which some lines ask for; None: nothing.

        Raises ConfigError for a file that names no languages, where those of its targets are not known.
        """
        from dragoman.workflows.documents.memory import NoUnitsError, open_memory  # reads many formats: rarely needed

        usual = self.translators.pair if isinstance(self.translators, Translator) else None
        if isinstance(self.translators, Translator) and pair != usual and _is_unlabelled(path):
            if usual:
                return None
            targets = [other.target or "und" for other in self.translators.pairs.pairs if other.source == pair.source]
            if len(targets) > 1:
                raise ConfigError(
                    f"{path}: names no languages, and lines may be translated into {' or '.join(targets)}; give a "
                    ".tmx or .db, or the target with --to"
                )
        try:
            return open_memory(path, pair.source, pair.target or "und")
        except NoUnitsError as error:
            if pair == usual:
                raise
            self.listener.notice(str(error))
            return None

    def silent(self) -> "LineWork":
        """A copy for another process: without listeners, which stay in this one."""
        translators = self.translators
        if isinstance(translators, BundledTranslators):
            translators = replace(translators, notice=ignore)
        return replace(self, translators=translators, listener=Listeners())
