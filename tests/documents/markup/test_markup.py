"""XML of any kind, whole or a fragment: what is a unit, what stays, what is refused."""

import io
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.splicing import REQUEST, louder
from dragoman.documents.markup.markup import ANY_TAGS, LostTags, Tags, parse, write
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

NAME = Path("xml")
DOCUMENT = """<?xml version="1.0" encoding="UTF-16"?>
<!DOCTYPE document SYSTEM "http://example.org/none.dtd">
<!-- before -->
<document>
  <meta><title>A document's title</title></meta>
  <content>
    <par>This is the <i>first</i>
      sentence. Followed by a second one.</par>
    <par>Press <w:key code="&lt;"/> &amp; <w:b>hold</w:b> it &nbsp;down.</par><par>42</par>
  </content>
</document>
"""


def units(text: str, tags: Tags = ANY_TAGS) -> list[str]:
    return [unit.source.text for unit in parse(NAME, text.encode(), tags).units]


def written(text: str, change: object, tags: Tags = ANY_TAGS) -> str:
    document, file = parse(NAME, text.encode(), tags), io.BytesIO()
    write(document, [change(unit.source) for unit in document.units], REQUEST, file)  # type: ignore[operator]
    return file.getvalue().decode()


def names(*given: str) -> frozenset[str]:
    return frozenset(given)


def test_what_is_text_and_what_is_not() -> None:
    text = DOCUMENT.replace("UTF-16", "UTF-8")
    assert units(text) == [
        "A document's title",
        "This is the first sentence. Followed by a second one.",
        "Press & hold it down.",
    ]
    assert written(text, lambda source: None) == written(text, lambda source: source) == text
    again = written(text, louder)
    assert '<par>Press <w:key code="&lt;"/> &amp; <w:b>höld</w:b> ït &nbsp;döwn.</par>' in again.replace(
        "Prëss", "Press"
    )
    assert units(again) == [louder(InlineText(unit)).text for unit in units(text)]


@pytest.mark.parametrize(
    ("text", "tags", "expected"),
    [
        ("Press <b>Stop</b>.", Tags(), ["Press Stop."]),
        ("<b>Press</b> <i>Stop</i>.", Tags(), ["Press Stop."]),
        ("<a>One</a> <a>Two</a>", Tags(), ["One Two"]),  # usually a link
        ("<q1>One</q1> <q1>Two</q1>", Tags(), ["One", "Two"]),
        # Next to text somewhere: inside of sentences everywhere.
        ("<d>See <u1>One</u1>.</d><d><u1>Two</u1> <u2>Three</u2></d>", Tags(), ["See One.", "Two", "Three"]),
        # A list in a paragraph is none of its words.
        ("<d>These: <l1><e>One</e><e>Two</e></l1></d>", Tags(), ["These:", "One", "Two"]),
        ("<d>These: <p>One</p> more</d>", Tags(), ["These:", "One", "more"]),
        ("<par>We had </par><par>a dog.</par>", Tags(non_splitting=names("par")), ["We had a dog."]),
        ("We had <b>a dog.</b>", Tags(splitting=names("b")), ["We had", "a dog."]),
        ("<t>One</t><t>Two</t>", Tags(outline=False), ["OneTwo"]),
        ("<t>One</t><s>Two</s>", Tags(outline=False, splitting=names("t")), ["One", "Two"]),
        ("One\n two", Tags(), ["One two"]),
        ("One\n two", Tags(lines=True), ["One\ntwo"]),
        ("a &lt; <![CDATA[b <i>]]><?p x?>", Tags(), ["a < b <i>"]),
        ("", Tags(), []),
        ("12 <b/> 3", Tags(), []),
    ],
)
def test_units(text: str, tags: Tags, expected: list[str]) -> None:
    assert units(text, tags) == expected
    assert written(text, lambda source: None, tags) == text


def test_what_is_ignored_is_seen_and_copied() -> None:
    tags = Tags(ignored=names("k"))
    text = 'Go to <k id="1">the <b>Help</b></k> page, <k id="2">One</k> or <k id="3">One</k>.'
    [unit] = parse(NAME, text.encode(), tags).units
    assert unit.source.text == "Go to the Help page, or ."
    assert [unit.source.text[begin:end] for begin, end in unit.source.protected] == ["the Help"]
    assert len(unit.source.codes) == 2  # those with the same text could be taken for each other
    assert '<k id="1">the <b>Help</b></k>' in written(text, louder, tags)
    hidden = Tags(ignored=names("k"), shown=False)
    assert units(text, hidden) == ["Go to page, or ."]


def test_a_translation_that_lost_what_it_was_to_copy_is_not_written() -> None:
    tags = Tags(ignored=names("k"))
    with pytest.raises(LostTags):
        written("Go to <k>Help</k> now", lambda source: InlineText("가세요"), tags)


def test_text_never_becomes_a_tag() -> None:
    found = written("a", lambda source: InlineText("<b> & ]]> \1 \ufffe"))
    assert found == "&lt;b&gt; &amp; ]]&gt;  "


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("<b>a</i>", "xml:1:7: not well-formed XML: mismatched tag"),
        ("a\n& b", "xml:2:2: not well-formed"),
        ("a &nbsp; b", "xml:1:3: not well-formed XML: undefined entity"),
        ("a <b>", "mismatched tag"),
        ("</_><_>", "xml:1:5: not well-formed XML: junk after document element"),
        ("a <?xml version='1.0'?>", "declaration not at start"),
        ("a \1", "xml:1:3: not well-formed"),
        ("<a x='1' x='2'/>", "duplicate attribute"),
        ("<a>" * 257 + "</a>" * 257, "more than 256 nested elements"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "declares the entity 'x', which is refused"),
        ('<!DOCTYPE a [<!ENTITY % x SYSTEM "file:///etc/passwd"> %x;]><a/>', "declares the entity 'x'"),
        ('<?xml version="1.0" encoding="UTF-8"?>', "no element found"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text: str, part: str) -> None:
    with pytest.raises(DataError) as error:
        units(text)
    assert part in str(error.value)


def _element(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    tag = st.sampled_from(("b", "p", "x", "n:y", "li"))
    attribute = st.sampled_from(("", ' id="1"', " a='&lt;>'"))
    return st.builds(
        lambda name, more, parts: f"<{name}{more}>{''.join(parts)}</{name}>", tag, attribute, st.lists(inside)
    )


_TEXT = st.sampled_from(
    ("Go on", " ", "a &amp; b ", "\n  ", "<!-- c -->", "<x/>", "<![CDATA[<d>]]>", "12", "&#44032;", ". ")
)
FRAGMENTS = st.lists(st.recursive(_TEXT, _element, max_leaves=12)).map("".join)
TAGS = st.builds(
    Tags,
    *[st.frozensets(st.sampled_from(("b", "x", "li", "n:y")), max_size=2)] * 3,
    outline=st.booleans(),
    lines=st.booleans(),
    shown=st.booleans(),
)  # fmt: skip


@pytest.mark.slow
@given(FRAGMENTS, TAGS)
def test_any_fragment_is_written_as_it_was_and_stays_well_formed(text: str, tags: Tags) -> None:
    assert written(text, lambda source: None, tags) == written(text, lambda source: source, tags) == text
    changed = written(text, louder, tags)
    around = f'<r xmlns:n="n">{changed}</r>'
    before, after = (ElementTree.fromstring(each) for each in (f'<r xmlns:n="n">{text}</r>', around))
    assert [(each.tag, each.attrib) for each in before.iter()] == [(each.tag, each.attrib) for each in after.iter()]
