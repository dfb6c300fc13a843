"""Placeholders: whatever an engine says, a translation has those of its source, or a warning."""

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dragoman.config import DecodeConfig, TokenizerConfig
from dragoman.control.faults.debris import debris, debris_spans
from dragoman.control.faults.faults import Requirements, checked
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Ids, Query
from dragoman.text.terms.protect import find_placeholders
from dragoman.text.terms.symbols import Symbols, symbol
from dragoman.text.tokens.tokenizer import Tokenizer, learn
from dragoman.text.words.inline import Code, InlineText
from dragoman.translation import Candidate, Translation
from dragoman.translator import Translator
from stand_ins import FakeEngine

WORDS = ["dog", "cat", "bird", "tree", "red", "small", "two", "sees"]
PAIRS = [(f"{a} {b} {c}", f"{c} {a} {b}") for a in WORDS for b in WORDS for c in WORDS[:3]]
PLACEHOLDERS = ["%s", "{name}", "{{cut}}", "<b>", "</b>", "https://a.org/x", "$HOME_DIR", "&lt;", "a@b.org", "%(n)s"]
# What a broken translation is made of.
SCRAPS = [*PLACEHOLDERS, "%", "{", "}", "{name", "me}", "<", "b>", "}}", "/x", "12"]
KINDS = {"placeholder"}


@cache
def tokenizer() -> Tokenizer:
    return learn(PAIRS, TokenizerConfig(vocab_size=282))


@cache
def with_symbols() -> Tokenizer:
    return learn(PAIRS, TokenizerConfig(vocab_size=286, user_defined_symbols=[symbol(number) for number in range(4)]))


class Spoiler(FakeEngine):
    """An engine that copies its source after dropping, doubling and garbling parts, as `seed` and the text decide."""

    def __init__(self, tokenizer: Tokenizer, seed: int) -> None:
        super().__init__(self.spoiled)
        self.tokenizer, self.seed = tokenizer, seed

    def spoiled(self, query: Query, options: DecodeConfig) -> list[Hypothesis]:
        count = options.samples if options.method == "mbr" else options.n_best
        found = self._several(list(query.source), query.prefix, count)
        return [Hypothesis(tokens, score, score) for score, tokens in found]

    def _several(self, source: list[int], prefix: tuple[int, ...], count: int) -> list[tuple[float, tuple[int, ...]]]:
        text = self.tokenizer.decode([source], "source")[0]
        spoiled = [self._spoiled(text, number) for number in range(count)]
        ids = self.tokenizer.encode(spoiled, "target")
        return [(-1.0 - number, (*prefix, *own)) for number, own in enumerate(ids)]

    def _spoiled(self, text: str, number: int) -> str:
        chance = random.Random(f"{self.seed} {number} {text}")
        words = []
        for word in re.findall(r"\S+", text):
            action = chance.choice(["keep", "keep", "drop", "double", "garble", "scrap"])
            at = chance.randrange(len(word))
            changed = {"drop": [], "double": [word, word], "garble": [word[:at] + word[at + 1 :]]}
            words += changed.get(action, [word] + [chance.choice(SCRAPS)] * (action == "scrap"))
        return " ".join(words)

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        return [[-1.0 - (sum(target) * 31 % 7)] * (len(target) + 1) for target in targets]


def spoiling(seed: int, protect: bool = False, **options: object) -> Translator:
    own = with_symbols() if protect else tokenizer()
    symbols = Symbols(tuple(map(symbol, range(4)))) if protect else Symbols()
    given = DecodeConfig.model_validate(options)
    return Translator(own, Spoiler(own, seed), given, max_source_tokens=40, symbols=symbols)


lines = st.lists(st.sampled_from([*WORDS, *PLACEHOLDERS, "34", "3,400", "Stop.", "<a  href=x>"]), max_size=9).map(
    " ".join
)
seeds = st.integers(0, 10_000)


def counts(text: str) -> Counter[str]:
    """Counted by the text itself, for placeholders that no other contains."""
    return Counter({one: text.count(one) for one in PLACEHOLDERS if one in text})


def is_flagged(translation: Translation) -> bool:
    return any(flag.kind in KINDS for flag in translation.warnings)


OPTIONS = [{}, {"n_best": 3, "beam": 3}, {"method": "mbr", "samples": 3}, {"method": "sample", "n_best": 2}]


@pytest.mark.slow
@settings(max_examples=20)
@given(st.lists(lines, max_size=3), seeds, st.sampled_from(OPTIONS), st.booleans())
def test_every_candidate_has_the_placeholders_or_the_translation_a_warning(
    texts: list[str], seed: int, options: dict[str, object], protect: bool
) -> None:
    translator = spoiling(seed, protect, **options)
    found = translator.translate(texts)
    for text, one in zip(texts, found, strict=True):
        if not is_flagged(one):
            assert all(counts(candidate.text) == counts(text) for candidate in one.candidates), (text, one)
    assert [one.text for one in found] == [translator.translate(text).text for text in texts]


@settings(max_examples=12)
@given(lines, seeds, st.booleans())
def test_with_a_prefix_or_a_glossary_the_law_holds(text: str, seed: int, protect: bool) -> None:
    translator = spoiling(seed, protect)
    prefix = translator.translate(text, target_prefix="two dog")
    term = translator.translate(text, glossary={"dog": "cat"})
    for one in prefix, term:
        assert is_flagged(one) or counts(one.text) == counts(text)
    if text:
        assert prefix.text.startswith("two dog")


@settings(max_examples=12)
@given(lines, seeds, st.booleans())
def test_alternatives_have_the_placeholders(text: str, seed: int, protect: bool) -> None:
    for one in spoiling(seed, protect).alternatives(text, count=3):
        assert counts(one.text) == counts(text)


@pytest.mark.slow
@settings(max_examples=20)
@given(lines, st.sampled_from(["", "\n"]), lines, seeds, st.booleans())
def test_text_with_codes_has_placeholders_and_what_is_protected(
    first: str, between: str, second: str, seed: int, protect: bool
) -> None:
    text = f"{first} tap{between}`x  y` {second}"
    begin = text.index("`x  y`")
    codes = (Code(begin, "open", "i"), Code(begin + 6, "close", "i"))
    [found] = spoiling(seed, protect).translate_inline([InlineText(text, codes, ((begin, begin + 6),))])
    if not is_flagged(found.translation):
        assert counts(found.inline.text) == counts(text)
        assert found.inline.text.count("`x  y`") == 1
        assert found.inline.text.count("<a  href=x>") == text.count("<a  href=x>")
    assert found.translation.text == found.inline.text


@settings(max_examples=12)
@given(st.lists(st.sampled_from([*WORDS, "Stop.", "É"]), max_size=8).map(" ".join), seeds)
def test_without_placeholders_nothing_changes(text: str, seed: int) -> None:
    assume(text.strip("É "))  # what has no word of two letters is copied
    unchecked = spoiling(seed, placeholders=(), numbers=False)
    assert spoiling(seed).translate(text).candidates == unchecked.translate(text).candidates


def test_what_the_patterns_of_a_call_find_and_nothing_else_is_kept() -> None:
    texts = [InlineText("red :name dog"), InlineText("red :name {x} dog")]
    for seed in range(8):
        found = spoiling(seed).translate_inline(texts, patterns=[("laravel",), ()])
        assert is_flagged(found[0].translation) or found[0].inline.text.count(":name") == 1
        assert not is_flagged(found[1].translation)


@pytest.mark.parametrize(
    ("source", "text", "says"),
    [
        ("tap “{button}.”", "“{button}.”on}.”", "has stray characters next to placeholders: }"),
        ("Press {{shortcut}} now", "{{shortcut}}} now", "has stray characters next to placeholders: }"),
        ("Press {{shortcut}} now", "{{shortcut}}cut now", "has stray characters next to placeholders: cut"),
        ("Press {name}", "", "lacks {name}"),
        ("Press {name}", "{name} {name}", "adds {name}"),
        ("Press {a  b: c}", "Press {a b: c}", "lacks"),
        ("Press <a  href='x'>", "Press <a href='x'>", "spells with other"),
        ("Press {na\u200bme}", "Press {name}", "spells with other"),
        ("%s sees %d", "%d sees %s", "another order"),
        ("<b>dog</b>", "</b>dog<b>", "not nested"),
        ("Hi {{#if a}}{{a}}{{/if}}", "{{/if}} {{a}} {{#if a}}", "another order"),
        ("{{ a }} has {% if x %}one{% endif %}", "{% if x %}{{ a }}{% endif %}", "another order"),
        ("%#@files@ in %@", "%#@files@ %@@", "has stray characters next to placeholders: @"),
    ],
)
def test_what_is_broken_is_reported(source: str, text: str, says: str) -> None:
    line = Translation(source, (Candidate(text, -1.0, -1.0),))
    literals = ("{a  b: c}",) if "b: c" in source else ()
    found = checked(line, Requirements.of(source, DecodeConfig(), None, literals))
    [flag] = found.warnings
    assert flag.kind == "placeholder"
    assert says in flag.text or "spells" in flag.text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{count} files", "파일 {count}개"),
        ("%s costs 5 dollars, 50 percent", "%s $5, 50%"),
        ("The {file}s", "{file}s"),
        ("{a} {b", "{b {a}"),
        ("no placeholder", "}"),
        ("%@ of #1 @ home", "#1 @ %@"),
        ("{% if a %}{{ b }}, {{ c }}{% endif %}", "{% if a %}{{ c }} {{ b }}{% endif %}"),
    ],
)
def test_what_belongs_to_the_text_is_no_debris(source: str, text: str) -> None:
    assert not debris(source, find_placeholders(source), text, find_placeholders(text))


def test_debris_is_found_with_what_occurs_twice() -> None:
    text = "“{button}.”on}.”"
    spans = list(debris_spans(text, find_placeholders(text), "}"))
    assert "“{button}.”" in [text[:begin] + text[end:] for begin, end in spans]
    assert len(text) > max(end for _, end in spans)


@pytest.mark.parametrize("change", [lambda text: text, lambda text: text.replace("{name}", "")], ids=["kept", "lost"])
def test_the_best_being_complete_others_that_are_not_are_left_out(change: Callable[[str], str]) -> None:
    source = "a {name}"
    candidates = tuple(Candidate(text, -1.0, -1.0) for text in (change("{name} b"), "b"))
    found = checked(Translation(source, candidates), Requirements.of(source, DecodeConfig()))
    assert is_flagged(found) == (change("{name} b") != "{name} b")
    assert len(found.candidates) == (2 if is_flagged(found) else 1)
