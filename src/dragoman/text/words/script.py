"""Writing systems: the script of a character, the scripts of a text, and the scripts in which a language is written.

Input: characters, a text, or a BCP-47 tag. Output: ISO 15924 codes ("Latn", "Hang"). A language that is not in the
table below has no scripts here, which means "no opinion".
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterator
from functools import cache, lru_cache

import regex

# The first word (or words) of a letter's Unicode name → ISO 15924.
_BY_NAME = {
    "ADLAM": "Adlm", "ARABIC": "Arab", "ARMENIAN": "Armn", "BALINESE": "Bali", "BATAK": "Batk", "BENGALI": "Beng",
    "BOPOMOFO": "Bopo", "BUGINESE": "Bugi", "CANADIAN": "Cans", "CHAKMA": "Cakm", "CHAM": "Cham", "CHEROKEE": "Cher",
    "CJK": "Hani", "COPTIC": "Copt", "CYRILLIC": "Cyrl", "DESERET": "Dsrt", "DEVANAGARI": "Deva", "ETHIOPIC": "Ethi",
    "GEORGIAN": "Geor", "GLAGOLITIC": "Glag", "GOTHIC": "Goth", "GREEK": "Grek", "GUJARATI": "Gujr",
    "GURMUKHI": "Guru", "HANGUL": "Hang", "HEBREW": "Hebr", "HIRAGANA": "Hira", "IDEOGRAPHIC": "Hani",
    "JAVANESE": "Java", "KANNADA": "Knda", "KATAKANA": "Kana", "KATAKANA-HIRAGANA": "Kana", "KHMER": "Khmr",
    "LAO": "Laoo", "LATIN": "Latn", "LISU": "Lisu", "MALAYALAM": "Mlym", "MEETEI": "Mtei", "MONGOLIAN": "Mong",
    "MYANMAR": "Mymr", "NKO": "Nkoo", "OL": "Olck", "ORIYA": "Orya", "OSAGE": "Osge", "SAMARITAN": "Samr",
    "SINHALA": "Sinh", "SUNDANESE": "Sund", "SYRIAC": "Syrc", "TAGALOG": "Tglg", "TAI": "Tale", "TAMIL": "Taml",
    "TELUGU": "Telu", "THAANA": "Thaa", "THAI": "Thai", "TIBETAN": "Tibt", "TIFINAGH": "Tfng", "VAI": "Vaii",
    "YI": "Yiii",
}  # fmt: skip

# Languages that are written in each script; a language may be in several.
_LANGUAGES = {
    "Latn": "af ak az bm br bs ca ceb co crh cs cy da de ee en eo es et eu fi fil fj fo fr fur fy ga gd gl gn gsw ha "
    "haw hmn hr hsb ht hu ia id ig ilo io is it iu jv kab kg kk kl ku la lb lg li ln lt lv mg mi min ms mt nb nl nn no "
    "nso ny oc om pap pl pt qu rm rn ro rw sc sco se sg sh sk sl sm sn so sq sr ss st su sv sw szl tet tk tl tn to tpi "
    "tr ts tt uz ve vec vi vo wa wo xh yo zu",
    "Cyrl": "ab av az ba be bg bs ce crh cv kk ky mk mn os ru sah sh sr tg tk tt tyv udm uk uz",
    "Arab": "ar ary arz ckb fa ha ks ku ms pa ps sd ug ur",
    "Deva": "awa bho brx doi hi kok ks mai mr ne new sa sd",
    "Hani": "cmn gan hak ja ko lzh nan wuu yue zh",
    "Hira": "ja", "Kana": "ja", "Hang": "ko", "Ethi": "am ti", "Armn": "hy", "Beng": "as bn", "Cans": "iu",
    "Cher": "chr", "Geor": "ka", "Grek": "el grc", "Gujr": "gu", "Guru": "pa", "Hebr": "he yi", "Khmr": "km",
    "Knda": "kn", "Laoo": "lo", "Mlym": "ml", "Mong": "mn", "Mymr": "my", "Olck": "sat", "Orya": "or", "Sinh": "si",
    "Taml": "ta", "Telu": "te", "Tfng": "zgh", "Thaa": "dv", "Thai": "th", "Tibt": "bo dz",
}  # fmt: skip
_RIGHT_TO_LEFT = frozenset({"Adlm", "Arab", "Hebr", "Nkoo", "Samr", "Syrc", "Thaa"})
# Script subtags that name several scripts or a variant of one.
_COMPOSITE = {"Kore": "Hang Hani", "Jpan": "Hira Kana Hani", "Hans": "Hani", "Hant": "Hani", "Hrkt": "Hira Kana"}


_KNOWN = frozenset(_BY_NAME.values())


@cache
def scripts_of_language(tag: str) -> frozenset[str]:
    """The scripts in which this language is written; a script subtag wins. Empty: no opinion."""
    language, *subtags = tag.replace("_", "-").split("-")
    for subtag in subtags:
        if len(subtag) == 1:  # an extension, or what is agreed on in private, follows
            break
        if len(subtag) == 4 and subtag.isalpha():
            code = subtag.title()
            codes = frozenset(_COMPOSITE.get(code, code).split())
            return codes if codes <= _KNOWN else frozenset()
    return frozenset(script for script, languages in _LANGUAGES.items() if language.lower() in languages.split())


def is_right_to_left(tag: str) -> bool:
    """Whether this language is written from right to left and nothing else."""
    scripts = scripts_of_language(tag)
    return bool(scripts) and scripts <= _RIGHT_TO_LEFT


_LETTERS = re.compile(r"[^\W\d_]+")


def has_word(text: str, scripts: frozenset[str]) -> bool:
    """Whether a text has a word in one of these scripts; none: in any. Two letters are one, or a letter without case.

    What has none has nothing to translate: "A", "12:30", a language's own name in a menu.
    """
    return any(_is_word(match[0], scripts) for match in _LETTERS.finditer(text))


def _is_word(letters: str, scripts: frozenset[str]) -> bool:
    if scripts:
        letters = "".join(letter for letter in letters if script_of(letter) in scripts)
    return len(letters) > 1 or (letters != "" and not is_cased(letters))


def is_cased(text: str) -> bool:
    """Whether a text has a letter that has capitals."""
    return text.lower() != text.upper()


@lru_cache(maxsize=1 << 16)
def script_of(character: str) -> str:
    """The script of a letter; "" for other characters, and "Zyyy" for letters of no known script."""
    if not character.isalpha():
        return ""
    plain = unicodedata.normalize("NFKC", character)[:1]  # full-width and mathematical letters, signs of units
    name = unicodedata.name(plain, "").removeprefix("HALFWIDTH ").split("-")[0].split(" ")[0]
    return _BY_NAME.get(name, "Zyyy")


def script_shares(text: str) -> dict[str, float]:
    """The share of each script in the letters of `text`, the largest first; empty if it has no letters."""
    counts: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if script := script_of(character):
            counts[script] += count
    total = counts.total()
    return {script: count / total for script, count in counts.most_common()}


# Letters with their marks: a vowel sign of Hindi belongs to its word. Korean particles follow words of other letters.
_WORD = regex.compile(r"\p{Hangul}[\p{Hangul}\p{M}]*|(?!\p{Hangul})\p{L}(?:(?!\p{Hangul})[\p{L}\p{M}])*")
_RUN = regex.compile(r"\p{L}[\p{L}\p{M}]*(?:[ \u200c]\p{L}[\p{L}\p{M}]*)*")
# Scripts in which any language writes names; those of languages that have Chinese letters too.
_COMMON, _WITH_HAN = frozenset(("Latn", "Zyyy", "")), frozenset(("Hang", "Hira", "Kana", "Bopo"))


def foreign_words(
    text: str, scripts: frozenset[str], known: Container[str], is_plain: bool
) -> Iterator[tuple[int, int]]:
    """Where words are in other letters than a language in these scripts uses; several side by side are one.

    `known` are the characters that a vocabulary can write: two Chinese letters in Korean that it cannot, and if the
    language `is_plain`, a Latin letter with a mark that it cannot, in a name, make a word foreign too.
    """
    if not scripts:
        return
    allowed = scripts | _COMMON | (frozenset(("Hani",)) if scripts & _WITH_HAN else frozenset())

    def is_unknown(letter: str) -> bool:
        return letter not in known and letter.lower() not in known

    def is_foreign(word: str) -> bool:
        if word.isascii():
            return False
        letters = [letter for letter in unicodedata.normalize("NFC", word) if letter.isalpha()]
        of_word = {script_of(letter) for letter in letters}
        if "Hang" in scripts and of_word <= {"Hani", "Hira", "Kana"}:
            if len(letters) == 1 and of_word != {"Hani"}:
                return False  # a length mark in a Korean word
            return of_word != {"Hani"} or (len(letters) > 1 and any(map(is_unknown, letters)))
        if not of_word & allowed:
            return True
        is_name = letters[0].isupper()  # the vocabulary lacks the letters of `naïve` too
        return is_plain and is_name and of_word == {"Latn"} and len(letters) > 1 and any(map(is_unknown, letters))

    for run in _RUN.finditer(text):
        begin = end = run.start()
        for word in _WORD.finditer(run[0]):
            if is_foreign(word[0]):
                begin = begin if end > begin else run.start() + word.start()
                end = run.start() + word.end()
            elif end > begin:
                yield begin, end
                begin = end
        if end > begin:
            yield begin, end
