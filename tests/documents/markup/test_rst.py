"""reStructuredText: what is written is the same tree with other text; nothing is included and no raw text is read."""

from dataclasses import replace
from pathlib import Path

import pytest
from docutils import nodes
from docutils.core import publish_doctree

from documents.real import needs_data, real
from documents.splicing import check_laws, louder, opened, replaced, texts, written
from dragoman.text.words.inline import Code, InlineText

QUIET = {"report_level": 5, "halt_level": 6, "warning_stream": False}
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


SPHINX = """\
.. versionadded:: 2.0
   Below the version.

.. versionchanged:: 2.1 Behind the *version*
   over two lines.

   In the content.

.. deprecated-removed:: 3.1 3.5
   Behind two versions.

.. seealso:: In the first line.

.. only:: html and not man

   Of a condition.

   A title
   =======

   Of a section.

.. glossary::
   :sorted:

   first term
   second term
      Of both terms.

   third term
      Of the last.

.. py:function:: move(a, b)
                 move(c)
   :noindex:

   Of a function.

   :param a: Of a parameter.
   :type a: list of names
   :rtype: some name

   .. note:: Inside of it.

.. class:: Dog(name)

   Of a class.

.. tab-set::

   .. tab-item:: Of a tab
      :sync: key

      Inside of a tab.
"""


def test_directives_of_sphinx_hold_text(tmp_path: Path) -> None:
    path = tmp_path / "a.rst"
    path.write_text(SPHINX)
    document = check_laws(path)
    expected = [
        "Below the version.",
        "Behind the version over two lines.",
        "In the content.",
        "Behind two versions.",
        "In the first line.",
        "Of a condition.",
        "A title",
        "Of a section.",
        "Of both terms.",
        "Of the last.",
        "Of a function.",
        "Of a parameter.",
        "Inside of it.",
        "Of a class.",
        "Of a tab",
        "Inside of a tab.",
    ]
    assert texts(document) == expected
    assert document.notices == ()
    result = replaced(document, {"A title": "A longer title", "Below the version.": "Unter ihr."}).decode()
    expected_page = SPHINX.replace("   A title\n   =======\n", "   A longer title\n   ==============\n")
    assert result == expected_page.replace("Below the version.", "Unter ihr.")
    assert document.remarks == []


def test_directives_that_are_not_known_are_named(tmp_path: Path) -> None:
    page = (
        ".. strange:: x\n\n   Some words.\n\n.. toctree::\n\n   A page <a>\n\n.. empty:: y\n   :option: words\n\n"
        ".. code-block:: c\n   :strange: 1\n\n   int x;\n"
    )
    document = check_laws(opened(tmp_path / "a.rst", page).path)
    assert document.notices == ("the content of directives that are not known stays untranslated: strange",)


def test_nothing_is_registered_in_docutils(tmp_path: Path) -> None:
    opened(tmp_path / "a.rst", SPHINX)
    tree = publish_doctree(".. only:: html\n\n   Text.\n\n* - .. seealso:: More.\n", settings_overrides=QUIET)
    assert "Unknown directive type" in tree.astext()
    assert not list(tree.findall(nodes.container))


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("+------+-------+\n| Flag | Value |\n+------+-------+\n| on   | two   |\n+------+-------+\n", []),
        ("====== =======\nFlag   Value\n====== =======\non     off\n====== =======\n", []),
        ("========= ========\n``on``    The text\n          goes on.\n2         More.\n========= ========\n",
         ["The text goes on.", "More."]),
        (".. csv-table::\n\n   Value, on\n", []),
        (".. list-table::\n\n   * - Value\n     - - A list\n\n       After it\n", ["Value", "A list", "After it"]),
    ],
)  # fmt: skip
def test_a_cell_is_not_sought_in_other_lines(tmp_path: Path, table: str, expected: list[str]) -> None:
    path = tmp_path / "a.rst"
    path.write_text(f"{table}\nFirst.\n\nSecond.\n\nBy default it is on\n\n- Value\n- Head value\n- off\n")
    document = check_laws(path)
    assert texts(document) == [*expected, "First.", "Second.", "By default it is on", "Value", "Head value", "off"]


@pytest.mark.parametrize(
    "page",
    [
        "1) Text\n",
        "(iv) Text\n(v) Text\n",
        "* - + Text\n",
        ":A field: - Text\n",
        ":param x: Text\n",
        "-f FILE, --file=FILE  Text\n",
        "  Quote\n\n  -- Text\n",
        ".. [#note] Text\n",
        "| Text\n",
        "- .. note:: Text\n",
        ".. |name| replace:: Text\n",
        "One\x0c\n\nTwo\u2028three\r\n\r\nText\r\n",
        ".. sidebar:: Title\n   :subtitle: Text\n\n   More.\n",
    ],
)
def test_a_text_is_behind_the_signs_of_its_line(tmp_path: Path, page: str) -> None:
    document = opened(tmp_path / "a.rst", page)
    assert "Text" in texts(document)
    assert replaced(document, {"Text": "Word"}).decode() == page.replace("Text", "Word")
    assert document.notices == ()


def test_a_path_of_a_substitution_is_no_text(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.rst", ".. |dog| image:: a/red/dog.png\n.. |cat| unicode:: 0x2665\n")
    assert texts(document) == []
    assert document.notices == ()


def test_texts_of_links_may_become_equal(tmp_path: Path) -> None:
    page = (
        "Title\n=====\n\nRead `here <http://a>`_ first.\n\nThen `here <http://b>`_ too.\n\n"
        "- `Overview <c.html>`_\n- `Summary <d.html>`_\n- `Name <e.html>`_\n\nSee `Name`_ too.\n\nOther\n=====\n"
    )
    document = opened(tmp_path / "a.rst", page)
    new = {"Title": "개요", "Other": "개요", "Overview": "개요", "Summary": "개요", "Then here too.": "then HERE too."}
    result = replaced(document, new | {"Read here first.": "read here first."}).decode()
    assert result == (
        "개요\n====\n\nread `here <http://a>`__ first.\n\nthen `HERE <http://b>`__ too.\n\n"
        "- `개요 <c.html>`__\n- `개요 <d.html>`__\n- `Name <e.html>`_\n\nSee `Name`_ too.\n\n개요\n====\n"
    )
    assert document.remarks == []
