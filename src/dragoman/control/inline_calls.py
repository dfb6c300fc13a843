"""The calls of a translator for text with inline codes. No torch."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Unpack

from dragoman.config import DecodeConfig
from dragoman.config.decode import DecodeOptions
from dragoman.control.directed import Directed
from dragoman.control.evidence import by_erasure
from dragoman.control.inline import InlineItem, InlineTranslation, Means, translate_inline, zip_inline
from dragoman.control.kept import Keeping
from dragoman.control.request import change_options
from dragoman.control.sentences import Sentence
from dragoman.control.splitting import encode_lines
from dragoman.errors import check_count
from dragoman.text.glossary import Glossary, GlossaryLike
from dragoman.text.inline import InlineText
from dragoman.text.lines import WINDOW, chunks_of
from dragoman.translation import Translation


class InlineCalls(Directed, ABC):
    """What translates lines, and with them text with inline codes."""

    max_source_tokens: int | None

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

        means = Means(
            lambda lines, kept, changes: self._translate(lines, "", change_options(options, changes), glossary, kept),
            split,
            lambda pairs: by_erasure(self.marked_engine, self.tokenizer, pairs),
            options,
        )
        return translate_inline(items, means)
