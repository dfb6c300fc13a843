"""LoRA: a run that trains an adapter of a base model, the adapter on disk, and merging it into a whole model."""

import json
import pickle
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import dragoman as api
from dragoman.bundle import open_bundle
from dragoman.model.lora import read_adapter
from dragoman.system.files import fingerprint
from suites import cases

Tensors = dict[str, Any]
LORA = ("train.lora_rank=4", "train.lora_alpha=12", "model.dropout=0.1")


@pytest.fixture(scope="module")
def home(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a base model, text, and a configuration that leaves shape and tokenizer to it."""
    folder = tmp_path_factory.mktemp("lora")
    shutil.copytree(trained / "data", folder / "data")
    shutil.copytree(trained / "runs/toy/model", folder / "base")
    text = re.sub(r"\[(tokenizer|model)\]\n([^\[]*)", "", (trained / "run.toml").read_text(encoding="utf-8"))
    (folder / "run.toml").write_text(text, encoding="utf-8")
    return folder


def train(dragoman: Any, folder: Path, name: str, *keys: str) -> Path:
    """Train an adapter of the base in `folder`; its folder."""
    start = f"train.start_from={folder / 'base'}"
    result = dragoman("train", folder / "run.toml", start, f"train.output={folder / name}", *keys)
    assert result.code == 0, result.err
    return folder / name / "model"


@pytest.fixture(scope="module")
def adapter(home: Path) -> Path:
    """A trained adapter next to its base, to be read and never written."""
    keys = [f"train.start_from={home / 'base'}", f"train.output={home / 'run'}", *LORA]
    return api.train(api.load_config(home / "run.toml", keys)).model_path


@pytest.mark.parametrize("key", ["lora_rank = 4", "pull = 5.0", 'freeze = ["encoder"]'])
def test_a_run_whose_file_needs_the_base_of_its_command_line_resumes(
    dragoman: Any, home: Path, tmp_path: Path, key: str
) -> None:
    config = Path(shutil.copytree(home, tmp_path / "home")) / "run.toml"
    config.write_text(config.read_text(encoding="utf-8").replace("[train]\n", f"[train]\n{key}\n"), encoding="utf-8")
    assert "start_from" in dragoman("train", config, "--resume").refused(2)
    start = f"train.start_from={home / 'base'}"
    few = ["train.max_steps=2", "train.translate_lines=0"]
    assert dragoman("train", config, start, *few).code == 0
    resumed = dragoman("train", config, "train.max_steps=3", "--resume")
    assert resumed.code == 0, resumed.err
    assert f"as at the start: {start} train.translate_lines=0" in resumed.err
    assert "done: 3 steps done" in resumed.err


def merged_by_hand(base: Path, adapter: Path, scale: float) -> Tensors:
    """W₀ + α/r · B A in NumPy, double precision."""
    weights, low = load_file(base / "model.safetensors"), load_file(adapter / "adapter.safetensors")
    for name in {name.rpartition(".")[0] for name in low}:
        product = low[f"{name}.lora_b"].astype(np.float64) @ low[f"{name}.lora_a"].astype(np.float64)
        weights[f"{name}.weight"] = weights[f"{name}.weight"].astype(np.float64) + scale * product
    return weights


def test_an_adapter_is_a_small_folder_that_names_its_base(home: Path, adapter: Path) -> None:
    manifest = json.loads((adapter / "bundle.json").read_text(encoding="utf-8"))
    low = load_file(adapter / "adapter.safetensors")
    # r · (in + out) for w_q, w_k, w_v, w_o of 3 attentions of width 32, and for w_1, w_2 of 2 networks of 32 to 64
    numbers = 4 * (3 * 4 * (32 + 32) + 2 * 2 * (32 + 64))
    assert sum(tensor.size for tensor in low.values()) == numbers == manifest["adapter"]["parameters"]
    assert (adapter / "adapter.safetensors").stat().st_size < 4 * numbers + 8000
    assert {path.name for path in adapter.iterdir()} == {
        "bundle.json", "README.md", "config.toml", "golden.jsonl", "adapter.safetensors"
    }  # fmt: skip
    assert manifest["base"] == {
        "name": "toy",
        "sha256": open_bundle(home / "base").weights_sha256,
        "path": "../../base",
    }
    assert "## Adapter\n\nA low-rank adapter (LoRA" in (adapter / "README.md").read_text(encoding="utf-8")


def test_merged_weights_are_those_of_numpy_and_the_rest_is_the_base(dragoman: Any, home: Path, adapter: Path) -> None:
    before = (home / "base/model.safetensors").read_bytes()
    result = dragoman("model", "merge", adapter, "-o", home / "merged")
    assert result.code == 0, result.err
    whole, expected = load_file(home / "merged/model.safetensors"), merged_by_hand(home / "base", adapter, 12 / 4)
    base = load_file(home / "base/model.safetensors")
    changed = {name for name in whole if not np.array_equal(whole[name], base[name])}
    assert changed == {f"{name.rpartition('.')[0]}.weight" for name in load_file(adapter / "adapter.safetensors")}
    assert whole.keys() == base.keys()
    for name, tensor in whole.items():
        np.testing.assert_allclose(tensor, expected[name], rtol=1e-6, atol=1e-8)
    assert (home / "base/model.safetensors").read_bytes() == before
    test = [home / "data/test.en", home / "data/test.de"]
    scores = [dragoman("evaluate", "-m", model, *test, "--score").out for model in (home / "merged", adapter)]
    assert scores[0] == scores[1]
    assert scores[0] != dragoman("evaluate", "-m", home / "base", *test, "--score").out
    golden = (home / "merged/golden.jsonl").read_text(encoding="utf-8")
    assert golden == (adapter / "golden.jsonl").read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_verb_takes_an_adapter(dragoman: Any, home: Path, adapter: Path, tmp_path: Path) -> None:
    result = dragoman("model", "show", adapter)
    assert result.code == 0, result.err
    assert re.search(r"^adapter +LoRA of rank 4, α 12, 4,608 of these parameters$", result.out, re.MULTILINE)
    assert re.search(r"^base +toy in .*base, weights [0-9a-f]{12}…$", result.out, re.MULTILINE)
    assert dragoman("look", "-m", adapter, "red dog", "--run", home / "run", "--html", tmp_path / "page.html").code == 0
    assert "left out" not in dragoman("look", "-m", adapter, "red dog", "--html", tmp_path / "page.html").err
    test = [home / "data/test.en", home / "data/test.de"]
    assert "BLEU" in dragoman("evaluate", "-m", adapter, *test).out
    complaint = dragoman("export", "-m", adapter).refused(2)
    assert complaint == f"{adapter}: an adapter, whose export is a whole model; give its folder with -o"
    result = dragoman("export", "-m", adapter, "-q", "float32", "-o", tmp_path / "fast")
    assert result.code == 0, result.err
    shutil.move(tmp_path / "fast", tmp_path / "alone")  # it needs no base
    lines = [dragoman("translate", "-m", model, "red dog sees a cat").out for model in (tmp_path / "alone", adapter)]
    assert lines[0] == lines[1]


def test_a_translator_of_an_adapter_is_that_of_the_merged_model(home: Path, adapter: Path, tmp_path: Path) -> None:
    whole = api.merge_adapter(adapter, tmp_path / "whole")
    pairs = [("red dog sees a cat", "rote hund sieht ein kater"), ("two", "zwei")]
    loaded = api.Translator.load(str(adapter), base=str(home / "base"))
    assert (
        loaded.score(pairs)
        == api.Translator.load(whole).score(pairs)
        == pickle.loads(pickle.dumps(loaded)).score(pairs)
    )
    assert api.inspect(adapter, "red").text == api.inspect(whole, "red").text


def test_a_moved_adapter_needs_its_base(
    dragoman: Any, home: Path, adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = shutil.copytree(adapter, tmp_path / "a/b/c/moved")
    complaint = dragoman("translate", "-m", moved, "red").refused(4)
    assert complaint == (
        f"{moved}: an adapter of the model toy, which is neither in {tmp_path}/a/b/base nor installed; "
        "install it, or give it as --base"
    )
    with_base = dragoman("translate", "-m", moved, "red", "--base", home / "base")
    assert with_base.code == 0, with_base.err
    other = shutil.copytree(home / "base", tmp_path / "home/models/other")  # installed, under any name
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path / "home"))
    assert dragoman("translate", "-m", moved, "red").out == with_base.out
    shutil.copytree(moved, tmp_path / "home/models/moved")
    result = dragoman("model", "remove", "moved", "--yes")
    assert "is the base of" not in result.err
    shutil.copytree(moved, tmp_path / "home/models/legal")
    result = dragoman("model", "remove", "other", "--yes")
    assert result.err.startswith("other is the base of legal, which cannot be used without it\n")
    shutil.copytree(home / "base", other)
    assert dragoman("translate", "-m", moved, "red", "--base", "other").out == with_base.out
    complaint = dragoman("translate", "-m", other, "red", "--base", home / "base").refused(2)
    assert complaint == f"--base {home}/base: is for adapters, and {other} is a whole model; leave it out"


def test_an_adapter_is_packed_by_itself_and_installed_where_its_base_is(
    dragoman: Any, home: Path, adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path / "home"))
    expected = dragoman("translate", "-m", adapter, "red dog").out
    packed = tmp_path / "adapter.dragoman"
    assert dragoman("model", "pack", adapter, "-o", packed).code == 0
    assert packed.stat().st_size < 100_000
    assert dragoman("model", "install", packed, "--name", "mine").refused(4) == (
        f"{packed}: an adapter of the model toy; install that model first"
    )
    assert dragoman("model", "install", home / "base").code == 0
    result = dragoman("model", "install", packed, "--name", "mine")
    assert result.code == 0, result.err
    assert dragoman("translate", "-m", "mine", "red dog").out == expected
    assert "installed, adapter of toy" in dragoman("model", "list").out
    [torch] = json.loads(dragoman("model", "verify", "mine", "--json").out)["engines"]
    assert (torch["engine"], torch["identical"]) == ("torch", 12)


@pytest.mark.slow
def test_an_adapter_on_another_base_is_refused_by_hash(dragoman: Any, home: Path, adapter: Path) -> None:
    keys = [f"train.start_from={home / 'base'}", f"train.output={home / 'full'}", "train.max_steps=1"]
    other = api.train(api.load_config(home / "run.toml", keys)).model_path
    mine, theirs = (open_bundle(model).weights_sha256 for model in (home / "base", other))
    assert mine
    assert theirs
    assert mine != theirs
    for verb in (["translate", "-m", adapter, "red"], ["model", "merge", adapter, "-o", home / "never"]):
        assert dragoman(*verb, "--base", other).refused(4) == (
            f"{adapter}: an adapter of toy, weights sha256 {mine[:12]}…; those of {other} are sha256 {theirs[:12]}…; "
            "give its own base with --base"
        )
    assert not (home / "never").exists()
    complaint = dragoman("translate", "-m", adapter, "red", "--base", adapter).refused(4)
    assert f"those of {adapter} are missing" in complaint
    complaint = dragoman("model", "merge", other, "-o", home / "never").refused(4)
    assert complaint == f"{other}: a whole model, with nothing to merge; give the folder of an adapter"
    complaint = dragoman("model", "merge", adapter, "-o", other).refused(2)
    assert complaint == f"{other}: already exists; choose another folder"


def test_damage_is_named(dragoman: Any, home: Path, adapter: Path, tmp_path: Path) -> None:
    spoilt = shutil.copytree(adapter, tmp_path / "spoilt")
    show = ["model", "show", spoilt, "--base", home / "base"]
    path, manifest = spoilt / "adapter.safetensors", json.loads((spoilt / "bundle.json").read_text(encoding="utf-8"))
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert "its sha256 differs from bundle.json" in dragoman(*show).refused(4)
    path.unlink()
    assert dragoman(*show).refused(4) == f"{path}: missing; copy the bundle again"
    path.write_bytes(content)
    for part in ({"base": {"name": "toy"}}, {"adapter": {"rank": 0, "alpha": 1}}, {"adapter": None}):
        (spoilt / "bundle.json").write_text(json.dumps(manifest | part), encoding="utf-8")
        assert dragoman(*show).refused(4) == f"{spoilt}/bundle.json: not an adapter's manifest; copy the adapter again"


@pytest.mark.parametrize("change", ["shape", "name", "half", "nan", "rank"])
def test_an_adapter_that_does_not_fit_is_refused(adapter: Path, home: Path, tmp_path: Path, change: str) -> None:
    tensors, path = load_file(adapter / "adapter.safetensors"), tmp_path / "adapter.safetensors"
    name = "encoder.0.self_attention.w_q.lora_a"
    match change:
        case "shape":
            tensors[name] = tensors[name][:, :-1].copy()
        case "name":
            tensors["encoder.9.self_attention.w_q.lora_a"] = tensors.pop(name)
        case "half":
            del tensors[name]
        case "nan":
            tensors[name][0, 0] = np.nan
        case "rank":
            tensors[name] = tensors[name][:-1].copy()
    save_file(tensors, path)
    with pytest.raises(api.ModelError, match=rf"{path}: (unexpected )?tensor .*"):
        read_adapter(path, open_bundle(home / "base").load_model())


@pytest.mark.slow
@pytest.mark.parametrize(
    "more", cases([[], ["train.accumulate=2", "train.precision=bfloat16", "train.recompute=true"]], quick=[[]])
)
def test_it_resumes_exactly_and_needs_the_same_base(dragoman: Any, home: Path, more: list[str]) -> None:
    for name in ("whole", "parts"):
        shutil.rmtree(home / name, ignore_errors=True)
    keys = [*LORA, *more, "train.average=ema", "train.lora_dropout=0.2"]
    keys += ['train.lora_matrices=["w_q", "w_v", "feed_forward"]', 'train.freeze=["encoder"]']
    whole = train(dragoman, home, "whole", *keys)
    train(dragoman, home, "parts", *keys, "train.max_steps=4")
    parts = train(dragoman, home, "parts", *keys, "--resume")
    names = {name.rpartition(".")[0] for name in load_file(parts / "adapter.safetensors")}
    ends = {"self_attention.w_q", "self_attention.w_v", "cross_attention.w_q", "cross_attention.w_v"}
    assert names == {f"decoder.0.{end}" for end in {*ends, "feed_forward.w_1", "feed_forward.w_2"}}
    one, other = ((model / "adapter.safetensors").read_bytes() for model in (whole, parts))
    assert one == other
    moments = load_file(home / "parts/checkpoints/00000008/optimizer.safetensors")
    assert {key.rpartition(".")[0].rpartition(".")[0] for key in moments if "exp_avg" in key} == names
    old = (home / "base").rename(home / "old")
    shutil.copytree(old, home / "base")
    tensors = load_file(old / "model.safetensors")
    save_file({**tensors, "projection": tensors["projection"] + 1}, home / "base/model.safetensors")
    manifest = json.loads((old / "bundle.json").read_text(encoding="utf-8"))
    manifest["files"]["model.safetensors"] = fingerprint(home / "base/model.safetensors")
    (home / "base/bundle.json").write_text(json.dumps(manifest), encoding="utf-8")
    again = ["train", home / "run.toml", f"train.start_from={home / 'base'}", f"train.output={home / 'parts'}"]
    complaint = dragoman(*again, *keys, "train.max_steps=9", "--resume").refused(2)
    assert complaint.startswith(f"{home}/base/model.safetensors: has changed since the run began (sha256 ")
    shutil.rmtree(home / "base")
    complaint = dragoman(*again, *keys, "train.max_steps=9", "--resume").refused(4)
    assert complaint.startswith(f"train.start_from: {home}/base: no such model folder")
    old.rename(home / "base")


NOTHING = "that is not frozen; name others"


@pytest.mark.parametrize(
    ("key", "complaint"),
    [
        (
            "train.pull=3",
            "train.pull: has no effect with lora_rank, which leaves the weights as they are; leave it out",
        ),
        ("train.parallel=fsdp", 'train.parallel: "fsdp" shards weights that lora_rank does not train; use "ddp"'),
        (
            "tokenizer.extend=5",
            "tokenizer.extend: new pieces need embeddings, which lora_rank does not train; set it to 0",
        ),
        ("train.lora_rank=33", "train.lora_rank: 33 is more than the rank 32 of the matrices themselves; set it lower"),
        ('train.lora_matrices=["w_3"]', f"train.lora_matrices: the model has no w_3 {NOTHING}"),
        (
            'train.freeze=["encoder", "decoder"]',
            f"train.lora_matrices: the model has no attention, feed_forward {NOTHING}",
        ),
    ],
)
def test_what_an_adapter_excludes(dragoman: Any, home: Path, key: str, complaint: str) -> None:
    start = [home / "run.toml", f"train.start_from={home / 'base'}", f"train.output={home / 'none'}", *LORA[:1]]
    found = dragoman("train", *start, key).refused(2)
    assert found.removeprefix(f"{home}/run.toml: ") == complaint
    assert not (home / "none").exists()


@pytest.mark.slow
def test_lora_needs_a_base_that_is_no_adapter(dragoman: Any, home: Path, adapter: Path) -> None:
    complaint = dragoman("train", home / "run.toml", *LORA).refused(2)
    assert complaint == f"{home}/run.toml: train.lora_rank: needs a base model; set train.start_from, or leave it out"
    start = [f"train.start_from={adapter}", f"train.output={home / 'none'}"]
    complaint = dragoman("train", home / "run.toml", *start, *LORA).refused(2)
    assert complaint == (
        f"train.start_from: {adapter} is an adapter, and an adapter needs a whole model; "
        f"`dragoman model merge {adapter} -o BUNDLE` makes one"
    )
    result = dragoman("train", home / "run.toml", f"train.start_from={adapter}", f"train.output={home / 'on'}",
                    "train.learning_rate=1e-12", "train.max_steps=1")  # fmt: skip
    assert result.code == 0, result.err  # all weights are trained, from those of the two together
    assert not open_bundle(home / "on/model").base
    for name, weight in merged_by_hand(home / "base", adapter, 3.0).items():
        np.testing.assert_allclose(load_file(home / "on/model/model.safetensors")[name], weight, rtol=1e-5, atol=1e-7)
