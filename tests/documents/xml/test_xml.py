"""XML is read without entities and network, and comes back as it was."""

import pytest

pytest.importorskip("lxml")

from dragoman.documents.xml.text import escape
from dragoman.documents.xml.xml import parse_xml, serialise_xml
from dragoman.errors import DataError

SAME = [
    b"<?xml version='1.0' encoding='UTF-8'?>\n<!-- a --><r a='1'/>\n<!-- b -->\n".replace(b"'1'", b'"1"'),
    b'\xef\xbb\xbf<?xml version="1.0" standalone="yes"?>\r\n<r>\r\n<a>x</a>\r\n</r>',
    '<?xml version="1.0" encoding="UTF-16"?>\n<r>한국어</r>\n'.encode("utf-16"),
    '<?xml version="1.0" encoding="EUC-KR"?>\n<r>한국어</r>\n'.encode("euc-kr"),
    b'<!DOCTYPE r SYSTEM "http://127.0.0.1:9/none.dtd">\n<r>a&nbsp;b<![CDATA[<c>]]></r>',
]


@pytest.mark.parametrize("content", SAME)
def test_what_nobody_changed_comes_back(content: bytes) -> None:
    assert serialise_xml(parse_xml("a.xml", content)) == content


def test_a_character_that_the_encoding_lacks_becomes_a_reference() -> None:
    xml = parse_xml("a.xml", b'<?xml version="1.0" encoding="ISO-8859-1"?><r>a</r>')
    xml.root.text = "é가"
    assert serialise_xml(xml) == b'<?xml version="1.0" encoding="ISO-8859-1"?><r>\xe9&#44032;</r>'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<r>\n<a></r>", "a.xml:2:6: not well-formed"),
        (b"", "a.xml:1:1: not well-formed"),
        (b"<r><x:a/></r>", "Namespace prefix x"),
        (b"<r>&nbsp;</r>", "undefined entity"),
        (b'<!DOCTYPE r [<!ENTITY a "b">]>\n<r>&a;</r>', "a.xml:1: declares the entity 'a'"),
        (b'<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/hostname">]>\n<r>&a;</r>', "declares the entity 'a'"),
        (b'<!DOCTYPE r [<!ENTITY % d SYSTEM "http://127.0.0.1:9/a.dtd"> %d;]>\n<r/>', "declares the entity 'd'"),
        (b"<a>" * 300 + b"</a>" * 300, "more than 256 nested elements"),
        (b'<?xml version="1.0" encoding="zip"?><r/>', "encoding zip is unknown"),
        (b"<r>\n\xff</r>", "a.xml:2: byte 4 is not UTF-8"),
    ],
)
def test_refused_with_the_location(content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=r"^a\.xml") as error:
        parse_xml("a.xml", content)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_escaped_text_is_read_as_the_same_text() -> None:
    for text in ("a<b>&amp;\r\n\t\"'", "]]>", "가\U0001f600"):
        for encoding in ("utf-8", "ascii"):
            content = f'<r a="{escape(text, encoding, chr(34))}">{escape(text, encoding)}</r>'.encode(encoding)
            root = parse_xml("a.xml", content).root
            assert root.get("a") == text
            assert root.text == text
