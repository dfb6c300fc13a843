"""The rules on whole blocks give for each pair what a slow look at that pair alone gives."""

import html
import time
import unicodedata
from collections.abc import Callable
from statistics import median

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from costs import slowness
from dragoman.config import CleanConfig
from dragoman.data.corpus.pair_block import PairBlock
from dragoman.data.corpus.rules import (
    RULES,
    Context,
    active_rules,
    addresses_differ,
    has_mojibake,
    placeholders_differ,
    usual_ratio,
)
from dragoman.text.words.amounts import amounts_differ
from dragoman.text.words.numbers import numbers_differ
from dragoman.text.words.script import script_of, scripts_of_language

CONTEXT = Context("ko", "en", CleanConfig(too_long=30), ratio=2.0)
SPECIAL = (
    "a bZ한글漢あЖ0129٣.,:/@&;%{}<>$\t\r\u200b\u200d\u00ad\ufeff\x00\x85\u2028\ud800Ã©â€™\ufffd占쏙옙İß",
    ["&amp;", "&#38;", "{name}", "%s", "%1$s", "<b>", "www.a.org", "WWW.B.ORG", "https://c.de/x", "d@e.fr", "1,000"],
    ["cafÃ©", "한국어", "문서를 저장합니다", "Save the document", "12", "13", "x" * 31],
)
TEXT = st.lists(st.one_of(*map(st.sampled_from, SPECIAL)), max_size=8).map("".join)


def visible(character: str) -> bool:
    category = unicodedata.category(character)
    return (not character.isspace() and category not in ("Cc", "Cf")) or character in "\u200c\u200d"


def in_other_script(text: str, language: str) -> bool:
    scripts = [script_of(character) for character in text if character.isalpha()]
    own = sum(script in scripts_of_language(language) for script in scripts)
    return len(scripts) >= 4 and own < CONTEXT.clean.script * len(scripts)


def far(source: str, target: str) -> bool:
    if not source or not target or len(source) + len(target) <= 20:
        return False
    return max(len(target) / len(source) / CONTEXT.ratio, CONTEXT.ratio * len(source) / len(target)) > 4


def either(holds: Callable[[str], bool]) -> Callable[[str, str], bool]:
    return lambda source, target: holds(source) or holds(target)


# Each kind as one would say it of a pair.
SLOW: dict[str, Callable[[str, str], bool]] = {
    "bad_bytes": either(lambda text: any("\ud800" <= character <= "\udfff" for character in text)),
    "empty": either(lambda text: not any(map(visible, text))),
    "header": lambda source, target: False,
    "script": lambda source, target: in_other_script(source, "ko") or in_other_script(target, "en"),
    "copies": lambda source, target: source == target and any(map(str.isalpha, source)),
    "length_ratio": far,
    "too_long": either(lambda text: len(text) > 30),
    "numbers": amounts_differ,
    "urls": addresses_differ,
    "placeholders": placeholders_differ,
    "entities": either(lambda text: any(name in text for name in ("&amp;", "&#38;"))),
    "mojibake": either(has_mojibake),
    "control": either(
        lambda text: any(
            (unicodedata.category(character) == "Cc" and character != "\t") or character in "\u2028\u2029"
            for character in text
        )
    ),
    "zero_width": either(lambda text: any(character in text for character in "\u00ad\u200b\ufeff")),
}


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), max_size=12))
@example([("한" * 3, "x" * 25), ("", ""), ("a", "a")])
@example([("한국어", "한국어")])
def test_a_rule_on_a_block_is_the_rule_on_each_pair(pairs: list[tuple[str, str]]) -> None:
    block = PairBlock(
        [source for source, _ in pairs], [target for _, target in pairs], first=2
    )  # line 1 may be a heading
    assert RULES.keys() == SLOW.keys()
    for kind, rule in RULES.items():
        assert rule(block, CONTEXT).tolist() == [SLOW[kind](*pair) for pair in pairs], kind


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("ko", "en", True),
        ("Source", "Target", True),
        ("한국어", "영어", True),
        ("ko_text", "en_text", True),
        ("en", "문", False),
        ("문을 엽니다.", "Open the door.", False),
    ],
)
def test_the_headings_of_a_table_are_no_pair_where_they_are_its_first_line(
    source: str, target: str, expected: bool
) -> None:
    assert RULES["header"](PairBlock([source, "a"], [target, "b"]), CONTEXT).tolist() == [expected, False]
    assert not RULES["header"](PairBlock([source], [target], first=2), CONTEXT).any()


@pytest.mark.parametrize(
    ("differ", "source", "target", "expected"),
    [
        (numbers_differ, "1,000원", "1000 won", False),
        (numbers_differ, "1.000.000", "1 000 000", True),
        (numbers_differ, "3월", "in March", False),
        (numbers_differ, "3월", "in April, 4", True),
        (numbers_differ, "30쪽", "the page", True),
        (numbers_differ, "2번 2번", "2", False),
        (numbers_differ, "20번 20번", "20", True),
        (numbers_differ, "3.75와 37.5", "75.5 and 37.3", True),
        (numbers_differ, "12,50 €", "12.5 euros", False),
        (numbers_differ, "1.5컵", "some cups", True),
        (numbers_differ, "1,000.50원", "1.000,5 won", False),
        (numbers_differ, "6시 30분", "6.30", False),
        (numbers_differ, "6시, 2시 30분", "6.30 and 2", True),
        (numbers_differ, "1,2번", "1, 2", False),
        (numbers_differ, "1.2.3 판", "version 1.2.3", False),
        (numbers_differ, "200.10.10.0-200.10.10.40", "200 0 0 0 to 200.10.10.10.40", True),
        (numbers_differ, "127.0.0.1", "127.0.0", True),
        (numbers_differ, "30.12.1899", "December 30, 1899: 12", False),
        (numbers_differ, "192.168.100.200", "192.168.100.200", False),
        (numbers_differ, "1.000.000", "1,000,000", False),
        (numbers_differ, "السعر ٣٬٠٠٠ ين", "The price is 3,000 yen.", False),
        (numbers_differ, "السعر ٣٬٠٠٠ ين", "The price is 3,001 yen.", True),
        (numbers_differ, "۱۲٬۳۴۵٬۶۷۸٫۵ ریال", "12,345,678.5 rials", False),
        (numbers_differ, "النسبة ١٢٫٥", "12.5 percent", False),
        (numbers_differ, "१,००,००० लोग", "100,000 people", False),
        (numbers_differ, "₹12,34,567.50", "1,234,567.5 rupees", False),
        (numbers_differ, "₹12,34,567", "1,234,568 rupees", True),
        (amounts_differ, "It cost 2 million dollars.", "200만 달러였다.", False),
        (amounts_differ, "It cost 2 million dollars.", "300만 달러였다.", True),
        (amounts_differ, "30,000 won", "3만 원", False),
        (amounts_differ, "51 million people", "5,100만 명", False),
        (amounts_differ, "1억 2천만 원과 7쪽", "120,000,000 won and page 7", False),
        (amounts_differ, "1억 2천만 원과 70쪽", "120,000,000 won and page 17", True),
        (amounts_differ, "1.5 million", "150만", False),
        (amounts_differ, "10k", "1만", False),
        (amounts_differ, "15:30", "오후 3시 30분", False),
        (amounts_differ, "15:30", "오전 3시 30분", True),
        (amounts_differ, "15:30", "오후 4시 30분", True),
        (amounts_differ, "From 13:00 to 15:00", "오후 1시부터 3시까지", False),
        (amounts_differ, "3:30 p.m.", "15시 30분", False),
        (amounts_differ, "2 million", "2백만", False),
        (amounts_differ, "30쪽", "the page", True),
        (addresses_differ, "https://a.org/b를 보십시오.", "See https://a.org/b.", False),
        (addresses_differ, "(http://a.org)", "<http://a.org>", False),
        (addresses_differ, "a@b.org", "a@c.org", True),
        (placeholders_differ, "%1의 %s을", "%s of %1", False),
        (placeholders_differ, "%2$s %1$s", "%s %s", False),
        (placeholders_differ, "100%의 {name}", "100% of {name}", False),
        (placeholders_differ, "<b>굵게</b>", "<b>bold", True),
        (placeholders_differ, "3 < 4 > 2", "3<4", False),
        (placeholders_differ, "${HOME}", "{HOME}", True),
    ],
)
def test_what_differs(differ: Callable[[str, str], bool], source: str, target: str, expected: bool) -> None:
    assert differ(source, target) is expected
    assert differ(target, source) is expected


FINAL_ACCENTS = (
    *("Zoë’s café", "Brontë’s novels", "Dijo: “Sí”.", "«Sí»", "“«Sí»”", "“você”", "«Sì…»", "lunedì\u00a03"),
    *("„Vaří”", "„Vidíš“", "België\u00a0is"),
)


@pytest.mark.parametrize(
    "text",
    ["Ärger in Île-de-France", "5 × 3 ≥ 12 °C", "„so“ – “so” … € 5", "naïve café, 앨범", "②", *FINAL_ACCENTS],
)
def test_text_with_rare_characters_is_no_mojibake(text: str) -> None:
    assert not has_mojibake(text)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
@pytest.mark.parametrize(
    "text", ["한국어 문장입니다", "네", "안녕", "OK 가", "café au lait", "it’s", "Привет", "“quoted”"]
)
def test_utf_8_read_with_another_encoding_is_mojibake(text: str, encoding: str) -> None:
    damaged = text.encode().decode(encoding, "replace")
    assert has_mojibake(damaged)
    assert RULES["mojibake"](PairBlock([damaged], ["fine"]), CONTEXT).all()


def test_entities_are_those_that_html_knows() -> None:
    known = [name for name in html.entities.html5 if name.endswith(";")]
    block = PairBlock([f"a &{name} b" for name in known], ["c"] * len(known))
    assert RULES["entities"](block, CONTEXT).all()
    assert not RULES["entities"](PairBlock(["R&D;", "A & B;", "&nope;"], ["c"] * 3), CONTEXT).any()


def test_one_very_long_line_does_not_move_the_usual_ratio() -> None:
    lines = [("문장 하나" * (n % 7 + 2), "one sentence" * (n % 7 + 2)) for n in range(200)]
    lines[5] = ("문장", "wort " * 400_000)
    block = PairBlock(*map(list, zip(*lines, strict=True)))
    ratio = usual_ratio([block])
    assert ratio == pytest.approx(median(len(target) / len(source) for source, target in lines))
    assert np.flatnonzero(RULES["length_ratio"](block, Context("ko", "en", ratio=ratio))).tolist() == [5]


@pytest.mark.parametrize("unit", ["11,", "1,11,", "111,", "1.11.", "11,11."])
def test_a_long_list_of_numbers_is_read_in_linear_time(unit: str) -> None:
    started = time.process_time()
    numbers_differ(unit * 20_000, unit)
    assert time.process_time() - started < 3 * slowness()  # grouped as in India without a limit they took 30 s


def test_a_rule_that_is_off_is_not_asked() -> None:
    off = CleanConfig(numbers=False, script=0, too_long=0)
    assert RULES.keys() - active_rules(Context("ko", "en", off)).keys() == {"numbers", "script", "too_long"}
