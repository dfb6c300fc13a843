"""The reference of all keys says what the classes say."""

import pytest

from dragoman.config.file import build_section
from dragoman.config.reference import find, keys
from dragoman.config.sections.train import TrainConfig
from dragoman.errors import ConfigError


def test_every_key_has_a_name_of_its_own_values_a_default_and_a_sentence() -> None:
    found = keys()
    assert len({key.name for key in found}) == len(found) > 90
    for key in found:
        assert key.values, key.name
        assert key.default, key.name
        assert key.doc.endswith("."), key.name


def test_a_default_is_the_value_that_the_class_takes() -> None:
    defaults = {key.name: key.default for key in find("train")}
    assert defaults["train.max_steps"] == f"`{TrainConfig().max_steps}`"
    assert defaults["train.betas"] == "`[0.9, 0.98]`"
    assert defaults["train.output"] == "not set"
    [name] = find("project.name")
    assert name.default == "required"


def test_values_are_those_that_the_class_accepts() -> None:
    [parallel] = find("train.parallel")
    assert parallel.values == '"ddp" | "fsdp"'
    [batch_tokens] = find("train.batch_tokens")
    assert batch_tokens.values == 'whole number from 1 | "auto"'
    with pytest.raises(ConfigError):
        build_section(TrainConfig(), {"batch_tokens": 0}, "train")


def test_a_section_is_found_with_all_its_keys_and_a_corpus_by_any_of_its_names() -> None:
    assert {key.section for key in find("[decode]")} == {"decode"}
    assert find("data.valid.weight") == find("data.train.weight")


def test_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"train\.max_steps"):
        find("train.max_step")
    with pytest.raises(ConfigError, match=r"decode\.beam"):
        find("beam")
