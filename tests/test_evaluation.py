"""Scores: sacreBLEU's own numbers, each with the signature that says how it was made."""

import math

import pytest
import sacrebleu

from dragoman.errors import ConfigError, DataError
from dragoman.evaluation import Score, bleu, check_resamples, chrf, compare, paired_bootstrap, ter

TRANSLATIONS = [
    "the dog sees a bird .",
    "two big cats",
    "다시 한 번 말해 주세요.",
    "",
    "small trees are green , red or blue",
]
REFERENCES = [
    "the dog saw a bird .",
    "two big cats sleep",
    "한 번 더 말해 주세요.",
    "empty",
    "small trees are green or blue",
]

METRICS = {
    "BLEU": (bleu, sacrebleu.corpus_bleu),
    "chrF2": (chrf, sacrebleu.corpus_chrf),
    "TER": (ter, sacrebleu.corpus_ter),
}


@pytest.mark.parametrize("name", METRICS)
def test_a_score_is_sacrebleus_own(name: str) -> None:
    ours, theirs = METRICS[name]
    score = ours(TRANSLATIONS, REFERENCES)
    assert score.name == name
    assert score.value == theirs(TRANSLATIONS, [REFERENCES]).score


@pytest.mark.parametrize("tokenize", ["13a", "none", "char", "intl"])
def test_bleu_takes_the_tokeniser_that_is_asked_for(tokenize: str) -> None:
    score = bleu(TRANSLATIONS, REFERENCES, tokenize=tokenize)
    assert score.value == sacrebleu.corpus_bleu(TRANSLATIONS, [REFERENCES], tokenize=tokenize).score
    assert f"tok:{tokenize}" in score.signature


@pytest.mark.parametrize("name", METRICS)
def test_every_score_says_how_it_was_made(name: str) -> None:
    signature = METRICS[name][0](TRANSLATIONS, REFERENCES).signature
    assert signature.startswith("nrefs:1|")
    assert f"version:{sacrebleu.__version__}" in signature


def test_a_perfect_translation_scores_the_best_of_each() -> None:
    assert bleu(REFERENCES, REFERENCES).value == pytest.approx(100)
    assert chrf(REFERENCES, REFERENCES).value == pytest.approx(100)
    assert ter(REFERENCES, REFERENCES).value == 0


def test_sacrebleus_advice_about_a_parameter_is_not_passed_on(caplog: pytest.LogCaptureFixture) -> None:
    bleu(["a dog ."] * 200, ["a dog ."] * 200)
    assert not caplog.records


@pytest.mark.parametrize("metric", [bleu, chrf], ids=["BLEU", "chrF"])
def test_an_interval_holds_the_score_and_leaves_it_as_it_was(metric) -> None:  # type: ignore[no-untyped-def]
    alone = metric(TRANSLATIONS, REFERENCES)
    drawn = metric(TRANSLATIONS, REFERENCES, bootstrap=200)
    assert drawn.value == alone.value
    assert drawn.low < drawn.high
    assert drawn.low <= drawn.value <= drawn.high
    assert "bs:200" in drawn.signature


def test_the_same_interval_is_drawn_every_time() -> None:
    assert bleu(TRANSLATIONS, REFERENCES, bootstrap=100) == bleu(TRANSLATIONS, REFERENCES, bootstrap=100)


def test_without_resampling_there_is_no_interval() -> None:
    score = bleu(TRANSLATIONS, REFERENCES)
    assert math.isnan(score.low)
    assert math.isnan(score.high)


def test_a_score_is_a_value() -> None:
    with pytest.raises(AttributeError):
        Score("BLEU", 1.0, "").value = 2.0  # type: ignore[misc]


def test_intervals_of_a_system_with_almost_nothing_right() -> None:
    """Resamples without a common character score 0.0, a Python float among NumPy's."""
    score = chrf(["a", "xyz", "uvw"], ["a b c", "가나다", "라마바"], bootstrap=200)
    assert score.low <= score.value <= score.high


def test_equal_scores_are_no_difference() -> None:
    references = ["a b c d", "e f g h", "i j k l"]
    before, after = ["a b c x", "e f g h", "i j k l"], ["a b c y", "e f g h", "i j k l"]  # one wrong word each
    score = next(new for _, new in paired_bootstrap(before, after, references, 100) if new.name == "TER")
    assert score.p_bootstrap == 1.0


@pytest.mark.parametrize("count", [0, 1, 3])
def test_one_translation_for_each_reference(count: int) -> None:
    """sacreBLEU scores the first pairs of unequal lists, as if there were no others."""
    references = ["a b c d", "e f g h"] if count else []
    translations = ["a b c d", "e f g h", "i j k l"][:count]
    for metric, _ in METRICS.values():
        with pytest.raises(DataError, match=f"{count} translation.*; give one translation for each reference"):
            metric(translations, references)
    with pytest.raises(DataError, match="give one translation for each reference"):
        compare({"one": references, "other": translations}, references)


@pytest.mark.parametrize("resamples", [-1, 1, "1000", 10.0, True, None])
def test_an_interval_is_not_made_of_one_resample(resamples: object) -> None:
    with pytest.raises(ConfigError, match=r"resamples: .* is no number from 2 on"):
        check_resamples(resamples)
    check_resamples(0)
    check_resamples(2)


def test_a_score_is_a_number_where_one_is_needed() -> None:
    score = Score("BLEU", 40.44, "signature", 38.94, 41.96)
    assert float(score) == 40.44
    assert f"{score:.1f}" == "40.4"
    assert str(score) == f"{score}" == "BLEU = 40.4 [38.9, 42.0]"
    assert str(Score("TER", 5.0, "signature")) == "TER = 5.0"
    assert score > 30
    assert score >= Score("BLEU", 40.44, "another")
    assert not score < 40.44
    assert score <= 41
