"""A headless Chromium, and what axe-core finds on a page that it shows."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# Milliseconds. A loaded machine is slow; what never comes fails all the same.
PATIENCE = 120_000


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser; the test is skipped where there is none."""
    driver_of = pytest.importorskip("playwright.sync_api", reason="the browser's driver is of the `dev` extra")
    where = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not where:
        pytest.skip("no Chromium on this machine: the page was not opened")
    driver_of.expect.set_options(timeout=PATIENCE)
    with driver_of.sync_playwright() as driver:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        started = driver.chromium.launch(executable_path=where, args=arguments)
        yield started
        started.close()


def faults(tab: Any) -> list[str]:
    """Serious and critical findings of axe-core."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(tab, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{one['impact']} {one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
