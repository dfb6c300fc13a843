"""What one command does with its lines: lines → requests → the parts of its output. The same here and in a worker."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dragoman.cli.bundled import BundledTranslators
from dragoman.cli.console import say
from dragoman.cli.memory import WithMemory
from dragoman.translation import Translation
from dragoman.translator import Translator
from dragoman.workflows.lines.parts import Part, translated_part
from dragoman.workflows.lines.requests import LineRequest, parse_lines


@dataclass
class LineWork:
    """The translators of a command, and what it asks of every line; `name` is that of the input in an error."""

    translators: Translator | BundledTranslators
    name: str
    target_prefix: str = ""
    jsonl: bool = False
    as_json: bool = False
    memory: Path | None = None

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
            say(f"{pair.source} → {pair.target}, by the letters of the text; --to chooses another")

    def part(self, requests: Sequence[LineRequest], first: int) -> Part:
        """The output for these requests, of which the first is of the line with this number."""
        return translated_part(requests, first, self._choose, self.translators.options, as_json=self.as_json)

    def _choose(self, text: str) -> Translator | Translation:
        translators = self.translators
        chosen = translators(text) if isinstance(translators, BundledTranslators) else translators
        return self._with_memory(chosen) if self._with_memory and isinstance(chosen, Translator) else chosen
