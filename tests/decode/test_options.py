"""Each option of the beam search against the same search in plain Python."""

import math
from collections.abc import Callable
from itertools import product

import pytest
import torch
from searching import attention, beam_search, log_probs
from torch import Tensor

from architectures import TRANSFORMERS
from dragoman.config import DecodeConfig
from dragoman.decode.ensemble import EnsembleState
from dragoman.decode.hypothesis import length_penalty
from dragoman.decode.topk import topk_by_blocks
from dragoman.engine import Query
from dragoman.engine.torch import TorchEngine
from dragoman.errors import ResourceError
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import EOS
from stand_ins import queries
from suites import cases, covering

Build = Callable[..., Transformer]
Draw = Callable[..., list[list[int]]]
CPU = torch.device("cpu")
LENGTHS = [4, 1, 6, 3]


Found = list[tuple[float, float, list[int]]]


def found(
    engine: TorchEngine,
    sources: list[list[int]],
    beam: int = 3,
    prefixes: list[list[int]] | None = None,
    **options: object,
) -> list[Found]:
    keys = {"beam": beam, "n_best": beam, "extra_length": 5, **options}
    together = engine.translate(queries(sources, prefixes), DecodeConfig.model_validate(keys))
    return [[(h.score, h.log_prob, list(h.tokens)) for h in hypotheses] for hypotheses in together]


def assert_same(one: Found, other: Found) -> None:
    assert [tokens for _, _, tokens in one] == [tokens for _, _, tokens in other]
    for (score, total, _), (expected, expected_total, _) in zip(one, other, strict=True):
        assert score == pytest.approx(expected, abs=1e-4)
        assert total == pytest.approx(expected_total, abs=1e-4)


PLAIN: list[tuple[dict[str, int], dict[str, int]]] = [
    ({}, {}),
    ({"min_length": 4}, {"least": 4}),
    ({"max_length": 3}, {"most": 3}),
    ({"no_repeat_ngram": 1}, {"n": 1}),
    ({"no_repeat_ngram": 2}, {"n": 2}),
    ({"no_repeat_ngram": 3, "min_length": 6}, {"n": 3, "least": 6}),
    ({"no_repeat_ngram": 1, "min_length": 12, "extra_length": 50}, {"n": 1, "least": 12, "most": 60}),
]


@pytest.mark.parametrize(
    ("model", "beam", "option"), covering(TRANSFORMERS, [3, 1], {str(keys): keys for keys in PLAIN}), indirect=["model"]
)
def test_an_option_is_what_the_plain_search_does_with_it(
    model: Transformer, sentences: Draw, beam: int, option: tuple[dict[str, int], dict[str, int]]
) -> None:
    options, plain = option
    sources = sentences(LENGTHS)
    for source, hypotheses in zip(sources, found(TorchEngine(model, CPU), sources, beam, **options), strict=True):
        keys = {"beam": beam, "most": len(source) + 5, **plain}
        if "least" in plain:
            keys["most"] = max(keys["most"], plain["least"])
        assert_same(hypotheses, beam_search([model], source, **keys))


@pytest.mark.parametrize(("model", "beam"), covering(TRANSFORMERS, [1, 3]), indirect=["model"])
def test_a_prefix_is_part_of_tokens_and_probability(model: Transformer, sentences: Draw, beam: int) -> None:
    sources, prefixes = sentences(LENGTHS), [[5, 6, 5], [], [7], [1, 4, 4, 4, 4, 4, 4, 4, 4, 4, 9]]
    together = found(TorchEngine(model, CPU), sources, beam, prefixes, no_repeat_ngram=2)
    for source, prefix, hypotheses in zip(sources, prefixes, together, strict=True):
        assert all(tokens[: len(prefix)] == prefix for _, _, tokens in hypotheses)
        most = max(len(source) + 5, len(prefix))
        assert_same(hypotheses, beam_search([model], source, beam=beam, most=most, prefix=prefix, n=2))


@pytest.mark.slow
@pytest.mark.parametrize("count", cases([2, 3], quick=[2]))
def test_an_ensemble_averages_probabilities(build: Build, sentences: Draw, count: int) -> None:
    shapes = [{"norm_order": "post"}, {"d_model": 8, "heads": 2}, {"layers": 1, "positions": "rotary"}]
    models, sources = [build(seed=seed, **shapes[seed]) for seed in range(count)], sentences(LENGTHS)
    engine = TorchEngine(models, CPU)
    for source, hypotheses in zip(sources, found(engine, sources), strict=True):
        assert_same(hypotheses, beam_search(models, source, beam=3, most=len(source) + 5))
    for one in ([model, model] for model in models):  # an ensemble of one model twice is the model
        for hypotheses, alone in zip(
            found(TorchEngine(one, CPU), sources), found(TorchEngine(one[0], CPU), sources), strict=True
        ):
            assert_same(hypotheses, alone)


@pytest.mark.slow
@pytest.mark.parametrize(("beam", "count"), covering([1, 3], [1, 2]))
def test_a_shortlist_is_the_sentences_own_whatever_its_neighbours_have(
    build: Build, sentences: Draw, beam: int, count: int
) -> None:
    # One of the models has a bias on its logits, which the shortlist's rows keep.
    models, sources = [build(seed=seed, output_bias=seed == 0) for seed in range(count)], sentences(LENGTHS)
    lists = {tuple(source): {*source, 4 + len(source)} for source in sources}
    engine = TorchEngine(models, CPU, shortlist=lambda source: sorted(lists[tuple(source)]))
    prefixes = [[], [12, 11], [], []]
    assert not {11, 12} <= lists[tuple(sources[1])]
    together = found(engine, sources, beam, prefixes, no_repeat_ngram=3, shortlist=True)
    for source, prefix, hypotheses in zip(sources, prefixes, together, strict=True):
        words = lists[tuple(source)]
        assert all({*tokens} <= words | {*prefix} for _, _, tokens in hypotheses)
        plain = beam_search(models, source, beam=beam, most=len(source) + 5, prefix=prefix, words=words, n=3)
        assert_same(hypotheses, plain)
    free = found(engine, sources, beam)
    for hypotheses, plain in zip(free, found(TorchEngine(models, CPU), sources, beam), strict=True):
        assert_same(hypotheses, plain)


@pytest.mark.parametrize(("model", "beta"), covering(TRANSFORMERS, [0.2, 5.0]), indirect=["model"])
def test_the_coverage_penalty_is_equation_14(model: Transformer, sentences: Draw, beta: float) -> None:
    sources = sentences(LENGTHS)
    engine = TorchEngine(model, CPU)
    for source, hypotheses in zip(
        sources, found(engine, sources, coverage_penalty=beta, no_repeat_ngram=2), strict=True
    ):
        assert [h[0] for h in hypotheses] == sorted((h[0] for h in hypotheses), reverse=True)
        for score, total, tokens in hypotheses:
            attended = attention(model, source, tokens).sum(0).tolist()
            cp = beta * sum(math.log(min(sum_p, 1.0)) for sum_p in attended)
            assert score == pytest.approx(total / length_penalty(len(tokens) + 1, 0.6) + cp, abs=1e-3)


def test_scores_are_those_of_the_tokens_one_after_another(build: Build, sentences: Draw) -> None:
    models, sources, targets = (
        [build(seed=seed) for seed in range(2)],
        sentences([2, 30, 5, 1]),
        sentences([7, 1, 4], seed=5),
    )
    targets.append([])
    together = TorchEngine(models, CPU).score(queries(sources), targets)
    alone = [TorchEngine(model, CPU).score(queries(sources), targets) for model in models]
    for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
        target_ids = [*target, EOS]
        assert len(together[number]) == len(target_ids)
        for place, token in enumerate(target_ids):
            each = [log_probs(model, source, target_ids[:place])[token] for model in models]
            assert [scores[number][place] for scores in alone] == pytest.approx(each, abs=1e-4)
            expected = torch.tensor(each).exp().mean().log().item()
            assert together[number][place] == pytest.approx(expected, abs=1e-4)


def test_scoring_groups_by_the_longer_side_and_keeps_order(
    build: Build, sentences: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, shapes = TorchEngine(build(), CPU), []
    score = engine._score

    def recorded(group: list[Query], targets: list[list[int]]) -> list[list[float]]:
        shapes.append(([query.source for query in group], targets))
        return score(group, targets)

    monkeypatch.setattr(engine, "_score", recorded)
    sources = sentences([*range(1, 60), 3000])
    engine.score(queries(sources), sources[::-1])
    assert len(shapes) > 2
    for group in shapes:
        assert len(group[0]) == 1 or len(group[0]) * (1 + max(len(row) for side in group for row in side)) <= 4096


@pytest.mark.slow
def test_a_group_too_large_for_memory_is_halved(build: Build, sentences: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, sources, most = TorchEngine(build(), CPU), sentences([3, 1, 5, 2, 4, 4, 9]), 2
    whole = found(engine, sources)
    encode = engine.models.encode

    def small(src: Tensor, mask: Tensor) -> EnsembleState:
        if src.size(0) > most:
            raise torch.OutOfMemoryError
        return encode(src, mask)

    monkeypatch.setattr(engine.models, "encode", small)
    for hypotheses, expected in zip(found(engine, sources), whole, strict=True):
        assert_same(hypotheses, expected)
    most = 0
    with pytest.raises(ResourceError, match="1 sentence of"):
        found(engine, sources)


@pytest.mark.parametrize("model", cases(TRANSFORMERS, quick=["today"]), indirect=True)
def test_bfloat16_finds_almost_the_same(model: Transformer, sentences: Draw) -> None:
    sources = sentences(LENGTHS)
    rounded = TorchEngine(model, CPU, precision="bfloat16")
    for hypotheses in rounded.translate(queries(sources), DecodeConfig(extra_length=5)):
        assert len(hypotheses) == 1
    exact = TorchEngine(model, CPU).score(queries(sources), sources)
    assert model.projection.dtype == torch.float32  # the caller's model is left alone
    for row, expected in zip(rounded.score(queries(sources), sources), exact, strict=True):
        assert row == pytest.approx(expected, abs=0.5)


@pytest.mark.parametrize("width", [5, 4096, 5000])
def test_the_best_of_blocks_are_the_best(width: int) -> None:
    scores = torch.randn(6, width, generator=torch.Generator().manual_seed(1))
    scores[0] = -torch.inf
    scores[0, -1] = 0.0
    for k, (row, columns) in product([1, 5], zip(scores, scores, strict=True)):
        values, places = topk_by_blocks(row[None], k)
        assert values.tolist() == [sorted(row.tolist(), reverse=True)[:k]]
        assert columns[places[0]].tolist() == values[0].tolist()
