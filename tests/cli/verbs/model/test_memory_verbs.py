"""`dragoman memory`, and `dragoman translate --memory`."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "m.tsv"
    path.write_text("the red dog\tder ROTE Hund\n")
    return path


def test_add_stats_export_and_translate(dragoman: Any, model: Path, tmp_path: Path, table: Path) -> None:
    memory = tmp_path / "m.db"
    assert "1  new in" in dragoman("memory", "add", memory, table, "--from", "en", "--to", "de").err
    assert dragoman("memory", "stats", memory).out.startswith("en → de  1 unit, added ")
    stats = json.loads(dragoman("memory", "stats", memory, "--json").out)
    assert [(one["source"], one["target"], one["units"]) for one in stats["pairs"]] == [("en", "de", 1)]
    assert dragoman("memory", "export", memory, "-o", tmp_path / "m.tmx").code == 0
    lines = tmp_path / "lines.txt"
    lines.write_text("the red dog\nthe dog\n")
    for each in (memory, tmp_path / "m.tmx", table):
        result = dragoman("translate", "-m", model, "-i", lines, "--memory", each)
        assert result.out.splitlines()[0] == "der ROTE Hund"
        assert f"from {each}: 1 line" in result.err
    result = dragoman("translate", "-m", model, lines, "-o", tmp_path / "out.txt", "--memory", memory)
    assert f"from {memory}: 1 text" in result.err
    assert (tmp_path / "out.txt").read_text().startswith("der ROTE Hund\n")
    records = dragoman(
        "translate", "-m", model, "the red dog", "the dog", "--memory", memory, "--json"
    ).out.splitlines()
    assert [json.loads(record).get("match") for record in records] == [100, None]


def test_bad_input_is_one_line(dragoman: Any, model: Path, tmp_path: Path, table: Path) -> None:
    missing = dragoman("translate", "-m", model, "the dog", "--memory", tmp_path / "no.tmx").refused(2)
    assert missing == f"{tmp_path}/no.tmx: no such file; give a memory: .db, .tmx, .tsv, .po or .xliff"
    assert "not a translation memory" in dragoman("memory", "stats", table).refused(3)
    assert "no such file" in dragoman("memory", "stats", tmp_path / "no.db").refused(2)
    assert "no such file" in dragoman(
        "memory", "add", tmp_path / "m.db", tmp_path / "x.tsv", "--from", "en", "--to", "de"
    ).refused(3)
    assert not (tmp_path / "m.db").exists()
    (tmp_path / "empty.tsv").touch()
    (tmp_path / "other.jsonl").write_text('{"a": 1}\n')
    for name, part in (("empty.tsv", "nothing from en into de; give a file"), ("other.jsonl", '"source" and "target"')):
        complaint = dragoman("memory", "add", tmp_path / "m.db", tmp_path / name, "--from", "en", "--to", "de").refused(
            3
        )
        assert part in complaint
    same = dragoman("translate", "-m", model, "-i", table, "-o", table, "--memory", table)
    assert same.code == 2
    assert table.read_text() == "the red dog\tder ROTE Hund\n"
