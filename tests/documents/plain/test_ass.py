"""ASS and SSA: the text of the dialogue changes; tags, times, comments, drawings and karaoke stay."""

from pathlib import Path

import pytest

from documents.laws import hold_identity, opened, texts, translated, written
from documents.real import SAMPLES
from documents.splicing import check_laws
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

SAMPLE = SAMPLES / "film.ass"


def test_dialogue_is_text_and_the_rest_stays() -> None:
    _, units = opened(SAMPLE)
    assert [(unit.location, unit.source.text) for unit in units] == [
        ("line 12", "The dog, which is red, sees the cat."),
        ("line 13", "This sentence, which is long, goes over two events."),
        ("line 15", "- Who?\n- The cat!"),
    ]
    assert [code.kind for code in units[0].source.codes] == ["open", "close"]
    assert hold_identity(SAMPLE) == 3
    check_laws(SAMPLE)
    new = translated(SAMPLE, [None, "이 긴 문장은 두 사건에 걸쳐 있다.", "- 누구?\n- {고양이}!"])
    expected = SAMPLE.read_text().replace("- Who?\\N- The\\hcat!", "- 누구?\\N- (고양이)!")
    first, second = new.splitlines()[12].split(",")[-1], new.splitlines()[13].split(",")[-1]
    assert f"{first} {second}" == "이 긴 문장은 두 사건에 걸쳐 있다."
    expected = expected.replace("goes over two events.", second)
    assert new == expected.replace(",,This sentence, which is long,", f",,{first}")


def test_two_lines_stay_two_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.ssa"
    path.write_bytes(
        b"[Events]\r\nFormat: Marked, Start, End, Text\r\nDialogue: Marked=0,0:00:01.00,0:00:02.00,One,\\Ntwo.\r\n"
    )
    assert texts(path) == ["One, two."]
    document, _ = opened(path)
    new = written(document, [InlineText("a sentence that is as long as two lines of a film, and more.")]).decode()
    assert new.count("\\N") == 1
    assert new.endswith("\r\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no .Events."),
        (b"1\n00:00:01,000 --> 00:00:02,000\nText\n", "has no .Events."),
        (b"[Events]\nDialogue: \xb0\xa1", "is not UTF-8"),
    ],
)
def test_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.ass"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        opened(path)


def test_a_truncated_line_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.ass"
    path.write_bytes(SAMPLE.read_bytes() + b"Dialogue: 0,0:00:0")
    assert hold_identity(path) == 3


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a {\\b1}b {\\i1}c{\\i0} d{\\b0} e", ["open", "open", "close", "close"]),
        ("a {\\i1}b c", ["alone"]),
        ("a {\\i1}b {\\b1}c{\\i0} d{\\b0} e", ["alone"] * 4),
        ("a {\\i0}b {\\pos(1,2)}c", ["alone", "alone"]),
    ],
)
def test_a_style_that_begins_and_ends_is_a_span(tmp_path: Path, text: str, kinds: list[str]) -> None:
    path = tmp_path / "a.ass"
    path.write_text(f"[Events]\nFormat: Start, End, Text\nDialogue: 0:00:01.00,0:00:02.00,{text}\n")
    [unit] = opened(path)[1]
    assert [code.kind for code in unit.source.codes] == kinds


def test_speakers_have_lines_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "a.ass"
    path.write_text("[Events]\nFormat: Start, End, Text\nDialogue: 0:00:01.00,0:00:02.00,-Yes.\\N-No.\n")
    document, units = opened(path)
    assert [unit.source.text for unit in units] == ["-Yes.\n-No."]
    assert "-예.\\N-아니요." in written(document, [InlineText("-예.\n-아니요.")]).decode()
