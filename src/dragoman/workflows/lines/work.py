"""What is done with every line: lines → requests → the parts of the output, the same here and in a worker of Ray."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from dragoman.translation import Translation
from dragoman.translator import Translator
from dragoman.workflows.documents.memory import open_memory
from dragoman.workflows.lines.bundled import BundledTranslators, ignore
from dragoman.workflows.lines.rendering import TranslatedLines, translated_lines
from dragoman.workflows.lines.requests import LineRequest, parse_lines
from dragoman.workflows.listener import Listeners


class WithMemory:
    """A function from a translator to its copy with a memory, which is opened once for each pair of languages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._made: dict[tuple[int, str], tuple[Translator, Translator]] = {}

    def __call__(self, translator: Translator) -> Translator:
        """Raises ConfigError and DataError for a memory that cannot be used."""
        pair = translator.pair
        if pair is None:
            return translator
        key = id(translator), pair.name
        if key not in self._made:
            memory = open_memory(self.path, pair.source, pair.target or "und")
            self._made[key] = translator, translator.with_memory(memory)  # the first keeps its id from being reused
        return self._made[key][1]


@dataclass
class LineWork:
    """The translators of lines, and what holds for every line."""

    translators: Translator | BundledTranslators
    name: str
    """The input in an error: a file, `text` or `stdin`."""
    target_prefix: str = ""
    jsonl: bool = False
    as_json: bool = False
    memory: Path | None = None
    listener: Listeners = field(default_factory=Listeners)

    @cached_property
    def _with_memory(self) -> WithMemory | None:
        return WithMemory(self.memory) if self.memory else None

    def requests(self, lines: Iterable[str], first: int = 1) -> Iterator[LineRequest]:
        """The lines, of which the first has this number, as requests. Raises DataError for a line that is none."""
        translators, prefix = self.translators, self.target_prefix
        if self.jsonl:
            pairs = translators.pairs if isinstance(translators, Translator) else None
            has_glossary = translators.glossary is not None
            return parse_lines(lines, self.name, translators.options, prefix, has_glossary, pairs, first)
        return (LineRequest(line, target_prefix=prefix, line=line) for line in lines)

    def decide(self, requests: Sequence[LineRequest]) -> None:
        """For one pair of languages: where none is asked for, that of the first lines, which the others keep."""
        texts = [request.text for request in requests if not (request.to or request.from_)]
        if isinstance(self.translators, BundledTranslators) or self.translators.pair or not texts:
            return
        self.translators = self.translators.to(texts=texts)
        if pair := self.translators.pair:
            self.listener.notice(f"{pair.source} → {pair.target}, by the letters of the text; --to chooses another")

    def translate(self, requests: Sequence[LineRequest], first: int) -> TranslatedLines:
        """The output for these requests, of which the first is of the line with this number."""
        return translated_lines(requests, first, self._choose, self.translators.options, as_json=self.as_json)

    def _choose(self, text: str) -> Translator | Translation:
        translators = self.translators
        chosen = translators(text) if isinstance(translators, BundledTranslators) else translators
        return self._with_memory(chosen) if self._with_memory and isinstance(chosen, Translator) else chosen

    def silent(self) -> "LineWork":
        """A copy for another process: without listeners, which stay in this one."""
        translators = self.translators
        if isinstance(translators, BundledTranslators):
            translators = replace(translators, notice=ignore)
        return replace(self, translators=translators, listener=Listeners())
