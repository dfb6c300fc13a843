"""Confidence: learned from translations and references, stored, read, and the same alone and in a batch."""

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.config import DecodeConfig
from dragoman.control.confidence.confidence import (
    Confidence,
    add_confidence,
    check_learned,
    draw,
    features,
    with_doubts,
)
from dragoman.control.confidence.learning import doubtful_limit, learn_confidence, learn_from_judgements
from dragoman.control.faults.faults import FLAGS
from dragoman.errors import ConfigError, DataError, ModelError
from dragoman.translation import Candidate, Flag, Translation

WORDS = "rot hund katze sieht gross zwei vogel baum haus".split()


def lines(count: int = 300, seed: int = 1) -> tuple[list[Translation], list[str], list[list[str]]]:
    """Translations whose log P says how many of their words are wrong, references, and samples that agree if right."""
    rng = random.Random(seed)
    translations, references, samples = [], [], []
    for _ in range(count):
        reference = rng.choices(WORDS, k=rng.randint(3, 9))
        wrong = rng.random()
        found = [rng.choice(WORDS) if rng.random() < wrong else word for word in reference]
        log_prob = -len(found) * (wrong + rng.random())
        best = Candidate(" ".join(found), log_prob, log_prob, tuple(range(len(found))))
        translations.append(Translation("x " * len(reference), (best,)))
        references.append(" ".join(reference))
        samples.append([" ".join(w if rng.random() > wrong else rng.choice(WORDS) for w in found) for _ in range(4)])
    return translations, references, samples


@pytest.fixture(scope="module")
def learned() -> Confidence:
    translations, references, samples = lines()
    return learn_confidence(translations, references, 50.0, samples)


def test_a_likely_translation_has_more_confidence_than_an_unlikely_one(learned: Confidence) -> None:
    sure, unsure = (
        Translation("x " * 5, (Candidate("rot hund katze sieht zwei", score, score, (1, 2, 3, 4, 5)),))
        for score in (-0.3, -6.0)
    )
    assert learned.probability(sure) > 0.8 > 0.3 > learned.probability(unsure)
    assert learned.plain.calibration.auc > 0.7
    assert learned.plain.calibration.ece < 0.1


def test_samples_that_disagree_take_confidence_away(learned: Confidence) -> None:
    one = lines(1, seed=9)[0][0]
    agreeing, other = [one.text] * 4, ["baum"] * 4
    assert learned.probability(one, agreeing) > learned.probability(one, other) + 0.05
    assert learned.sampled
    assert learned.sampled.calibration.auc > learned.plain.calibration.auc


@pytest.mark.slow
def test_on_other_lines_the_probability_is_the_share_that_is_accepted() -> None:
    from sacrebleu import sentence_chrf

    learned = learn_confidence(*lines(1500)[:2])
    translations, references, _ = lines(2000, seed=5)
    accepted = [sentence_chrf(t.text, [r]).score >= 50 for t, r in zip(translations, references, strict=True)]
    mean = sum(map(learned.probability, translations)) / len(translations)
    assert mean == pytest.approx(sum(accepted) / len(accepted), abs=0.05)


def test_equal_samples_of_a_line_do_not_lower_their_number() -> None:
    translations, references, samples = lines()
    samples[0] = samples[0][:1]  # as the engine gives them: no candidate twice
    assert learn_confidence(translations, references, 50.0, samples).samples == 4


def test_what_is_written_is_what_is_read(learned: Confidence, tmp_path: Path) -> None:
    (tmp_path / "confidence.json").write_text(learned.text(), encoding="utf-8")
    assert Confidence.read(tmp_path / "confidence.json") == learned


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[:40],
        lambda text: "[]",
        lambda text: "{}",
        lambda text: text.replace('"format": 1', '"format": 2'),
        lambda text: text.replace('"usual_ratio"', '"other"'),
        lambda text: text.replace('"weights": [', '"weights": ["a", '),
    ],
)
def test_a_malformed_file_is_named(learned: Confidence, tmp_path: Path, spoil) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "confidence.json"
    path.write_text(spoil(learned.text()), encoding="utf-8")
    with pytest.raises(ModelError, match=r"confidence\.json: .*dragoman model confidence"):
        Confidence.read(path)


def test_a_flagged_translation_has_little_confidence_however_likely(learned: Confidence) -> None:
    sure = Translation("x " * 5, (Candidate("rot hund katze sieht zwei", -0.3, -0.3, (1, 2, 3, 4, 5)),))
    looped = Translation(sure.source, sure.candidates, (FLAGS["loop"],))
    flags = (Flag("segmented", "translated in 2 parts"), Flag("language", "the source is not English"))
    parts = Translation(sure.source, sure.candidates, flags)
    empty = Translation("x", (Candidate("", -0.1, -0.1),), (Flag("empty", "no translation"),))
    assert add_confidence([empty], learned, DecodeConfig(confidence=True), lambda _: [])[0].confidence == 0.05
    assert learned.probability(looped) == learned.flagged_limit == 0.05
    assert learned.probability(parts) == learned.probability(sure)


def test_features_are_those_of_the_line_alone() -> None:
    translations, _, samples = lines(20)
    alone = [features(one, 0.1, drawn) for one, drawn in zip(translations, samples, strict=True)]
    assert [features(one, 0.1) for one in reversed(translations)] == [row[:6] for row in reversed(alone)]
    assert features(Translation("", (Candidate("", 0.0, 0.0),)), 0.0)[0] == 0


def test_too_little_text_and_one_outcome_are_refused() -> None:
    translations, references, _ = lines(99)
    with pytest.raises(DataError, match="99 lines with text; give at least 100"):
        learn_confidence(translations, references)
    translations, references, _ = lines(120)
    perfect = [one.text for one in translations]
    with pytest.raises(DataError, match="120 of 120 lines reach chrF 50"):
        learn_confidence(translations, perfect)
    blank = Translation("", (Candidate("", 0.0, 0.0),))
    assert learn_confidence([*translations, blank], [*references, ""]).lines == 120


def test_confidence_is_added_when_asked_for(learned: Confidence) -> None:
    translations, _, samples = lines(5)
    blank = Translation("", (Candidate("", 0.0, 0.0),))
    asked: list[DecodeConfig] = []

    def sample(options: DecodeConfig) -> list[Translation]:
        asked.append(options)
        drawn = [Translation("x", tuple(Candidate(text, 0.0, 0.0) for text in texts)) for texts in samples]
        return [*drawn, blank]

    given = [*translations, blank]
    assert add_confidence(given, None, DecodeConfig(), sample) == given
    plain = add_confidence(given, learned, DecodeConfig(confidence=True), sample)
    assert [one.confidence for one in plain] == [*map(learned.probability, translations), None]
    assert not asked
    options = DecodeConfig(confidence=True, confidence_samples=4, temperature=0.5, n_best=2)
    sampled = add_confidence(given, learned, options, sample)
    expected = [learned.probability(one, drawn) for one, drawn in zip(translations, samples, strict=True)]
    assert [one.confidence for one in sampled] == [*expected, None]
    [used] = asked
    assert (used.method, used.n_best, used.temperature, used.confidence) == ("sample", 4, 1.0, False)


def test_a_model_that_has_learned_none_says_how() -> None:
    with pytest.raises(ConfigError, match="the model has learned none; `dragoman model confidence -m MODEL"):
        check_learned(None, DecodeConfig(confidence=True))
    plain = learn_confidence(*lines()[:2])
    with pytest.raises(ConfigError, match=r"confidence_samples: .* --samples 8"):
        check_learned(plain, DecodeConfig(confidence=True, confidence_samples=4))
    check_learned(plain, DecodeConfig(confidence=True))
    check_learned(None, DecodeConfig(confidence_samples=4))


def test_samples_are_those_of_the_model_itself() -> None:
    def sample(options: DecodeConfig) -> list[Translation]:
        assert (options.top_k, options.top_p, options.seed) == (0, 1.0, 3)
        return [Translation("x", (Candidate("a", 0.0, 0.0), Candidate("b", 0.0, 0.0)))]

    assert draw(DecodeConfig(top_k=5, top_p=0.3, seed=3), 2, sample) == [["a", "b"]]


def judged_confidence(translations: list[Translation], references: list[str]) -> Confidence:
    """Learned from people who want every word as it is in the reference."""
    usable = [best.text == reference for best, reference in zip(translations, references, strict=True)]
    return learn_from_judgements(translations, usable)


def test_the_limit_of_doubt_is_the_lowest_that_keeps_its_promises() -> None:
    probabilities = [number / 100 for number in range(100)]
    usable = [number >= 20 and (number < 60 or number % 10 > 0) for number in range(100)]  # 24 of 100 are wrong
    limit, doubts = doubtful_limit(probabilities, usable)
    assert doubts
    assert limit == doubts.lines / 100
    for count in range(1, doubts.lines):
        wrong, others = usable[:count].count(False) / count, usable[count:].count(False) / (100 - count)
        assert wrong < 1 / 2 or others > 1 / 5
    assert doubts.wrong >= 1 / 2
    assert doubts.others_wrong <= 1 / 5


def test_where_wrong_ones_are_as_sure_as_right_ones_there_is_no_limit() -> None:
    assert doubtful_limit([0.1, 0.2, 0.3, 0.4] * 25, [True, True, True, False] * 25) == (0.0, None)


def test_judgements_teach_what_is_doubtful() -> None:
    translations, references, _ = lines()
    judged = judged_confidence(translations, references)
    assert judged.doubts
    assert judged.doubts.wrong >= 1 / 2
    marked = [any(flag.kind == "doubtful" for flag in with_doubts(one, judged).warnings) for one in translations]
    assert 0 < sum(marked) < len(marked)
    assert all(
        mark == (judged.probability(one) < judged.doubtful) for mark, one in zip(marked, translations, strict=True)
    )


def test_what_has_a_fault_is_not_also_doubtful() -> None:
    translations, references, _ = lines()
    judged = judged_confidence(translations, references)
    unlikely = min(translations, key=judged.probability)
    flagged = Translation(unlikely.source, unlikely.candidates, (Flag("loop", "repeated"),))
    assert [flag.kind for flag in with_doubts(unlikely, judged).warnings] == ["doubtful"]
    assert with_doubts(flagged, judged) == flagged
    assert add_confidence([unlikely], judged, DecodeConfig(doubtful=False), lambda _: []) == [unlikely]


def test_a_doubt_names_two_numbers_of_which_the_first_is_lower() -> None:
    translations, references, _ = lines()
    judged = judged_confidence(translations, references)
    limits = [(translation, judged.probability(translation) + 1e-6) for translation in translations[:20]]
    for translation, doubtful in [*limits, (replace(translations[0], confidence=0.1249), 0.125)]:
        near = replace(judged, doubtful=doubtful)
        (doubt,) = with_doubts(translation, near).warnings
        confidence, limit = map(float, re.findall(r"\d\.\d+", doubt.text))
        assert confidence < limit or limit == 0


def test_doubts_are_stored(tmp_path: Path) -> None:
    translations, references, _ = lines()
    judged = judged_confidence(translations, references)
    (tmp_path / "confidence.json").write_text(judged.text(), encoding="utf-8")
    assert Confidence.read(tmp_path / "confidence.json") == judged
