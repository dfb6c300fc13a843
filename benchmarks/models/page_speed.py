"""Models that run in a page: sizes of the pages, time until they are ready, and what a translation costs in a browser.

    python benchmarks/models/page_speed.py [--quick] [--model en-ko] [--demo FOLDER] [--pages NAME ...] [--rounds 5]

Three pages are opened from disk in a headless Chromium without a network, with WebAssembly and without: the translator
of a bundled model, the translator of the demo's model, and the demo's page of `look`. The demo is that of `dragoman
demo -o FOLDER`; without one it is trained here, for four minutes.

Sentences are typed in one after another. Costs are the processor time of the worker's thread (schedstat), so that other
programs do not count; `ready_s` and `first_s`, from the first sentence to its translation, are those of a clock.
`ms_20_tokens` is the median over the sentences of the cost of a translation of 20 tokens, its encoder included;
`keystroke_ms` the cost of another sign at the end of a text of four sentences, or of another sentence in all views
of `look`; `tab_mb` the memory of the tab's process. --quick takes 2 rounds. The last line is one JSON object.
"""

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from dragoman.bundle import Bundle
from dragoman.installed.opening import open_model
from dragoman.workflows.demo import run_demo, write_page
from dragoman.workflows.models.html import export_page

SENTENCES = {
    "en": [
        "The animal didn't cross the street because it was too tired to walk any further.",
        "Before you delete the file, make sure that you have saved a copy in another folder.",
        "She told me yesterday that the train to Busan would leave half an hour later than usual.",
        "If the program does not start, check the settings and then restart your computer once more.",
    ],
    "ko": [
        "그 동물은 너무 피곤해서 더 이상 걷지 못하고 길을 건너지 않았습니다.",
        "파일을 지우기 전에 다른 폴더에 사본을 저장했는지 꼭 확인하세요.",
        "그녀는 어제 부산으로 가는 기차가 평소보다 삼십 분 늦게 떠난다고 말했다.",
        "프로그램이 시작되지 않으면 설정을 확인한 다음 컴퓨터를 다시 시작하세요.",
    ],
}
PATIENCE = 120_000  # milliseconds
# Whether the page of a translator has answered a request after one of this number.
ANSWERED = "(before) => page.main.request !== before && !byId('target').classList.contains('waiting')"


def descendants(name: str) -> list[Path]:
    """The folders in /proc of the threads of this name in the browsers of this process."""
    threads = []
    for task in Path("/proc").glob("[0-9]*/task/[0-9]*"):
        try:
            if (task / "comm").read_text().startswith(name) and os.getpid() in ancestors(int(task.parts[2])):
                threads.append(task)
        except OSError:  # it has ended
            continue
    return threads


def ancestors(process: int) -> list[int]:
    """The parent of a process, its parent and so on."""
    parents = []
    while process > 1:
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        parents.append(process)
    return parents


def worker_seconds() -> float:
    """Processor time so far of the workers of the page."""
    return sum(int((task / "schedstat").read_text().split()[0]) / 1e9 for task in descendants("DedicatedWorker"))


def tab_megabytes() -> float:
    """The memory of the process that has the worker: its share of what it shares with others, too."""
    process = descendants("DedicatedWorker")[0].parents[1]
    [kilobytes] = [
        line.split()[1] for line in (process / "smaps_rollup").read_text().splitlines() if line[:4] == "Pss:"
    ]
    return int(kilobytes) / 1e3


def cost_of(act: Callable[[], None]) -> float:
    """The processor time of the worker in milliseconds while something is done."""
    before = worker_seconds()
    act()
    return 1000 * (worker_seconds() - before)


# Every translation has 20 tokens, whatever the model says.
LONG = """
const parse = JSON.parse;
JSON.parse = (text) => {
  const value = parse(text);
  for (const { decode } of value?.models ?? []) decode.min_length = decode.max_length = 20;
  return value;
};
"""


def opened(browser: Any, page: Path, plain: bool, ready: str) -> tuple[Any, dict[str, Any]]:
    """A tab with a page, and how long it took."""
    tab = browser.new_context(offline=True).new_page()
    if plain:
        tab.add_init_script("delete window.WebAssembly;")
    tab.add_init_script(LONG)
    begin = time.perf_counter()
    tab.goto(f"file://{page}")
    tab.wait_for_selector(ready, state="attached", timeout=PATIENCE)
    return tab, {"ready_s": time.perf_counter() - begin, "ready_cpu_s": worker_seconds()}


def translator(browser: Any, page: Path, model: Bundle, plain: bool, rounds: int) -> dict[str, Any]:
    """Translate each sentence in each round, with other marks at its end, so that none is known."""
    tab, result = opened(browser, page, plain, "html[data-ready]")
    sentences = SENTENCES[model.config.project.source]
    tab.locator("summary").last.click()

    def write(text: str) -> None:
        before = tab.evaluate("page.main.request")
        tab.fill("#source", text)
        while not tab.evaluate(ANSWERED, before):  # the policy forbids what the driver would wait with
            tab.wait_for_timeout(20)

    begin = time.perf_counter()
    write(sentences[0])
    result["first_s"] = time.perf_counter() - begin
    for beam in (1, 4):
        tab.select_option("#beam", str(beam))
        costs = []
        for number in range(rounds):
            for sentence in sentences:
                cost = cost_of(lambda text=sentence[:-1] + "!" * (number + beam + 1): write(text))  # type: ignore[misc]
                costs.append(cost)
        result[f"beam_{beam}_ms_20_tokens"] = statistics.median(costs)
        result[f"beam_{beam}_spread_ms"] = [min(costs), max(costs)]
    write(" ".join(sentences))
    strokes = [cost_of(lambda: _stroke(tab)) for _ in range(2 * rounds)]
    result |= {"keystroke_ms": statistics.median(strokes), "tab_mb": tab_megabytes()}
    tab.context.close()
    return result


def _stroke(tab: Any) -> None:
    tab.locator("#source").press("End")
    tab.locator("#source").press_sequentially("x")
    tab.wait_for_timeout(1500)


def look(browser: Any, page: Path, model: Bundle, plain: bool, rounds: int) -> dict[str, Any]:
    """Type each sentence in each round into the page of `look`."""
    tab, result = opened(browser, page, plain, "html[data-engine]")
    costs, count = [], 0
    begin = time.perf_counter()
    for number in range(rounds):
        for sentence in SENTENCES[model.config.project.source]:
            count += 1
            costs.append(cost_of(lambda text=sentence[:-1] + "!" * (number + 1), at=count: _type(tab, text, at)))  # type: ignore[misc]
            if count == 1:
                result["first_s"] = time.perf_counter() - begin
    result |= {"keystroke_ms": statistics.median(costs), "tab_mb": tab_megabytes()}
    tab.context.close()
    return result


def _type(tab: Any, text: str, count: int) -> None:
    tab.fill("#live-text", text)
    tab.wait_for_selector(f'html[data-looked="{count}"]', state="attached", timeout=PATIENCE)


def readable(value: Any) -> Any:
    """A report with two digits behind the point."""
    if isinstance(value, float):
        return round(value, 2)
    if isinstance(value, dict):
        return {key: readable(item) for key, item in value.items()}
    return [readable(item) for item in value] if isinstance(value, list) else value


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--model", default="en-ko")
    parser.add_argument("--demo", type=Path, help="the folder of `dragoman demo`")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pages", nargs="+", choices=("bundled", "demo", "look"), default=["bundled", "demo", "look"])
    args = parser.parse_args()
    rounds = 2 if args.quick else args.rounds
    where = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        if args.demo is None:
            args.demo = Path(folder) / "demo"
            run_demo(args.demo, 4)
        models = {"bundled": open_model(args.model), "demo": open_model(args.demo / "runs" / "demo" / "model")}
        pages = {
            name: export_page([model.folder], Path(folder) / f"{name}.html").path for name, model in models.items()
        }
        work = [("bundled", "bundled", translator), ("demo", "demo", translator), ("look", "demo", look)]
        pages["look"] = write_page(args.demo).absolute()
        report: dict[str, Any] = {"model": args.model}
        for name, model, measure in work:
            if name not in args.pages:
                continue
            report[name] = {"page_mb": pages[name].stat().st_size / 1e6}
            for arithmetic in ("wasm", "javascript"):
                browser = driver.chromium.launch(executable_path=where, args=["--no-sandbox", "--disable-gpu"])
                plain = arithmetic == "javascript"
                report[name][arithmetic] = readable(measure(browser, pages[name], models[model], plain, rounds))
                print(f"{name}, {arithmetic}: {report[name][arithmetic]}", flush=True)
                browser.close()
    print(json.dumps(readable(report)))


if __name__ == "__main__":
    main()
