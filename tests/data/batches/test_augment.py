"""Changes of the training text: each does what it says, keeps what must be kept, and nothing happens unasked."""

import random
import time
import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.config import AugmentConfig
from dragoman.config.file import build_section
from dragoman.data.batches.augment import augment
from dragoman.errors import ConfigError
from dragoman.text.words.normalise import normalise
from dragoman.text.words.words import clusters

NAMES = list(AugmentConfig.model_fields)
ALWAYS = 0.999999
KEPT = ["{name}", "{user name}", "<b>", '<a href="x">', "%s", "%(count)d", "%1$s", "&amp;", "2026", "v1.2", "٣"]
ADDRESSES = ["https://example.org/a-b?c=d", "me@example.org", "config.toml", "max_steps", "/usr/bin"]


def only(name: str) -> AugmentConfig:
    return AugmentConfig.model_validate({name: ALWAYS})


def changed(name: str, source: str, target: str = "그대로 둔다", seed: int = 1) -> tuple[str, str]:
    return augment(source, target, only(name), random.Random(seed))


# --- case ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "upper", "title"),
    [
        pytest.param("see the dog", "SEE THE DOG", "See The Dog", id="English"),
        pytest.param("don’t “stop” it", "DON’T “STOP” IT", "Don’t “Stop” It", id="apostrophe and quotes"),
        pytest.param("öl für die straße", "ÖL FÜR DIE STRASSE", "Öl Für Die Straße", id="German"),
        pytest.param("собака и кот", "СОБАКА И КОТ", "Собака И Кот", id="Cyrillic"),
        pytest.param("open NASA’s page", "OPEN NASA’S PAGE", "Open NASA’s Page", id="capitals stay"),
        pytest.param("see {name} at <b>the</b> %s", "SEE {name} AT <b>THE</b> %s", "See {name} At <b>The</b> %s"),
        pytest.param("edit run.toml, a 3rd time", "EDIT run.toml, A 3rd TIME", "Edit run.toml, A 3rd Time"),
    ],
)
def test_case_changes_all_but_what_is_kept(source: str, upper: str, title: str) -> None:
    assert changed("upper", source, source) == (upper, upper)
    assert changed("title", source, source) == (title, title)
    assert changed("upper", source, "개를 본다") == (upper, "개를 본다")


@pytest.mark.parametrize("name", ["upper", "title"])
@pytest.mark.parametrize(
    "source", ["개를 본다", "犬を見る", "Python을 배우고 개를 본다", "123 %s", "SEE THE DOG", "See The Dog"]
)
def test_a_target_is_not_capitalised_when_the_source_cannot_show_it(name: str, source: str) -> None:
    shown = changed(name, source, "see the dog")
    assert shown[0] != source or shown == (source, "see the dog")
    if not source.isascii():
        assert shown == (source, "see the dog")


# --- punctuation ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("Stop.", "Stop"),
        ("Stop?!", "Stop"),
        ("Well...", "Well"),
        ("Well…", "Well"),
        ("He said “go.”", "He said “go”"),
        ('He said "go!"', 'He said "go"'),
        ("Arrêtez !", "Arrêtez"),
        ("止まれ。", "止まれ"),
        ("「止まれ！」", "「止まれ」"),
        ("멈춰？", "멈춰"),
        ("رुکو۔", "رुکو"),
        ("See a.b. Or {x}.", "See a.b. Or {x}"),
    ],
)
def test_final_punctuation_is_dropped_on_both_sides(text: str, bare: str) -> None:
    assert changed("unpunctuated", text, "멈춰.") == (bare, "멈춰")
    assert changed("unpunctuated", "멈춰.", text) == ("멈춰", bare)


@pytest.mark.parametrize("text", ["Stop", "Stop:", "Stop (now)", "...", "?!", "“…”"])
def test_punctuation_stays_where_one_side_has_none_or_nothing_else(text: str) -> None:
    assert changed("unpunctuated", text, "멈춰.") == (text, "멈춰.")
    assert changed("unpunctuated", "멈춰.", text) == ("멈춰.", text)


# --- typos -------------------------------------------------------------------------------------------------------


def steps(a: list[str], b: list[str]) -> int:
    """Edits from one list to another, a swap of neighbours being one (optimal string alignment)."""
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (x != y)))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                row[-1] = min(row[-1], rows[-2][j - 2] + 1)
        rows.append(row)
    return rows[-1][-1]


TYPED = [
    "Nothing is as simple as it looks, and everything takes longer than you think it should take today",
    "아무것도 보이는 것만큼 간단하지 않습니다",
    "दिल्ली में क्षत्रिय रहते थे और प्रार्थना करते थे",
    "ស្វាគមន៍មកកាន់ប្រទេសកម្ពុជា",
    unicodedata.normalize("NFD", "Việt Nam có nhiều trường học"),
]


@pytest.mark.parametrize("text", TYPED, ids=["English", "Korean", "Hindi", "Khmer", "Vietnamese, decomposed"])
def test_a_typo_moves_whole_letters_of_the_source_alone(text: str) -> None:
    clean = normalise(text)
    seen = set()
    for seed in range(100):
        source, target = changed("typos", text, "Target.", seed)
        assert target == "Target."
        assert 1 <= steps(clusters(clean), clusters(source)) <= 3
        assert set(clusters(source)) <= set(clusters(clean))
        seen.add(source)
    assert len(seen) > 20


def test_all_three_kinds_of_typos_come() -> None:
    lengths = Counter(len(changed("typos", "abcdef", seed=seed)[0]) for seed in range(90))
    assert set(lengths) == {5, 6, 7}
    assert min(lengths.values()) > 15


@pytest.mark.parametrize("text", ["A b it", "나는 간다", "12345 {name} %s", "https://example.org/abc"])
def test_where_no_word_is_long_enough_nothing_is_mistyped(text: str) -> None:
    assert changed("typos", text) == (text, "그대로 둔다")


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("e\u0301a", ["e\u0301", "a"]),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", ["\u1112\u1161\u11ab", "\u1100\u1173\u11af"]),
        ("각\u11a8가", ["각\u11a8", "가"]),
        ("क्षत्रिय", ["क्ष", "त्रि", "य"]),
        ("น้ำ", ["น้ำ"]),
        ("👩\u200d💻a", ["👩\u200d💻", "a"]),
        ("", []),
    ],
)
def test_clusters_are_what_a_reader_takes_for_letters(text: str, letters: list[str]) -> None:
    assert clusters(text) == letters


# --- fragments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target", "fragments"),
    [
        pytest.param(
            "It rains. Do we go?",
            "비가 온다. 우리 갈까?",
            [("It rains.", "비가 온다."), ("Do we go?", "우리 갈까?")],
            id="two",
        ),
        pytest.param(
            "“It rains.” He left! I stayed",
            "「雨だ。」 彼は行った！私は残った",
            [("“It rains.”", "「雨だ。」"), ("He left!", "彼は行った！"), ("I stayed", "私は残った")],
            id="without spaces",
        ),
        pytest.param(
            "Hello, {a}. You have %s.",
            "{a} 님. %s 있습니다.",
            [("Hello, {a}.", "{a} 님."), ("You have %s.", "%s 있습니다.")],
            id="placeholders",
        ),
        pytest.param(
            "See a.b/c. It is {x. Y}.",
            "a.b 보라. 저기 {x. Y}.",
            [("See a.b/c.", "a.b 보라."), ("It is {x. Y}.", "저기 {x. Y}.")],
            id="not inside what is kept",
        ),
    ],
)
def test_a_fragment_is_one_sentence_with_its_translation(
    source: str, target: str, fragments: list[tuple[str, str]]
) -> None:
    assert {changed("fragments", source, target, seed) for seed in range(60)} == set(fragments)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        pytest.param("It rains.", "비가 온다.", id="one sentence"),
        pytest.param("It rains. We go.", "비가 오니 간다.", id="another number"),
        pytest.param("Use J. Smith.", "나. 그렇다.", id="an initial"),
        pytest.param("1. Open it.", "1. 열기.", id="a numbered line"),
        pytest.param("It costs 3.50 now.", "값은 3.50 이다. 지금.", id="a number"),
        pytest.param("Press {a}. Wait.", "눌러라. {a} 기다려라.", id="placeholders elsewhere"),
        pytest.param('"It rains. We go."', '"비가 온다. 간다."', id="open quotes"),
        pytest.param(
            "A very long first sentence, indeed. No.", "네. 두 번째가 훨씬 더 긴 문장이다.", id="unlike lengths"
        ),
        pytest.param("Use e.g. this. Go.", "이것을 써라.", id="an abbreviation"),
    ],
)
def test_no_fragment_where_the_sentences_may_not_correspond(source: str, target: str) -> None:
    assert {changed("fragments", source, target, seed) for seed in range(30)} == {(source, target)}


# --- all of them -------------------------------------------------------------------------------------------------

SIDES = st.one_of(
    st.text(),
    st.lists(st.sampled_from([*KEPT, *ADDRESSES, *TYPED, "It rains. We go!", "3", "'", "…", " "]), min_size=1).map(
        " ".join
    ),
).filter(lambda text: normalise(text))
RATES = st.sampled_from([*map(only, NAMES), AugmentConfig(upper=0.2, title=0.2, typos=0.3, fragments=0.2)])


@given(source=SIDES, target=SIDES, rates=RATES, seed=st.integers(0, 9))
def test_no_side_is_emptied_and_what_changes_is_normalised(
    source: str, target: str, rates: AugmentConfig, seed: int
) -> None:
    found = augment(source, target, rates, random.Random(seed))
    assert all(normalise(side) for side in found)
    assert found == (source, target) or found == (normalise(found[0]), normalise(found[1]))
    assert found == augment(source, target, rates, random.Random(seed))


@given(words=st.lists(st.sampled_from([*KEPT, *ADDRESSES, "simple", "longer", "단순하게"])), seed=st.integers(0, 99))
def test_placeholders_digits_and_addresses_are_kept(words: list[str], seed: int) -> None:
    text = " ".join([*words, "word"])
    for name in ("upper", "title", "typos"):
        for side in changed(name, text, text, seed):
            kept = [word for word in words if word in KEPT + ADDRESSES]
            assert [word for word in kept if side.count(word) != text.count(word)] == []


@pytest.mark.slow
@given(source=SIDES, target=SIDES, seed=st.integers(0, 9))
def test_what_is_typed_in_decomposed_letters_is_changed_alike(source: str, target: str, seed: int) -> None:
    apart = unicodedata.normalize("NFD", source), unicodedata.normalize("NFD", target)
    for name in NAMES:
        a, b = changed(name, source, target, seed), changed(name, *apart, seed)
        assert [*map(normalise, a)] == [*map(normalise, b)]


@given(source=SIDES, target=SIDES)
def test_off_by_default(source: str, target: str) -> None:
    assert augment(source, target, AugmentConfig(), random.Random(1)) == (source, target)


def test_changes_come_as_often_as_asked_and_one_at_a_time() -> None:
    source, target = "He sees it. We leave now.", "She saw us. They stayed here."
    rates = AugmentConfig(upper=0.1, title=0.2, unpunctuated=0.1, typos=0.2, fragments=0.1, placeholders=0.1)
    rng = random.Random(3)
    found = Counter(augment(source, target, rates, rng) for _ in range(5000))
    share = dict.fromkeys([*NAMES, "none"], 0.0)
    for (one, other), count in found.items():
        if one == source:
            name = "none"
        elif one.isupper():
            name = "upper"
        elif one == "He Sees It. We Leave Now.":
            name = "title"
        elif one == source[:-1]:
            name = "unpunctuated"
        else:
            name = "typos" if other == target else "fragments" if len(one) < len(source) else "placeholders"
        share[name] += count / 5000
    for name, rate in [*rates.model_dump().items(), ("none", 0.2)]:
        assert abs(share[name] - rate) < 0.025, share


def test_shares_of_more_than_all_pairs_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"^data\.augment\.upper: the fractions of all changes add up to 1\.3; lower them to 1"
    ):
        build_section(AugmentConfig(), {"upper": 0.5, "typos": 0.8}, "data.augment")
    assert build_section(AugmentConfig(), {"upper": 0.7, "typos": 0.2, "title": 0.1}, "data.augment").upper == 0.7


@pytest.mark.parametrize("sign", ["-", "a", ".", "{", "。"])
@pytest.mark.parametrize("name", NAMES)
def test_time_is_linear_in_the_length_of_a_line(name: str, sign: str) -> None:
    """Ten times the length takes about ten times as long; in quadratic time it would take a hundred times."""

    def seconds(length: int) -> float:
        line, took = sign * length + "x", []
        for _ in range(3):
            started = time.process_time()
            changed(name, line, line)
            took.append(time.process_time() - started)
        return min(took)

    assert seconds(50_000) < 40 * max(seconds(5_000), 5e-4)
