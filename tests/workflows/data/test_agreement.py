"""Pairs on which a model of each direction disagree are removed by `data clean`, after those that break a rule."""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

import dragoman
from dragoman.errors import ConfigError, DataError
from dragoman.workflows.data import agreement
from dragoman.workflows.data.agreement import SHORTEST, ModelAgreement, dual_cross_entropy, percentiles

LONGEST = 60


class FakeTranslator:
    """Translates one direction; the word `bad` costs 4 nats, others and the end 0.5."""

    def __init__(self, source: str, target: str) -> None:
        self.source, self.target = source, target
        self.asked: list[tuple[str, str]] = []

    @classmethod
    def load(cls, model: object) -> "FakeTranslator":
        return cls(*str(model).split("-"))

    def to(self, target: str, source: str) -> "FakeTranslator":
        if (source, target) != (self.source, self.target):
            raise ConfigError("no such translation")
        return self

    def score(self, pairs: Iterable[tuple[str, str]]) -> list[list[float]]:
        pairs = list(pairs)
        if any(len(target) > LONGEST for _, target in pairs):
            raise DataError("more tokens than positions")
        self.asked += pairs
        return [[-4.0 if word == "bad" else -0.5 for word in target.split()] + [-0.5] for _, target in pairs]


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "Translator", FakeTranslator)


def test_the_score_is_the_dual_conditional_cross_entropy() -> None:
    assert dual_cross_entropy([-1.0] * 9, [-3.0] * 10) == abs(1.0 - 3.0) + (1.0 + 3.0) / 2
    assert dual_cross_entropy([-2.0] * 9, [-2.0] * 8) == 2.0
    assert dual_cross_entropy([-math.inf] * 9, [-2.0] * 9) == math.inf
    assert dual_cross_entropy([-math.inf] * 9, [-math.inf] * 9) == math.inf


def test_a_few_tokens_are_not_judged() -> None:
    assert dual_cross_entropy([-9.0] * (SHORTEST - 1), [-9.0] * 20) == 0.0
    assert dual_cross_entropy([-9.0] * SHORTEST, [-9.0] * SHORTEST) == 9.0


SEVEN = "eins zwei drei vier fünf sechs sieben"


def test_each_direction_has_its_model_in_any_order() -> None:
    pairs = [(SEVEN, "one two three four five six bad"), (SEVEN, "one two three four five six seven")]
    forward, backward = (4.0 + 7 * 0.5) / 8, 0.5
    expected = [abs(forward - backward) + (forward + backward) / 2, 0.5]
    for models in (["de-en", "en-de"], ["en-de", "de-en"]):
        assert ModelAgreement(models, "de", "en").scores(pairs) == pytest.approx(expected)
    with pytest.raises(ConfigError, match="none translates en to de; give one model of each direction"):
        ModelAgreement(["de-en"], "de", "en")


def test_a_text_beyond_the_positions_of_a_model_is_no_agreement() -> None:
    pairs = [(SEVEN, SEVEN), ("lang", "long " * LONGEST), (SEVEN, SEVEN)]
    assert ModelAgreement(["de-en", "en-de"], "de", "en").scores(pairs) == [0.5, math.inf, 0.5]
    assert ModelAgreement(["de-en", "en-de"], "de", "en").scores([]) == []


def test_percentiles_are_those_of_the_pairs_that_were_judged() -> None:
    found = percentiles([*map(float, range(1, 102)), math.inf, 0.0, 0.0])
    assert found == {"5": 6.0, "25": 26.0, "50": 51.0, "75": 76.0, "95": 96.0}
    assert percentiles([]) == percentiles([math.inf, 0.0]) == {}


def corpus(folder: Path, pairs: Sequence[tuple[str, str]]) -> tuple[Path, Path, Path]:
    config = folder / "run.toml"
    config.write_text(
        """[project]
name = "text"
source = "de"
target = "en"
[data]
train = [{source = "all.de", target = "all.en"}]
valid = {source = "none.de", target = "none.en"}
[data.clean]
language = 0
""",
        encoding="utf-8",
    )
    for side, name in enumerate(("all.de", "all.en")):
        (folder / name).write_text("".join(pair[side] + "\n" for pair in pairs), encoding="utf-8")
    return config, folder / "all.de", folder / "all.en"


PAIRS = [
    ("Der Garten", "The garden"),
    ("Das Schiff liegt heute nicht in unserem Hafen", "bad bad bad bad bad bad bad"),
    ("", "nothing"),
    ("Der Garten", "The garden"),
    ("Der Hafen", "The harbour"),
]


def test_cleaning_with_models_removes_what_they_do_not_expect(tmp_path: Path) -> None:
    given = corpus(tmp_path, PAIRS)
    result = dragoman.clean_data(*given, output=tmp_path / "out", models=["de-en", "en-de"], disagreement=2)
    rejects = [json.loads(line) for line in result.rejects.read_text(encoding="utf-8").splitlines()]
    assert [(row["line"], row["reasons"]) for row in rejects] == [
        (2, ["disagreement"]),
        (3, ["empty"]),
        (4, ["duplicate"]),
    ]
    assert [row.get("score") for row in rejects] == [pytest.approx(3.0625 + 4.0625 / 2, abs=1e-4), None, None]
    assert result.files[1].read_text(encoding="utf-8").splitlines() == ["The garden", "The harbour"]
    assert (result.pairs, result.pairs_kept, result.removed["disagreement"]) == (5, 2, 1)
    assert result.disagreement["50"] == pytest.approx(3.0625 + 4.0625 / 2, abs=0.01)


def test_cleaning_without_models_asks_none(tmp_path: Path) -> None:
    given = corpus(tmp_path, PAIRS)
    result = dragoman.clean_data(*given, output=tmp_path / "out")
    assert (result.pairs_kept, result.disagreement) == (3, {})
    assert "score" not in result.rejects.read_text(encoding="utf-8")
