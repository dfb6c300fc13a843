"""A translator in one HTML file: its size, the time until it is ready, and what a translation costs in a browser.

    python benchmarks/models/page_speed.py [--quick] [--model en-ko] [--rounds 5]

The page is opened from disk in a headless Chromium without a network, with WebAssembly and without. Sentences of one
text are typed in one after another at beam sizes 1 and 4; costs are the processor time of the worker's thread
(schedstat), so that other programs do not count, and the time until the page is ready is that of a clock.
`per_20_tokens` is the median over the sentences of the cost of a translation, its encoder included, per 20 tokens of it.
--quick takes 2 rounds. The last line is one JSON object.
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import expect, sync_playwright

from dragoman.installed.opening import open_model
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


def worker_seconds() -> float:
    """Processor time so far of the workers of all Chromium processes."""
    total = 0.0
    for task in Path("/proc").glob("[0-9]*/task/[0-9]*"):
        try:
            if (task / "comm").read_text().startswith("DedicatedWorker"):
                total += int((task / "schedstat").read_text().split()[0]) / 1e9
        except OSError:  # it has ended
            continue
    return total


def measure(browser: Any, page: Path, plain: bool, rounds: int, sentences: list[str]) -> dict[str, Any]:
    """Open the page and translate each sentence in each round, ended by other marks, so that nothing is known."""
    context = browser.new_context(offline=True)
    tab = context.new_page()
    if plain:
        tab.add_init_script("delete window.WebAssembly;")
    begin = time.perf_counter()
    tab.goto(f"file://{page}")
    tab.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
    result: dict[str, Any] = {"ready_s": time.perf_counter() - begin, "ready_cpu_s": worker_seconds()}
    tab.locator("summary").last.click()
    model = open_model(page.stem)
    for beam in (1, 4):
        tab.select_option("#beam", str(beam))
        costs = []
        for number in range(-1, rounds):  # the first is a warm-up and is not counted
            for sentence in sentences:
                tab.fill("#source", "")
                expect(tab.locator("#target")).to_be_empty()
                before = worker_seconds()
                tab.fill("#source", sentence[:-1] + "!" * (number + 2))  # what is known is not searched again
                expect(tab.locator("#target")).not_to_be_empty(timeout=120_000)
                text = tab.locator("#target").evaluate("(node) => node.textContent")
                [tokens] = model.tokenizer.encode([text], "target")
                if number >= 0:
                    costs.append((worker_seconds() - before) / (len(tokens) + 1) * 20)
        result[f"beam_{beam}_ms_per_20_tokens"] = 1000 * statistics.median(costs)
        result[f"beam_{beam}_spread_ms"] = [1000 * min(costs), 1000 * max(costs)]
    context.close()
    return {key: round(value, 2) if isinstance(value, float) else value for key, value in result.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--model", default="en-ko")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    rounds = 2 if args.quick else args.rounds
    language = open_model(args.model).config.project.source
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = export_page([args.model], Path(folder) / f"{args.model}.html").path
        report: dict[str, Any] = {"model": args.model, "page_mb": round(page.stat().st_size / 1e6, 2)}
        where = shutil.which("chromium") or shutil.which("google-chrome")
        for arithmetic in ("wasm", "javascript"):
            browser = driver.chromium.launch(executable_path=where, args=["--no-sandbox", "--disable-gpu"])
            report[arithmetic] = measure(browser, page, arithmetic == "javascript", rounds, SENTENCES[language])
            print(f"{arithmetic}: {report[arithmetic]}", flush=True)
            browser.close()
    print(json.dumps(report))


if __name__ == "__main__":
    main()
