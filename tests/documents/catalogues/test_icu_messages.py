"""ICU messages: each branch is a unit, what is not text stays, what does not parse comes back and is named."""

from pathlib import Path

import pytest

from documents.laws import hold_identity, hold_reading_again, opened
from dragoman.documents.catalogues.icu_messages import is_complex, parse
from dragoman.documents.core.passage import units_of, written
from dragoman.text.words.inline import InlineText

pytest.importorskip("pyicumessageformat")

MESSAGES = [
    "Plain text",
    "Hi {name}, it's {when, date, full}",
    "{n, plural, =0 {none} one {# file} other {# files}}",
    "You have {n, plural, offset:1 one {a 'file' more} other {# {g, select, male {his #} other {their}} files}} here",
    "It''s '{quoted}' for {who}",
    " <b>{n, selectordinal, one {#st} other {#th}}</b> place ",
    "{n, plural, one {'#' # it''s} other {&nbsp;many}}",
]


def units(message: str, quotes: bool = True) -> list[tuple[str, str]]:
    return [(place, inline.text) for place, inline in units_of(parse(message, quotes))]


def translate(message: str, *texts: str, quotes: bool = True) -> str:
    parsed = parse(message, quotes)
    sources = [inline for _, inline in units_of(parsed)]
    assert len(sources) == len(texts)
    # No protected spans are named: they are found by their text.
    return written(parsed, iter([InlineText(text) for text in texts]))


@pytest.mark.parametrize("message", MESSAGES)
def test_nothing_translated_is_the_same_message(message: str) -> None:
    for quotes in (True, False):
        parsed = parse(message, quotes)
        sources = [inline for _, inline in units_of(parsed)]
        assert written(parsed, iter([None] * len(sources))) == message
        assert written(parsed, iter(sources)) == message


def test_branches_are_units_of_their_own() -> None:
    assert units(MESSAGES[3]) == [
        ("", "You have {n} here"),
        ("n one", "a 'file' more"),
        ("n other", "# {g} files"),
        ("n other g male", "his #"),
        ("n other g other", "their"),
    ]
    assert translate(MESSAGES[3], "여기 {n}", "'파일'", "{g} 파일 #개", "# 그의", "그들의") == (
        "여기 {n, plural, offset:1 one {''파일''} other {{g, select, male {# 그의} other {그들의}} 파일 #개}}"
    )


def test_arguments_are_shown_by_name_and_written_whole() -> None:
    assert units(MESSAGES[1]) == [("", "Hi {name}, it's {when}")]
    assert translate(MESSAGES[1], "{when}에 {name} 님") == "{when, date, full}에 {name} 님"


def test_apostrophes_and_braces_of_a_translation_are_text() -> None:
    assert units("It''s {who}") == [("", "It's {who}")]
    assert translate("It''s {who}", "{who}'s {x} it's") == "{who}''s '{'x'}' it''s"
    assert translate("It is {who}", "it's '{who}' {") == "it's ''{who}'' '{'"
    assert translate("{n, plural, other {# files}}", "{n}", "파일 # #1'") == "{n, plural, other {파일 # '#'1''}}"
    for message in ("a {who}", "it''s {who}"):
        new = translate(message, "'{who}' it's {} '' 'x {")
        assert units(new) == [("", "'{who}' it's {} '' 'x {")]


def test_where_apostrophes_quote_nothing_they_are_text() -> None:
    assert units("'{name}' isn't", quotes=False) == [("", "'{name}' isn't")]
    assert translate("'{name}' isn't", "'{name}' {아님}", quotes=False) == "'{name}' (아님)"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("{count, plural, one {# file} other {# files}", "expected }"),
        ("{name", "expected , or }"),
        ("a } b", 'unexpected "}"'),
        ("{x, select, male {He} female {She}}", "sub-message other"),
        ("It's '{open", "apostrophe quotes the rest"),
        ("{a, select, other {" * 60 + "}}" * 60, "too much recursion"),
    ],
)
def test_what_does_not_parse_is_refused(message: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse(message)


def test_a_catalogue_with_one_message_is_one_of_messages(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '{"a": "{count, plural, one {# file} other {# files}",\n"b": "{name",\n"c": "It\'s {who}\'s \'{quoted}\'",\n'
        '"d": "{x, select, male {He} female {She}}", "e": "{{count}} files"}'
    )
    document, found = opened(path)
    assert [unit.location for unit in found] == ["c", "e"]
    assert [notice.split(":")[0] for notice in document.notices] == ["line 1, a", "line 2, b", "line 4, d"]
    assert all(notice.endswith("; left unchanged") for notice in document.notices)
    hold_identity(path)
    hold_reading_again(path, tmp_path)


def test_only_arguments_with_formats_make_a_message_complex() -> None:
    assert is_complex("{n,plural,one{a}other{b}}")
    assert is_complex("on {d, date}")
    assert not any(map(is_complex, ["{name}", "{a, b}", "{{count}}", "${x}", "a, plural, b"]))


def test_choices_are_units_of_their_own() -> None:
    message = "You have {0,choice,0#no files|1#one file|1<{0,number} files in {1,choice,0#it|1#them}} here"
    assert units(message) == [
        ("", "You have {0} here"),
        ("0 0#", "no files"),
        ("0 1#", "one file"),
        ("0 1<", "{0,number} files in {1}"),
        ("0 1< 1 0#", "it"),
        ("0 1< 1 1#", "them"),
    ]
    new = translate(message, "여기 {0}", "파일|없음", "하나", "{1}에 {0,number}개", "가", "나")
    assert new == "여기 {0,choice,0#파일/없음|1#하나|1<{1,choice,0#가|1#나}에 {0,number}개}"


@pytest.mark.parametrize("message", ["{0,choice,none}", "{0,choice,0#a", "{0,choice,0#it's|1#b}"])
def test_what_is_no_choice_is_refused(message: str) -> None:
    with pytest.raises(ValueError, match=r"choice|argument"):
        parse(message)
