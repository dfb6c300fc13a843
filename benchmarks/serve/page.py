"""The page of `dragoman serve` in headless Chromium: first paint, keystroke to translation, bytes.

    python benchmarks/serve/page.py [--quick] [--rounds 10] [--threads N]

A server with the bundled models runs as a process of its own. First paint: first contentful paint in a new browser
context, without a cache. Keystroke to translation: a short sentence is typed letter by letter; from the `input` event
to the frame in which the translation of all that is typed is shown; once with a pause after each letter, and the last
letter of a sentence that is typed at eight letters per second. Bytes: of the page and what it loads, as sent and
unpacked. The figures are medians and 95th percentiles of all letters of all rounds. --quick takes 2 rounds. The last
line is one JSON object.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

SENTENCES = ("Where is the library?", "오늘은 날씨가 좋습니다.")
LETTERS_PER_SECOND = 8
LIMITS = {"first_paint": 300.0, "keystroke": 150.0, "bytes": 300_000}
# Notes the time of each letter and, once nothing more is to come, that of the next frame.
WATCH = """() => {
  const source = document.getElementById("source");
  const pane = document.querySelector(".pane.target");
  window.letters = [];
  let typed = 0;
  source.addEventListener("input", (event) => { typed = event.timeStamp; }, { capture: true });
  new MutationObserver(() => {
    if (pane.getAttribute("aria-busy") !== "false" || !typed) return;
    const from = typed;
    typed = 0;
    requestAnimationFrame(() => setTimeout(() => window.letters.push(performance.now() - from)));
  }).observe(pane, { attributes: true, attributeFilter: ["aria-busy"] });
}"""
LOADED = """() => {
  const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .filter((one) => !one.name.includes("/v1/"));
  const sum = (name) => all.reduce((total, one) => total + one[name], 0);
  const paint = performance.getEntriesByName("first-contentful-paint")[0].startTime;
  return { paint, sent: sum("encodedBodySize"), unpacked: sum("decodedBodySize"), files: all.length };
}"""


@contextmanager
def server(threads: int | None) -> Iterator[str]:
    """The URL of a server with the bundled models."""
    command = [sys.executable, "-m", "dragoman", "serve", "--port", "0"]
    process = subprocess.Popen(
        command + (["--threads", str(threads)] if threads else []), stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    found: list[str] = []
    while not found:
        line = process.stderr.readline()
        if not line:
            raise SystemExit("the server ended")
        found = re.findall(r"at (http://\S+?),", line)
    drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=subprocess.DEVNULL)
    try:
        yield found[0]
    finally:
        process.terminate()
        process.wait()
        drain.wait()


def opened(browser: Browser, url: str) -> Page:
    """The page in a context of its own, when it is ready."""
    page = browser.new_context(locale="en-US", viewport={"width": 1200, "height": 760}).new_page()
    page.goto(url)
    page.wait_for_selector("html[data-ready]", state="attached")
    return page


def typed(page: Page, sentence: str) -> list[float]:
    """Milliseconds from each letter to its translation, with a pause in between."""
    page.evaluate(WATCH)
    page.locator("#source").focus()
    for number, letter in enumerate(sentence, 1):
        page.keyboard.insert_text(letter)
        while page.evaluate("window.letters.length") < number:
            page.wait_for_timeout(5)
    return [float(one) for one in page.evaluate("window.letters")]


def typed_fast(page: Page, sentence: str) -> float:
    """Milliseconds from the last letter to the translation, while letters come at an even pace."""
    page.evaluate(WATCH)
    page.locator("#source").focus()
    for letter in sentence:
        page.keyboard.insert_text(letter)
        page.wait_for_timeout(1000 / LETTERS_PER_SECOND)
    page.wait_for_selector(".pane.target[aria-busy=false] .word")
    page.wait_for_timeout(300)
    return float(page.evaluate("window.letters.at(-1)"))


def spread(values: list[float]) -> dict[str, float]:
    """Median and 95th percentile."""
    ordered = sorted(values)
    return {
        "median": round(statistics.median(ordered), 1),
        "p95": round(ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))], 1),
    }


def measured(browser: Browser, url: str, rounds: int) -> dict[str, Any]:
    """All figures, in milliseconds and bytes."""
    paints: list[float] = []
    letters: list[float] = []
    last: list[float] = []
    loaded: dict[str, Any] = {}
    for round_ in range(-1, rounds):  # the first is a warm-up: it loads the models
        for sentence in SENTENCES:
            page = opened(browser, url)
            loaded = page.evaluate(LOADED)
            found = typed(page, sentence)
            page.context.close()
            page = opened(browser, url)
            fast = typed_fast(page, sentence)
            page.context.close()
            if round_ >= 0:
                paints.append(loaded["paint"])
                letters += found
                last.append(fast)
    sizes = {name: int(loaded[name]) for name in ("sent", "unpacked", "files")}
    return {"first_paint": spread(paints), "keystroke": spread(letters), "while_typing": spread(last), **sizes}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two rounds")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, help="of the server for each batch")
    given = parser.parse_args()
    where = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not where:
        raise SystemExit("no Chromium on this machine")
    with server(given.threads) as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=where, args=["--no-sandbox", "--disable-gpu"])
        result = measured(browser, url, 2 if given.quick else given.rounds)
        browser.close()
    for name in ("first_paint", "keystroke", "while_typing"):
        print(f"{name:13} {result[name]} ms")
    print(f"{result['files']} files, {result['sent']:,} bytes as sent, {result['unpacked']:,} unpacked")
    within = {
        "first_paint": result["first_paint"]["median"] < LIMITS["first_paint"],
        "keystroke": result["keystroke"]["median"] < LIMITS["keystroke"],
        "bytes": result["unpacked"] < LIMITS["bytes"],
    }
    print(json.dumps({"cores": len(os.sched_getaffinity(0)), **result, "within": within}))


if __name__ == "__main__":
    main()
