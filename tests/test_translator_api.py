"""The public surface of Translator: per-call options, any iterable of lines, precision and threads, one clear error."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import torch

import dragoman
from dragoman.config import DecodeConfig, ModelConfig, TokenizerConfig
from dragoman.config.sections.decode import DecodeOptions
from dragoman.control.search.request import change_options
from dragoman.engine.torch import TorchEngine
from dragoman.errors import ConfigError, DataError
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Tokenizer, learn
from dragoman.translation import Candidate, Flag, Translation
from dragoman.translator import Translator
from stand_ins import queries

WORDS = ["dog", "cat", "bird", "tree", "red", "small", "two", "sees"]
LINES = [(f"{a} {b} {c}", f"{c} {a} {b}") for a in WORDS for b in WORDS for c in WORDS[:3]]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return learn(LINES, TokenizerConfig(vocab_size=282))


@pytest.fixture(scope="module")
def translator(tokenizer: Tokenizer) -> Translator:
    torch.manual_seed(3)
    shape = ModelConfig.model_validate({"layers": 1, "d_model": 16, "d_ff": 16, "heads": 2})
    model = Transformer(shape, len(tokenizer.source), len(tokenizer.target))
    return Translator(tokenizer, TorchEngine(model, torch.device("cpu")), DecodeConfig(beam=2, extra_length=3))


def test_every_key_of_decode_but_those_of_the_engine_can_be_given_per_call() -> None:
    assert set(get_type_hints(DecodeOptions)) == set(DecodeConfig.model_fields) - {"precision", "language_model"}


def test_options_of_a_call_are_those_of_a_translator_made_with_them(translator: Translator) -> None:
    wanted = DecodeConfig(beam=3, n_best=3, extra_length=3, length_penalty=0.0)
    made = Translator(translator.tokenizer, translator.engine, wanted).translate("red dog")
    assert translator.translate("red dog", n_best=3, beam=3, length_penalty=0.0) == made
    assert translator.translate("red dog", options=wanted) == made
    assert next(translator.stream(["red dog"], options=wanted)) == made
    assert next(translator.stream(["red dog"], n_best=3, length_penalty=0.0)) == made, "n_best widens the beam"
    assert len(translator.translate("red dog", method="sample", n_best=5, seed=7).candidates) == 5
    assert len(translator.alternatives("red dog", count=3, length_penalty=0.0)) == 3
    assert translator.options.n_best == 1, "a call changes nothing but itself"
    assert change_options(wanted, {"beam": None}) == wanted


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"beam": 100_000}, r"decode\.beam: "),
        ({"beam": "many"}, r"decode\.beam: "),
        ({"n_best": 3, "beam": 2}, r"decode\.n_best: "),
        ({"temperature": 0}, r"decode\.temperature: "),
        ({"bean": 3}, r"decode\.bean: unknown key; did you mean decode\.beam\?"),
        ({"precision": "float32"}, r"precision: .*Translator\.load"),
        ({"glossary": "terms.tsv"}, r"glossary: .*Glossary\.of"),
        ({"glossary": [("dog", "cat")]}, r"glossary: give a dict of terms.* not a value of type list"),
        ({"options": {"beam": 2}}, r"options: .*DecodeConfig"),
        ({"target_prefix": None}, r"target_prefix: give a str, not None"),
    ],
    ids=str,
)
def test_a_wrong_option_is_an_error_that_names_its_key(
    translator: Translator, changes: dict[str, Any], key: str
) -> None:
    for call in (translator.translate, translator.stream):
        with pytest.raises(ConfigError, match=f"^{key}"):
            call(["red dog"], **changes)


def test_too_many_alternatives_are_refused(translator: Translator) -> None:
    with pytest.raises(ConfigError, match=r"^count: 5,000 is more than 1,024; ask for fewer$"):
        translator.alternatives("red dog", count=5000)


@pytest.mark.parametrize(
    "make",
    [list, tuple, iter, lambda lines: (line for line in lines), lambda lines: dict.fromkeys(lines).keys()],
    ids=["list", "tuple", "iterator", "generator", "keys"],
)
def test_any_iterable_of_str_is_a_list_of_lines(translator: Translator, make: Callable[[list[str]], Any]) -> None:
    lines = ["red dog", "two", "tree"]
    assert translator.translate(make(lines)) == translator.translate(lines)
    assert list(translator.stream(make(lines))) == translator.translate(lines)


def test_a_str_is_one_line_for_a_stream_too(translator: Translator) -> None:
    assert list(translator.stream("red dog")) == [translator.translate("red dog")]


def with_a_number() -> Iterator[Any]:
    yield "red dog"
    yield 3


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (None, "None given"),
        (b"red dog", "type bytes given"),
        ({"red": "dog"}, "type dict given"),
        (3, "type int given"),
        (["red dog", 3], "line 2 is a value of type int"),
        (with_a_number(), "line 2 is a value of type int"),
        ([None], "line 1 is None"),
    ],
)
def test_anything_else_is_an_error_that_says_what_was_given(translator: Translator, text: Any, given: str) -> None:
    with pytest.raises(DataError, match=rf"^text: .*{given}"):
        translator.translate(text)


# --- loading -------------------------------------------------------------------------------------------------------


def test_load_takes_str_and_path(tmp_path: Path) -> None:
    for path in ("en-ko", Path("en-ko"), ["en-ko"]):
        assert Translator.load(path, threads=1).translate("").text == ""


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ({"precision": "int8"}, "precision 'int8': choose one of: auto, float32, bfloat16"),
        ({"precision": "float32", "engine": "ct2-int8"}, "precision 'float32': ct2-int8 has its own"),
        ({"threads": 0}, "threads: 0 is not between"),
        ({"threads": 10**6}, "threads: 1000000 is not between"),
        ({"threads": "two"}, "threads: 'two' is not between"),
        ({"options": {"beam": 2}}, r"options: .*DecodeConfig"),
        ({"glossary": "terms.tsv"}, r"glossary: .*Glossary\.read"),
    ],
    ids=str,
)
def test_a_wrong_argument_of_load_is_an_error_that_names_it(arguments: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=f"^{key}"):
        Translator.load("en-ko", **arguments)


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_reach_ctranslate2(threads: int) -> None:
    assert Translator.load("en-ko", threads=threads).engine.threads == threads  # type: ignore[attr-defined]


@pytest.mark.slow
def test_threads_and_precision_reach_torch_and_leave_the_process_as_it_was(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, before = translator.engine.models.models[0], torch.get_num_threads()  # type: ignore[attr-defined]
    seen: list[int] = []
    engine = TorchEngine(model, torch.device("cpu"), threads=before + 1, precision="bfloat16")
    assert engine.precision == "bfloat16"
    search = engine._search
    monkeypatch.setattr(engine, "_search", lambda *given: (seen.append(torch.get_num_threads()), search(*given))[1])
    engine.translate(queries([[5, 6]]), DecodeConfig(beam=1))
    engine.translate(queries([[5, 6]]), DecodeConfig(beam=1, exact=True))
    assert (seen, torch.get_num_threads()) == ([before + 1, 1], before)


# --- arguments of a wrong type -------------------------------------------------------------------------------------

NO_PATHS: tuple[Any, ...] = (None, 5, b"x", {}, [])


@pytest.mark.parametrize("given", NO_PATHS, ids=repr)
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (dragoman.train, "config"),
        (dragoman.load_config, "config"),
        (dragoman.check_data, "config"),
        (lambda given: dragoman.split_data(given, "a", "b"), "config"),
        (dragoman.open_bundle, "model"),
        (dragoman.export, "model"),
        (lambda given: dragoman.inspect(given, "a"), "model"),
        (lambda given: dragoman.distill("en-ko", given), "config"),
        (dragoman.Glossary.read, "glossary"),
        (lambda given: dragoman.evaluate(given, ["a"], ["b"]), "model"),
    ],
    ids=[
        "train",
        "load_config",
        "check_data",
        "split_data",
        "open_bundle",
        "export",
        "inspect",
        "distill",
        "read",
        "evaluate",
    ],
)
def test_what_is_no_path_is_an_error_that_names_the_argument(call: Callable[[Any], Any], name: str, given: Any) -> None:
    with pytest.raises(ConfigError, match=rf"^{name}: give a path, a str or os\.PathLike, not "):
        call(given)


@pytest.mark.parametrize("given", [None, 5, b"en-ko", {}, [None]], ids=repr)
def test_what_is_no_model_is_an_error(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"^model: give a path"):
        Translator.load(given)


@pytest.mark.parametrize("given", [0, -1, "3", None, 1.5, True], ids=repr)
def test_a_number_is_a_whole_number_above_0(translator: Translator, given: Any) -> None:
    with pytest.raises(ConfigError, match=rf"^window: give a whole number above 0, not {given!r}$"):
        translator.stream(["red dog"], given)
    with pytest.raises(ConfigError, match=rf"^count: give a whole number above 0, not {given!r}$"):
        translator.alternatives("red dog", count=given)


@pytest.mark.parametrize("given", [None, b"x", {"a": "b"}, 5, [], ["a"], ["a", "b"]], ids=repr)
def test_alternatives_are_those_of_one_line(translator: Translator, given: Any) -> None:
    with pytest.raises(DataError, match=r"^text: .* given; give a str, one line$"):
        translator.alternatives(given)


@pytest.mark.parametrize(
    "given",
    [None, 5, "ab", b"ab", {"a": "b"}, ["ab"], [b"ab"], [None], [("a",)], [("a", None)], [("a", "b", "c")], [(1, 2)]],
    ids=repr,
)
def test_what_is_no_pair_of_str_is_named(translator: Translator, given: Any) -> None:
    with pytest.raises(DataError, match=r"^pairs: .*(two str)$"):
        translator.score(given)
    assert translator.score(iter([["red", "red"], ("red", "red")])) == translator.score([("red", "red")] * 2)  # type: ignore[list-item]


@pytest.mark.parametrize(
    "given",
    [None, "a", 5, [("a", "b")], {"a": None}, {"a": 5}, {"a": [None]}, {"a": b"x"}, {5: "a"}, {None: "a"}, {"a": {}}],
    ids=repr,
)
def test_what_is_no_glossary_is_named(given: Any) -> None:
    with pytest.raises((ConfigError, DataError), match=r"^glossary:.*(None|a value of type)"):
        dragoman.Glossary.of(given)


@pytest.mark.parametrize(
    "arguments", [{"engine": None}, {"engine": 5}, {"device": None}, {"device": 5}, {"threads": True}], ids=repr
)
def test_a_wrong_type_of_engine_device_or_threads_is_named(arguments: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"^{next(iter(arguments))}: "):
        Translator.load("en-ko", **arguments)


def test_a_translator_is_read_in_one_line_and_closed_by_with(translator: Translator) -> None:
    with Translator(translator.tokenizer, translator.engine, translator.options) as opened:
        assert repr(opened) == "<Translator en-und, TorchEngine>"
        assert opened.translate("red dog").text
    with pytest.raises(ConfigError, match="it was closed; load it again"):
        opened.translate("red dog")
    assert translator.translate("red dog").text, "the engine of another is open"


def test_a_translation_is_shown_as_its_text() -> None:
    made = Translation("Guten Tag", (Candidate("Good day", -1.0, -1.0, (4, 5)),))
    assert str(made) == f"{made}" == "Good day"
    assert repr(made) == "Translation('Good day', source='Guten Tag')"
    more = Translation("1", (made.candidates[0],) * 2, (Flag("number", "lacks 1"),), (), 0.0, (), 99)
    assert repr(more) == (
        "Translation('Good day', source='1', warnings=['number'], confidence=0.0, match=99, candidates=2)"
    )
