"""Retries: a sentence whose translation shows a fault is translated again without repetitions, then in parts."""

from collections.abc import Callable, Sequence

from dragoman.config import DecodeConfig
from dragoman.config.sections.decode import RetryOptions
from dragoman.control.search.sentences import Sentence, join
from dragoman.translation import Translation

# The n-gram size that a second search may not repeat: a phrase may come again, a sentence may not.
RETRY_NO_REPEAT_NGRAM = 4

Translate = Callable[[Sequence[Sentence], DecodeConfig], list[Translation]]
Split = Callable[[Sentence], list[Sentence]]


def translate_with_retries(
    translate: Translate, sentences: Sequence[Sentence], options: DecodeConfig, split: Split | None
) -> list[Translation]:
    """`translate(sentences, options)`; those with a fault are translated again, then in the parts that `split` makes.

    A retry may not be empty. If no retry removes a fault, the first translation is kept, with its warning. Without
    `split` nothing is retried.
    """
    if split is None:
        return translate(sentences, options)

    def in_parts(whole: Sequence[Sentence], options: DecodeConfig) -> list[Translation]:
        parts = [split(sentence) for sentence in whole]
        found = iter(translate([part for several in parts for part in several], options))
        return [
            join(sentence.segment.text, several, [next(found) for _ in several])
            for sentence, several in zip(whole, parts, strict=True)
        ]

    translations = translate(sentences, options)
    for retry in (translate, in_parts):
        flagged = [index for index, translation in enumerate(translations) if translation.warnings]
        if not flagged:
            break
        retried = retry([sentences[index] for index in flagged], _retry_options(options))
        for index, translation in zip(flagged, retried, strict=True):
            if not translation.warnings:
                translations[index] = translation
    return translations


def _retry_options(options: DecodeConfig) -> DecodeConfig:
    """Without repetitions and not empty; RetryOptions where the caller has asked for no rule and for no exactness."""
    size = min(options.no_repeat_ngram or RETRY_NO_REPEAT_NGRAM, RETRY_NO_REPEAT_NGRAM)
    rules = {"no_repeat_ngram": size, "min_length": _more_than_nothing(options)}
    if options.no_repeat_ngram or options.min_length or options.exact:
        return options.model_copy(update=rules)
    return RetryOptions.model_construct(**{**dict(options), **rules})


def _more_than_nothing(options: DecodeConfig) -> int:
    """A minimum of two tokens where the options allow it: one may be a lone space."""
    return max(options.min_length, min(2, options.max_length or 2))
