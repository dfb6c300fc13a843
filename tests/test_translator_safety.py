"""Translator: long lines whole and in order, loops searched for again, faults flagged, memory that does not grow."""

import gc
import re
import tracemalloc
from collections.abc import Callable, Iterable, Sequence

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dragoman.config import DecodeConfig, ModelConfig, TokenizerConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Query
from dragoman.engine.torch import TorchEngine
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Tokenizer, learn
from dragoman.text.words.normalise import normalise
from dragoman.translator import Translation, Translator
from stand_ins import FakeEngine

LETTERS = [("red dog. ", "sees two. "), ("small bird, tree", "big cat!")] * 20
Say = Callable[[list[int], DecodeConfig], list[int]]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return learn(LETTERS, TokenizerConfig(vocab_size=282))


def searched(translator: Translator) -> list[tuple[list[int], int]]:
    """What its engine was asked for, and which n-grams it might not repeat."""
    return [(list(query.source), options.no_repeat_ngram) for query, options in translator.engine.searched]  # type: ignore[attr-defined]


def saying(say: Say = lambda source, _: source) -> FakeEngine:
    """An engine whose translation is a function of the source tokens."""

    def answer(query: Query, options: DecodeConfig) -> list[Hypothesis]:
        words = tuple(say(list(query.source), options))
        return [Hypothesis(words * (n + 1), float(-len(words) - n), -1.0 - n) for n in range(options.n_best)]

    return FakeEngine(answer)


def kinds(translation: Translation) -> list[str]:
    return [flag.kind for flag in translation.warnings]


def make(tokenizer: Tokenizer, say: Say | None = None, max_source_tokens: int = 40, **options: object) -> Translator:
    engine = saying(say) if say else saying()
    changed = DecodeConfig().model_copy(update=options)
    return Translator(tokenizer, engine, changed, max_source_tokens=max_source_tokens, language=ANY)


# --- long text ---------------------------------------------------------------------------------------------------

# The lines are in two languages: no word is in a foreign script.
ANY = "und"
SHORT = "Red dog. Two."
LONG = "The red dog sees two birds. A small cat, big and red, sees the dog. Why?  그는 “가자!”라고 말했다."


def test_a_short_line_stays_whole_and_a_long_one_is_translated_sentence_by_sentence(tokenizer: Tokenizer) -> None:
    tokenizer_words = learn([(LONG, SHORT)] * 30, TokenizerConfig(vocab_size=300))
    longest = 20 * len(tokenizer_words.encode([SHORT], "source")[0])
    translator = Translator(tokenizer_words, saying(), DecodeConfig(), max_source_tokens=longest, language=ANY)
    short, long, empty = translator.translate([SHORT, LONG, ""])
    assert (short.text, kinds(short)) == (SHORT, [])
    assert (empty.text, kinds(empty)) == ("", [])
    assert long.text == LONG.replace("  ", " ")
    assert kinds(long)[-1] == "segmented"
    assert long.warnings[-1].text == "translated in 4 parts"


def test_nothing_longer_than_in_training_is_asked_of_the_engine(tokenizer: Tokenizer) -> None:
    translator = make(tokenizer)
    for text in (f"{LONG} " * 9, "dog" * 500, "개가 " * 300, "👩\u200d👩\u200d👧" * 99, "한" * 300):
        assert translator.translate(text).text.rstrip() == " ".join(text.split())
    assert max(len(source) for source, _ in searched(translator)) <= 40


LINE = st.text(alphabet='redog .,!?"”」라고、\u0301👩\u200d1', max_size=200)


def as_read(line: str) -> str:
    """A line without spaces, with the signs that the vocabulary lacks as it is shown them, without lone joiners."""
    signs = str.maketrans({" ": None, "、": ",", "」": '"'})
    return normalise(re.sub("(?<!👩)\u200d", "", normalise(line)).translate(signs))


@settings(deadline=None)
@given(st.lists(LINE, max_size=4), st.integers(1, 30))
@example(["e\u200d\u0301고"], 1)
@example(["👩 \u200d고"], 1)
def test_whatever_is_cut_comes_back_whole_and_in_order(tokenizer: Tokenizer, lines: list[str], longest: int) -> None:
    found = make(tokenizer, max_source_tokens=longest).translate(lines)
    assert [translation.source for translation in found] == lines
    assert [as_read(translation.text) for translation in found] == [as_read(line) for line in lines]


def test_without_a_longest_every_line_is_translated_once_and_whole(tokenizer: Tokenizer) -> None:
    translator = Translator(tokenizer, saying(lambda source, _: source[:1] * 30), DecodeConfig(), language=ANY)
    translator.translate([LONG, SHORT])
    assert [source for source, _ in searched(translator)] == tokenizer.encode([LONG, SHORT], "source")


def test_a_line_in_parts_has_the_sum_of_their_log_p_and_the_mean_of_their_scores(tokenizer: Tokenizer) -> None:
    translator = make(tokenizer, n_best=3, beam=3)
    found = translator.translate(LONG)
    parts = len({tuple(source) for source, _ in searched(translator)})
    assert [candidate.score for candidate in found.candidates] == [-1.0, -2.0, -3.0]
    tokens = len(found.candidates[0].tokens)
    assert [candidate.log_prob for candidate in found.candidates] == [-tokens - n * parts for n in range(3)]


@pytest.mark.slow
def test_a_line_of_a_single_long_word_is_one_translation(tokenizer: Tokenizer) -> None:
    text = "dog" * 40_000
    found = make(tokenizer, max_source_tokens=400).translate([SHORT, text, SHORT])
    assert [translation.text for translation in found] == [SHORT, text, SHORT]


def test_a_real_model_translates_a_long_line_as_it_translates_its_sentences(tokenizer: Tokenizer) -> None:
    torch.manual_seed(3)
    shape = ModelConfig.model_validate({"layers": 1, "d_model": 16, "d_ff": 16, "heads": 2})
    model = Transformer(shape, len(tokenizer.source), len(tokenizer.target))
    options = DecodeConfig(beam=2, extra_length=3)
    translator = Translator(tokenizer, TorchEngine(model, torch.device("cpu")), options, max_source_tokens=40)
    sentences = ["Red dog sees two birds.", "Small cat sees tree, red bird.", "Two dogs."]
    whole = translator.translate(" ".join(sentences))
    alone = [found.text for found in translator.translate(sentences)]
    assert whole.text == " ".join(" ".join(alone).split())
    assert "segmented" in kinds(whole)


# --- loops and copies --------------------------------------------------------------------------------------------


def test_a_loop_is_searched_for_again_without_repeats(tokenizer: Tokenizer) -> None:
    translator = make(tokenizer, lambda source, options: source if options.no_repeat_ngram else source[:1] * 30, 400)
    found = translator.translate([SHORT, "", "tree"])
    assert [translation.text for translation in found] == [SHORT, "", "tree"]
    assert [kinds(translation) for translation in found] == [[], [], []]
    assert [n_gram for _, n_gram in searched(translator)] == [0, 0, 4, 4]


def test_a_loop_that_stays_is_searched_for_in_smaller_parts(tokenizer: Tokenizer) -> None:
    text = "small bird tree, small dog bird"
    length = len(tokenizer.encode([text], "source")[0])
    translator = make(tokenizer, lambda source, _: source[:1] * 30 if len(source) == length else source)
    translator.max_source_tokens = 4 * length
    found = translator.translate([text, "dog"])
    assert [translation.text for translation in found] == [text, "dog"]
    assert "loop" not in kinds(found[0])


def test_a_loop_that_no_retry_removes_is_kept_and_flagged(tokenizer: Tokenizer) -> None:
    translator = make(tokenizer, lambda source, _: source[:1] * 30, 400)
    sound, looping = make(tokenizer, max_source_tokens=400).translate(SHORT), translator.translate(SHORT)
    assert (kinds(sound), kinds(looping)) == ([], ["loop"])
    assert len(looping.candidates[0].tokens) == 30


def test_a_stricter_rule_against_repeats_is_kept(tokenizer: Tokenizer) -> None:
    translator = make(tokenizer, lambda source, _: source[:1] * 30, no_repeat_ngram=2)
    translator.translate(SHORT)
    assert {n_gram for _, n_gram in searched(translator)} == {2}


def test_invented_text_is_flagged(tokenizer: Tokenizer) -> None:
    numbers = iter(range(100, 100_000))
    found = make(tokenizer, lambda source, _: [4 + next(numbers) % 270 for _ in range(90)]).translate("red dog")
    assert kinds(found) == ["length", "sign"]  # many of these tokens are bytes, and most of those no character
    assert "\ufffd" not in found.text


def test_a_copy_is_flagged(tokenizer: Tokenizer) -> None:
    lines = ["red dog sees two small birds", "Kim, Park, Lee, Choi, Jung", "https://example.org", "red dog"]
    translator = make(tokenizer, max_source_tokens=1000)
    assert [kinds(found) for found in translator.translate(lines)] == [
        ["copy"],
        [],
        [],
        [],
    ]


# --- in the long run ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_memory_does_not_grow_with_the_lines_of_a_stream(tokenizer: Tokenizer) -> None:
    class Forgetful(FakeEngine):
        def translate(self, queries: Sequence[Query], options: DecodeConfig) -> list[list[Hypothesis]]:
            found = super().translate(queries, options)
            self.searched.clear()
            return found

    def lines() -> Iterable[str]:
        for number in range(8_000):
            yield "dog " * (number % 3)

    translator = Translator(tokenizer, Forgetful(), DecodeConfig(), max_source_tokens=40)
    sizes = []
    tracemalloc.start()
    for number, _ in enumerate(translator.stream(lines(), window=100)):
        if number % 2000 == 1999:
            gc.collect()  # when garbage is looked for depends on what ran before
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert len(sizes) == 4
    assert max(sizes) - sizes[0] < 100_000  # 6,000 translations that were kept would be many times as much


@pytest.mark.slow
def test_long_lines_make_the_window_of_a_stream_smaller(tokenizer: Tokenizer) -> None:
    read = 0

    def lines() -> Iterable[str]:
        nonlocal read
        for _ in range(9):
            read += 1
            yield "dog" * 100_000 + " " * 500_000

    found = next(iter(make(tokenizer, max_source_tokens=1000).stream(lines())))
    assert (len(found.text), read) == (800_000, 2)  # the space at the end of a line stays


@pytest.mark.parametrize(
    "text", ["👩\u200d👩\u200d👧 👍🏽", "e\u0301\u0323\u0302", "\u0301\u0301", "\u200d"], ids=ascii
)
def test_emoji_and_marks_come_through(tokenizer: Tokenizer, text: str) -> None:
    import unicodedata

    assert make(tokenizer).translate(text).text == unicodedata.normalize("NFC", text)
