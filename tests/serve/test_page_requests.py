"""What the page asks the service for, in a browser: with the languages, the model and the glossary that were chosen."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.bundled import HOME
from dragoman.serve.models.models import Models
from dragoman.serve.work.service import Service
from headless import PATIENCE, chromium
from live_server import live

playwright = pytest.importorskip("playwright.sync_api", reason="the browser's driver is of the `dev` extra")

TEXT = "Restart the server."


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with two models from English into Korean, and one back."""
    other = tmp_path_factory.mktemp("models") / "other"
    shutil.copytree(HOME / "en-ko", other)
    with live(Service(Models([Path("en-ko"), other, Path("ko-en")], threads=1))) as address:
        yield address


@pytest.fixture
def opened(url: str) -> Iterator[Callable[[str], Any]]:
    """Opens a view of the page."""
    with chromium() as browser, browser.new_context(locale="ko-KR") as context:
        context.set_default_timeout(PATIENCE)

        def open_view(view: str) -> Any:
            tab = context.new_page()
            tab.goto(f"{url}/#{view}")
            tab.wait_for_selector("html[data-ready]", state="attached")
            return tab

        yield open_view


def choose_other(tab: Any) -> None:
    """From English into Korean, by the second model."""
    tab.select_option("#from", "en")
    playwright.expect(tab.locator("#to")).to_have_value("ko")
    playwright.expect(tab.locator("#model option")).to_have_text(["en-ko", "other"])
    tab.select_option("#model", "other")


@pytest.mark.slow
def test_look_inside_takes_the_language_that_is_detected(opened):
    tab = opened("look")
    if "/v1/inspect" not in (tab.locator("html").get_attribute("data-features") or "").split():
        pytest.skip("the service does not look inside")
    tab.route("**/v1/inspect", lambda route: route.fulfill(status=501, json={"detail": "nothing to see"}))
    assert (tab.locator("#from").input_value(), tab.locator("#to").input_value()) == ("auto", "ko")
    tab.fill("#look-text", "오늘은 날씨가 좋습니다.")
    with tab.expect_request("**/v1/inspect") as request:
        tab.keyboard.press("Enter")
    asked = request.value.post_data_json
    assert {**asked, "source": "ko", "target": "en"} == asked


@pytest.mark.slow
def test_a_document_is_translated_by_the_chosen_model_with_the_chosen_glossary(opened, url):
    tab = opened("text")
    body = {"name": "IT", "source": "en", "target": "ko", "entries": {"server": "전산기"}}
    glossary = tab.context.request.post(f"{url}/v1/glossaries", data=body).json()["id"]
    tab.evaluate("id => localStorage.setItem('dragoman.glossary.kept', JSON.stringify({'en-ko': id}))", glossary)
    choose_other(tab)
    tab.click("#tabs a[href='#documents']")
    tab.set_input_files("#files", [{"name": "a.txt", "mimeType": "text/plain", "buffer": TEXT.encode()}])
    tab.wait_for_selector(".document[data-state=done]")
    [document] = tab.context.request.get(f"{url}/v1/documents").json()["documents"]
    assert (document["model"], document["source"], document["target"]) == ("other", "en", "ko")
    assert "전산기" in tab.context.request.get(f"{url}/v1/documents/{document['id']}/result").text()


@pytest.mark.slow
def test_a_document_whose_language_is_detected_is_for_no_model_and_no_glossary(opened, url):
    tab = opened("documents")
    tab.evaluate("""localStorage.setItem('dragoman.models', '{"en-ko": "other"}')""")
    content = "오늘은 날씨가 좋습니다.".encode()
    tab.set_input_files("#files", [{"name": "b.txt", "mimeType": "text/plain", "buffer": content}])
    tab.wait_for_selector(".document[data-state=done]")
    [document] = tab.context.request.get(f"{url}/v1/documents").json()["documents"]
    assert (document["model"], document["source"], document["target"]) == ("ko-en", "ko", "en")


@pytest.mark.slow
def test_a_correction_is_of_the_model_that_was_chosen(opened, url):
    tab = opened("text")
    choose_other(tab)
    tab.fill("#source", TEXT)
    playwright.expect(tab.locator("#notes")).to_contain_text("other")
    tab.wait_for_selector(".pane.target[aria-busy=false] .word", state="attached")
    tab.click("#edit")
    tab.fill("#draft", "서버를 다시 켜세요.")
    tab.keyboard.press("Control+Enter")
    playwright.expect(tab.locator(".line")).to_have_text("서버를 다시 켜세요.")
    [correction] = tab.context.request.get(f"{url}/v1/feedback").json()["corrections"]
    assert (correction["model"], correction["correction"]) == ("other", "서버를 다시 켜세요.")
