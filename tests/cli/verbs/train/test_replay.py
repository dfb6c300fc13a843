"""`data.replay`: general text as a fixed share of each epoch, other pairs of it in each."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tests.cli.conftest import sentences

import dragoman as package
from dragoman.bundle import open_bundle
from dragoman.config import CorpusConfig, DataConfig
from dragoman.data.batches.stream import BatchStream
from dragoman.data.corpus.report import CorpusReport
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.workflows.train.replay import epoch_pairs, replay_weight, with_replay


def written(folder: Path, name: str, count: int, seed: int) -> CorpusConfig:
    path = folder / f"{name}.tsv"
    path.write_text("".join(f"{one}\t{other}\n" for one, other in sentences(count, seed)), encoding="utf-8")
    return CorpusConfig(source=path)


def reports_on(**pairs: int) -> list[CorpusReport]:
    return [CorpusReport(name, (), pairs=count) for name, count in pairs.items()]


@pytest.mark.parametrize(("share", "size"), [(0.5, 900), (0.25, 900), (0.75, 40)])
def test_an_epoch_has_the_share_and_each_epoch_other_pairs(
    tmp_path: Path, model: Path, share: float, size: int
) -> None:
    train, replay = written(tmp_path, "own", 100, 1), written(tmp_path, "general", size, 2)
    data = DataConfig(train=(train,), valid=train, replay=(replay,), replay_share=share)
    own, held = (len((tmp_path / f"{name}.tsv").read_text().splitlines()) for name in ("own", "general"))
    reports = reports_on(**{"valid": own, "replay[0]": held, "train[0]": own})
    mixed = with_replay(data, replay_weight(data, reports))
    stream = BatchStream(mixed, Tokenizer.load(model / "tokenizer"), batch_tokens=256, seed=1)
    epochs: list[Counter[str]] = [Counter() for _ in range(3)]
    while stream.position.epoch < 2:
        for batch in stream.next_update(1).batches:
            epochs[stream.position.epoch].update(batch.locations)
    for epoch in epochs[:2]:
        general = sum(count for where, count in epoch.items() if "general" in where)
        assert epoch.total() - general == own
        assert general == pytest.approx(own * share / (1 - share), rel=0.3)
    assert epoch_pairs(data, reports) == own / (1 - share)
    assert epochs[0] != epochs[1]


@pytest.mark.slow
def test_a_run_with_replay_checks_its_text_and_resumes_bit_for_bit(
    dragoman: Any, project: Path, model: Path, tmp_path: Path
) -> None:
    general, held_out = written(tmp_path, "general", 80, 7), written(tmp_path, "held", 12, 8)
    keys = [f"train.start_from={model}", f'data.replay=["{general.source}"]', f'data.general_test="{held_out.source}"']
    for name, steps in (("whole", 8), ("parts", 4)):
        result = dragoman(
            "train", project / "run.toml", *keys, f"train.output={tmp_path / name}", f"train.max_steps={steps}"
        )
        assert result.code == 0, result.err
    note = json.loads((tmp_path / "whole/data.json").read_text())
    assert {"replay[0]", "general_test", "train[0]"} <= note.keys()
    general.source.write_text(general.source.read_text() + "a\tein\n")
    again = [
        "train",
        project / "run.toml",
        *keys,
        f"train.output={tmp_path / 'parts'}",
        "train.max_steps=8",
        "--resume",
    ]
    assert f"{general.source}: has changed since the run began" in dragoman(*again).refused(2)
    general.source.write_text(general.source.read_text().removesuffix("a\tein\n"))
    assert dragoman(*again).code == 0
    whole, parts = (load_file(tmp_path / name / "model/model.safetensors") for name in ("whole", "parts"))
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    complaint = dragoman("train", project / "run.toml", *keys[1:]).refused(2)
    assert "needs a base model; set train.start_from" in complaint


@pytest.mark.slow
def test_the_report_compares_base_and_finished_model(dragoman: Any, project: Path, model: Path, tmp_path: Path) -> None:
    """The scores are those of `evaluate` for either model; a run that changes nothing has p = 1."""
    held_out = written(tmp_path, "held", 12, 8)
    keys = [f"train.start_from={model}", f'data.general_test="{held_out.source}"', "train.learning_rate=0.02"]
    result = dragoman("train", project / "run.toml", *keys, "--json")
    assert result.code == 0, result.err
    report = json.loads(result.out)["fine_tuning"]
    assert "test, before → after: BLEU" in result.err
    rows = {(row["on"], row["metric"]): row for row in report["scores"]}
    assert rows.keys() == {(on, metric) for on in ("test", "general_test") for metric in ("BLEU", "chrF2", "TER")}
    finished = project / "runs/toy/model"
    for folder, when in ((model, "before"), (finished, "after")):
        chrf = package.evaluate(folder, held_out.source, resamples=0).chrf
        assert rows["general_test", "chrF2"][when] == pytest.approx(chrf.value)
    assert all(0 < row["p_value"] <= 1 for row in rows.values())
    assert "## Compared with the base model" in (finished / "README.md").read_text(encoding="utf-8")
    assert open_bundle(finished).manifest["fine_tuning"] == report
    still = ["train.learning_rate=1e-9", f"train.output={tmp_path / 'still'}", "--json"]
    unchanged = json.loads(dragoman("train", project / "run.toml", *keys[:2], *still).out)["fine_tuning"]["scores"]
    assert {row["p_value"] for row in unchanged} == {1.0}


@pytest.mark.slow
def test_a_base_that_is_gone_is_named_and_the_run_ends_without_a_report(
    dragoman: Any, project: Path, model: Path, tmp_path: Path
) -> None:
    base = shutil.copytree(model, tmp_path / "base")
    keys = [project / "run.toml", f"train.start_from={base}"]
    assert dragoman("train", *keys, "train.max_steps=4").code == 0
    shutil.rmtree(base)
    result = dragoman("train", *keys, "--resume")
    assert result.code == 0, result.err
    assert f"not compared with the base model: {base}: no such model folder" in result.err
