"""Which languages a model of OPUS-MT translates; codes of other toolkits → BCP-47 tags.

`kor` and `kor_Hang` are `ko`, `cmn_Hans` is `zh-Hans`.

BCP-47 takes the code of two letters where ISO 639-1 has one. A script or region is named only where a model has
several of the same language.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from langcodes import Language, tag_is_valid

from dragoman.errors import ConfigError, counted
from dragoman.importing.files.foreign import cached_repository
from dragoman.text.words.language import primary_language

# Codes of OPUS and NLLB, and what translation systems call a language that CLDR calls otherwise.
_TAGS = {"fuv": "ff", "pbt": "ps", "pob": "pt-BR", "quy": "qu"}
_TAGS |= {"hbs": "sh", "sh": "sh", "tgl": "tl", "tl": "tl", "tw": "tw", "twi": "tw"}
_CODE = re.compile(r"([a-z]{2,3})(?:[_-]([A-Za-z]{4}))?(?:[_-]([A-Za-z]{2}|\d{3}))?")


def is_language(code: str) -> bool:
    """Whether a code, `ko` or `kor`, is of a language with a code of two letters: no group, such as `roa` or `mul`."""
    tag = tag_of(code)
    return tag is not None and len(tag.partition("-")[0]) == 2 and tag_is_valid(tag)


def tag_of(code: str) -> str | None:
    """The BCP-47 tag of a code, with its script and region; None if it is no code of a language."""
    match = _CODE.fullmatch(code)
    if not match:
        return None
    language, script, region = match.groups()
    if language in _TAGS:
        return "-".join(filter(None, [_TAGS[language], script and script.title(), region and region.upper()]))
    return Language.get(code).prefer_macrolanguage().to_tag()


def is_target_mark(piece: str) -> bool:
    """Whether a piece has the form `>>kor<<` of a token that selects the target language."""
    return re.fullmatch(r">>.+<<", piece) is not None


def tags_of(codes: Iterable[str]) -> dict[str, str]:
    """The codes that are of languages by their tags, which have no script or region unless it distinguishes two."""
    full = {code: tag for code in codes if (tag := tag_of(code))}
    by_language: dict[str, list[str]] = {}
    for code, tag in full.items():
        by_language.setdefault(tag.split("-")[0], []).append(code)
    by_tag: dict[str, str] = {}
    for language, group in by_language.items():
        for code in group:
            tag = language if len(group) == 1 else full[code]
            by_tag.setdefault(tag if tag not in by_tag else code.replace("_", "-"), code)
    return by_tag


def choose(wanted: str, tags: Mapping[str, str]) -> str:
    """The code of a tag that the user named. Raises ConfigError if the model has none, or several."""
    exact = [code for tag, code in tags.items() if tag.casefold() == wanted.casefold()]
    close = exact or [code for tag, code in tags.items() if primary_language(tag) == primary_language(wanted)]
    if len(close) == 1:
        return close[0]
    names = [tag for tag, code in tags.items() if code in close] or list(tags)
    which = f"is {'several' if close else 'none'} of this model's languages"
    raise ConfigError(f"--pair: {wanted} {which}; choose: {listed(names)}")


def languages(
    path: Path, options: Mapping[str, Any], marks: Sequence[str], pair: tuple[str, str] | None
) -> tuple[dict[str, Any], list[str]]:
    """The keys of [project] of a model whose target a token such as `>>kor<<` selects, and what the user is to know.

    `options` may have `source_lang` and `target_lang`; `marks` are its language tokens, none for a model of one pair,
    and `pair` is what the user named. A model of several targets is kept with all of them if no pair is named. Raises
    ConfigError if the languages must be named.
    """
    tags = tags_of(mark[2:-2] for mark in marks)
    named = _named_languages(path)
    sources = (options.get("source_lang"), named[0])
    if not tags:
        stored = _first_languages((options.get("source_lang"), options.get("target_lang")), named)
        if not (pair or stored):
            raise ConfigError(f"--pair: {path} does not name its languages; give them, as in --pair ko-en")
        other = pair and stored and [*map(primary_language, pair)] != [*map(primary_language, stored)]
        notes = [f"the files name the languages {' → '.join(stored)}; --pair counts"] if other and stored else []
        source, target = pair or stored or ("", "")
        return {"source": source, "target": target}, notes
    if pair:
        return _project(pair[0], {pair[1]: choose(pair[1], tags)}), []
    first = next((tag_of(code) for code in sources if isinstance(code, str) and is_language(code)), None)
    if not first:
        raise ConfigError(f"--pair: this model translates into {listed(list(tags))}; choose, as in --pair ko-en")
    targets = {tag: code for tag, code in tags.items() if primary_language(tag) != primary_language(first)} or tags
    note = f"{counted(len(targets), 'pair')} of languages; --pair keeps one of them"
    return _project(first, targets), [note] if len(targets) > 1 else []


def _project(source: str, targets: Mapping[str, str]) -> dict[str, Any]:
    pairs = [{"source": source, "target": tag, "source_marks": [f">>{code}<<"]} for tag, code in targets.items()]
    return {"source": source, "target": pairs[0]["target"], "pairs": pairs}


def _first_languages(*pairs: tuple[Any, Any]) -> tuple[str, str] | None:
    """The tags of the first pair whose codes are of two single languages."""
    for pair in pairs:
        if all(isinstance(code, str) and is_language(code) for code in pair):
            source, target = (str(tag_of(code)) for code in pair)
            if source != target:
                return source, target
    return None


def _named_languages(path: Path) -> tuple[str | None, str | None]:
    """The last two codes in a name such as opus-mt-tc-big-en-ko."""
    name = cached_repository(path) or path.absolute().name
    match = re.search(r"opus.*-([a-z]{2,3})-([a-z]{2,3})$", name)
    return (match[1], match[2]) if match else (None, None)


def listed(names: Sequence[str]) -> str:
    """Up to 20 names, for people."""
    return ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
