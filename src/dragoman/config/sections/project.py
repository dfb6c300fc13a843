"""The keys of [project]: name and languages."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from dragoman.config.sections.base import Section

# Bytes of a name: a folder has it, and file systems allow 255 with what we add.
LONGEST_NAME = 200
NAME_RULE = "use letters and digits of any script, dots, dashes and underscores, and begin with a letter or a digit"


def is_name(text: str) -> bool:
    """Whether `text` can name a project and its folder."""
    if not 0 < len(text.encode("utf-8", "surrogatepass")) <= LONGEST_NAME:
        return False
    kinds = [unicodedata.category(character)[0] for character in text]
    return kinds[0] in "LN" and all(kind in "LMN" or char in "._-" for kind, char in zip(kinds, text, strict=True))


def _named(text: str) -> str:
    if not is_name(text):
        raise PydanticCustomError("name", "not a name: " + NAME_RULE)
    return text


def _mark(text: str) -> str:
    if not text or any(character.isspace() for character in text) or text in SPECIAL_PIECES:
        raise PydanticCustomError("mark", "a language token is a name without spaces, such as <2ko>")
    return text


Tag = Annotated[str, Field(min_length=1)]
Mark = Annotated[str, AfterValidator(_mark)]
# Pieces that every vocabulary has for itself.
SPECIAL_PIECES = frozenset({"<pad>", "<unk>", "<s>", "</s>"})


def parse_pair(text: str) -> tuple[str, str] | None:
    """The source and the target of `ko-en`, or of `pt-BR:en` for longer tags; None for anything else."""
    match = re.fullmatch(r"([A-Za-z]{2,3}(?:-\w+)*):([A-Za-z]{2,3}(?:-\w+)*)|([A-Za-z]{2,3})-([A-Za-z]{2,3})", text)
    if not match:
        return None
    source, target = (group for group in match.groups() if group)
    return source, target


def pair_name(source: str, target: str) -> str:
    """What `parse_pair` reads: `ko-en`, or `pt-BR:en` if a tag has a dash."""
    return f"{source}:{target}" if "-" in source + target else f"{source}-{target}"


def _refuse_one_language(section: Any) -> Any:
    if section.source.casefold() == section.target.casefold():
        raise ValueError(f"target: the same language as the source, {section.source!r}; give two languages")
    return section


class PairConfig(Section):
    """A source and a target language, and the language tokens by which a model of several pairs knows them."""

    source: Tag
    """Source language, a BCP-47 tag."""
    target: Tag
    """Target language, a BCP-47 tag."""
    source_marks: tuple[Mark, ...] = ()
    """Language tokens before the pieces of each source, such as `<2ko>` (Johnson et al. 2017)."""
    target_marks: tuple[Mark, ...] = ()
    """Language tokens after BOS of each target, as in M2M-100 (Fan et al. 2020); they are no part of a translation."""

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, pair: Any) -> Any:
        if not isinstance(pair, str):
            return pair
        if not (tags := parse_pair(pair)):
            raise PydanticCustomError("pair", "a pair is two languages, such as ko-en, or pt-BR:en for longer tags")
        return {"source": tags[0], "target": tags[1], "source_marks": (f"<2{tags[1]}>",)}

    _two_languages = model_validator(mode="after")(_refuse_one_language)

    @property
    def name(self) -> str:
        """`ko-en`, or `pt-BR:en` for longer tags."""
        return pair_name(self.source, self.target)


class ProjectConfig(Section):
    """Name, languages and licence of the system."""

    name: Annotated[str, AfterValidator(_named)]
    """Name of the run and of its model: letters and digits of any script, dots, dashes and underscores."""
    source: Tag
    """Source language, a BCP-47 tag (`ko`, `en`, `pt-BR`); that of the first of `pairs`, if there are any."""
    target: Tag
    """Target language, a BCP-47 tag; that of the first of `pairs`, if there are any."""
    pairs: tuple[PairConfig, ...] = ()
    """The pairs of languages of a model of several, such as `["en-ko", "ko-en"]`, with their language tokens. A name
    alone has the token `<2ko>` before each source, for its target `ko`. Empty: one pair, without language tokens."""
    license: str = "private"
    """Licence of the trained model, for its model card."""

    @model_validator(mode="before")
    @classmethod
    def _first_pair(cls, keys: Any) -> Any:
        """`source` and `target` of the first pair, unless they are set."""
        pairs = keys.get("pairs") if isinstance(keys, dict) else None
        if not isinstance(pairs, list | tuple) or not pairs:
            return keys
        first = pairs[0]
        if isinstance(first, PairConfig):
            first = {"source": first.source, "target": first.target}
        elif isinstance(first, str):  # one that is no pair gets an error of its own
            first = dict(zip(("source", "target"), parse_pair(first) or ("?", "??"), strict=True))
        if not isinstance(first, dict):
            return keys
        return {key: first[key] for key in ("source", "target") if key in first} | keys

    _two_languages = model_validator(mode="after")(_refuse_one_language)

    @model_validator(mode="after")
    def _distinct_pairs(self) -> Self:
        if self.pairs and (self.pairs[0].source, self.pairs[0].target) != (self.source, self.target):
            raise ValueError(f"pairs: begin with {self.pairs[0].name}, but source and target are {self.name_of_pair}")
        for number, pair in enumerate(self.pairs):
            for other in self.pairs[:number]:
                _refuse_confusion(number, pair, other)
        return self

    @property
    def name_of_pair(self) -> str:
        """The (first) pair, as `ko-en`."""
        return pair_name(self.source, self.target)

    @property
    def all_pairs(self) -> tuple[PairConfig, ...]:
        """The pairs; that of `source` and `target`, without language tokens, if `pairs` is empty."""
        return self.pairs or (PairConfig(source=self.source, target=self.target),)

    def pair(self, name: str = "") -> PairConfig | None:
        """The pair of this name, `ko-en`; the first one for an empty name; None if there is none."""
        if not name:
            return self.all_pairs[0]
        return next((pair for pair in self.all_pairs if (pair.source, pair.target) == parse_pair(name)), None)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of all pairs, each once: the source and the target of the first pair first."""
        return _once([tag for pair in self.all_pairs for tag in (pair.source, pair.target)])

    def target_side(self, language: str) -> bool:
        return any(pair.target == language for pair in self.all_pairs)

    @property
    def source_marks(self) -> tuple[str, ...]:
        return _once([mark for pair in self.pairs for mark in pair.source_marks])

    @property
    def target_marks(self) -> tuple[str, ...]:
        return _once([mark for pair in self.pairs for mark in pair.target_marks])


def _once(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _refuse_confusion(number: int, pair: PairConfig, other: PairConfig) -> None:
    """Raises ValueError for two pairs that a model, a user or a batch could not tell apart."""
    if (pair.source, pair.target) == (other.source, other.target):
        raise ValueError(f"pairs: {pair.name} is there twice; remove one")
    if len(pair.target_marks) != len(other.target_marks):
        raise ValueError(f"pairs[{number}].target_marks: give as many as for {other.name}")
    same = (pair.source_marks, pair.target_marks) == (other.source_marks, other.target_marks)
    if same and pair.target != other.target:
        raise ValueError(
            f"pairs[{number}].source_marks: those of {other.name}, which has another target; give its own, "
            f'such as ["<2{pair.target}>"]'
        )
