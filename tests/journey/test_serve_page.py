"""The page of `dragoman serve` in a real browser: used as a person does, with no request but to the server."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

from dragoman.bundle import write_bundle
from dragoman.config import ModelConfig, RunConfig
from dragoman.model.transformer import Transformer
from dragoman.serve.models.models import Models
from dragoman.serve.work.service import Service
from dragoman.text.tokens.tokenizer import Tokenizer
from headless import PATIENCE, chromium, faults
from live_server import live

playwright = pytest.importorskip("playwright.sync_api", reason="the browser's driver is of the `dev` extra")

DESKTOP, PHONE = {"width": 1200, "height": 760}, {"width": 390, "height": 844}
TEXT = "The weather is nice today."


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Models(threads=1, exact=True))


@pytest.fixture(scope="module")
def url(service: Service) -> Iterator[str]:
    with live(service) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chosen = os.environ.get("DRAGOMAN_ARTEFACTS")
    folder = Path(chosen) if chosen else tmp_path_factory.mktemp("page")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def opened(browser: Any, url: str) -> Iterator[Callable[..., Any]]:
    """Opens the page in a context of its own; afterwards nothing was asked elsewhere, and nothing complained."""
    complaints: list[str] = []
    contexts = []

    def open_page(**named: Any) -> Any:
        context = browser.new_context(**{"viewport": DESKTOP, "reduced_motion": "reduce", "locale": "en-US", **named})
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        tab = context.new_page()
        tab.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda request: None if request.url.startswith(f"{url}/") else complaints.append(request.url))
        tab.goto(url)
        tab.wait_for_selector("html[data-ready]", state="attached")
        return tab

    open_page.complaints = complaints  # type: ignore[attr-defined]
    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def translation(tab: Any) -> str:
    """The translation, once nothing more is to come."""
    tab.wait_for_selector(".pane.target[aria-busy=false] .word", state="attached")
    return str(tab.locator("#output").inner_text())


def eventually(holds: Callable[[], Any]) -> None:
    """Wait until it holds; the policy of the page forbids what the browser's driver would wait with."""
    end = time.monotonic() + PATIENCE / 1000
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def fits(tab: Any) -> bool:
    return bool(tab.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_what_is_typed_is_translated_as_offline(opened, service):
    tab = opened()
    tab.locator("#source").press_sequentially(TEXT)
    playwright.expect(tab.locator("#from option").first).to_have_text("English (detected)")
    playwright.expect(tab.locator("#output")).to_have_text(offline(service, TEXT), timeout=PATIENCE)
    tab.locator("#clear").click()
    playwright.expect(tab.locator("#output")).to_be_empty()


def offline(service: Service, text: str, name: str = "en-ko") -> str:
    model = service.models.named(name)
    return str(service.models.translator(model, model.pairs[0]).translate(text).text)


@pytest.mark.slow
def test_a_text_in_the_target_language_turns_the_pair_around(opened, service):
    tab = opened(locale="ko-KR")
    assert tab.locator("#to").input_value() == "ko"
    tab.fill("#source", "오늘은 날씨가 좋습니다.")
    assert translation(tab) == offline(service, "오늘은 날씨가 좋습니다.", "ko-en")
    assert tab.locator("#to").input_value() == "en"


@pytest.mark.slow
def test_swapped_the_translation_is_the_source(opened, service):
    tab = opened()
    tab.fill("#source", TEXT)
    korean = translation(tab)
    tab.keyboard.press("Alt+s")
    playwright.expect(tab.locator("#source")).to_have_value(korean)
    playwright.expect(tab.locator("#output")).to_have_text(offline(service, korean, "ko-en"), timeout=PATIENCE)
    assert (tab.locator("#from").input_value(), tab.locator("#to").input_value()) == ("ko", "en")


@pytest.mark.slow
def test_a_word_shows_its_source_and_its_alternatives_by_keyboard(opened):
    tab = opened()
    tab.fill("#source", f"Hello!\n\n  {TEXT} Let us go to the park!")
    translation(tab)
    before = tab.locator(".line").all_inner_texts()
    tab.keyboard.press("Alt+w")
    for _ in range(2):
        tab.keyboard.press("ArrowRight")
    playwright.expect(tab.locator("#mirror mark").first).to_have_text("weather")
    word = tab.locator(".word.lit")
    kept = before[2].partition(word.inner_text())[0]
    tab.keyboard.press("Enter")
    options = tab.locator("[role=option]")
    playwright.expect(options.first).to_be_focused(timeout=PATIENCE)
    assert faults(tab) == []
    tab.keyboard.press("ArrowDown")
    chosen = tab.locator("[role=option][aria-selected=true] b").inner_text()
    tab.keyboard.press("Enter")
    playwright.expect(tab.locator("#popup")).to_be_hidden()
    after = tab.locator(".line").all_inner_texts()
    assert after[:2] == before[:2]
    assert after[2] != before[2]
    assert after[2].startswith(kept + chosen)
    tab.keyboard.press("Enter")
    tab.keyboard.press("Escape")
    assert tab.evaluate("document.activeElement.className") == "word lit"


@pytest.mark.slow
def test_a_long_text_comes_sentence_by_sentence_and_a_change_asks_for_its_line_only(opened, service):
    tab = opened()
    lines = [f"There are {number} dogs in the garden of my friend, and the sun is warm." for number in range(6)]
    asked = []
    tab.on("request", lambda request: asked.append(request.post_data_json) if request.method == "POST" else None)
    tab.fill("#source", "\n".join(lines))
    assert translation(tab).split("\n") == [offline(service, line) for line in lines]
    asked.clear()
    tab.locator("#source").press("End")
    tab.fill("#source", "\n".join([*lines, TEXT]))
    playwright.expect(tab.locator("#output .line").last).to_have_text(offline(service, TEXT), timeout=PATIENCE)
    assert [body["text"] for body in asked if body and "target" in body and "alignment" not in body] == [[TEXT]]
    tab.locator("#output .word").first.click()
    playwright.expect(tab.locator("[role=option]").first).to_be_visible()


@pytest.mark.slow
def test_korean_is_composed_without_being_disturbed(opened, service):
    tab = opened(locale="ko-KR")
    tab.locator("#source").focus()
    devices = tab.context.new_cdp_session(tab)
    for text in ("ㅎ", "하", "한", "한ㄱ", "한구", "한국"):
        devices.send("Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)})
        tab.wait_for_timeout(50)
    assert tab.locator("#source").input_value() == "한국"
    devices.send("Input.insertText", {"text": "한국"})
    assert tab.locator("#source").input_value() == "한국"
    playwright.expect(tab.locator("#output")).to_have_text(offline(service, "한국", "ko-en"), timeout=PATIENCE)


@pytest.mark.slow
def test_a_term_of_the_glossary_is_used_at_once(opened):
    tab = opened()
    tab.fill("#source", "Restart the server.")
    translation(tab)
    tab.keyboard.press("Alt+g")
    tab.keyboard.type("server")
    tab.keyboard.press("Tab")
    tab.keyboard.type("전산기")
    tab.keyboard.press("Enter")
    playwright.expect(tab.locator("#output")).to_contain_text("전산기", timeout=PATIENCE)
    assert faults(tab) == []
    tab.locator("#glossary td button").click()
    playwright.expect(tab.locator("#output")).not_to_contain_text("전산기", timeout=PATIENCE)


@pytest.mark.slow
def test_the_history_is_in_the_browser_and_can_be_cleared(opened):
    tab = opened()
    tab.fill("#source", TEXT)
    translation(tab)
    stored = "(localStorage.getItem('dragoman.history') ?? '').includes('weather')"
    eventually(lambda: tab.evaluate(stored))
    tab.reload()
    tab.wait_for_selector("html[data-ready]", state="attached")
    tab.click("#history-open")
    assert faults(tab) == []
    tab.click(".entry")
    assert tab.locator("#source").input_value() == TEXT
    translation(tab)
    tab.locator("#history .row button").click()
    assert tab.evaluate("localStorage.getItem('dragoman.history')") is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("desktop", {}),
        ("desktop-dark-ko", {"locale": "ko-KR", "color_scheme": "dark"}),
        ("phone", {"viewport": PHONE, "has_touch": True}),
        ("phone-dark-ko", {"viewport": PHONE, "locale": "ko-KR", "color_scheme": "dark"}),
        ("narrow", {"viewport": {"width": 320, "height": 640}}),
    ],
)
def test_every_view_fits_and_is_free_of_faults(opened, artefacts, name, settings):
    tab = opened(**settings)
    assert faults(tab) == []
    tab.fill("#source", f"{TEXT}\nWhere is the library?")
    translation(tab)
    for view in tab.locator("#tabs a:visible").all():
        view.click()
        tab.wait_for_selector(f"#view-{view.get_attribute('href')[1:]}:visible h1", state="attached")
        assert fits(tab)
        assert faults(tab) == []
        tab.screenshot(path=artefacts / f"{name}-{view.get_attribute('href')[1:]}.png")


@pytest.mark.slow
def test_language_and_theme_are_switched_and_kept(opened):
    tab = opened()
    tab.fill("#source", TEXT)
    tab.click("#language")
    tab.wait_for_selector("html[lang=ko]", state="attached")
    assert "번역" in tab.title()
    tab.click("#theme")
    theme = tab.locator("html").get_attribute("data-theme")
    tab.reload()
    tab.wait_for_selector("html[lang=ko][data-ready]", state="attached")
    assert tab.locator("html").get_attribute("data-theme") == theme
    assert tab.locator("#language").inner_text() == "English"


@pytest.mark.slow
def test_look_inside_shows_a_model_with_weights(
    browser: Any, artefacts: Path, toy_run: Callable[..., RunConfig], toy_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    torch.manual_seed(5)
    shape = {"layers": 2, "d_model": 32, "d_ff": 48, "heads": 4}
    config = toy_run().model_copy(update={"model": ModelConfig.model_validate(shape)})
    model = Transformer(config.model, len(toy_tokenizer.source), len(toy_tokenizer.target))
    write_bundle(tmp_path / "toy", config=config, tokenizer=toy_tokenizer, model=model, card="", facts={})
    with live(Service(Models([tmp_path / "toy"], threads=1))) as url, browser.new_context(locale="ko-KR") as context:
        context.set_default_timeout(PATIENCE)
        tab = context.new_page()
        tab.goto(f"{url}/#look")
        tab.wait_for_selector("html[data-ready]", state="attached")
        if "/v1/inspect" not in (tab.locator("html").get_attribute("data-features") or "").split():
            pytest.skip("the service does not look inside")
        tab.fill("#look-text", "red dog sees two cat")
        tab.keyboard.press("Enter")
        page = tab.frame_locator("iframe")
        page.locator("html[data-engine]").wait_for(state="attached")
        page.locator("#live-text").fill("big bird")
        playwright.expect(page.locator(".sentence")).to_contain_text("big bird")
        tab.screenshot(path=artefacts / "look-inside-live.png", full_page=True)
        tab.locator("#view-look summary").click()
        tab.wait_for_selector(".attention td")
        assert tab.locator("#look-layer option").count() == 2
        tab.select_option("#look-layer", "1")
        tab.click("#language")  # the frame follows and stays where it is
        playwright.expect(page.locator("html")).to_have_attribute("lang", "en")
        tab.click("#theme")
        theme = tab.locator("html").get_attribute("data-theme")
        playwright.expect(page.locator("html")).to_have_attribute("data-theme", theme or "")
        assert page.locator("#live-text").input_value() == "big bird"
        assert faults(tab) == []
        assert fits(tab)
        tab.screenshot(path=artefacts / "look-inside.png", full_page=True)
        tab.evaluate("""sessionStorage.setItem("dragoman.key", JSON.stringify("a"))""")  # a link has no key
        tab.keyboard.press("Escape")
        tab.focus("#look-text")
        tab.keyboard.press("Enter")
        with tab.expect_download() as download:
            tab.locator(".looked button").click()
        assert 'id="weights"' in Path(download.value.path()).read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_document_is_translated_looked_through_fetched_and_deleted(opened, service):
    tab = opened()
    if "/v1/documents" not in (tab.locator("html").get_attribute("data-features") or "").split():
        pytest.skip("the service takes no documents")
    tab.click("#tabs a[href='#documents']")
    markdown = f"# Hello\n\n{TEXT}\n\n" + "한국어 문장입니다.\n"
    tab.set_input_files("#files", [{"name": "a.md", "mimeType": "text/markdown", "buffer": markdown.encode()}])
    tab.wait_for_selector(".document[data-state=done]")
    with tab.expect_download() as download:
        tab.locator(".document button.main").click()
    assert offline(service, TEXT) in Path(download.value.path()).read_text(encoding="utf-8")
    assert download.value.suggested_filename == "a.ko.md"
    if tab.locator(".document summary").count():
        tab.locator(".document summary").click()
        tab.wait_for_selector(".document td")
    assert faults(tab) == []
    tab.locator(".document .actions button").last.click()
    playwright.expect(tab.locator(".document")).to_have_count(0, timeout=PATIENCE)


@pytest.mark.slow
def test_a_corrected_translation_is_kept_and_shown(opened, url):
    tab = opened()
    tab.fill("#source", f"Hello!\n{TEXT}")
    translation(tab)
    first, second = tab.locator(".line").all_inner_texts()
    tab.click("#edit")
    assert tab.locator("#draft").input_value() == f"{first}\n{second}"
    assert faults(tab) == []
    tab.fill("#draft", f"{first}\n오늘은 날씨가 참 좋네요.")
    tab.keyboard.press("Control+Enter")
    playwright.expect(tab.locator(".line").last).to_have_text("오늘은 날씨가 참 좋네요.", timeout=PATIENCE)
    browser_cookie = {one["name"]: one["value"] for one in tab.context.cookies()}
    kept = httpx.get(f"{url}/v1/feedback", cookies=browser_cookie, timeout=60).json()
    assert [(one["text"], one["translation"], one["correction"]) for one in kept["corrections"]] == [
        (TEXT, second, "오늘은 날씨가 참 좋네요.")
    ]
    tab.click("#edit")
    tab.fill("#draft", "no")
    tab.keyboard.press("Escape")
    assert tab.locator(".line").all_inner_texts() == [first, "오늘은 날씨가 참 좋네요."]


@pytest.mark.slow
def test_where_a_key_is_needed_the_page_asks_for_it_once(browser):
    guarded = Service(Models(threads=1))
    _, key = guarded.keys.create("page")
    with live(guarded) as url, browser.new_context(viewport=PHONE, locale="ko-KR") as context:
        context.set_default_timeout(PATIENCE)
        tab = context.new_page()
        tab.goto(url)
        tab.wait_for_selector("#key-dialog[open]")
        assert faults(tab) == []
        assert tab.locator("#key-refused").is_hidden()
        tab.fill("#key-field", "wrong")
        tab.keyboard.press("Enter")
        playwright.expect(tab.locator("#key-refused")).to_be_visible()
        assert faults(tab) == []
        tab.fill("#key-field", key)
        tab.keyboard.press("Enter")
        tab.wait_for_selector("html[data-ready]", state="attached")
        tab.fill("#source", TEXT)
        assert translation(tab)
        assert key not in str(tab.evaluate("JSON.stringify(localStorage)"))


@pytest.mark.slow
def test_a_model_shows_its_card(opened):
    tab = opened()
    tab.click("#tabs a[href='#models']")
    tab.locator("summary").first.click()
    playwright.expect(tab.locator(".card-text").first).to_contain_text("validation", timeout=PATIENCE)
    assert tab.locator(".card-text table").count() > 1
    assert faults(tab) == []


@pytest.mark.slow
def test_without_an_answer_it_says_so_and_tries_again(opened):
    tab = opened()
    tab.context.route("**/v1/detect", lambda route: route.fulfill(status=503, headers={"Retry-After": "1"}, body="{}"))
    tab.fill("#source", TEXT)
    playwright.expect(tab.locator("#status")).to_contain_text("busy", timeout=PATIENCE)
    tab.context.unroute("**/v1/detect")
    assert translation(tab)
    playwright.expect(tab.locator("#status")).to_be_empty(timeout=PATIENCE)
    assert all("503" in one for one in opened.complaints)  # the browser's own message about each
    opened.complaints.clear()


def overflowing(tab: Any) -> list[str]:
    """Words of the list of alternatives that are broken into several lines."""
    boxes = [(word.inner_text(), word.bounding_box()) for word in tab.locator("[role=option] b").all()]
    return [word for word, box in boxes if box["height"] > 30]


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_on_the_korean_page_words_of_the_list_stay_whole(opened, viewport):
    tab = opened(locale="ko-KR", viewport=viewport)
    tab.fill("#source", "도서관은 어디에 있습니까? 한국의 역사에 관한 책을 읽고 싶습니다.")
    translation(tab)
    tab.locator(".word").nth(1).click()
    tab.wait_for_selector("[role=option] b")
    assert overflowing(tab) == []


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["en-US", "ko-KR"])
def test_a_text_over_the_limit_is_reported_where_it_is_seen(opened, locale):
    tab = opened(locale=locale)
    tab.fill("#source", "x")
    translation(tab)
    tab.fill("#source", "x " * 60_000)
    playwright.expect(tab.locator("#status")).to_contain_text("120,000")
    box = tab.locator("#status").bounding_box()
    assert box["y"] + box["height"] <= tab.viewport_size["height"]
    playwright.expect(tab.locator("#output")).to_be_empty()
    playwright.expect(tab.locator("#count")).to_contain_text("100,000")
    assert tab.locator("#copy").bounding_box() is None
    assert tab.locator("#clear").bounding_box()["y"] < tab.viewport_size["height"]
    assert faults(tab) == []
    tab.fill("#source", TEXT)
    translation(tab)
    playwright.expect(tab.locator("#status")).to_be_empty()


@pytest.mark.slow
def test_an_old_translation_is_pale_while_the_service_is_silent(opened):
    tab = opened()
    tab.fill("#source", TEXT)
    before = translation(tab)
    tab.context.route("**/v1/detect", lambda route: None)  # never answered
    tab.fill("#source", "Where is the library?")
    playwright.expect(tab.locator("#output.stale")).to_have_text(before)
    assert float(tab.locator(".line").evaluate("line => getComputedStyle(line).opacity")) < 0.6
    playwright.expect(tab.locator("#status")).to_contain_text("takes long")
    assert faults(tab) == []
    tab.context.unroute("**/v1/detect")
    tab.fill("#source", TEXT)


@pytest.mark.slow
def test_after_a_double_click_words_have_words_as_alternatives(opened):
    tab = opened()
    tab.fill("#source", "Good evening, my friend. It is warm today.")
    translation(tab)
    tab.locator(".word").nth(1).dblclick()
    tab.keyboard.press("Escape")
    tab.locator(".word").nth(1).click()
    tab.wait_for_selector("[role=option]")
    assert tab.locator("[role=option] b").count() == tab.locator("[role=option]").count()


@pytest.mark.slow
def test_a_choice_is_taken_back_and_the_source_keeps_its_letters(opened):
    tab = opened()
    tab.locator("#source").press_sequentially(TEXT)
    before = translation(tab)
    tab.locator(".word").nth(1).click()
    tab.wait_for_selector("[role=option]")
    tab.keyboard.press("Enter")
    eventually(lambda: tab.locator("#output").inner_text() != before)
    tab.keyboard.press("Control+z")
    playwright.expect(tab.locator("#output")).to_have_text(before)
    assert tab.locator("#source").input_value() == TEXT


@pytest.mark.slow
def test_a_link_has_the_text_and_no_server_receives_it(opened, url):
    tab = opened(permissions=["clipboard-read", "clipboard-write"])
    tab.fill("#source", f"{TEXT}\n100% & more")
    translation(tab)
    tab.click("#link")
    playwright.expect(tab.locator("#status")).to_contain_text("link")
    link = tab.url
    assert link.startswith(f"{url}/#text?")
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto("about:blank")
    tab.goto(link)
    tab.wait_for_selector("html[data-ready]", state="attached")
    assert tab.locator("#source").input_value() == f"{TEXT}\n100% & more"
    assert translation(tab)
    assert not any("weather" in one.partition("#")[0] for one in asked)
    tab.goto(f"{url}/?q=Hello&source=en&target=ko")
    tab.wait_for_selector("html[data-ready]", state="attached")
    assert tab.locator("#source").input_value() == "Hello"


@pytest.mark.slow
def test_a_language_that_is_not_served_is_shown_with_a_question(opened):
    tab = opened(locale="ko-KR")
    tab.fill("#source", "La tua password non è corretta")
    playwright.expect(tab.locator("#from option").first).to_have_text("영어? (확실하지 않음)")
    translation(tab)
    playwright.expect(tab.locator("#notes")).not_to_contain_text("seems")
    assert faults(tab) == []


@pytest.mark.slow
def test_terms_of_a_file_are_kept_on_the_service_and_used(opened, url):
    tab = opened()
    tab.fill("#source", "Restart the server.")
    translation(tab)
    tab.click("#glossary-open")
    terms = {"name": "terms.tsv", "mimeType": "text/tab-separated-values", "buffer": "server\t전산기\n".encode()}
    tab.set_input_files("#glossary-file", [terms])
    playwright.expect(tab.locator("#output")).to_contain_text("전산기")
    playwright.expect(tab.locator("#glossary-kept option:checked")).to_have_text("terms.tsv")
    assert faults(tab) == []
    assert httpx.get(f"{url}/v1/glossaries", timeout=60).json() == {"glossaries": []}  # of this browser alone
    tab.select_option("#glossary-kept", "")
    playwright.expect(tab.locator("#output")).not_to_contain_text("전산기")


@pytest.mark.slow
def test_where_several_models_have_the_languages_one_is_chosen(browser, tmp_path):
    bundled = Service(Models(["en-ko"], threads=1)).models.named("en-ko").folder
    shutil.copytree(bundled, tmp_path / "other")
    with live(Service(Models([Path("en-ko"), tmp_path / "other"], threads=1))) as url, browser.new_context() as context:
        context.set_default_timeout(PATIENCE)
        tab = context.new_page()
        tab.goto(url)
        tab.wait_for_selector("html[data-ready]", state="attached")
        tab.fill("#source", TEXT)
        translation(tab)
        playwright.expect(tab.locator("#model option")).to_have_text(["en-ko", "other"])
        tab.select_option("#model", "other")
        playwright.expect(tab.locator("#notes")).to_contain_text("other")
        assert faults(tab) == []


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_interface_for_programs_can_be_read(browser, url, viewport):
    with browser.new_context(viewport=viewport) as context:
        tab = context.new_page()
        complaints: list[str] = []
        tab.on("console", lambda message: complaints.append(message.text))
        tab.goto(f"{url}/docs")
        assert fits(tab)
        assert tab.evaluate("document.documentElement.scrollHeight") < 12_000
        tab.locator("summary").first.click()
        tab.wait_for_selector("details[open] table")
        assert faults(tab) == []
        assert complaints == []
