"""The way of a sentence is short: how many files and kinds of values it passes, counted by the interpreter's hook."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from dragoman import Translator

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "models" / "sentence_trace.py"
FILES, KINDS, FILES_OF_WORD = 20, 5, 50


@pytest.fixture(scope="module")
def ways() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sentence_trace", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("en-ko", engine="ctranslate2", threads=1)


def test_a_plain_sentence_passes_few_files_and_few_kinds_of_values(ways: ModuleType, translator: Translator) -> None:
    way = ways.plain_sentence(translator)
    assert len(way.files) <= FILES, way.files
    assert len(way.values) <= KINDS, way.values


def test_a_paragraph_of_word_passes_a_few_more(ways: ModuleType, translator: Translator) -> None:
    way = ways.word_paragraph(translator)
    assert len(way.files) <= FILES_OF_WORD, way.files


def test_the_counter_sees_functions_and_values(ways: ModuleType) -> None:
    from dragoman.decode.hypothesis import length_penalty
    from dragoman.translation import Flag, Span

    way = ways.trace(lambda: (length_penalty(3, 0.5), Span(1, 2).moved(1), Flag("loop", "")))
    assert way.files == ["decode/hypothesis.py", "translation.py"]
    assert way.values == {"Span": 2, "Flag": 1}
