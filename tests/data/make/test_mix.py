"""Mixing: sizes against exact fractions, every pair as often as asked for, the same order for a seed."""

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

import dragoman
from dragoman.config import MixConfig
from dragoman.data.corpus.corpus import read_lines
from dragoman.data.make import mix as mix_module
from dragoman.data.make.mix import sizes
from dragoman.errors import ConfigError, DataError

SIZES = {"small": 30, "large": 500}


def project(folder: Path, keys: str = "", corpora: str = '{source = "small.tsv"}, {source = "large.tsv"}') -> Path:
    for name, size in SIZES.items():
        lines = (f"{name} {number}\t{number} klein\n" for number in range(size))
        (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    (folder / "run.toml").write_text(
        'project = {name = "toy", source = "en", target = "de"}\n[data]\nvalid = "v.tsv"\n'
        'train = [{source = "data/train.en", target = "data/train.de"}]\n'
        f"[data.mix]\ncorpora = [{corpora}]\n{keys}\n",
        encoding="utf-8",
    )
    return folder / "run.toml"


def mixed(folder: Path) -> list[tuple[str, str, str]]:
    names = ("train.en", "train.de", "train.domain")
    return list(zip(*(read_lines(folder / "data" / name) for name in names), strict=True))


def test_an_epoch_has_every_pair_once_in_another_order(tmp_path: Path) -> None:
    result = dragoman.mix_data(project(tmp_path))
    lines = mixed(tmp_path)
    assert result.pairs == 530
    everything = [(f"{name} {n}", f"{n} klein", f"{name}.tsv") for name, size in SIZES.items() for n in range(size)]
    assert sorted(lines) == sorted(everything)
    assert lines != everything
    thirds = [sum(line[2] == "small.tsv" for line in lines[start : start + 177]) for start in (0, 177, 354)]
    assert min(thirds) >= 3  # a shuffle over everything


@pytest.mark.parametrize("size", [0, 7, 100, 1000])
@pytest.mark.parametrize("temperature", [1, 2, 5])
def test_shares_follow_weight_and_temperature(tmp_path: Path, size: int, temperature: int) -> None:
    corpora = '{source = "small.tsv", weight = 3}, {source = "large.tsv", weight = 0.5}'
    result = dragoman.mix_data(project(tmp_path, f"size = {size}\ntemperature = {temperature}", corpora))
    total = size or 340
    weights = 3 * 30 ** (1 / temperature), 0.5 * 500 ** (1 / temperature)
    assert result.pairs == len(mixed(tmp_path)) == total
    for corpus, weight in zip(result.corpora, weights, strict=True):
        assert abs(corpus.mixed - total * weight / sum(weights)) < 1
        found = Counter(line[0] for line in mixed(tmp_path) if line[2] == corpus.domain)
        assert sum(found.values()) == corpus.mixed
        most, least = max(found.values(), default=0), min(found.values(), default=0)
        assert most - (least if len(found) == corpus.pairs else 0) <= 1  # whole repeats, and a rest


def test_largest_remainders_add_up() -> None:
    config = MixConfig.model_validate({"corpora": ["a.tsv"] * 7, "size": 100})
    counts = [3, 3, 3, 10, 1, 1, 2]
    found = sizes(counts, config)
    assert sum(found) == 100
    assert all(abs(size - Fraction(100 * count, 23)) < 1 for size, count in zip(found, counts, strict=True))


def test_the_seed_chooses_the_order_and_memory_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = project(tmp_path)
    orders = []
    for seed, at_once in ((1, 64 << 20), (1, 1000), (2, 64 << 20)):
        monkeypatch.setattr(mix_module, "SORTED_AT_ONCE", at_once)
        dragoman.mix_data(dragoman.load_config(config, [f"data.mix.seed={seed}"]), force=True)
        orders.append(mixed(tmp_path))
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


def test_a_tag_is_put_before_the_source_and_names_the_domain(tmp_path: Path) -> None:
    corpora = '{source = "small.tsv", tag = "<bible>"}, {source = "large.tsv"}'
    config = project(tmp_path, "", corpora)
    with pytest.raises(ConfigError, match=r'the tag "<bible>" .*; add it to tokenizer.user_defined_symbols'):
        dragoman.mix_data(config)
    dragoman.mix_data(dragoman.load_config(config, ['tokenizer.user_defined_symbols=["<bible>"]']))
    for source, _, domain in mixed(tmp_path):
        assert source.startswith("<bible> small") == (domain == "bible")


@pytest.mark.parametrize(
    ("corpora", "keys", "message"),
    [
        ("", "", "data.mix.corpora: names nothing to mix"),
        ('{source = "none.tsv"}', "", "none.tsv: no such file"),
        ('{source = "empty.tsv"}', "", "empty.tsv: no lines; a corpus to mix needs text"),
        ('{source = "data/train.en", target = "data/train.de"}', "", "train.en: is both mixed and written"),
        ('{source = "small.tsv", tag = "bible"}', "", "tag: give a name in angle brackets"),
        ('{source = "small.tsv", weight = 1e-300}', "", "the weights ask for no pair"),
    ],
)
def test_what_cannot_be_mixed_is_refused_in_one_line(tmp_path: Path, corpora: str, keys: str, message: str) -> None:
    (tmp_path / "empty.tsv").touch()
    with pytest.raises((ConfigError, DataError), match=message):
        dragoman.mix_data(project(tmp_path, keys, corpora))
    assert not list(tmp_path.glob("data/*"))


def test_files_that_exist_are_replaced_on_request_only(tmp_path: Path) -> None:
    config = project(tmp_path)
    dragoman.mix_data(config)
    with pytest.raises(ConfigError, match="already exists; give --force"):
        dragoman.mix_data(config)
    dragoman.mix_data(config, force=True)


def test_a_tab_of_the_text_does_not_become_a_column(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"source": "a\\tb", "target": "c\\td"}\n', encoding="utf-8")
    config = dragoman.load_config(project(tmp_path, corpora='{source = "a.jsonl"}'), ['data.train=["out.tsv"]'])
    dragoman.mix_data(config)
    assert (tmp_path / "out.tsv").read_text(encoding="utf-8") == "a b\tc d\n"
