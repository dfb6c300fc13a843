"""Which languages a model of OPUS-MT translates; codes of other toolkits → BCP-47 tags.

`kor` and `kor_Hang` are `ko`, `cmn_Hans` is `zh-Hans`.

BCP-47 takes the code of two letters where ISO 639-1 has one. A script or region is named only where a model has
several of the same language.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.errors import ConfigError, counted

# ISO 639-3 → ISO 639-1; then what OPUS and NLLB call a language that has another code there.
_ISO = """
aar:aa abk:ab afr:af aka:ak amh:am ara:ar arg:an asm:as ava:av ave:ae aym:ay aze:az bak:ba bam:bm bel:be ben:bn bis:bi
bod:bo bos:bs bre:br bul:bg cat:ca ces:cs cha:ch che:ce chu:cu chv:cv cor:kw cos:co cre:cr cym:cy dan:da deu:de div:dv
dzo:dz ell:el eng:en epo:eo est:et eus:eu ewe:ee fao:fo fas:fa fij:fj fin:fi fra:fr fry:fy ful:ff gla:gd gle:ga glg:gl
glv:gv grn:gn guj:gu hat:ht hau:ha hbs:sh heb:he her:hz hin:hi hmo:ho hrv:hr hun:hu hye:hy ibo:ig ido:io iii:ii iku:iu
ile:ie ina:ia ind:id ipk:ik isl:is ita:it jav:jv jpn:ja kal:kl kan:kn kas:ks kat:ka kau:kr kaz:kk khm:km kik:ki kin:rw
kir:ky kom:kv kon:kg kor:ko kua:kj kur:ku lao:lo lat:la lav:lv lim:li lin:ln lit:lt ltz:lb lub:lu lug:lg mah:mh mal:ml
mar:mr mkd:mk mlg:mg mlt:mt mon:mn mri:mi msa:ms mya:my nau:na nav:nv nbl:nr nde:nd ndo:ng nep:ne nld:nl nno:nn nob:nb
nor:no nya:ny oci:oc oji:oj ori:or orm:om oss:os pan:pa pli:pi pol:pl por:pt pus:ps que:qu roh:rm ron:ro run:rn rus:ru
sag:sg san:sa sin:si slk:sk slv:sl sme:se smo:sm sna:sn snd:sd som:so sot:st spa:es sqi:sq srd:sc srp:sr ssw:ss sun:su
swa:sw swe:sv tah:ty tam:ta tat:tt tel:te tgk:tg tgl:tl tha:th tir:ti ton:to tsn:tn tso:ts tuk:tk tur:tr twi:tw uig:ug
ukr:uk urd:ur uzb:uz ven:ve vie:vi vol:vo wln:wa wol:wo xho:xh yid:yi yor:yo zha:za zho:zh zul:zu
cmn:zh pob:pt-BR arb:ar lvs:lv ekk:et pes:fa zsm:ms swh:sw als:sq azj:az khk:mn plt:mg npi:ne ory:or pbt:ps uzn:uz
ydd:yi gaz:om ayr:ay fuv:ff kmr:ku quy:qu
"""
_TAGS = dict(entry.split(":") for entry in _ISO.split())
_CODE = re.compile(r"([a-z]{2,3})(?:[_-]([A-Za-z]{4}))?(?:[_-]([A-Za-z]{2}|\d{3}))?")


def is_language(code: str) -> bool:
    """Whether a code, `ko` or `kor`, is one of the table: no group of languages, such as `roa` or `mul`."""
    return code in _TAGS or code in _TAGS.values()


def tag_of(code: str) -> str | None:
    """The BCP-47 tag of a code, with its script and region; None if it is no code of a language."""
    match = _CODE.fullmatch(code)
    if not match:
        return None
    language, script, region = match.groups()
    parts = [_TAGS.get(language, language), script and script.title(), region and region.upper()]
    return "-".join(filter(None, parts))


def tags_of(codes: Iterable[str]) -> dict[str, str]:
    """The codes that are of languages by their tags, which have no script or region unless it distinguishes two."""
    full = {code: tag for code in codes if (tag := tag_of(code))}
    by_language: dict[str, list[str]] = {}
    for code, tag in full.items():
        by_language.setdefault(tag.split("-")[0], []).append(code)
    found: dict[str, str] = {}
    for language, group in by_language.items():
        for code in group:
            tag = language if len(group) == 1 else full[code]
            found.setdefault(tag if tag not in found else code.replace("_", "-"), code)
    return found


def choose(wanted: str, tags: Mapping[str, str]) -> str:
    """The code of a tag that the user named. Raises ConfigError if the model has none, or several."""
    exact = [code for tag, code in tags.items() if tag.casefold() == wanted.casefold()]
    close = exact or [code for tag, code in tags.items() if _primary(tag) == _primary(wanted)]
    if len(close) == 1:
        return close[0]
    names = [tag for tag, code in tags.items() if code in close] or list(tags)
    which = f"is {'several' if close else 'none'} of this model's languages"
    raise ConfigError(f"--pair: {wanted} {which}; choose: {_listed(names)}")


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
        other = pair and stored and tuple(map(_primary, pair)) != tuple(map(_primary, stored))
        notes = [f"the files name the languages {' → '.join(stored)}; --pair counts"] if other and stored else []
        source, target = pair or stored or ("", "")
        return {"source": source, "target": target}, notes
    if pair:
        return _project(pair[0], {pair[1]: choose(pair[1], tags)}), []
    first = next((tag_of(code) for code in sources if isinstance(code, str) and is_language(code)), None)
    if not first:
        raise ConfigError(f"--pair: this model translates into {_listed(list(tags))}; choose, as in --pair ko-en")
    targets = {tag: code for tag, code in tags.items() if _primary(tag) != _primary(first)} or tags
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
    match = re.search(r"opus.*-([a-z]{2,3})-([a-z]{2,3})$", path.absolute().name)
    return (match[1], match[2]) if match else (None, None)


def _primary(tag: str) -> str:
    return tag.casefold().split("-")[0]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
