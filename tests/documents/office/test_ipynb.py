"""Jupyter notebooks: Markdown cells change as Markdown files do, code and outputs stay byte for byte."""

import json
from pathlib import Path

import pytest

pytest.importorskip("lxml")

from documents.laws import hold_identity, opened, translated
from documents.real import SAMPLES
from documents.splicing import check_changed, check_laws
from dragoman.errors import DataError

SAMPLE = SAMPLES / "tour.ipynb"


def test_markdown_cells_are_translated_and_the_rest_stays(tmp_path: Path) -> None:
    _, units = opened(SAMPLE)
    assert [(unit.location, unit.source.text) for unit in units] == [
        ("cell 1, line 1", "A small tour"),
        ("cell 1, line 3", "The dog sees `x`, and $a < b$ holds."),
        ("cell 3, line 1", "The end."),
    ]
    assert hold_identity(SAMPLE) == 3
    check_changed(check_laws(SAMPLE), tmp_path)
    new = translated(SAMPLE, ["작은 여행", None, '끝 "\\" *.'])
    expected = SAMPLE.read_text().replace("A small tour", "작은 여행")
    assert new == expected.replace('"The end."', json.dumps('끝 "\\\\" \\*.', ensure_ascii=False))


@pytest.mark.parametrize("version", ["cells", "worksheets"])
def test_other_ways_to_write_a_notebook(tmp_path: Path, version: str) -> None:
    path = tmp_path / "a.ipynb"
    cells = [{"cell_type": "markdown", "source": ["The dog\n", "sees.\n", "\n", "- one\n", "- two"]}]
    data = {"cells": cells} if version == "cells" else {"worksheets": [{"cells": cells}]}
    path.write_text(json.dumps(data), encoding="utf-8")
    assert [unit.source.text for unit in opened(path)[1]] == ["The dog sees.", "one", "two"]
    new = json.loads(translated(path, ["가", None, "다"]))
    (cell,) = new["cells"] if version == "cells" else new["worksheets"][0]["cells"]
    assert cell["source"] == ["가\n", "\n", "- one\n", "- 다"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected a value"),
        ("{}", "no Jupyter notebook"),
        ('{"cells": [', r"a\.ipynb:1"),
        (b'{"cells": ["\xb0\xa1"]}', "is not UTF-8"),
        ('{"cells":' + "[" * 300, "nested more than"),
    ],
)
def test_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "a.ipynb"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError, match=message):
        opened(path)
