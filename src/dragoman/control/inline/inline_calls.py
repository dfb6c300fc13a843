"""The calls of a translator for text with inline codes. No torch."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar, Unpack

from dragoman.config import DecodeConfig
from dragoman.config.sections.decode import DecodeOptions
from dragoman.control.faults.kept import Keeping
from dragoman.control.inline.evidence import by_attention
from dragoman.control.inline.inline import InlineItem, InlineTranslation, Means, translate_inline, zip_inline
from dragoman.control.inline.recalled import recall_line, recall_text
from dragoman.control.languages.directed import Directed
from dragoman.control.languages.pairs import LanguagePair
from dragoman.control.search.request import change_options
from dragoman.control.search.sentences import Sentence
from dragoman.control.search.splitting import encode_lines
from dragoman.errors import ConfigError, check_count
from dragoman.memory import Memory
from dragoman.text.terms.glossary import Glossary, GlossaryLike
from dragoman.text.words.inline import InlineText
from dragoman.text.words.language import primary_language
from dragoman.text.words.lines import WINDOW, chunks_of
from dragoman.translation import Translation

Loaded = TypeVar("Loaded", bound="InlineCalls")


class InlineCalls(Directed, ABC):
    """What translates lines, and with them text with inline codes."""

    max_source_tokens: int | None
    memory: Memory | None = None
    """What it asks before its engine, if anything."""

    def with_memory(self, memory: Memory | None) -> Self:
        """This translator, which takes what it finds in the `memory` from there; `Translation.match` says so.

        Raises ConfigError for a memory of languages that the model does not translate.
        """
        if memory is not None and not any(_languages(pair) == memory.pair for pair in self.pairs.pairs):
            names = " → ".join(memory.pair)
            raise ConfigError(f"{memory.path}: a memory of {names}; the model translates {self.pairs.names}")
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, memory=memory)
        return other

    @property
    def _known(self) -> Memory | None:
        """The memory, if it is one of the pair that calls are for."""
        if self.memory is None or self.pair is None:  # `not self.memory` would count its units
            return None
        return self.memory if _languages(self.pair) == self.memory.pair else None

    def _recalled(
        self, lines: Sequence[str], prefix: str, options: DecodeConfig, glossary: Glossary | None
    ) -> list[Translation]:
        """The translations of lines: those in the memory, the others by the engine."""
        memory = None if prefix else self._known
        known = [recall_line(memory, line, options) if memory is not None else None for line in lines]
        rest = [line for line, found in zip(lines, known, strict=True) if found is None]
        translated = iter(self._translate(rest, prefix, options, glossary) if rest else ())
        return [found or next(translated) for found in known]

    @abstractmethod
    def _request(
        self,
        glossary: GlossaryLike | None,
        target_prefix: str,
        options: DecodeConfig | None,
        changes: Mapping[str, Any],
    ) -> tuple[DecodeConfig, Glossary | None]: ...

    @abstractmethod
    def _translate(
        self,
        lines: Sequence[str],
        prefix: str,
        options: DecodeConfig,
        glossary: Glossary | None,
        kept: Keeping = (),
    ) -> list[Translation]: ...

    def translate_inline(
        self,
        texts: Iterable[InlineText],
        *,
        patterns: Iterable[tuple[str, ...] | None] | None = None,
        max_lengths: Iterable[int | None] | None = None,
        target: str | None = None,
        source: str | None = None,
        glossary: GlossaryLike | None = None,
        options: DecodeConfig | None = None,
        **changes: Unpack[DecodeOptions],
    ) -> list[InlineTranslation]:
        """The translation of each text with inline codes: with every code exactly once, validly nested.

        Line breaks are those of the source; protected spans and placeholders are copied. For each text, `patterns` are
        the names of the patterns that find its placeholders (None: the usual ones), and `max_lengths` is the number of
        characters that its translation may have. What could not be kept is in the `warnings`. The other arguments and
        errors are those of `Translator.translate`; each text has one translation.
        """
        request = self._request(glossary, "", options, {**changes, "n_best": 1})
        items = list(zip_inline(texts, patterns, max_lengths))
        chosen = self.to(target, source, [item.text.text for item in items])
        return chosen._inline(items, *request)

    def stream_inline(
        self,
        texts: Iterable[InlineText],
        window: int = WINDOW,
        *,
        patterns: Iterable[tuple[str, ...] | None] | None = None,
        max_lengths: Iterable[int | None] | None = None,
        target: str | None = None,
        source: str | None = None,
        glossary: GlossaryLike | None = None,
        options: DecodeConfig | None = None,
        **changes: Unpack[DecodeOptions],
    ) -> Iterator[InlineTranslation]:
        """The translations of any number of texts, in order, at most `window` in memory; see `translate_inline`.

        The first window decides about a pair of languages that is not given.
        """
        request = self._request(glossary, "", options, {**changes, "n_best": 1})
        check_count("window", window)
        items = zip_inline(texts, patterns, max_lengths)

        def translations() -> Iterator[InlineTranslation]:
            chosen: InlineCalls | None = None
            for chunk in chunks_of(items, window, text=lambda item: item.text.text):
                chosen = chosen or self.to(target, source, [item.text.text for item in chunk])
                yield from chosen._inline(chunk, *request)

        return translations()

    def _inline(
        self, items: Sequence[InlineItem], options: DecodeConfig, glossary: Glossary | None
    ) -> list[InlineTranslation]:
        def split(lines: Sequence[str]) -> list[list[Sentence]]:
            return encode_lines(self.tokenizer, lines, self.language, self.max_source_tokens)

        memory = self._known
        means = Means(
            lambda lines, kept, changes: self._translate(lines, "", change_options(options, changes), glossary, kept),
            split,
            lambda pairs: by_attention(self.marked_engine, self.tokenizer, pairs),
            options,
            lambda item: (
                None if memory is None else recall_text(memory, item.text, item.patterns, item.max_length, options)
            ),
        )
        return translate_inline(items, means)


def _languages(pair: LanguagePair) -> tuple[str, str]:
    return primary_language(pair.source), primary_language(pair.target or "und")


def load_with_memory(load: Callable[[], Loaded], memory: Memory) -> Loaded:
    """A translator in another process, with the memory that it had here."""
    return load().with_memory(memory)
