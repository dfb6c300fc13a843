"""Make the pictures of the README: part of the page of `dragoman look`, and a terminal.

    make demo && .venv/bin/python docs/images/make.py [DEMO]

DEMO is the folder of the demo (`dragoman-demo`). Needs Chromium and fonts with Korean letters. The translations come
from the demo's own model, so a new demo makes other pictures.
"""

import html
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).parent
SENTENCE = "Select the file that you want to open."
WIDTH = 1180
# Of the long page only its head and one step are shown, with the figure of an earlier step: the scores and the weights
# of encoder-decoder attention, Eq. (1).
STEP = "#step-cross-weights"
PART = f"""
  body {{ padding-bottom: 0 !important; min-height: 0 !important; }}
  .view > *:not(.group):not(:has({STEP})), .group:not(:has({STEP})), .group > *:not({STEP}), footer, #stage
    {{ display: none !important; }}
"""
BOTH = f"""() => {{
  const scores = document.querySelector("#step-cross-products figure");
  document.querySelector("{STEP} figure").before(scores);
}}"""
TERMINAL = """
  @font-face { font-family: narrow; src: local("DejaVu Sans Mono"); unicode-range: U+2581, U+2192; size-adjust: 83%; }
  body { margin: 0; background: #14181d; color: #d5dbe1; }
  pre { margin: 0; padding: 22px 26px; font: 15px/1.45 narrow, "Noto Sans Mono CJK KR", "D2Coding", monospace;
        white-space: pre-wrap; }
  b { color: #7fd1ae; }
"""


def main(demo: Path) -> None:
    """Write `look.png`, `look.ko.png` and `terminal.png` next to this file."""
    model = demo / "runs/demo/model"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = Path(folder) / "look.html"
        dragoman("look", SENTENCE, "-m", str(model), "--html", str(page))
        where = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=where, args=["--no-sandbox"])
        look(browser, page, "en-US", HERE / "look.png")
        look(browser, page, "ko-KR", HERE / "look.ko.png")
        terminal(browser, demo, HERE / "terminal.png")
        browser.close()


def dragoman(*arguments: str) -> str:
    """What a command prints, on stdout and stderr."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [str(shutil.which("dragoman", path=path)), *arguments]
    return subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        env={**os.environ, "PATH": path},
    ).stdout


def look(browser: Browser, page: Path, locale: str, picture: Path) -> None:
    """The head of the page and one step of it, in the language of a locale."""
    tab = browser.new_page(viewport={"width": WIDTH, "height": 200}, device_scale_factor=1.5, locale=locale)
    tab.goto(page.resolve().as_uri())
    tab.wait_for_selector("html[data-ready]", state="attached")
    tab.evaluate("id => window.dragoman.leadTo(id)", STEP.removeprefix("#"))
    tab.add_style_tag(content=PART)
    tab.evaluate(BOTH)
    tab.wait_for_timeout(500)
    tab.screenshot(path=picture, full_page=True)
    tab.close()


def terminal(browser: Browser, demo: Path, picture: Path) -> None:
    """Two commands and what they print."""
    model = str(demo / "runs/demo/model")
    commands = [
        ["translate", "Save the document before you close it."],
        ["look", "-m", model, "Select the file."],
    ]
    text = ""
    for arguments in commands:
        typed = " ".join(f'"{argument}"' if " " in argument else argument for argument in arguments)
        text += f"<b>$ dragoman {html.escape(typed)}</b>\n{html.escape(dragoman(*arguments))}\n"
    tab = browser.new_page(viewport={"width": 900, "height": 300}, device_scale_factor=1.5)
    tab.set_content(f"<style>{TERMINAL}</style><pre>{text.strip()}</pre>")
    tab.screenshot(path=picture, full_page=True)
    tab.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "dragoman-demo"))
