"""Substitution in place, with an engine whose scores are known: what is replaced, and how the new word is written."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from dragoman.bundle import open_bundle
from dragoman.config import DecodeConfig, TokenizerConfig
from dragoman.control.glossary.substitution import MissingTerm, SubstitutionTask, substitute
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Ids, Query
from dragoman.installed import resolve_model
from dragoman.text.tokens.tokenizer import Tokenizer, learn
from stand_ins import FakeEngine

SOURCE = [5]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return open_bundle(resolve_model(Path("en-ko"))).tokenizer


class Scores(FakeEngine):
    """An engine to which every token costs a nat, those of some texts more."""

    def __init__(self, tokenizer: Tokenizer, **costs: float) -> None:
        super().__init__(no_search)
        self.tokenizer, self.costs, self.scored = tokenizer, costs, list[str]()

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        texts = self.tokenizer.decode(list(targets), "target")
        self.scored += texts
        extra = [sum(cost for word, cost in self.costs.items() if word in text.split()) for text in texts]
        return [[-1.0] * len(target) + [-1.0 - more] for target, more in zip(targets, extra, strict=True)]


def no_search(query: Query, options: DecodeConfig) -> list[Hypothesis]:
    raise AssertionError("a substitution needs no search")


def substituted(
    tokenizer: Tokenizer, text: str, losses: dict[str, float], *required: str, engine: Scores | None = None
) -> str | None:
    """`text` with `required` in place of what loses: the first piece of each named word loses so much."""
    [ids] = tokenizer.encode([text], "target")
    missing = []
    for word in required:
        by_token, spelled = [0.0] * len(ids), ""
        for index in range(len(ids)):
            before, spelled = spelled, tokenizer.decode([ids[: index + 1]], "target")[0]
            for name, loss in losses.items():
                if len(before.rstrip()) <= text.index(name) < len(spelled):
                    by_token[index] = loss
        missing.append(MissingTerm((word,), by_token))
    task = SubstitutionTask(Query(SOURCE), ids, missing)
    [found] = substitute(engine or Scores(tokenizer), tokenizer, [task], DecodeConfig())
    return tokenizer.decode([found.tokens], "target")[0] if found else None


@pytest.mark.parametrize(
    ("text", "losses", "required", "becomes"),
    [
        ("the list", {"list": 5.0}, "roster", "the roster"),
        ("the list", {"list": 0.5}, "roster", None),
        # of a group the first; the words after lose because they followed it
        ("a user account", {"user": 5.0, "account": 7.0}, "patron", "a patron account"),
        ("a user account", {"user": 2.0, "account": 7.0}, "patron", "a user patron"),
        # the other words of the same spelling that lose too
        ("list and list", {"list": 5.0}, "roster", "roster and list"),
        # case, punctuation
        ("Table list, a user", {"Table": 5.0}, "grid", "Grid list, a user"),
        ("(list), a user", {"list": 5.0}, "roster", "(roster), a user"),
        # an article that agreed agrees again, one that did not stays
        ("the cells of an object", {"object": 5.0}, "slot", "the cells of a slot"),
        ("a list, a user", {"list": 5.0}, "index", "an index, a user"),
        ("an list", {"list": 5.0}, "index", "an index"),
        # Korean particles, in the shape that agrees
        ("셀을 표로 복사합니다", {"셀을": 5.0}, "기둥", "기둥을 표로 복사합니다"),
        ("셀을 표로 복사합니다", {"셀을": 5.0}, "도표", "도표를 표로 복사합니다"),
        ("셀을 표로 복사합니다", {"표로": 5.0}, "칸", "셀을 칸으로 복사합니다"),
        ("사용자 계정의 목록", {"사용자": 5.0, "계정의": 5.0}, "손님", "손님 계정의 목록"),
        ("사용자 계정의 목록", {"계정의": 5.0}, "GPU", "사용자 GPU의 목록"),
    ],
)
def test_the_word_that_loses_is_replaced_in_its_form(
    tokenizer: Tokenizer, text: str, losses: dict[str, float], required: str, becomes: str | None
) -> None:
    assert substituted(tokenizer, text, losses, required) == becomes


def test_a_plural_is_tried_and_the_score_decides(tokenizer: Tokenizer) -> None:
    text, losses = "the tables and cells", {"tables": 5.0}
    dear = Scores(tokenizer, grids=50.0)
    assert substituted(tokenizer, text, losses, "grid", engine=dear) == "the grid and cells"
    assert {"the grid and cells", "the grids and cells"} <= set(dear.scored)
    assert substituted(tokenizer, text, losses, "grid", engine=Scores(tokenizer, grid=50.0)) == "the grids and cells"


def test_where_there_are_no_spaces_the_characters_that_lose_are_replaced() -> None:
    characters = learn([("a", "我的服务器很慢"), ("b", "主机")] * 9, TokenizerConfig(vocab_size=273))
    losses = dict.fromkeys("服务器", 5.0)
    assert substituted(characters, "我的服务器很慢", losses, "主机") == "我的主机很慢"


def test_two_terms_do_not_take_the_same_word(tokenizer: Tokenizer) -> None:
    assert substituted(tokenizer, "the list", {"list": 5.0}, "roster", "index") == "the roster"


def test_an_empty_translation_has_nothing_to_replace(tokenizer: Tokenizer) -> None:
    task = SubstitutionTask(Query(SOURCE), [], [MissingTerm(("roster",), [])])
    assert substitute(Scores(tokenizer), tokenizer, [task], DecodeConfig()) == [None]
    assert substitute(Scores(tokenizer), tokenizer, [], DecodeConfig()) == []
