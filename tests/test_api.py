"""The public namespace: every name is what it says after everything was imported, and all paths may be strings."""

import importlib
import inspect as python_inspect
import pkgutil
import typing
from os import PathLike
from pathlib import Path

import pytest

import dragoman

FUNCTIONS = (
    "check_data",
    "clean_data",
    "distill",
    "evaluate",
    "evaluate_robustness",
    "export",
    "import_model",
    "improve",
    "inspect",
    "install_model",
    "learn_model_confidence",
    "load_config",
    "merge_adapter",
    "mix_data",
    "open_bundle",
    "pack_model",
    "split_data",
    "train",
    "translate_documents",
    "translate_file",
    "verify_model",
)
PATHS = {"base", "config", "folder", "model", "output", "path", "reference", "source", "target", "teacher"}


def import_everything() -> None:
    for module in pkgutil.walk_packages(dragoman.__path__, "dragoman."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_submodule_shadows_a_function(name: str) -> None:
    import_everything()
    assert python_inspect.isfunction(getattr(dragoman, name))


def test_every_error_is_public() -> None:
    errors = {
        name
        for name, value in vars(dragoman.errors).items()  # type: ignore[attr-defined]
        if isinstance(value, type) and issubclass(value, dragoman.DragomanError)
    }
    assert errors <= set(dragoman.__all__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_path_may_be_a_string_or_a_pathlike(name: str) -> None:
    function = getattr(dragoman, name)
    module = vars(importlib.import_module(function.__module__))
    hints = typing.get_type_hints(function, module)
    other = {("train", "teacher"), ("inspect", "target"), ("inspect", "source")}  # a bundle, texts
    given = [hint for parameter, hint in hints.items() if parameter in PATHS and (name, parameter) not in other]
    assert given
    for hint in given:
        kinds = typing.get_args(hint)
        assert str in kinds
        assert PathLike in {typing.get_origin(kind) for kind in kinds}


def test_a_listener_may_define_what_it_likes(tmp_path: Path) -> None:
    class Notices(dragoman.Listener):
        def __init__(self) -> None:
            self.progress: list[int] = []

        def on_progress(self, progress: typing.Any) -> None:
            self.progress.append(progress.done)

    (tmp_path / "data.tsv").write_text("a dog\tein hund\n", encoding="utf-8")
    (tmp_path / "run.toml").write_text(
        'project = {name = "toy", source = "en", target = "de"}\ndata = {train = ["data.tsv"], valid = "data.tsv"}\n',
        encoding="utf-8",
    )
    notices = Notices()
    reports = dragoman.check_data(str(tmp_path / "run.toml"), [notices])
    assert [report.name for report in reports] == ["valid", "train[0]"]
    assert (notices.progress[0], notices.progress[-1]) == (0, 2)


@pytest.mark.parametrize("lines", [[None], [3], b"a dog"], ids=str)
def test_a_test_set_of_anything_but_str_is_refused(lines: typing.Any) -> None:
    with pytest.raises(dragoman.DataError, match=r"^text: "):
        dragoman.evaluate("en-ko", lines, ["a dog"])
    with pytest.raises(dragoman.DataError, match=r"^text: "):
        dragoman.evaluate("en-ko", ["a dog"], lines)


def test_options_of_an_inspection_are_a_decode_config() -> None:
    with pytest.raises(dragoman.ConfigError, match=r"^options: .*DecodeConfig"):
        dragoman.inspect("en-ko", "a dog", options=typing.cast("dragoman.DecodeConfig", {"beam": 1}))
