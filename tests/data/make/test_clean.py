"""Cleaning: what is kept and what is rejected make up the input, in order, for any number of processes."""

import gzip
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.data.check.check import check_data
from dragoman.data.corpus import block_reader as blocks_module
from dragoman.data.corpus import pair_block as block_module
from dragoman.data.corpus.seen_hashes import SeenHashes
from dragoman.data.make import clean as clean_module
from dragoman.errors import ConfigError, DataError, DragomanError
from dragoman.text.words.normalise import folded

WORDS = "ship harbour captain letter river market winter bridge garden window doctor island".split()
FAULTS: dict[str, tuple[Any, Any]] = {
    "empty": ("", "nothing here to translate"),
    "bad_bytes": (b"caf\xe9 au lait", "coffee"),
    "numbers": ("der 17. Brief an die Insel", "letter 18 to the island"),
    "urls": ("siehe http://a.org/x im Garten", "see http://b.org/y in the garden"),
    "placeholders": ("Hallo {name}, wie geht es", "hello {place}, how are you"),
    "entities": ("Haus &amp; Garten im Winter", "house and garden in winter"),
    "mojibake": ("das CafÃ© am Fluss im Winter", "the café by the river in winter"),
    "control": ("eine Glocke\x07 am Hafen", "a bell at the harbour"),
    "zero_width": ("ein\u200b Brief an den Kapitän", "a letter to the captain"),
    "copies": ("the captain of the ship", "the captain of the ship"),
    "length_ratio": (
        "Winter",
        "the doctor of the island wrote a long letter to the captain of the ship in the harbour",
    ),
    "script": ("섬의 의사가 편지를 썼다", "the doctor of the island wrote a letter"),
    "too_long": ("Brief " * 60, "letter " * 60),
}
KEYS = ["data.clean.too_long=300", "data.clean.language=0"]


def pairs(count: int = 300) -> list[tuple[Any, Any]]:
    draw = random.Random(5)
    good = [" ".join(draw.choices(WORDS, k=8)) for _ in range(count)]
    found: list[tuple[Any, Any]] = [(f"Der {text}.", f"The {text}.") for text in good]
    for fault in FAULTS.values():
        found.insert(draw.randrange(len(found)), fault)
    found += [(source.upper() + " ", target) for source, target in found[::30] if str(source).startswith("Der ")]
    return found


def project(folder: Path, lines: list[tuple[Any, Any]]) -> tuple[Path, Path, Path]:
    folder.mkdir(exist_ok=True)
    for side, name in enumerate(("all.de", "all.en")):
        texts = (line[side] if isinstance(line[side], bytes) else line[side].encode() for line in lines)
        (folder / name).write_bytes(b"".join(text + b"\n" for text in texts))
    (folder / "run.toml").write_text(
        'project = {name = "toy", source = "de", target = "en"}\n[data]\n'
        'train = [{source = "train.de", target = "train.en"}]\nvalid = {source = "valid.de", target = "valid.en"}\n',
        encoding="utf-8",
    )
    return folder / "run.toml", folder / "all.de", folder / "all.en"


def clean(folder: Path, given: tuple[Path, ...], keys: list[str] = KEYS, out: str = "clean", **options: Any) -> Any:
    config, *files = given
    return dragoman.clean_data(dragoman.load_config(config, keys), *files, output=folder / out, **options)


def rejects(result: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.rejects.read_text(encoding="utf-8").splitlines()]


def kept(result: Any) -> list[tuple[str, str]]:
    return list(zip(*(path.read_text(encoding="utf-8").split("\n")[:-1] for path in result.files), strict=True))


def test_each_fault_is_removed_and_named_and_the_rest_is_kept_in_order(tmp_path: Path) -> None:
    lines = pairs()
    result = clean(tmp_path, project(tmp_path, lines))
    planted = {n + 1: name for name, fault in FAULTS.items() for n, line in enumerate(lines) if line == fault}
    found = {each["line"]: each["reasons"] for each in rejects(result)}
    for line, name in planted.items():
        assert name in found[line]
    seen: set[tuple[str, str]] = set()
    expected = []
    for number, (source, target) in enumerate(lines, 1):
        key = (folded(source), folded(target)) if isinstance(source, str) else ("", "")
        if number in planted:
            continue
        assert (number in found) == (key in seen)
        if key in seen:
            assert found[number] == ["duplicate"]
        else:
            expected.append((source, target))
        seen.add(key)
    assert kept(result) == expected
    assert result.pairs == len(lines)
    assert result.pairs_kept == len(expected) == result.pairs - len(found)
    assert result.removed == Counter(reason for reasons in found.values() for reason in reasons)
    assert list(found) == sorted(found)


@pytest.mark.slow
@pytest.mark.parametrize("size", [7, 4096])
def test_the_output_is_the_same_for_any_number_of_processes(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = project(tmp_path, pairs())
    one = clean(tmp_path, given, out="one")
    monkeypatch.setattr(blocks_module, "BLOCK_LINES", size)
    monkeypatch.setattr(clean_module, "SeenHashes", lambda: SeenHashes(50))
    two = clean(tmp_path, given, out="two", workers=2 if size == 7 else 1)
    assert [path.read_bytes() for path in (*one.files, one.rejects)] == [
        path.read_bytes() for path in (*two.files, two.rejects)
    ]
    assert (one.pairs, one.pairs_kept, one.removed, one.ratio) == (two.pairs, two.pairs_kept, two.removed, two.ratio)


@pytest.mark.parametrize("name", ["all.tsv", "all.jsonl", "all.tsv.gz"])
def test_a_file_of_both_sides_stays_one(tmp_path: Path, name: str) -> None:
    lines = [line for line in pairs() if isinstance(line[0], str)]
    two = clean(tmp_path, project(tmp_path, lines), out="two")
    fields = [{"source": source, "target": target} for source, target in lines]
    rows = [json.dumps(row) if "json" in name else "\t".join(row.values()) for row in fields]
    text = "".join(f"{row}\n" for row in [*rows[:9], "one column", *rows[9:]]).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    result = clean(tmp_path, (tmp_path / "run.toml", tmp_path / name))
    [path] = result.files
    assert path.name == name
    written = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    read = [
        tuple(json.loads(line).values()) if "json" in name else tuple(line.split("\t"))
        for line in written.decode().splitlines()
    ]
    assert read == kept(two)
    [malformed] = [each for each in rejects(result) if "problem" in each]
    assert (malformed["line"], malformed["reasons"]) == (10, ["bad_bytes"])
    assert malformed["text"] == "one column"
    assert result.unreadable.startswith(f"{tmp_path / name}:10: ")


def test_a_corpus_of_another_pair_is_judged_by_its_languages(tmp_path: Path) -> None:
    texts = ["그 책은 오래되었다.", "개가 집에서 잔다."], ["The book is quite old.", "The dog sleeps at home."]
    given = project(tmp_path, list(zip(*texts, strict=True)))
    (tmp_path / "run.toml").write_text(
        (tmp_path / "run.toml").read_text().replace('target = "en"', 'target = "en", pairs = ["de-en", "ko-en"]')
    )
    assert clean(tmp_path, given).removed == {"script": 2}
    result = clean(tmp_path, given, languages="ko-en", force=True)
    assert (result.pairs_kept, result.removed) == (2, {})
    for name in ("en-ko", "ko"):
        with pytest.raises(ConfigError, match=rf"--languages\) '{name}': not in project.pairs, which are de-en, ko-en"):
            clean(tmp_path, given, languages=name, force=True)


def test_rules_follow_the_configuration(tmp_path: Path) -> None:
    given = project(tmp_path, pairs())
    keys = [
        *KEYS,
        *(f"data.clean.{rule}={0 if rule in ('script', 'too_long', 'length_ratio') else 'false'}" for rule in FAULTS),
    ]
    result = clean(tmp_path, given, [*keys, "data.clean.duplicate=false"])
    assert result.removed == {"bad_bytes": 1}, "what is no UTF-8 can never be written"


def test_near_duplicates_are_removed_on_request(tmp_path: Path) -> None:
    lines = [
        ("Der 12. Brief an Anna.", "The 12th letter to Anna."),
        ("Der 13. Brief an Anna!", "The 13th letter to Anna."),
    ]
    given = project(tmp_path, lines)
    assert clean(tmp_path, given, out="all").pairs_kept == 2
    assert clean(tmp_path, given, [*KEYS, "data.clean.near_duplicate=true"]).removed == {"near_duplicate": 1}


def test_training_text_without_held_out_sentences(tmp_path: Path) -> None:
    lines = pairs()
    given = project(tmp_path, lines)
    notices = []

    class Notices(dragoman.Listener):
        def on_notice(self, step: int, text: str) -> None:
            notices.append(text)

    clean(tmp_path, given, out="before", listeners=[Notices()])
    assert notices == [f"{tmp_path / 'valid.de'}: does not exist yet, so leakage of its sentences is not looked for"]
    chosen = [line for line in lines if str(line[0]).startswith("Der ")][5]
    near = chosen[0].replace("Der", "12. DER").rstrip(".") + "!"
    (tmp_path / "valid.de").write_text(near + "\n", encoding="utf-8")
    (tmp_path / "valid.en").write_text("something\n", encoding="utf-8")
    result = clean(tmp_path, given, out="after")
    assert result.removed["near_leakage"] == 1
    assert chosen not in kept(result)


@pytest.mark.parametrize(
    ("file", "message"), [("all.de", "already exists; give --force"), ("rejects.jsonl", "already exists")]
)
def test_files_that_exist_are_replaced_on_request_only(tmp_path: Path, file: str, message: str) -> None:
    given = project(tmp_path, pairs())
    (tmp_path / "clean").mkdir()
    (tmp_path / "clean" / file).write_text("mine")
    with pytest.raises(ConfigError, match=message):
        clean(tmp_path, given)
    assert (tmp_path / "clean" / file).read_text() == "mine"
    clean(tmp_path, given, force=True)
    assert (tmp_path / "clean" / file).read_text() != "mine"


def test_what_cannot_be_cleaned_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    given = project(tmp_path, pairs())
    with pytest.raises(ConfigError, match="would be replaced by its cleaned copy; choose another folder with -o"):
        clean(tmp_path, given, out=".", force=True)
    with given[2].open("ab") as file:
        file.write(b"one more\n")
    with pytest.raises(DataError, match="lines, but"):
        clean(tmp_path, given)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ConfigError, match="pipe: is read twice"):
            clean(tmp_path, (given[0], tmp_path / "pipe", given[2]))
    assert not (tmp_path / "clean").exists()


def test_the_usual_ratio_is_that_of_the_beginning_and_no_block_is_lost() -> None:
    from dragoman.data.corpus.rules import RATIO_PAIRS, RATIO_TEXT, Context, usual_ratio, with_usual_ratio

    draw = random.Random(1)
    sides = [["x" * draw.randrange(15, 200) for _ in range(RATIO_PAIRS // 12)] for _ in range(2)]
    beginning, after = block_module.PairBlock(*sides), block_module.PairBlock(["x" * 90], ["x"])
    found, blocks = with_usual_ratio(Context("de", "en"), iter([beginning] * 12 + [after] * 20))
    assert found.ratio == usual_ratio([beginning])
    assert list(blocks) == [beginning] * 12 + [after] * 20
    long = block_module.PairBlock(["x" * 3], ["x" * RATIO_TEXT])
    found, blocks = with_usual_ratio(Context("de", "en"), iter([long, beginning]))
    assert found.ratio == usual_ratio([long]), "what stays in memory is bounded"
    assert list(blocks) == [long, beginning]


def test_clean_removes_what_check_names(tmp_path: Path) -> None:
    lines = pairs()
    lines[40:40] = [(lines[3][0] + "\u200b", lines[3][1]), lines[4], tuple(text + " 12" for text in lines[5])]
    lines += [(fault[0], fault[1]) for fault in FAULTS.values()]  # again: no duplicates, because the first are removed
    config, source, target = project(tmp_path, lines)
    held_out = [line for line in lines if str(line[0]).startswith("Der ")][100:103]
    (tmp_path / "valid.de").write_text("".join(f"{each[0].upper()}\n" for each in held_out), encoding="utf-8")
    (tmp_path / "valid.en").write_text("".join(f"{each[1]}\n" for each in held_out), encoding="utf-8")
    keys = ["data.clean.too_long=300", "data.clean.near_duplicate=true"]
    result = clean(tmp_path, (config, source, target), keys)
    loaded = dragoman.load_config(config, keys)
    corpus = loaded.data.train[0].model_copy(update={"source": source, "target": target})
    data = loaded.data.model_copy(update={"train": (corpus,)})
    *_, report = check_data(data, "de", "en", examples=len(lines))
    named: dict[int, set[str]] = {}
    for kind, finding in report.findings.items():
        assert len(finding.examples) == finding.count
        for example in finding.examples:
            if kind not in ("swapped", "tokenised", "shift", "shuffled"):  # of these no rule removes
                named.setdefault(int(example.location.rpartition(":")[2]), set()).add(kind)
    removed = {each["line"]: set(each["reasons"]) for each in rejects(result)}
    repeats = {"duplicate", "near_duplicate"}
    assert {line: found - repeats for line, found in removed.items()} == {
        line: found - repeats for line, found in named.items() if line in removed
    }
    for line in named.keys() - removed.keys():
        assert named[line] <= repeats, "only a repeat of a pair that is removed is named and kept"
    for line, found in removed.items():
        assert found & repeats <= named[line]
        assert not found & repeats or found <= repeats
    assert {"duplicate", "near_duplicate", "leakage", "length_ratio", "zero_width"} <= set().union(*named.values())


def test_compressed_files_are_refused_under_ray(tmp_path: Path) -> None:
    config, *files = project(tmp_path, pairs())
    packed = [path.rename(f"{path}.gz") for path in files]
    with pytest.raises(ConfigError, match="--ray reads many parts of a file at once; unpack it first"):
        clean(tmp_path, (config, *packed), ray=True)


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
def test_a_local_cluster_gives_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    given = project(tmp_path, pairs() * 40)
    local, cluster = clean(tmp_path, given, out="local"), clean(tmp_path, given, out="cluster", ray=True)
    assert [path.read_bytes() for path in (*local.files, local.rejects)] == [
        path.read_bytes() for path in (*cluster.files, cluster.rejects)
    ]
    assert local.removed == cluster.removed


def test_a_loop_of_links_is_an_error_of_its_file(tmp_path: Path) -> None:
    given = project(tmp_path, pairs(5))
    given[1].unlink()
    given[1].symlink_to(given[1].name)
    with pytest.raises(DataError, match=r"all\.de: cannot be read"):
        clean(tmp_path, given)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(DragomanError, match="loop: cannot be written"):
        clean(tmp_path, project(tmp_path / "b", pairs(5)), out="loop")


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2", None])
def test_a_number_of_processes_is_a_whole_number_above_0(tmp_path: Path, workers: Any) -> None:
    with pytest.raises(ConfigError, match="workers: give a whole number above 0"):
        clean(tmp_path, project(tmp_path, pairs(5)), workers=workers)


def test_a_corpus_without_lines_is_not_cleaned(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"all\.de: no lines; there is nothing to clean"):
        clean(tmp_path, project(tmp_path, []))


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_a_path_has_characters_but_no_null_character(tmp_path: Path, path: str) -> None:
    config, source, target = project(tmp_path, pairs(5))
    for arguments in ({"source": path}, {"output": path}):
        with pytest.raises(ConfigError, match=f"{next(iter(arguments))}: give a path that is not empty"):
            dragoman.clean_data(config, **{"source": source, "target": target, "output": tmp_path, **arguments})


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc")
def test_processes_end_when_the_one_that_started_them_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing, time\n"
        "from dragoman.data.corpus.pair_block import PairBlock\n"
        "from dragoman.data.make.clean import Judge, judged\n"
        "from dragoman.data.corpus.rules import Context\n"
        "def blocks():\n"
        "    while True:\n"
        "        yield PairBlock(['eins'], ['one'], 1)\n"
        "if __name__ == '__main__':\n"
        "    found = judged(blocks(), Judge(Context('de', 'en')), 2)\n"
        "    next(found)\n"
        "    print(*(child.pid for child in multiprocessing.active_children()), flush=True)\n"
        "    time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        children = [Path(f"/proc/{pid}") for pid in parent.stdout.readline().split()]
        parent.kill()
    assert children
    end = time.monotonic() + 30
    while alive := [child for child in children if _runs(child)]:
        assert time.monotonic() < end, alive
        time.sleep(0.05)


def _runs(process: Path) -> bool:
    """Whether a process exists and is not only waiting to be collected."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
