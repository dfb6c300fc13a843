"""Text → the languages that it may be in, of those that are served: by its script, then by a detector."""

from collections.abc import Iterable, Sequence

from dragoman.text.words.language import detect_language, language_probabilities, primary_language
from dragoman.text.words.script import script_shares, scripts_of_language

# Scripts with a letter for a syllable or a word, and the letters of others that one is worth.
SYLLABLES, WORTH = frozenset(("Hang", "Hani", "Hira", "Kana")), 2

# What the detector thinks of a few short words is no more than a guess.
UNSURE = 0.5


def detect(text: str, served: Iterable[str]) -> list[tuple[str, float]]:
    """The served languages (BCP-47) with their probability, the most likely first; empty for text without letters.

    A language that is not written in the scripts of most letters has none. What the scripts leave open the detector
    decides, which is asked only about these languages: of a short text it may be unsure, but it names no other. Where
    it takes the text for one that is not served, that much less probable are all that are.
    """
    tags = list(dict.fromkeys(served))
    shares = script_shares(text)
    if not shares or not tags:
        return []
    weights = {script: share * (WORTH if script in SYLLABLES else 1) for script, share in shares.items()}
    shares = {script: weight / sum(weights.values()) for script, weight in weights.items()}
    covered = {tag: _covered(shares, tag) for tag in tags}
    most = max(covered.values())
    if most == 0.0:
        return []
    likely = [tag for tag in tags if covered[tag] == most]
    most *= 1 - _foreign(text, tags)
    return [(tag, most * probability) for tag, probability in _ranked(text, likely)]


def _foreign(text: str, served: Iterable[str]) -> float:
    """The probability that the text is in another language than these, where that is the most likely."""
    language, probability = detect_language(text)
    others = {primary_language(tag) for tag in served}
    return probability if probability > UNSURE and primary_language(language) not in others else 0.0


def _covered(shares: dict[str, float], tag: str) -> float:
    """The share of the letters that this language is written in; all of them if its scripts are not known."""
    scripts = scripts_of_language(tag)
    return sum(shares.get(script, 0.0) for script in scripts) if scripts else 1.0


def _ranked(text: str, tags: Sequence[str]) -> list[tuple[str, float]]:
    if len(tags) == 1:
        return [(tags[0], 1.0)]
    known = language_probabilities(text)
    probabilities = {tag: known.get(primary_language(tag), 0.0) for tag in tags}
    total = sum(probabilities.values())
    if not total:
        return [(tag, 1.0 / len(tags)) for tag in tags]
    return sorted(((tag, value / total) for tag, value in probabilities.items()), key=lambda ranked: -ranked[1])
