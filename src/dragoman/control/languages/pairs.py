"""The pairs of languages of a model, and the one that a call is for.

Input: the target, the source, or neither, and the text. Output: a pair, or a ConfigError that lists the pairs. What is
not given is decided by the letters of the text, where those leave one choice; no detector of languages is asked,
because it is unsure of short text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.config import ProjectConfig
from dragoman.config.sections.project import pair_name
from dragoman.errors import ConfigError, check_type
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.text.words.language import primary_language
from dragoman.text.words.script import script_shares, scripts_of_language


@dataclass(frozen=True, slots=True)
class LanguagePair:
    """A source and a target language (BCP-47; None: not known), and their language tokens."""

    source: str
    target: str | None
    marks: Marks = NO_MARKS

    @property
    def name(self) -> str:
        """`ko-en`, or `pt-BR:en` for longer tags."""
        return pair_name(self.source, self.target or "und")


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs that a model translates, of which there is at least one."""

    pairs: tuple[LanguagePair, ...]

    @classmethod
    def of(cls, project: ProjectConfig, tokenizer: Tokenizer) -> "Pairs":
        """The pairs of a project. Raises ModelError if the tokenizer lacks a language token."""
        return cls(
            tuple(LanguagePair(pair.source, pair.target, Marks.of(pair, tokenizer)) for pair in project.all_pairs)
        )

    @property
    def names(self) -> str:
        """All pairs, for a message."""
        return ", ".join(pair.name for pair in self.pairs)

    def choose(self, target: str | None, source: str | None, texts: Sequence[str]) -> LanguagePair:
        """The pair with this target and source; None: any. Raises ConfigError unless one is left."""
        pairs = self.matching(target, source)
        if len(pairs) > 1 and texts:
            pairs = _written_like(pairs, " ".join(texts)) or pairs
        if len({(pair.target, pair.marks) for pair in pairs}) == 1:
            return pairs[0]
        missing = "target (--to)" if len({pair.target for pair in pairs}) > 1 else "source (--from)"
        names = ", ".join(pair.name for pair in pairs)
        raise ConfigError(f"{missing}: this model has several pairs, {names}, and the text does not say which; give it")

    def matching(self, target: str | None, source: str | None) -> Sequence[LanguagePair]:
        """The pairs with this target and source; None: any. Raises ConfigError if there is none."""
        check_type("target", target, str | None, "a language, such as ko")
        check_type("source", source, str | None, "a language, such as ko")
        pairs = _with_language(_with_language(self.pairs, "target", target), "source", source)
        if not pairs:
            wanted = f"into {target or repr(target)}" if source is None else f"from {source or repr(source)}"
            wanted = pair_name(source, target) if source and target else wanted
            remedy = "source (--from)" if target is None else "target (--to)"
            raise ConfigError(f"no translation {wanted}: this model has {self.names}; choose another {remedy}")
        return pairs


def _with_language(pairs: Sequence[LanguagePair], side: str, tag: str | None) -> Sequence[LanguagePair]:
    """The pairs whose source or target is `tag`; if there is none, those with the same primary language."""
    if tag is None:
        return pairs
    known = [(pair, str(getattr(pair, side) or "und")) for pair in pairs]
    exact = [pair for pair, known_tag in known if known_tag.casefold() == tag.casefold()]
    return exact or [pair for pair, known_tag in known if primary_language(known_tag) == primary_language(tag)]


def _written_like(pairs: Sequence[LanguagePair], text: str) -> list[LanguagePair]:
    """The pairs whose source is written in the scripts of most letters of the text; the first for text without any."""
    shares = script_shares(text)
    if not shares:
        return [pairs[0]]
    scripts = [scripts_of_language(pair.source) for pair in pairs]
    covered = [sum(shares.get(script, 0.0) for script in of_pair) if of_pair else 1.0 for of_pair in scripts]
    return [pair for pair, share in zip(pairs, covered, strict=True) if share > 0.5 and share == max(covered)]
