"""Tokens ↔ text with codes: nothing but words is in the text, everything else comes back in its order."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costs import slowness
from documents.packages import inline, shown
from dragoman.documents.office.paragraphs import (
    Alone,
    Break,
    Close,
    Copied,
    Open,
    Token,
    Words,
    analyse,
    translated,
    with_ranges,
)
from nesting import is_nested


def drawn(tokens: list[Token]) -> str:
    """Tokens for people: text in its style, `|` a break, `<name>` a wrapper, `*name*` what is kept."""
    marks = {Break: lambda _: "|", Close: lambda _: ">", Open: lambda one: f"<{one.label}:"}
    out = ""
    for token in tokens:
        if isinstance(token, Words):
            out += token.text if token.style is None else f"({token.style} {token.text})"
        elif isinstance(token, Alone | Copied):
            out += f"*{token.label}*"
        elif not (isinstance(token, Open | Close) and not token.elements):
            out += marks[type(token)](token)
    return out


LINK, END, NOTE, PAGE = (
    Open(("a",), "a", label="a"),
    Close(("a",)),
    Alone(("note",), "note"),
    Copied("7", ("p",), "page"),
)
BREAK = Break(("br",))


@pytest.mark.parametrize(
    ("tokens", "source", "target", "result"),
    [
        ([Words("Hello")], "Hello", "안녕", "안녕"),
        ([Words("  Hello ")], "Hello", "안녕", "  안녕 "),
        (
            [Words("A ", "b"), Words("red", "b"), Words(" automobile")],
            "{1}A red{/1} automobile",
            "차는 {1}빨강{/1}",
            "차는 (b 빨강)",
        ),
        ([Words("a long text "), Words("b", "b")], "a long text {1}b{/1}", "{1}비{/1} 글", "(b 비) 글"),
        ([LINK, Words("all"), END], "all", "다", "<a:다>"),
        (
            [Words("see "), LINK, Words("this", "u"), END],
            "see {1}this{/1}",
            "{1}이것{/1} 봐",
            "<a:(u 이것)> 봐",
        ),
        ([Words("word"), NOTE], "word", "말", "말*note*"),
        ([Words("word"), NOTE, Words(" more")], "word{1/} more", "더 말{1/}", "더 말*note*"),
        ([Words("one"), BREAK, Words("two")], "one\ntwo", "하나\n둘", "하나|둘"),
        ([BREAK, Words("two"), BREAK], "two", "둘", "|둘|"),
        (
            [Words("page "), PAGE, Words(" of 9")],
            "page {1}7{/1} of 9",
            "9쪽 중 {1}7{/1}쪽",
            "9쪽 중 *page*쪽",
        ),
        (
            [Words("page "), PAGE, Words(" of 9")],
            "page {1}7{/1} of 9",
            "{1}{/1}9쪽 중 7쪽",
            "9쪽 중 *page*쪽",
        ),
        ([Words("page "), PAGE], "page {1}7{/1}", "쪽 {1}{/1}", "쪽 *page*"),
    ],
)
def test_examples(tokens: list[Token], source: str, target: str, result: str) -> None:
    paragraph = analyse(tokens)
    assert paragraph is not None
    assert shown(paragraph.source) == source
    assert drawn(translated(paragraph, inline(target))).replace("(None ", "(") == result


@pytest.mark.parametrize("tokens", [[], [NOTE], [Words(" ")], [Words("12.5")], [BREAK, LINK, END], [PAGE]])
def test_nothing_to_translate(tokens: list[Token]) -> None:
    assert analyse(tokens) is None


def mark(name: str, of: str) -> Alone:
    return Alone((name,), name, of)


A, A_END, B, B_END = mark("a", "a"), mark("/a", "a"), mark("b", "b"), mark("/b", "b")


@pytest.mark.parametrize(
    ("tokens", "source", "target", "result"),
    [
        ([Words("x "), A, Words("y"), A_END, Words(" z")], "x {1}y{/1} z", "z {1}y{/1} x", "z <a:y> x"),
        ([A, Words("all"), A_END], "all", "다", "<a:다>"),
        ([A, B, Words("x"), B_END, Words(" y"), A_END], "{1}x{/1} y", "y {1}x{/1}", "<a:y <b:x>>"),
        ([Words("x"), A, A_END, Words(" y")], "x{1/} y", "{1/}y x", "*a*y x"),
        ([Words("x"), A, BREAK, A_END, Words("y")], "x{1/}\n{2/}y", "{2/}가\n나{1/}", "*a*가|나*/a*"),
        ([Words("x "), A, LINK, Words("y"), A_END, END], "x {1/}{2}y{3/}{/2}", "{2}y{3/}{/2}{1/} x", "<a:y*a*>*/a* x"),
        (
            [Words("v"), A, Words("w"), B, Words("x"), A_END, Words("y"), B_END, Words("z")],
            "v{1}w{2/}x{/1}y{3/}z",
            "{3/}v{1}w{/1}{2/}",
            "*b*v<a:w>*/b*",
        ),
    ],
)
def test_ranges(tokens: list[Token], source: str, target: str, result: str) -> None:
    paragraph = analyse(tokens)
    assert paragraph is not None
    assert shown(paragraph.source) == source
    assert drawn(translated(paragraph, inline(target))) == result


MANY = [mark(str(number), str(number)) for number in range(6000)]


@pytest.mark.parametrize(
    ("tokens", "count"),
    [
        (MANY, 6000),
        ([*MANY, Words("x"), *reversed(MANY)], 12001),
        ([*MANY, BREAK, *reversed(MANY)], 12001),
        ([*MANY, *reversed(MANY)], 1),
    ],
    ids=["unclosed", "text", "break", "empty"],
)
def test_many_ranges_in_each_other_take_little_time(tokens: list[Token], count: int) -> None:
    took = []
    for _ in range(3):
        started = time.process_time()
        ranges = with_ranges(tokens)
        took.append(time.process_time() - started)
    assert min(took) < 1.2 * slowness()  # a look at all open ranges for each mark took 2 s and more
    assert len(ranges) == count
    assert [element for token in ranges for element in token.elements] == elements(tokens)


def test_what_a_translation_has_lost_is_not_lost() -> None:
    paragraph = analyse([Words("a"), NOTE, BREAK, Words("b"), PAGE, Words("c")])
    assert paragraph is not None
    assert drawn(translated(paragraph, inline("가"))) == "가|*note**page*"


WORD = st.sampled_from(["a", "b ", " c", " ", "ab", "1"])
LEAF = st.builds(Words, WORD, st.sampled_from([None, "x", "y"])) | st.just(NOTE) | st.just(BREAK) | st.just(PAGE)
MARK = st.builds(mark, st.sampled_from("cd"), st.sampled_from("012"))


def trees(leaves: st.SearchStrategy[Token]) -> st.SearchStrategy[list[Token]]:
    return st.recursive(
        st.lists(leaves, max_size=5),
        lambda inner: st.lists(inner | inner.map(lambda tokens: [LINK, *tokens, END]), max_size=4).map(
            lambda lists: [token for tokens in lists for token in tokens]
        ),
        max_leaves=12,
    )


@settings(max_examples=25)
@given(trees(LEAF))
def test_a_translation_that_is_its_source_changes_nothing_but_the_edges_of_wrappers(tokens: list[Token]) -> None:
    paragraph = analyse(tokens)
    if paragraph is None:
        return
    assert is_nested(paragraph.source)
    assert (
        paragraph.source.text == paragraph.source.text.strip(" ")
        or "\n" in paragraph.source.text
        or paragraph.source.codes
    )
    again = translated(paragraph, paragraph.source)
    assert "".join(drawn([one]) for one in _split(again)) == "".join(drawn([one]) for one in _split(tokens))


@settings(max_examples=50)
@given(trees(LEAF | MARK | MARK))
def test_marks_stay_in_their_order(tokens: list[Token]) -> None:
    paragraph = analyse(tokens)
    if paragraph is None:
        return
    assert is_nested(paragraph.source)
    assert elements(translated(paragraph, paragraph.source)) == elements(tokens)
    assert sorted(elements(translated(paragraph, inline("가")))) == sorted(elements(tokens))


def elements(tokens: list[Token]) -> list[str]:
    return [element for token in tokens for element in token.elements]


def _split(tokens: list[Token]) -> list[Token]:
    """Text character by character; white space has no style and no side of a border, so it is left out."""
    return [
        part
        for token in tokens
        for part in ([Words(c, token.style) for c in token.text if c != " "] if isinstance(token, Words) else [token])
    ]
