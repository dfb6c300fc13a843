"""A text as lines: nothing but the words changes."""

from hypothesis import given
from hypothesis import strategies as st

from dragoman.serve.work.text import TextLines


@given(st.text(st.sampled_from("ab \t\n\r\x0b\u2028가\u00a0."), max_size=40))
def test_the_lines_joined_again_are_the_text(text):
    lines = TextLines.of(text)
    assert lines.joined(lines.texts) == text
    assert all(line == line.strip() and line for line in lines.texts)
    assert lines.joined("x" for _ in lines.texts).count("x") == len(lines.texts)
