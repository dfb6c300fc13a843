"""The last word about a translation: what its final text lacks or has too much is reported, whatever was done before.

Input: translations as they are returned. Output: the same, with warnings. Normalised texts are compared
(`control.faults.kept`); a placeholder that is spelled otherwise in the source as it was given (`{a  b}`) is reported
too. No torch.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import repeat

from dragoman.config import DecodeConfig
from dragoman.control.faults.kept import USUAL, Faults, Kept, Protection
from dragoman.text.terms.protect import LITERAL, find_placeholders
from dragoman.text.words.inline import InlineText
from dragoman.text.words.normalise import normalise
from dragoman.translation import Candidate, Flag, Translation


def checked(
    translations: Iterable[Translation], options: DecodeConfig, protections: Sequence[Protection] | None = None
) -> list[Translation]:
    """The translations of lines, with a warning where they lack or add placeholders or numbers.

    Others than the best that do are left out, unless the best one does.
    """
    named = zip(translations, protections or repeat(USUAL), strict=False)
    return [_checked(one, Kept.of(one.source, options, protection)) for one, protection in named]


def _checked(translation: Translation, kept: Kept) -> Translation:
    flags = [_flags(translation.source, kept, candidate.text) for candidate in translation.candidates]
    if not any(flags):
        return translation
    if flags[0]:
        return replace(translation, warnings=(*translation.warnings, *flags[0]))
    complete = [one for one, own in zip(translation.candidates, flags, strict=True) if not own]
    return replace(translation, candidates=tuple(complete))


def _flags(source: str, kept: Kept, text: str) -> list[Flag]:
    """What differs between a line as it was given and the text of its translation."""
    flags = kept.faults(normalise(text)).flags
    if flags or source == kept.source:
        return flags
    written = [name for name in kept.counts if source.count(name) < kept.source.count(name)]
    return Faults(respelled=tuple(name for name in written if text.count(name) > source.count(name))).flags


def reported(
    found: Translation, options: DecodeConfig, again: Callable[[DecodeConfig], list[Translation]]
) -> tuple[Candidate, ...]:
    """Of alternatives, which can have no warning, those that need none; if all do, the line translated `again`.

    Without any that keeps the placeholders there is none.
    """
    if not found.candidates:
        return ()
    kept = Kept.of(found.source, options)
    flags = [{flag.kind for flag in _flags(found.source, kept, one.text)} for one in found.candidates]
    for kinds in {"placeholder", "number"}, {"placeholder"}:
        if complete := [one for one, own in zip(found.candidates, flags, strict=True) if not own & kinds]:
            return tuple(complete)
    [repaired] = again(options.model_copy(update={"n_best": 1, "confidence": False, "alignment": False}))
    return () if any(flag.kind == "placeholder" for flag in repaired.warnings) else repaired.candidates


def as_given(translation: Translation, protection: Protection, options: DecodeConfig) -> Translation:
    """A line's translation with its placeholders spelled as in the source, and what is to be reported about that."""
    source = translation.source
    patterns = options.placeholders if protection.patterns is None else protection.patterns
    written = Counter(one.text for one in find_placeholders(source, patterns, protection.literals))
    names = {normalise(one): one for one in written if normalise(one) != one}
    names = {name: one for name, one in names.items() if normalise(source).count(name) == written[one]}
    candidates = []
    for candidate in translation.candidates:
        text = candidate.text
        for name, one in names.items():
            text = text.replace(name, one) if name else text
        candidates.append(replace(candidate, text=text))
    others = tuple(flag for flag in translation.warnings if flag.kind not in ("placeholder", "number"))
    [found] = checked([replace(translation, candidates=tuple(candidates), warnings=others)], options, [protection])
    return found


def inline_flags(source: InlineText, written: str, patterns: Sequence[str] | None, options: DecodeConfig) -> list[Flag]:
    """What the whole of a written text has not kept: placeholders as often, a protected text at least as often.

    A protected text may be a word elsewhere in the source, and is then translated there.
    """
    patterns = options.placeholders if patterns is None else patterns
    protected = Counter(source.text[slice(*span)] for span in source.protected)
    ours, theirs = (find_placeholders(text, patterns, protected) for text in (source.text, written))
    most, found = (Counter(one.text for one in each) for each in (ours, theirs))
    least = Counter({one.text: most[one.text] for one in ours if one.pattern != LITERAL})
    least |= Counter({name: min(count, most[name]) for name, count in protected.items()})
    return Faults(least - found, found - most).flags
