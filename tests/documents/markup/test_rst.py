"""reStructuredText: what is written is the same tree with other text; nothing is included and no raw text is read."""

from dataclasses import replace
from pathlib import Path

import pytest

from documents.real import needs_data, real
from documents.splicing import check_laws, louder, opened, replaced, texts, written
from dragoman.text.words.inline import Code, InlineText

PAGE = """\
=====
Title
=====

A paragraph with *soft*, **bold**, ``code`` and :ref:`a role`,
a `link text <http://x.y>`_ and a name_.

1. First item
   over two lines.
2. Second item

.. note:: Read this.

   And this.

.. include:: /etc/hostname

.. raw:: html

   <b>raw</b>

.. code-block:: python

   print("no text")

Next
----

A paragraph.

.. _name: http://a.b

Term
   Its meaning.
"""


def test_what_is_text_and_what_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.rst"
    path.write_text(PAGE)
    document = check_laws(path)
    assert texts(document) == [
        "Title",
        "A paragraph with soft, bold, ``code`` and :ref:`a role`, a link text and a name_.",
        "First item over two lines.",
        "Second item",
        "Read this.",
        "And this.",
        "Next",
        "A paragraph.",
        "Term",
        "Its meaning.",
    ]
    assert document.notices == ()


def test_lines_of_titles_are_as_wide_as_these(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.rst", PAGE)
    result = replaced(document, {"Title": "긴 제목입니다", "Next": "다음 장"}).decode()
    assert result.startswith("=============\n긴 제목입니다\n=============\n")
    assert "\n다음 장\n-------\n" in result
    assert document.remarks == []


def test_markup_next_to_letters_is_set_apart(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.rst", "Open the *file* now.\n")
    (unit,) = document.units
    names = [code.name for code in unit.source.codes]
    new = InlineText("지금 파일을 여세요", (Code(3, "open", names[0]), Code(5, "close", names[1])))
    assert written(document, lambda _: new).decode() == "지금 *파일*\\ 을 여세요\n"


@pytest.mark.parametrize("text", ["- no list", "a *b* `c` |d| e_ ", "1. no list", ".. no directive::", "::", "\\"])
def test_text_that_looks_like_markup_stays_text(tmp_path: Path, text: str) -> None:
    document = opened(tmp_path / "a.rst", "Some text here.\n\nMore.\n")
    result = written(document, lambda each: InlineText(text + " word") if each.text[0] == "S" else None)
    again = opened(tmp_path / "b.rst", result)
    assert texts(again)[0].split() == (text + " word").split() or document.remarks


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("path", real("rst"), ids=lambda path: path.name)
def test_pages_of_other_people(tmp_path: Path, path: Path) -> None:
    document = check_laws(path)
    again = opened(tmp_path / path.name, written(document, louder))
    assert len(texts(again)) == len(texts(document))


def test_links_may_have_the_same_text_unless_something_refers_to_them(tmp_path: Path) -> None:
    page = (
        "Open `this page <a.html>`_ now.\n\nOpen `that page <b.html>`_ now.\n\n"
        "See `a name <c.html>`_ and `a name`_ too.\n"
    )
    document = opened(tmp_path / "a.rst", page)
    first, _, last = (unit.source for unit in document.units)
    codes = tuple(replace(code, position=0 if code.kind == "open" else 2) for code in first.codes)
    result = written(document, lambda text: last if text == last else InlineText("이것 열기", codes)).decode()
    assert "`이것 <a.html>`__ 열기\n\n`이것 <b.html>`__ 열기\n" in result
    assert "`a name <c.html>`_ and `a name`_" in result
    assert not document.remarks


def test_a_doctest_is_code(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.rst", "Text.\n\n>>> greet('Ann')\n'Hello Ann'\n\nMore.\n")
    assert texts(document) == ["Text.", "More."]


def test_the_first_cell_of_a_row_of_a_list_table_is_text(tmp_path: Path) -> None:
    page = ".. list-table::\n\n   * - Head one\n     - Head two\n   * - cell one\n     - cell two\n"
    document = check_laws(opened(tmp_path / "a.rst", page).path)
    assert texts(document) == ["Head one", "Head two", "cell one", "cell two"]
    assert document.notices == ()
