"""How a page asks its worker: one that ended without a word is replaced, one that computes long is waited for."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.web import client_script
from javascript import evaluate

# A clock that only `pass` moves, and workers that answer after what they are to compute, one request after the other.
DRIVER = """
async function answer({ busy, ended }) {
  let now = 0;
  let timers = [];
  const setTimeout = (run, wait, ...rest) => {
    timers.push({ at: now + wait, run: () => run(...rest) });
    return timers.at(-1);
  };
  const clearTimeout = (timer) => (timers = timers.filter((other) => other !== timer));
  const pass = async (milliseconds) => {
    const end = now + milliseconds;
    for (;;) {
      const [next] = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (!next) break;
      now = next.at;
      clearTimeout(next);
      next.run();
      for (let turn = 0; turn < 20; turn++) await null;
    }
    now = end;
  };
  const workers = [];
  class Worker {
    constructor() {
      Object.assign(this, { kinds: [], free: 0, isEnded: workers.length < ended });
      workers.push(this);
    }
    postMessage({ kind, id }) {
      this.kinds.push(kind);
      this.free = Math.max(now, this.free) + (kind === "work" ? busy : 1);
      setTimeout(() => this.isEnded || this.onmessage({ data: { id, value: kind } }), this.free - now);
    }
    terminate() {
      this.isEnded = true;
    }
  }
  const document = { getElementById: () => ({ textContent: "" }) };
  const URL = { createObjectURL: () => "" };
  const window = globalThis;
  CLIENT
  const client = new Client(() => ({}), 100);
  client.load(0).catch(() => {});
  let at = null;
  let failed = null;
  client.ask({ kind: "work" }).then(() => (at = now), (error) => (failed = error.message));
  await pass(100000);
  return { at, failed, kinds: workers.map((worker) => worker.kinds), timers: timers.length };
}
""".replace("CLIENT", client_script())


def asked(folder: Path, **question: Any) -> dict[str, Any]:
    return dict(evaluate(folder, DRIVER, question))


@pytest.mark.parametrize("ended", [1, 2])
def test_a_worker_that_ended_while_the_page_is_seen_is_replaced(ended: int, tmp_path: Path) -> None:
    """Its model is loaded first, and what was asked is answered; each further worker is waited for twice as long."""
    result = asked(tmp_path, busy=1, ended=ended)
    assert result["kinds"] == [["load", "work", "ping"]] * ended + [["load", "work"]]
    assert result["at"] == 202 + 400 * (ended - 1)
    assert result["timers"] == 0, "of a page that waits for nothing no clock runs"


def test_a_worker_that_computes_long_is_waited_for(tmp_path: Path) -> None:
    assert asked(tmp_path, busy=190, ended=0)["kinds"] == [["load", "work", "ping"]]
    slow = asked(tmp_path, busy=3000, ended=0)
    assert slow["at"] == pytest.approx(3000 + 200 + 400 + 800 + 1600, abs=10)
    assert len(slow["kinds"]) == 5


@pytest.mark.parametrize(("busy", "ended"), [(10**6, 0), (1, 1000)])
def test_what_ends_every_worker_fails_after_a_few(busy: int, ended: int, tmp_path: Path) -> None:
    result = asked(tmp_path, busy=busy, ended=ended)
    assert "memory may be short" in result["failed"]
    assert result["at"] is None
    assert 6 <= len(result["kinds"]) <= 10
