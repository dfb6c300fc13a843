"""A newcomer's first day, verb by verb, each typed as the one before it printed."""

import io
import json
import random
import sys
from pathlib import Path

import pytest

from dragoman import Translator
from dragoman.cli.main import main

WORDS = {"dog": "개", "cat": "고양이", "bird": "새", "red": "빨간", "small": "작은", "sees": "본다", "and": "그리고"}

SMALL = [
    "tokenizer.vocab_size=312",
    "model.preset=tiny",
    "model.d_model=32",
    "model.d_ff=64",
    "model.heads=2",
    "model.layers=1",
    "train.device=cpu",
    "train.threads=1",
    "train.batch_tokens=512",
    "train.warmup=10",
    "train.learning_rate=2e-2",
    "train.validate_every=20",
    "train.translate_lines=4",
    "train.log_every=20",
    "decode.extra_length=4",
]


def write_text(folder: Path) -> None:
    rng = random.Random(1)
    drawn = {tuple(rng.choices(list(WORDS), k=rng.randint(2, 5))): None for _ in range(600)}
    lines = iter(list(drawn)[:340])
    for name, count in (("valid", 20), ("test", 20), ("train", 300)):
        chosen = [next(lines) for _ in range(count)]
        (folder / f"{name}.en").write_text("".join(" ".join(words) + "\n" for words in chosen))
        korean = "".join(" ".join(WORDS[word] for word in words) + "\n" for words in chosen)
        (folder / f"{name}.ko").write_text(korean, encoding="utf-8")


@pytest.mark.slow
def test_from_nothing_to_a_translator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def dragoman(*arguments: str) -> str:
        assert main(arguments) == 0, capsys.readouterr().err
        out, err = capsys.readouterr()
        assert "internal error" not in err
        return str(out)

    # A project, and one's own text in it.
    assert dragoman("init", "mine", "--pair", "en-ko") == ""
    write_text(tmp_path / "mine/data")
    checked = json.loads(dragoman("data", "check", "mine/run.toml", "--json"))
    assert [corpus["pairs"] for corpus in checked["corpora"]] == [20, 20, 300]
    assert dragoman("data", "check", "mine/run.toml") == ""

    # A model, and then a little longer.
    assert dragoman("train", "mine/run.toml", *SMALL, "train.max_steps=20") == ""
    assert main(["train", "mine/run.toml", *SMALL, "train.max_steps=40"]) == 2
    assert "continue it with --resume" in capsys.readouterr().err
    assert dragoman("train", "mine/run.toml", *SMALL, "train.max_steps=40", "--resume") == ""
    model = "mine/runs/mine/model"

    # Its translations, every way in and out.
    lines = ["red dog sees small cat", "", "bird and dog"]
    translated = dragoman("translate", "-m", model, *lines)
    assert translated.count("\n") == 3
    assert translated.split("\n")[1] == ""
    assert set(translated.split()) & set(WORDS.values()), "it has begun to speak Korean"
    Path("in.txt").write_text("\n".join(lines) + "\n")
    assert dragoman("translate", "-m", model, "-i", "in.txt", "-o", "out.txt") == ""
    assert Path("out.txt").read_text(encoding="utf-8") == translated
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(lines).encode())))
    assert dragoman("translate", "-m", model) == translated
    records = [
        json.loads(line) for line in dragoman("translate", "-m", model, "--json", "--n-best", "2", *lines).splitlines()
    ]
    assert [len(record["translations"]) for record in records] == [2, 1, 2]
    assert [record["translations"][0]["text"] for record in records] == translated.split("\n")[:3]

    # What it is worth.
    files = ("mine/data/test.en", "mine/data/test.ko")
    report = json.loads(dragoman("evaluate", "-m", model, *files, "--json"))
    shown = json.loads(dragoman("model", "show", model, "--json"))
    assert [score["value"] for score in report["scores"]] == pytest.approx(
        [score["value"] for score in shown["scores"]]
    )
    assert report["scores"][1]["value"] > report["copying"][1]["value"]
    assert "en → ko" in dragoman("model", "show", model)
    assert dragoman("evaluate", "-m", model, *files).count("\n") == 3

    # And from Python.
    found = Translator.load(model, device="cpu").translate(lines)
    assert [translation.text for translation in found] == translated.split("\n")[:3]
