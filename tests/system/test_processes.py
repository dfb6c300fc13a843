"""Process-wide settings: what `dragoman.system.processes` changes when called, and that nothing else changes any."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from dragoman.bundle import write_bundle
from dragoman.config import RunConfig
from dragoman.model.transformer import Transformer
from dragoman.system.processes import (
    KERNEL_CACHES,
    checked_by,
    limit_kernel_caches,
    output_of,
    signal_handlers_restored,
    stop_on_signals,
)
from dragoman.text.tokens.tokenizer import Tokenizer

# Prints how many MiB of glibc's heap six hundred shapes of one product leave in use.
PRODUCTS = """
import ctypes, sys
import torch
from dragoman.system.processes import limit_kernel_caches

class Heap(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("a", "b", "c", "d", "e", "f", "g", "used", "h", "i")]

def used():
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = Heap
    return libc.mallinfo2().used / 2**20

limit_kernel_caches(int(sys.argv[1]))
table = torch.ones(256, 256, dtype=torch.bfloat16)
torch.ones(64, 256, dtype=torch.bfloat16) @ table
before = used()
for rows in range(65, 665):
    torch.ones(rows, 256, dtype=torch.bfloat16) @ table
print(used() - before)
"""


def left_in_use(d_model: int) -> float:
    environment = {name: value for name, value in os.environ.items() if name not in KERNEL_CACHES}
    command = [sys.executable, "-c", PRODUCTS, str(d_model)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="asks glibc 2.33 or newer")
def test_kernel_caches_forget_past_shapes() -> None:
    every = left_in_use(d_model=128)
    if every < 10:
        pytest.skip("this processor compiles no kernels for products in bfloat16")
    assert left_in_use(d_model=256) < every / 2


def test_kernel_cache_variables_of_the_user_win(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KERNEL_CACHES:
        monkeypatch.setenv(name, "7")
    limit_kernel_caches(512)
    assert [os.environ[name] for name in KERNEL_CACHES] == ["7", "7"]


# Prints which process-wide settings differ after the lines of {body}; torch's own import is no change of ours.
UNCHANGED = """
import ctypes, locale, os, random, signal, sys, warnings
{first}

opened = []
load = ctypes.CDLL
class Watched(load):
    def __getattr__(self, name):
        if name == "mallopt":
            opened.append(name)
        return super().__getattr__(name)
ctypes.CDLL = Watched

def settings():
    found = {{
        "environment": dict(os.environ),
        "warnings": list(warnings.filters),
        "signals": [signal.getsignal(number) for number in sorted(signal.valid_signals())],
        "locale": locale.setlocale(locale.LC_ALL),
        "random": random.getstate(),
        "recursion": sys.getrecursionlimit(),
        "hooks": (sys.excepthook, sys.displayhook),
        "mallopt": list(opened),
    }}
    if "torch" in sys.modules:
        import torch
        found |= {{
            "threads": (torch.get_num_threads(), torch.get_num_interop_threads()),
            "torch random": torch.get_rng_state().tolist(),
            "dtype": torch.get_default_dtype(),
            "gradients": torch.is_grad_enabled(),
            "deterministic": torch.are_deterministic_algorithms_enabled(),
            "compiler": torch._dynamo.config.recompile_limit if "torch._dynamo" in sys.modules else None,
        }}
    return found

before = settings()
{body}
after = settings()
print(sorted(name for name in before if before[name] != after[name]))
"""


def changed(first: str, body: str) -> str:
    code = UNCHANGED.format(first=first, body=body)
    env = {name: value for name, value in os.environ.items() if name not in KERNEL_CACHES}  # a training set them here
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    return done.stdout.strip()


@pytest.mark.slow
def test_process_settings_stay_when_a_bundled_model_is_loaded_and_used() -> None:
    body = "import dragoman\ndragoman.Translator.load('en-ko', engine='ctranslate2').translate(['Hello.'])"
    assert changed("import numpy", body) == "[]"  # whose import sets filters of warnings by itself


@pytest.mark.slow
def test_process_settings_stay_when_a_torch_bundle_is_loaded_and_used(
    toy_tokenizer: Tokenizer, toy_run: Callable[..., RunConfig], tmp_path: Path
) -> None:
    config, folder = toy_run(), tmp_path / "model"
    model = Transformer(config.model, len(toy_tokenizer.source), len(toy_tokenizer.target))
    write_bundle(folder, config=config, tokenizer=toy_tokenizer, model=model, card="", facts={}, golden="")
    load = f"dragoman.Translator.load({str(folder)!r}, engine='torch').translate(['a b'])"
    # torch's import sets warnings filters and the compiler's settings by itself
    assert changed("import torch, torch._dynamo", f"import dragoman\n{load}") == "[]"


def test_process_settings_are_changed_by_the_functions_for_it() -> None:
    module = "from dragoman.system import processes"
    assert changed("", f"{module}\nprocesses.limit_kernel_caches(512)") == "['environment']"
    if sys.platform == "linux":
        assert changed("", f"{module}\nprocesses.retain_freed_memory(2)") in ("['mallopt']", "[]")


# Writes its id into a file and stays until its parent ends.
STAYS = """
import os, sys, time
from dragoman.system.processes import end_with_parent
end_with_parent()
with open(sys.argv[1] + ".part", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(300)
"""


def started(path: Path) -> int:
    """The id in the file, once it is there."""
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    return int(path.read_text())


def ends(pid: int) -> None:
    """Returns once there is no such process, or only what its parent has not asked about."""
    end = time.monotonic() + 60
    with suppress(OSError):  # it may end while it is read
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            assert time.monotonic() < end
            time.sleep(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked at in /proc")
def test_a_process_ends_with_the_work_it_is_for(tmp_path: Path) -> None:
    path = tmp_path / "pid"

    def check() -> None:
        if path.exists():
            raise LookupError

    with checked_by(check), pytest.raises(LookupError):
        output_of([sys.executable, "-c", STAYS, str(path)], 300, os.environ)
    ends(started(path))
    with pytest.raises(subprocess.TimeoutExpired):
        output_of([sys.executable, "-c", "input()"], 0.05, os.environ)
    assert output_of([sys.executable, "-c", "print('a' * 100_000)"], 60, os.environ) == b"a" * 100_000 + b"\n"


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked at in /proc")
def test_a_process_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    program = (
        "import os, sys; from dragoman.system.processes import output_of;"
        "output_of([sys.executable, '-c', sys.argv[1], sys.argv[2]], 300, os.environ)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, STAYS, str(tmp_path / "pid")])
    try:
        child = started(tmp_path / "pid")
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    ends(child)


def test_a_hang_up_is_noticed_unless_it_is_ignored_as_after_nohup() -> None:
    with signal_handlers_restored(signal.SIGHUP):
        for handler, noticed in ((signal.SIG_DFL, True), (signal.SIG_IGN, False)):
            signal.signal(signal.SIGHUP, handler)
            with stop_on_signals() as stopped:
                os.kill(os.getpid(), signal.SIGHUP)
                assert stopped() == noticed
            assert signal.getsignal(signal.SIGHUP) == handler
