"""Subtitles: times, settings and remarks stay byte for byte; a sentence over several cues is one unit."""

import codecs
import re
from dataclasses import replace
from pathlib import Path

import pytest

from documents.real import needs_data, real
from documents.splicing import REQUEST, check_changed, check_laws, louder, opened, replaced, texts, written
from dragoman.documents import Document, DocumentOptions
from dragoman.documents.plain.subtitles import divided, limits_of, width, wrapped
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

SRT = """1
00:00:01,000 --> 00:00:03,000  X1:1 X2:2
Once upon a time
there was <i>a</i> king,

2
00:00:03,100 --> 00:00:05,000
who had no crown,

3
00:00:05,200 --> 00:00:07,000
but a dog.

4
00:00:07,000 --> 00:00:06,000
- Who?
- {\\an8}He.

00:00:08.0 --> 00:00:09.0

♪ 12 ♪
"""
VTT = """WEBVTT - a title
Kind: captions

STYLE
::cue { color: red }

NOTE a remark
00:00:00.000 --> 00:00:01.000 is no time

id-1
00:01.000 --> 00:03.000 line:0 align:start
<v Ann>Tom &amp; I <c.loud>love</c> <00:02.000>tea.

00:03.000 --> 00:05.000
<v Ann>It is hot

00:05.000 --> 00:07.000
<v Ann>and sweet.

00:07.000 --> 00:08.000
<v Bob>Yes, but
it was late

00:07.000 --> 00:08.000
<v Ann>yesterday.
"""


def lines_that_stay(content: str) -> list[str]:
    """Everything that is no text of a cue, found line by line."""
    return [line for line in content.splitlines() if not line or "-->" in line or line.isdigit()]


def everything(document: Document, change: bool = False) -> str:
    return "".join("".join(louder(u.source).text if change else u.source.text for u in document.units).split())


def test_a_sentence_over_several_cues_is_one_unit(tmp_path: Path) -> None:
    path = tmp_path / "a.srt"
    path.write_text(SRT)
    document = check_laws(path)
    # The first cue has a tag in its sentence, so that it is a unit by itself.
    assert texts(document) == ["Once upon a time there was a king,", "who had no crown, but a dog.", "Who?\nHe."]
    assert [unit.location for unit in document.units] == ["line 3", "line 8", "line 16"]
    new = {
        "who had no crown, but a dog.": "그는 왕관이 없었지만, 개는 있었습니다.",
        "Who?\nHe.": "누구?\n그.",
    }
    result = replaced(document, new).decode()
    assert "\n그는 왕관이 없었지만,\n\n3\n" in result
    assert "\n개는 있었습니다.\n\n4\n" in result
    assert "- 누구?\n- {\\an8}그.\n" in result or "- 누구?\n{\\an8}- 그.\n" in result
    assert lines_that_stay(result) == lines_that_stay(SRT)


def test_webvtt_keeps_its_header_styles_remarks_and_settings(tmp_path: Path) -> None:
    path = tmp_path / "a.vtt"
    path.write_text(VTT)
    document = check_laws(path)
    assert texts(document) == ["Tom & I love tea.", "It is hot and sweet.", "Yes, but it was late", "yesterday."]
    check_changed(document, tmp_path)
    result = written(document, lambda text: InlineText("1 < 2 & <b> --> 그래", text.codes)).decode()
    assert result.count("-->") == VTT.count("-->")
    assert "<b>" not in result
    assert set(re.findall(r"<[^>]*>", result)) == set(re.findall(r"<[^>]*>", VTT))


@pytest.mark.parametrize("mark", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, b""])
def test_marks_encodings_and_line_ends_stay(tmp_path: Path, mark: bytes) -> None:
    path = tmp_path / "a.srt"
    encoding = "utf-16-le" if len(mark) == 2 else "utf-8"
    path.write_bytes(mark + SRT.replace("\n", "\r\n").encode(encoding))
    document = check_laws(path)
    result = replaced(document, {"who had no crown, but a dog.": "그는 왕관이 없었지만 개는 한 마리가 있었습니다."})
    assert result.startswith(mark)
    assert "\n" not in result[len(mark) :].decode(encoding).replace("\r\n", "")


def test_a_translation_is_no_tag(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.srt", "1\n00:00:01,000 --> 00:00:02,000\nText.\n")
    result = written(document, lambda _: InlineText("a <b>b</b> {\\an8} --> <3 c")).decode()
    assert "<b>" not in result
    assert "{\\" not in result
    assert result.count("-->") == 1


def test_lines_are_broken_as_the_language_does_and_hard_ones_are_listed(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.srt", "1\n00:00:01,000 --> 00:00:02,000\nA short line.\n")
    (unit,) = document.units
    assert unit.max_length == 32
    result = written(
        document, lambda _: InlineText("이 번역은 원문보다 훨씬 깁니다, 그래서 두 줄로 나뉩니다.")
    ).decode()
    lines = result.splitlines()[2:]
    assert lines == ["이 번역은 원문보다 훨씬 깁니다,", "그래서 두 줄로 나뉩니다."]
    assert [remark.split(":")[0] for remark in document.remarks] == ["line 3"]
    assert "characters per second, where 12 are usual" in document.remarks[0]


def test_parts_have_words_and_are_all_of_the_text() -> None:
    korean, japanese = limits_of("ko-KR"), limits_of("ja")
    text = "하나 둘, 셋 넷 다섯."
    for parts in range(1, 6):
        found = divided(text, [1] * parts, korean)
        assert found is not None
        assert " ".join(found) == text
        assert all(found)
    assert divided(text, [1] * 6, korean) is None
    assert divided("彼は王冠を、持っていなかった。", [1, 1], japanese) == ["彼は王冠を、", "持っていなかった。"]
    assert width("abc 가", korean) == 3
    assert wrapped("짧다", 2, korean) == ["짧다"]


def test_a_text_with_fewer_words_than_cues_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.srt"
    path.write_text("1\n00:00:01,000 --> 00:00:02,000\nNot\n\n2\n00:00:02,000 --> 00:00:03,000\nhere.\n")
    document = check_laws(path)
    assert written(document, lambda _: InlineText("아니.")) == path.read_bytes()
    assert document.remarks == ["line 3: the translation has fewer words than cues and stays untranslated"]


def test_without_full_stops_each_cue_is_its_own(tmp_path: Path) -> None:
    cues = "".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n말이 있다\n\n" for n in range(1, 6))
    assert texts(opened(tmp_path / "a.srt", cues, DocumentOptions("ko", "en"))) == ["말이 있다"] * 5


@pytest.mark.parametrize(
    ("name", "content"), [("a.vtt", "00:01.000 --> 00:02.000\nx\n"), ("a.srt", "no times\n"), ("a.srt", "")]
)
def test_another_format_is_refused(tmp_path: Path, name: str, content: str) -> None:
    with pytest.raises(DataError, match="another format"):
        opened(tmp_path / name, content)


@needs_data
@pytest.mark.parametrize(
    "path",
    real("srt") + real("vtt") + [p for p in real("hostile") if p.suffix in (".srt", ".vtt")],
    ids=lambda p: p.name,
)
def test_subtitles_of_other_people(tmp_path: Path, path: Path) -> None:
    if path.name in ("invalid-utf8.srt", "missing-header.vtt"):
        with pytest.raises(DataError, match=r":[13]: "):
            opened(path)
        return
    document = check_laws(path)
    new = tmp_path / path.name
    again = opened(new, written(document, louder), REQUEST)
    assert everything(again) == everything(document, change=True)
    encoding = document.skeleton[0].encoding
    assert lines_that_stay(new.read_bytes().decode(encoding)) == lines_that_stay(path.read_bytes().decode(encoding))


def test_limits_are_those_of_the_language_by_each_of_its_tags() -> None:
    for tags in ("zh zh-Hant zh_TW cmn", "ko kor ko-KR", "no nb nn", "he iw", "id in", "pt pt-BR", "sr sr-Latn"):
        assert len({limits_of(tag) for tag in tags.split()}) == 1
    assert limits_of("zh-TW") != limits_of("nb")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("- Yes.\n- No.", ["Yes.\nNo."]),
        ("-Yes.\n\u2013 No.", ["Yes.\nNo."]),
        ("\u2014Yes.", ["Yes."]),
        ("\u266a Close the window \u266a", ["Close the window"]),
        ("\u266b Close it \u266b\n\u266b Open it \u266b", ["Close it\nOpen it"]),
        ("<i>- Yes.</i>\n<i>- No.</i>", ["Yes.\nNo."]),
        (">> Hello.\n>> Hi.", ["Hello.\nHi."]),
        ("It is\n-5 degrees.", ["It is\n-5 degrees."]),
    ],
)
def test_marks_of_speakers_and_songs_are_no_text(tmp_path: Path, lines: str, expected: list[str]) -> None:
    path = tmp_path / "a.srt"
    path.write_text(f"1\n00:00:01,000 --> 00:00:02,500\n{lines}\n", encoding="utf-8")
    document = check_laws(path)
    assert texts(document) == expected
    result = written(document, lambda text: replace(text, text=text.text.replace("o", "0"))).decode()
    assert result == path.read_text(encoding="utf-8").replace("o", "0")
