"""A translator of documents that needs no model: every letter in capitals, and what it was asked for is recorded."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from dragoman.config import DecodeConfig
from dragoman.control.languages import LanguagePair
from dragoman.text.terms.protect import find_placeholders
from dragoman.text.words.inline import InlineText
from dragoman.translation import Candidate, Flag, Translation
from dragoman.translator import Translator


class Found(NamedTuple):
    """What `Translator.translate_inline` returns for each text."""

    translation: Translation
    inline: InlineText


class Capitals:
    """Capitals outside of placeholders; what has the word `odd` is flagged. Interrupted after `stop_after` texts."""

    def __init__(self, stop_after: int | None = None, pair: LanguagePair | None = None) -> None:
        self.pair = pair or LanguagePair("en", "de")
        self.options, self.glossary, self.bundle, self.engine = DecodeConfig(), None, None, None
        self.reverse = None
        self.asked: list[list[str]] = []
        self.limits: list[int | None] = []
        self.stop_after = stop_after

    def translate_inline(
        self,
        texts: Sequence[InlineText],
        *,
        patterns: Sequence[tuple[str, ...] | None] | None = None,
        max_lengths: Sequence[int | None] | None = None,
        **options: Any,
    ) -> list[Found]:
        if self.stop_after is not None and sum(map(len, self.asked)) >= self.stop_after:
            raise KeyboardInterrupt
        self.asked.append([text.text for text in texts])
        self.limits += list(max_lengths or ())
        return [self._found(text, own) for text, own in zip(texts, patterns or [None] * len(texts), strict=True)]

    def _found(self, text: InlineText, patterns: tuple[str, ...] | None) -> Found:
        copied = {at for span in text.protected for at in range(*span)}
        copied |= {at for one in find_placeholders(text.text, patterns) for at in range(one.begin, one.end)}
        written = "".join(
            one if at in copied or len(one.upper()) > 1 else one.upper() for at, one in enumerate(text.text)
        )
        flags = (Flag("length", "is odd"),) if "odd" in text.text else ()
        return Found(Translation(text.text, (Candidate(written, 0.0, 0.0),), flags), replace(text, text=written))


def chosen(translator: Capitals) -> Any:
    """What `run_documents` asks for the translator of some texts."""
    return lambda texts: cast(Translator, translator)
