"""A network that CTranslate2 cannot load: whose fault it is."""

from pathlib import Path
from typing import Any, NoReturn

import ctranslate2
import pytest

from dragoman.bundled import HOME
from dragoman.errors import ModelError, ResourceError
from dragoman.translator import Translator
from dragoman.workflows.doctor import diagnose


def test_a_name_that_is_not_utf8_is_that_of_a_damaged_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object, **__: object) -> NoReturn:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")  # of its message about a variable

    monkeypatch.setattr(ctranslate2, "Translator", load)
    with pytest.raises(ModelError, match=r"ct2-int8: CTranslate2 cannot load it: damaged; export the model again$"):
        Translator.load(HOME / "en-ko")


def test_a_network_that_does_not_fit_into_memory_is_no_damaged_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object, **__: object) -> NoReturn:
        raise RuntimeError("mkl_malloc: failed to allocate memory")

    monkeypatch.setattr(ctranslate2, "Translator", load)
    with pytest.raises(ResourceError, match=r"ct2-int8: does not fit into memory"):
        Translator.load(HOME / "en-ko")


class NoCuda:
    """A network on a GPU whose library is missing: CTranslate2 opens it at the first product."""

    compute_type, device = "float32", "cuda"

    def translate_batch(self, *_: object, **__: object) -> NoReturn:
        raise RuntimeError("Library libcublas.so.12 is not found or cannot be loaded")


@pytest.fixture
def gpu_without_library(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = ctranslate2.Translator

    def load(*arguments: Any, device: str, **options: Any) -> object:
        return NoCuda() if device == "cuda" else translator(*arguments, device=device, **options)

    monkeypatch.setattr(ctranslate2, "Translator", load)
    monkeypatch.setattr(ctranslate2, "get_cuda_device_count", lambda: 1)


@pytest.mark.usefixtures("gpu_without_library")
def test_auto_is_the_processor_where_a_gpu_lacks_its_library() -> None:
    translator = Translator.load(HOME / "en-ko", threads=2)
    assert (translator.engine.device, translator.engine.threads) == ("cpu", 2)
    assert translator.translate(["Good morning."])[0].text


@pytest.mark.usefixtures("gpu_without_library")
def test_a_gpu_that_is_asked_for_says_which_library_it_lacks() -> None:
    with pytest.raises(
        ResourceError,
        match=r'"cuda": Library libcublas.*; use --device cpu, or set LD_LIBRARY_PATH to the CUDA libraries$',
    ):
        Translator.load(HOME / "en-ko", device="cuda")


@pytest.mark.usefixtures("gpu_without_library")
def test_doctor_says_that_the_gpu_does_not_translate(tmp_path: Path) -> None:
    notes = [one for one in diagnose(tmp_path) if one.name == "ctranslate2" and one.state == "note"]
    assert [one.value for one in notes] == ["translates on the processor, not on the GPU"]
    assert "libcublas.so.12" in str(notes[0].remedy)


@pytest.mark.usefixtures("gpu_without_library")
def test_doctor_survives_a_damaged_model_where_there_is_a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def damaged(folder: Path) -> NoReturn:
        raise ModelError(f"{folder}: damaged")

    monkeypatch.setattr("dragoman.workflows.doctor.open_bundle", damaged)
    found = {one.name: one for one in diagnose(tmp_path)}
    assert (found["ctranslate2"].state, found["bundled models"].state) == ("ok", "fault")
