"""`.resx`: strings change; pictures, names of controls, locked strings and everything else stay."""

from pathlib import Path

import pytest

from documents.laws import hold_identity, hold_reading_again, opened, translated
from documents.real import SAMPLES
from dragoman.errors import DataError

SAMPLE = SAMPLES / "Strings.resx"


def test_strings_are_text_and_the_rest_stays(tmp_path: Path) -> None:
    _, units = opened(SAMPLE)
    assert [(unit.location, unit.source.text, unit.max_length) for unit in units] == [
        ("Greeting", "Hello {0}, the dog & the cat\nare here", 40),
        ("open.Text", "Open", None),
    ]
    assert hold_identity(SAMPLE) == 2
    hold_reading_again(SAMPLE, tmp_path, tail=" \\ <done>")
    expected = SAMPLE.read_text().replace("Hello {0}, the dog &amp; the cat\nare here", "{0} &amp; &lt;나&gt;\n다")
    assert translated(SAMPLE, ["{0} & <나>\n다", "열기"]) == expected.replace("&amp;Open", "열기(&amp;O)")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<other/>", "no resources of .NET, but <other>"),
        ("", "is empty|not well-formed"),
        ("<root><data", r"a\.resx:1:\d+: not well-formed"),
        (b"<root>\xb0\xa1</root>", "is not UTF-8"),
        ('<!DOCTYPE root [<!ENTITY a "b">]><root/>', "entit"),
    ],
)
def test_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "a.resx"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError, match=message):
        opened(path)


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        ("Line one&#xD;&#xA;Line two", "Line one\nLine two", "LINE ONE&#xD;&#xA;LINE TWO"),
        ("Line one&#10;&#10;Line two", "Line one\nLine two", "LINE ONE&#10;&#10;LINE TWO"),
        ("Usage:\n  -a   all\r\n    -b both", "Usage:\n-a   all\n-b both", "USAGE:\n  -A   ALL\r\n    -B BOTH"),
        ("Name:    {0}\ttab&#9;&amp;", "Name:    {0}\ttab\t&", "NAME:    {0}\tTAB\t&amp;"),
        ("<![CDATA[One & <b>\nTwo\n  three]]>", "One & <b>\nTwo\nthree", "ONE &amp; &lt;B&gt;\nTWO\n  THREE"),
        ("Or <![CDATA[\n  one\n two]]>\n three", "Or\none\ntwo\nthree", "OR\n  ONE\n TWO\n THREE"),
        ("Or <![CDATA[ one  ]]>two", "Or  one  two", "OR  ONE  TWO"),
    ],
)
def test_lines_and_columns_stay(value: str, text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "a.resx"
    path.write_bytes(f'<root><data name="a" xml:space="preserve"><value>{value}</value></data></root>'.encode())
    hold_identity(path)
    assert [unit.source.text for unit in opened(path)[1]] == [text]
    assert f"<value>{expected}</value>" in translated(path, [text.upper()])
