"""`dragoman doctor`: a report of the machine, a fault for what must be repaired, and the command for it."""

import json
import shutil
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from dragoman import __version__
from dragoman.workflows import doctor
from dragoman.workflows.doctor import MachineFinding, diagnose, is_usable


def test_this_machine_is_reported_and_ready(dragoman: Any) -> None:
    result = dragoman("doctor")
    assert result.code == 0, result.out
    for name in ("processor", "threads", "memory", "python", "torch", "ctranslate2", "bundled models", "encoding"):
        assert f" {name} " in result.out
    assert result.out.endswith("ready\n")
    found = json.loads(dragoman("doctor", "--json").out)
    assert found["usable"] is True
    assert {"name": "dragoman", "value": __version__, "state": "ok", "remedy": None} in found["findings"]


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> list[MachineFinding]:
    installed = doctor.version

    def version(name: str) -> str:
        if name in packages:
            raise PackageNotFoundError(name)
        return installed(name)

    monkeypatch.setattr(doctor, "version", version)
    monkeypatch.setattr(doctor, "requires", lambda _: ["rich>=14", 'torch>=2.7; extra == "train"', 'a; extra == "dev"'])
    return diagnose(Path.cwd())


def test_without_torch_one_can_translate_and_reads_how_to_train(monkeypatch: pytest.MonkeyPatch) -> None:
    found = without(monkeypatch, "torch")
    assert is_usable(found)
    assert MachineFinding("train", "not installed: torch", "note", 'pip install "dragoman[train]"') in found
    assert not [finding for finding in found if finding.name in ("torch", "gpu", "dev")]


def test_a_missing_base_package_is_a_fault(monkeypatch: pytest.MonkeyPatch, dragoman: Any) -> None:
    found = without(monkeypatch, "rich")
    assert MachineFinding("base", "missing: rich", "fault", "pip install rich") in found
    assert not is_usable(found)
    result = dragoman("doctor")
    assert result.code == 1
    assert "! base" in result.out
    assert "→ pip install rich" in result.out


def test_a_package_that_only_an_older_python_needs_is_not_missed() -> None:
    needed = ["rich>=14", "none-such; python_version < '3'", 'torch>=2; python_version >= "3" and extra == "train"']
    assert doctor._requirements(needed) == (["rich"], {"train": ["torch"]})


def test_a_damaged_bundled_model_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dragoman import bundled

    model = bundled.bundled_models()[0]
    copy = shutil.copytree(model.folder, tmp_path / "model")
    changed = next(copy.glob("tokenizer/*.model"))
    changed.write_bytes(changed.read_bytes()[:-1] + b"?")
    monkeypatch.setattr(doctor, "bundled_models", lambda: (bundled.BundledModel(copy, {}, "", ("en", "ko")),))
    [finding] = [one for one in diagnose(tmp_path) if one.name == "bundled models"]
    assert finding.state == "fault"
    assert str(changed) in finding.value


def test_a_folder_that_cannot_be_written_is_a_fault(tmp_path: Path) -> None:
    [finding] = [one for one in diagnose(tmp_path / "gone") if one.name == "current folder"]
    assert finding.state == "fault"


def test_a_locale_that_is_not_utf8_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.locale, "getencoding", lambda: "ANSI_X3.4-1968")
    [finding] = [one for one in diagnose(Path.cwd()) if one.name == "encoding"]
    assert (finding.state, finding.remedy) == ("note", "export LC_ALL=C.UTF-8")


def test_the_flags_of_a_processor_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("model name\t: A Fast One\nflags\t\t: fpu avx2 avx512f amx_bf16\n")
    monkeypatch.setattr(doctor, "CPUINFO", info)
    found = {finding.name: finding.value for finding in diagnose(tmp_path)}
    assert (found["processor"], found["arithmetic"]) == ("A Fast One", "AVX2, AVX-512, AMX BF16")
