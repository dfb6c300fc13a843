"""Make the pictures of the page of `dragoman serve`: desktop in English, a phone in Korean and dark.

    .venv/bin/dragoman serve &
    .venv/bin/python docs/images/page.py [URL]

Needs Chromium and fonts with Korean letters.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).parent
DESKTOP = {"viewport": {"width": 1000, "height": 530}, "locale": "en-US"}
PHONE = {"viewport": {"width": 390, "height": 720}, "locale": "ko-KR", "color_scheme": "dark"}


def main(url: str) -> None:
    """Write `page.png` and `page.ko.png` next to this file."""
    with sync_playwright() as driver:
        where = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=where, args=["--no-sandbox"])
        shoot(browser, url, DESKTOP, "Thank you for your help.\nWhere is the library?", "page.png")
        shoot(browser, url, PHONE, "도서관이 어디에 있나요?\n오늘은 날씨가 좋습니다.", "page.ko.png")
        browser.close()


def shoot(browser: Browser, url: str, settings: dict, text: str, name: str) -> None:
    """Type a text, and click the second word of its translation."""
    context = browser.new_context(**settings)
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("html[data-ready]", state="attached")
    page.fill("#source", text)
    page.wait_for_selector(".pane.target[aria-busy=false] .word")
    page.wait_for_timeout(1500)  # the words are aligned in a pause
    word = page.locator(".line").nth(1).locator(".word").first
    word.hover()
    word.click()
    page.wait_for_selector("[role=option]")
    page.wait_for_timeout(300)
    page.screenshot(path=HERE / name)
    context.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080/")
