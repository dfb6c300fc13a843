"""What is done with every line: lines → requests → the parts of the output, the same here and in a worker of Ray."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dragoman.bundled import BundledModel, bundled_model_for, opposite_of, readable
from dragoman.config import DecodeConfig
from dragoman.control.alignment import pharaoh
from dragoman.control.search.request import price_of
from dragoman.engine.resources import window_size
from dragoman.errors import ConfigError
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.tbx import TermBase
from dragoman.text.words.lines import WindowSize
from dragoman.translation import NO_FAULTS, Candidate, Flag, Translation
from dragoman.translator import Translator
from dragoman.workflows.lines.requests import LineRequest, parse_lines, translate_requests
from dragoman.workflows.lines.shards import FIRST_WINDOW
from dragoman.workflows.lines.via import PivotTranslator
from dragoman.workflows.listener import Listeners


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

    def __call__(self, text: str) -> Translator | Translation:
        """The translator of a line; where no model reads its letters, the line as it is, with a warning."""
        try:
            model = bundled_model_for(text)
        except ConfigError as error:
            cause = str(error).partition(";")[0]
            flag = Flag("script", f"{cause}; the line is left as it is")
            return Translation(text, (Candidate(text, 0.0, 0.0),), (flag,))
        if model.name not in self.loaded:
            self.notice(f"Using the bundled model {model.name}: {model.limits} Train your own with `dragoman train`")
            self.loaded[model.name] = self._with_reverse(model).to(self.to, self.from_)
        return self.loaded[model.name]

    def _with_reverse(self, model: BundledModel) -> Translator:
        """The translator of a model, which the one of the other direction helps."""
        translator, opposite = self.load(model.folder), opposite_of(model.folder)
        return translator if opposite is None or translator.reverse else translator.with_reverse(self.load(opposite))

    def refuse_unreadable(self, lines: Sequence[str]) -> None:
        """Raise ConfigError if no model reads any of these lines."""
        if not any(map(readable, lines)):
            bundled_model_for("\n".join(lines))


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
    _remembering: dict[tuple[int, str], tuple[Translator, Translator]] = field(default_factory=dict, init=False)
    """Translators, and their copies with the memory, by their ids and pairs of languages."""

    def requests(self, lines: Iterable[str], first: int = 1) -> Iterator[LineRequest]:
        """The lines, of which the first has this number, as requests. Raises DataError for a line that is none."""
        translators, prefix = self.translators, self.target_prefix
        if self.jsonl:
            pairs = None if isinstance(translators, BundledTranslators) else translators.pairs
            has_glossary = translators.glossary is not None
            return parse_lines(lines, self.name, translators.options, prefix, has_glossary, pairs, first)
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
        translations = translate_requests(requests, self._choose)
        options = self.translators.options
        numbered = list(zip(range(first, first + len(requests)), requests, translations, strict=True))
        return TranslatedLines(
            "".join(render(*row, options, as_json=self.as_json) for row in numbered),
            tuple(text for number, _, translation in numbered for text in warnings(number, translation)),
            sum(any(flag.kind not in NO_FAULTS for flag in translation.warnings) for translation in translations),
            sum(translation.match is not None for translation in translations),
        )

    def _choose(self, text: str) -> Translator | PivotTranslator | Translation:
        """The translator of a text, with the memory, which is opened once for each pair of languages."""
        translators = self.translators
        chosen = translators(text) if isinstance(translators, BundledTranslators) else translators
        if self.memory is None or not isinstance(chosen, Translator) or chosen.pair is None:
            return chosen
        key, pair = (id(chosen), chosen.pair.name), chosen.pair
        if key not in self._remembering:
            from dragoman.workflows.documents.memory import (
                open_memory,
            )  # it reads many formats: for most calls not needed

            memory = open_memory(self.memory, pair.source, pair.target or "und")
            self._remembering[key] = chosen, chosen.with_memory(memory)  # the first keeps its id from being reused
        return self._remembering[key][1]

    def silent(self) -> "LineWork":
        """A copy for another process: without listeners, which stay in this one."""
        translators = self.translators
        if isinstance(translators, BundledTranslators):
            translators = replace(translators, notice=ignore)
        return replace(self, translators=translators, listener=Listeners())
