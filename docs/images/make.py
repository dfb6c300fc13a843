"""Make the pictures of the README: the page of `dragoman look` in English and Korean, and a terminal.

    .venv/bin/python docs/images/make.py
    make demo && .venv/bin/python docs/images/make.py DEMO

The pages are of the bundled model, so they need no training; the terminal is of the demo in the folder DEMO, and is
made only where that is named. Needs Chromium and fonts with Korean letters.
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
SENTENCE = "The animal didn't cross the street because it was too tired."
SIZE = {"width": 1280, "height": 1040}
# The step of the walk with the weights between encoder and decoder, Eq. (1): the head that aligns words best.
ADDRESS = "walk/light//1-3-2-2-2.cross-weights"
TERMINAL = """
  @font-face { font-family: narrow; src: local("DejaVu Sans Mono"); unicode-range: U+2581, U+2192; size-adjust: 83%; }
  body { margin: 0; background: #14181d; color: #d5dbe1; }
  pre { margin: 0; padding: 22px 26px; font: 15px/1.45 narrow, "Noto Sans Mono CJK KR", "D2Coding", monospace;
        white-space: pre-wrap; }
  b { color: #7fd1ae; }
"""


def main(demo: Path | None) -> None:
    """Write `look.png` and `look.ko.png` next to this file, and of a demo `terminal.png`."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = Path(folder) / "look.html"
        dragoman("look", SENTENCE, "--html", str(page))
        where = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=where, args=["--no-sandbox"])
        look(browser, page, "en", HERE / "look.png")
        look(browser, page, "ko", HERE / "look.ko.png")
        if demo:
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


def look(browser: Browser, page: Path, language: str, picture: Path) -> None:
    """The first screen of the page in a language, as the model runs in it."""
    tab = browser.new_page(viewport=SIZE, device_scale_factor=1.1, reduced_motion="reduce")
    tab.goto(f"{page.resolve().as_uri()}#{language}/{ADDRESS}")
    tab.wait_for_selector("html[data-engine]", state="attached")
    tab.wait_for_timeout(1500)  # the sentence is read once more, for what the file has not
    tab.evaluate("window.scrollTo({top: 0, behavior: 'instant'})")
    tab.screenshot(path=picture)
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
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
