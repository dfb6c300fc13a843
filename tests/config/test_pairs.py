"""project.pairs, and the corpora that name one of them."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.config import PairConfig, RunConfig
from dragoman.config.file import build_config, dump_config, load_config
from dragoman.config.sections.project import parse_pair
from dragoman.errors import ConfigError
from dragoman.system.parsing import parse_toml
from dragoman.workflows.train.project import init_project

PAIRS = ["en-ko", "ko-en"]


def run_config(project: dict[str, Any], **corpus: Any) -> RunConfig:
    tree = {
        "project": {"name": "p", **project},
        "data": {"train": [{"source": "a.tsv", **corpus}], "valid": "v.tsv"},
        "model": {"preset": "tiny"},
    }
    return build_config(tree, "run.toml", Path("/runs"))


def test_a_name_is_a_pair_with_a_token_for_its_target_and_the_first_pair_is_that_of_the_project() -> None:
    project = run_config({"pairs": PAIRS}).project
    assert project.pairs == (
        PairConfig(source="en", target="ko", source_marks=("<2ko>",)),
        PairConfig(source="ko", target="en", source_marks=("<2en>",)),
    )
    assert (project.source, project.target) == ("en", "ko")
    assert (project.source_marks, project.target_marks) == (("<2ko>", "<2en>"), ())


def test_pairs_survive_writing_and_reading() -> None:
    config = run_config(
        {"pairs": [{"source": "pt-BR", "target": "en", "source_marks": ["__pt__"], "target_marks": ["__en__"]}]},
        languages="pt-BR:en",
    )
    assert build_config(parse_toml(dump_config(config)), "run.toml", Path("/runs")) == config


def test_a_project_of_one_pair_has_it_without_language_tokens() -> None:
    project = run_config({"source": "en", "target": "ko"}).project
    assert project.all_pairs == (PairConfig(source="en", target="ko"),)
    assert project.pair("en-ko") == project.pair("") == project.all_pairs[0]
    assert project.pair("ko-en") is None


@pytest.mark.parametrize(
    ("project", "corpus", "message"),
    [
        pytest.param(
            {"pairs": [{"source": "en", "target": "ko"}, {"source": "en", "target": "ja"}]},
            {},
            "project.pairs[1].source_marks: those of en-ko, which has another target; give its own, such as",
            id="no tokens",
        ),
        pytest.param({"pairs": ["en-ko", "en-ko"]}, {}, "project.pairs: en-ko is there twice; remove one", id="twice"),
        pytest.param({"pairs": ["en-en"]}, {}, "the same language as the source", id="one language"),
        pytest.param(
            {"pairs": ["English to Korean"]},
            {},
            "project.pairs[0]: a pair is two languages, such as ko-en",
            id="no pair",
        ),
        pytest.param(
            {"pairs": PAIRS, "source": "ko", "target": "en"},
            {},
            "project.pairs: begin with en-ko, but source and target are ko-en",
            id="another first pair",
        ),
        pytest.param(
            {"pairs": [{"source": "en", "target": "ko", "source_marks": ["two words"]}]},
            {},
            "project.pairs[0].source_marks[0]: a language token is a name without spaces, such as <2ko>",
            id="a space",
        ),
        pytest.param(
            {
                "pairs": [
                    {"source": "en", "target": "ko", "target_marks": ["<ko>"]},
                    {"source": "en", "target": "ja", "target_marks": ["<to>", "<ja>"]},
                ]
            },
            {},
            "project.pairs[1].target_marks: give as many as for en-ko",
            id="unequal numbers",
        ),
        pytest.param(
            {"pairs": PAIRS},
            {"languages": "en-ja"},
            "data.train[0].languages: not in project.pairs, which are en-ko, ko-en; add the pair there",
            id="a corpus of another pair",
        ),
        pytest.param(
            {"source": "en", "target": "ko"},
            {"both_directions": True},
            "data.train[0].both_directions: not in project.pairs, which are en-ko; add the pair there",
            id="one direction",
        ),
    ],
)
def test_a_wrong_pair_is_named(project: dict[str, Any], corpus: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        run_config(project, **corpus)
    assert message in str(error.value)


def test_both_directions_are_a_pair_and_its_reverse() -> None:
    config = run_config({"pairs": PAIRS}, languages="ko-en", both_directions=True)
    assert [pair.name for pair in config.pairs_of(config.data.train[0])] == ["ko-en", "en-ko"]
    assert [pair.name for pair in config.pairs_of(config.data.valid_corpora[0])] == ["en-ko"]


def test_names_of_pairs() -> None:
    assert parse_pair("ko-en") == ("ko", "en")
    assert parse_pair("pt-BR:en") == ("pt-BR", "en")
    assert parse_pair("ko") is None


def test_the_example_of_both_directions_is_valid() -> None:
    config = load_config(Path(__file__).parents[2] / "configs/embedded_both_directions.toml")
    assert [pair.name for pair in config.pairs_of(config.data.train[0])] == ["en-ko", "ko-en"]
    assert all(path.exists() for corpus in config.data.named_corpora.values() for path in corpus.files)


def test_init_writes_a_run_of_both_directions(tmp_path: Path) -> None:
    project = init_project(tmp_path / "my", pair="ko-en", both_directions=True)
    config = load_config(project.config)
    assert [pair.name for pair in config.project.pairs] == ["ko-en", "en-ko"]
    for corpus in config.data.named_corpora.values():
        assert len(config.pairs_of(corpus)) == 2
