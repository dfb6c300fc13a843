"""The command line itself: help, flags, interruptions, pipes, and what goes to which stream."""

import io
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import typer

import dragoman as package
from dragoman.cli import main as main_module
from dragoman.cli.shared import arguments as command_line
from dragoman.cli.shared import runs
from dragoman.cli.shared.console import console
from dragoman.cli.verbs.model import bundle
from dragoman.errors import ConfigError, DataError, DistributedError, DivergenceError, Interrupted, ModelError
from dragoman.workflows.data import check
from suites import cases

COMMAND = [sys.executable, "-m", "dragoman"]
VERBS = [[], ["data"], ["model"], ["demo"], ["init"], ["data", "check"], ["train"], ["translate"], ["evaluate"]]
VERBS += [["compare"], ["serve"], ["keys"], ["keys", "create"]]


def raising(error: BaseException) -> Any:
    def stand_in(*_: object, **__: object) -> None:
        raise error

    return stand_in


@pytest.mark.parametrize("verb", [*VERBS, ["model", "show"]], ids=" ".join)
def test_every_verb_explains_itself(dragoman: Any, verb: list[str]) -> None:
    result = dragoman(*verb, "--help")
    assert result.code == 0
    assert result.out.startswith("Usage: ")
    assert result.err == ""


@pytest.mark.parametrize("verb", [[], ["data"], ["model"]], ids=["dragoman", "data", "model"])
def test_a_command_without_its_verb_shows_help_that_can_be_read(dragoman: Any, verb: list[str]) -> None:
    result = dragoman(*verb)
    assert result.code == 2
    assert "Usage: " in result.err + result.out
    assert len((result.err + result.out).splitlines()) > 5


@pytest.mark.parametrize("verb", [[], ["train"], ["data"], ["model", "show"]])
def test_help_has_a_short_name(dragoman: Any, verb: list[str]) -> None:
    assert dragoman(*verb, "-h").out == dragoman(*verb, "--help").out != ""


def test_the_version_is_data(dragoman: Any) -> None:
    result = dragoman("--version")
    assert (result.code, result.out, result.err) == (0, f"dragoman {package.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["trian"], "No such command 'trian'. Did you mean 'train'?", id="a mistyped verb"),
        pytest.param(["train", "x", "--frob"], "No such option: --frob", id="an unknown flag"),
        pytest.param(
            ["translate", "-5 degrees"],
            "No such option: -5; text that begins with a dash goes after --;",
            id="a text with a dash",
        ),
        pytest.param(["--frob"], "No such option: --frob", id="an unknown flag before the verb"),
        pytest.param(["train"], "Missing argument", id="a missing argument"),
        pytest.param(["import", "x"], "Missing option", id="a missing option"),
        pytest.param(
            ["translate", "-m", "x", "--beam", "many"],
            "Invalid value for '--beam': should be a whole number;",
            id="not a number",
        ),
        pytest.param(["translate", "-m", "x", "--beam", "0"], "Invalid value for '--beam'", id="out of range"),
        pytest.param(["demo", "--minutes", "0"], "Invalid value for '--minutes'", id="no time"),
        pytest.param(["doctor", "a"], "Got unexpected extra argument", id="an argument too many"),
    ],
)
def test_a_wrong_command_line_is_reported_in_a_line(dragoman: Any, arguments: list[str], message: str) -> None:
    complaint = dragoman(*arguments).refused(2)
    assert complaint.startswith(message)
    verb = "" if arguments[0] in ("trian", "--frob") else f"{arguments[0]} "
    assert complaint.endswith(f"; see `dragoman {verb}--help`")
    assert ".;" not in complaint


def test_help_lists_every_verb_once_in_80_columns(dragoman: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    command: Any = typer.main.get_command(command_line.app)
    assert sorted(name for names in command_line.VERBS.values() for name in names) == sorted(command.commands)
    for verb in ((), ("data",), ("model",)):
        listed = dragoman(*verb, "--help").out
        assert "...\n" not in listed.partition("ARGS]...\n")[2]  # a summary that was cut
        assert max(map(len, listed.splitlines())) <= 80


@pytest.mark.parametrize("verb", ["model show", "data check", "train"])
def test_ctrl_c_ends_with_130_and_a_line(
    dragoman: Any, project: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    for module, name in ((check, "check_data"), (bundle, "only_model"), (runs, "read_resumable")):
        monkeypatch.setattr(module, name, raising(KeyboardInterrupt()))
    result = dragoman(*verb.split(), project / "run.toml")
    assert (result.code, result.out, result.err) == (130, "", "dragoman: interrupted\n")


def test_memory_that_runs_out_is_reported_with_a_remedy(dragoman: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "only_model", raising(MemoryError()))
    assert dragoman("model", "show", "x").refused(5).startswith("out of memory; choose a smaller model")
    monkeypatch.setattr(bundle, "only_model", raising(ImportError("x.so: failed to map segment from shared object")))
    assert dragoman("model", "show", "x").refused(5).startswith("out of memory; choose a smaller model")


def test_a_working_folder_that_is_gone_is_named_before_libraries_load(
    dragoman: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    complaint = dragoman("translate", "-m", "en-ko", "Save.").refused(1)
    monkeypatch.chdir(tmp_path)
    assert complaint == "the working folder was deleted; change to another folder and try again"


@pytest.mark.parametrize("penalty", ["1e308", "200", "10.1"])
def test_a_length_penalty_has_a_limit(dragoman: Any, penalty: str) -> None:
    complaint = dragoman("translate", "-m", "en-ko", "Save.", "--length-penalty", penalty).refused(2)
    assert complaint.startswith("Invalid value for '--length-penalty'")
    complaint = dragoman("translate", "-m", "en-ko", "Save.", "-O", f"length_penalty={penalty}").refused(2)
    assert complaint.startswith("decode.length_penalty: ")


def test_a_missing_compiler_is_reported_with_the_key_that_asked_for_it(
    dragoman: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = type("InductorError", (RuntimeError,), {"__module__": "torch._inductor.exc"})
    monkeypatch.setattr(bundle, "only_model", raising(failure("no C++ compiler\n\nSet TORCH_LOGS")))
    complaint = "train.compile: no C++ compiler; install what PyTorch's compiler lacks, or leave the key out"
    assert dragoman("model", "show", "x").refused(2) == complaint


def test_our_own_bug_is_one_line_that_asks_to_be_reported(dragoman: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "only_model", raising(ZeroDivisionError("a\nb")))
    result = dragoman("model", "show", "x")
    assert result.code == 1
    assert result.err == ("dragoman: internal error: ZeroDivisionError: a b; run again with --debug and report it\n")


def test_only_debug_shows_a_traceback(dragoman: Any, tmp_path: Path) -> None:
    plain = dragoman("model", "show", tmp_path)
    debug = dragoman("--debug", "model", "show", tmp_path)
    assert "Traceback" not in plain.err
    assert "Traceback" in debug.err
    assert debug.err.splitlines()[-1] == plain.err.strip()
    assert debug.code == plain.code == 4


@pytest.mark.parametrize(
    ("error", "speakers"),
    [
        (ConfigError("x"), [0]),
        (ModelError("x"), [0]),
        (Interrupted("x"), [0]),
        (KeyboardInterrupt(), [0]),
        (DistributedError("x"), [0, 1]),
        (DivergenceError("x"), [0, 1]),
        (DataError("x"), [0, 1]),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_each_of_several_processes_finds_is_printed_once(
    dragoman: Any, monkeypatch: pytest.MonkeyPatch, error: BaseException, speakers: list[int]
) -> None:
    monkeypatch.setattr(runs, "read_resumable", raising(error))
    alone = dragoman("train", "x")
    assert alone.err
    printed_by = []
    for rank in (0, 1):
        monkeypatch.setenv("LOCAL_RANK", str(rank))
        result = dragoman("train", "x")
        assert result.code == alone.code
        printed_by += [rank] * result.err.count(alone.err)
    assert printed_by == speakers


def test_asking_for_a_traceback_once_is_not_asking_for_ever(dragoman: Any, tmp_path: Path) -> None:
    dragoman("--debug", "model", "show", tmp_path)
    assert "Traceback" not in dragoman("model", "show", tmp_path).err


@pytest.mark.parametrize("place", range(4))
def test_a_traceback_may_be_asked_for_anywhere(dragoman: Any, tmp_path: Path, place: int) -> None:
    arguments: list[object] = ["model", "show", tmp_path]
    result = dragoman(*arguments[:place], "--debug", *arguments[place:])
    assert result.code == 4
    assert "Traceback" in result.err
    assert result.err.splitlines()[-1] == dragoman("model", "show", tmp_path).err.strip()


def test_what_follows_two_dashes_is_text(dragoman: Any, model: Path) -> None:
    result = dragoman("translate", "-m", model, "--json", "--", "--debug", "--json")
    assert [json.loads(line)["source"] for line in result.out.splitlines()] == ["--debug", "--json"]
    assert "Traceback" not in dragoman("model", "show", "--", "--debug").err


def test_the_next_command_has_the_name_of_this_program(
    dragoman: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main_module.sys, "argv", [":100:"])
    monkeypatch.setenv("PATH", "")
    result = dragoman("init", tmp_path / "mine")
    assert ":100: data check" in result.err


def test_python_m_dragoman_is_what_is_to_be_typed_next_where_it_was_typed(
    dragoman: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main_module.sys, "argv", [str(Path(package.__file__).parent / "__main__.py")])
    assert "\n  python -m dragoman train " in dragoman("init", tmp_path / "mine").err


# --- as a process ------------------------------------------------------------------------------------------------


def test_python_m_dragoman_is_dragoman() -> None:
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"dragoman {package.__version__}\n", "")


def test_an_exit_code_reaches_the_shell_where_nobody_reads_the_message(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*COMMAND, "model", "show", str(tmp_path)], stderr=writing, check=False)
    os.close(writing)
    assert done.returncode == 4


def test_an_exit_code_reaches_the_shell(tmp_path: Path) -> None:
    done = subprocess.run([*COMMAND, "model", "show", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr == f"dragoman: {tmp_path}: no bundle.json, so not a model; give the folder that holds it\n"


def test_a_reader_that_goes_away_is_no_error(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `dragoman translate … | head -1`."""
    (tmp_path / "many").write_text("red dog\n" * 5000)
    ours, theirs = os.pipe()

    def read_a_line() -> None:
        with open(ours, encoding="utf-8") as reader:
            reader.readline()

    reader = threading.Thread(target=read_a_line)
    reader.start()
    with open(theirs, "w", encoding="utf-8") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main_module.main(["translate", "-m", str(model), "-i", str(tmp_path / "many"), "--beam", "1"]) == 0
    reader.join()
    assert capsys.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a disk that is always full")
@pytest.mark.parametrize(
    "arguments", cases({"show": ["model", "show"], "translate": ["translate", "red dog", "-m"]}, quick=["show"])
)
def test_a_full_disk_under_stdout_is_reported_in_a_line(model: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, *arguments, str(model)], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    [line] = done.stderr.decode().splitlines()
    assert line.startswith("dragoman: ")
    assert "No space left on device" in line
    assert "internal error" not in line


@pytest.mark.parametrize("plain", [True, False], ids=["NO_COLOR", "colour"])
def test_colour_is_for_terminals_that_want_it(project: Path, monkeypatch: pytest.MonkeyPatch, plain: bool) -> None:
    (project / "data/train.en").write_text("page 70\n" * 300)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    if plain:
        monkeypatch.setenv("NO_COLOR", "1")
    mother, child = os.openpty()
    with open(child, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        console.cache_clear()  # a process asks its terminal once
        assert main_module.main(["data", "check", str(project / "run.toml")]) == 0
    console.cache_clear()
    parts = []
    with suppress(OSError):  # at the end
        while part := os.read(mother, 100_000):
            parts.append(part)
    os.close(mother)
    written = b"".join(parts).decode()
    assert "numbers that differ" in written
    assert ("\x1b[33m" in written) is not plain


@pytest.mark.parametrize("encoding", ["cp949", "ascii", "latin-1"])
@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["plain", "json"])
def test_data_and_talk_are_utf8_whatever_the_terminal_says(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, as_json: list[str]
) -> None:
    (tmp_path / "é한.tsv").write_text("the dog\tder hund\n")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(main_module.sys, "argv", [str(Path(package.__file__).parent / "__main__.py")])

    def written(*arguments: object) -> tuple[int, str, str]:
        streams = {name: io.TextIOWrapper(io.BytesIO(), encoding=encoding) for name in ("stdout", "stderr")}
        with monkeypatch.context() as patch:
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            code = main_module.main([*map(str, arguments)])
        texts = []
        for stream in streams.values():
            stream.flush()
            assert isinstance(stream.buffer, io.BytesIO)
            texts.append(stream.buffer.getvalue().decode())
        return code, texts[0], texts[1]

    for arguments in (["evaluate", "-m", model, tmp_path / "é한.tsv"], ["model", "show", model]):
        code, out, err = written(*arguments, *as_json)
        assert code == 0, err
        assert out
    stderr = written("model", "show", "é한\udce9")[2]
    assert stderr.startswith("dragoman: é한\\udce9: no such model folder; `python -m dragoman train` writes one, ")


@pytest.mark.slow
@pytest.mark.parametrize(("as_json", "encoding"), [([], "cp949"), (["--json"], "ascii")], ids=["plain", "json"])
def test_a_process_too_writes_utf8_whatever_the_terminal_says(
    model: Path, tmp_path: Path, encoding: str, as_json: list[str]
) -> None:
    (tmp_path / "é한.tsv").write_text("the dog\tder hund\n")
    environment = os.environ | {"PYTHONIOENCODING": encoding, "NO_COLOR": "1"}
    for arguments in (["evaluate", "-m", model, tmp_path / "é한.tsv"], ["model", "show", model]):
        command = [*COMMAND, *map(str, arguments), *as_json]
        done = subprocess.run(command, capture_output=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stdout.decode()
    done = subprocess.run([*COMMAND, "model", "show", "é한\udce9"], capture_output=True, env=environment, check=False)
    stderr = done.stderr.decode()
    assert stderr.startswith("dragoman: é한\\udce9: no such model folder; `python -m dragoman train` writes one, ")


def without_torch(*commands: list[str]) -> subprocess.CompletedProcess[str]:
    """The command line as the base install has it; the exit code is the last command's."""
    code = (
        "import json, sys\nsys.modules['torch'] = None\nfrom dragoman.cli.main import main\n"
        "codes = [main(command) for command in json.loads(sys.argv[1])]\nsys.exit(codes[-1])"
    )
    command = [sys.executable, "-c", code, json.dumps(commands)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_without_torch_text_can_be_checked_and_models_shown_and_training_says_what_to_install(
    project: Path, model: Path
) -> None:
    config = str(project / "run.toml")
    done = without_torch(
        ["data", "check", config, "--json"], ["model", "show", str(model), "--json"], ["train", config]
    )
    schemas = [json.loads(line)["schema"] for line in done.stdout.splitlines()]
    assert len(schemas) == 2
    assert all(schema.startswith("dragoman.") for schema in schemas)
    *_, line = done.stderr.splitlines()
    assert 'pip install "dragoman[train]"' in line
    assert "internal error" not in done.stderr
    assert done.returncode in (1, 2)


def test_main_takes_the_processs_own_arguments(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["dragoman", "--version"])
    assert main_module.main() == 0
    assert capsys.readouterr().out.startswith("dragoman ")
