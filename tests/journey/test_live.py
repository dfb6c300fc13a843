"""The page of `dragoman look` that runs its model, opened from disk in a real browser without a network."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.bundle import open_bundle, write_bundle
from dragoman.config import DecodeConfig, ModelConfig, RunConfig
from dragoman.model.transformer import Transformer
from dragoman.model.weights import load_tensors
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.workflows.models.look import inspect, live_model
from headless import chromium, faults

playwright = pytest.importorskip("playwright.sync_api", reason="the browser's driver is of the `dev` extra")
pytestmark = pytest.mark.slow

VIEWS = ("walk", "heads", "positions", "masks", "beam", "attribution", "stream", "checkpoints")
OPTIONS = DecodeConfig(beam=2, max_length=6)
# What the walk says of a layer that is off, in the language of the page.
SKIPPED = """JSON.parse(document.getElementById("texts").textContent)[document.documentElement.lang]["walk.skipped"]"""
RECORDED, TYPED = "red dog sees", "two big cat"
IDS = "all => all.map((element) => element.id)"


@pytest.fixture
def page(toy_run: Callable[..., RunConfig], toy_tokenizer: Tokenizer, tmp_path: Path) -> Path:
    """A page of random weights, larger than at birth."""
    tokenizer, folder = toy_tokenizer, tmp_path / "live"
    folder.mkdir()
    torch.manual_seed(5)
    shape = {"layers": 2, "d_model": 32, "d_ff": 48, "heads": 4, "norm_order": "post"}
    config = toy_run().model_copy(update={"model": ModelConfig.model_validate(shape), "decode": OPTIONS})
    model = Transformer(config.model, len(tokenizer.source), len(tokenizer.target))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5) if parameter.dim() > 1 else parameter.add_(0.1 * torch.randn_like(parameter))
    write_bundle(folder / "model", config=config, tokenizer=tokenizer, model=model, card="", facts={})
    bundle = open_bundle(folder / "model")
    inspection = inspect(bundle, RECORDED, options=OPTIONS)
    inspection.to_html(folder / "page.html", live=live_model(bundle, inspection))
    return folder / "page.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page without a network; it may complain of nothing and ask for nothing."""
    contexts, complaints = [], []

    def open_(
        path: Path, address: str, script: str = "", ready: bool = True, size: tuple[int, int] = (1440, 900)
    ) -> Any:
        context = browser.new_context(
            offline=True, viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce"
        )
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on(
            "request", lambda asked: None if asked.url.startswith(("file:", "blob:")) else complaints.append(asked.url)
        )
        if script:
            tab.add_init_script(script)
        tab.goto(f"file://{path}#{address}")
        tab.wait_for_selector("html[data-ready]", state="attached")
        if ready:
            tab.wait_for_selector("html[data-engine]", state="attached")
        return tab

    yield open_
    assert complaints == []
    for context in contexts:
        context.close()


def looked(tab: Any, act: Callable[[], Any]) -> None:
    """What is done, and the page after it has computed."""
    before = int(tab.locator("html").get_attribute("data-looked") or 0)
    act()
    tab.wait_for_selector(f'html[data-looked="{before + 1}"]', state="attached")


@pytest.mark.parametrize(("language", "theme", "size"), [("en", "dark", (1440, 900)), ("ko", "light", (390, 844))])
def test_every_view_follows_what_is_typed_and_switched(
    page: Path, opened: Callable[..., Any], tmp_path: Path, language: str, theme: str, size: tuple[int, int]
) -> None:
    artefacts = Path(os.environ.get("DRAGOMAN_ARTEFACTS", tmp_path))
    tab = opened(page, f"{language}/heads/{theme}", size=size)
    looked(tab, lambda: tab.fill("#live-text", TYPED))
    assert TYPED in tab.locator(".sentence").inner_text()
    pieces = tab.evaluate("window.dragoman.data.pieces")
    assert "".join(pieces["source"][:-1]).replace("\u2581", " ").strip() == TYPED
    rows = tab.locator(".enlarged .labels.rows span").all_inner_texts()
    assert rows == [f"{read} → {made}" for read, made in zip(pieces["input"], pieces["output"], strict=True)]
    tab.locator("#live summary").click()
    for name in ("positions", "mask", "scale"):
        looked(tab, lambda name=name: tab.uncheck(f"#switch-{name}"))
        assert TYPED not in tab.locator(".effect").inner_text()
        assert re.search(r"log P", tab.locator(".effect").inner_text())
        looked(tab, lambda name=name: tab.check(f"#switch-{name}"))
    for name in ("heads", "layers", "uniform"):
        looked(tab, lambda name=name: tab.select_option(f"#switch-{name}", index=1))
    for name in ("temperature", "beam", "length_penalty"):
        for end in ("Home", "End"):
            looked(tab, lambda name=name, end=end: tab.locator(f"#switch-{name}").press(end))
    tab.locator("#to-walk").click()
    tab.evaluate("window.dragoman.leadTo('step-self-qkv')")
    assert tab.evaluate(SKIPPED) in tab.locator("#step-self-qkv").inner_text()
    assert tab.locator("#step-self-qkv figure").count() == 0
    for view in VIEWS:
        tab.locator(f"#to-{view}").click()
        tab.wait_for_selector(f"#view-{view}.current h2")
        assert faults(tab) == [], view
        assert not re.search("NaN|Infinity", tab.locator("main").inner_text()), view
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
        tab.screenshot(path=artefacts / f"live-{language}-{view}.png")
    sent = tab.evaluate("location.hash")
    other = opened(page, sent.lstrip("#"), size=size)
    other.wait_for_selector('html[data-looked="1"]', state="attached")
    assert other.locator("#live-text").input_value() == TYPED
    assert other.evaluate("window.dragoman.data.translation") == tab.evaluate("window.dragoman.data.translation")
    assert other.locator("#switch-layers").input_value() == tab.locator("#switch-layers").input_value() != ""
    looked(tab, lambda: tab.locator("#live-whole").click())
    assert tab.evaluate("window.dragoman.data.effect") is None


def test_a_link_opens_the_positions_and_the_step_of_a_longer_sentence(page: Path, opened: Callable[..., Any]) -> None:
    """The sentence that was recorded is shorter, and is shown until the engine has read the one of the link."""
    tab = opened(page, "en/walk")
    looked(tab, lambda: tab.fill("#live-text", "two big cat sees red dog and two big bird sees red cat"))
    lists = tab.locator("#view-walk .controls select")
    longest = len(tab.evaluate("window.dragoman.data.pieces.source")) - 1
    lists.nth(2).select_option("1")
    lists.nth(3).select_option(str(longest))
    tab.locator(".box", has_text="Softmax").click()
    chosen = [lists.nth(i).input_value() for i in range(5)]
    sent, place = tab.evaluate("location.hash"), tab.locator("#step-place").inner_text()
    assert chosen[3] == str(longest)

    def shows_the_same(other: Any) -> None:
        lists = other.locator("#view-walk .controls select")
        assert [lists.nth(i).input_value() for i in range(5)] == chosen
        assert other.locator("#step-place").inner_text() == place
        assert other.evaluate("location.hash") == sent
        assert 0 <= other.locator("#step-softmax").bounding_box()["y"] < 450

    other = opened(page, sent.lstrip("#"))
    other.wait_for_selector('html[data-looked="1"]', state="attached")
    shows_the_same(other)
    # The link is opened in a tab that shows the page already.
    third = opened(page, "en/heads")
    looked(third, lambda: third.evaluate("(hash) => (location.hash = hash)", sent))
    shows_the_same(third)


WORKERS = """
const First = window.Worker;
window.workers = [];
window.Worker = class extends First { constructor(...all) { super(...all); window.workers.push(this); } };
"""


def test_a_worker_that_a_device_ended_is_started_again(page: Path, opened: Callable[..., Any]) -> None:
    """What is asked while it is dead, and in the moment when the model is loaded again, is answered."""
    tab = opened(page, "en/heads", script=WORKERS)
    looked(tab, lambda: tab.fill("#live-text", TYPED))
    tab.evaluate("workers[0].terminate()")

    def wake() -> None:
        for _ in range(2):  # a second event while the first still waits
            tab.evaluate('document.dispatchEvent(new Event("visibilitychange"))')
        tab.fill("#live-text", "big red bird")
        while tab.evaluate("workers.length") == 1:  # the policy forbids what the driver would wait with
            tab.wait_for_timeout(20)
        tab.select_option("#switch-heads", index=1)

    tab.locator("#live summary").click()
    looked(tab, wake)
    assert tab.evaluate("[workers.length, dragoman.data.source]") == [2, "big red bird"]
    assert "cannot run" not in tab.locator("#live-status").inner_text()
    # A question on the sentence, of a worker that has not read it.
    tab.locator("#to-beam").click()
    tab.evaluate("workers[1].terminate()")
    tab.locator("#view-beam .bars button.plain").nth(2).click()
    tab.evaluate('document.dispatchEvent(new Event("visibilitychange"))')
    tab.wait_for_selector(".rival .facts")
    assert tab.evaluate("workers.length") == 3


def test_a_page_of_recorded_values_says_why(page: Path, opened: Callable[..., Any], tmp_path: Path) -> None:
    inspection = replace(inspect(open_bundle(page.parent / "model"), RECORDED), why_recorded="toy: is <b>too large</b>")
    inspection.to_html(tmp_path / "recorded.html")
    tab = opened(tmp_path / "recorded.html", "en/heads", ready=False)
    assert "toy: is <b>too large</b>" in tab.locator("#live").inner_text()
    assert tab.locator("#live-text").count() == 0
    assert faults(tab) == []


def test_a_number_shows_its_inputs(page: Path, opened: Callable[..., Any]) -> None:
    tab = opened(page, "en/walk")
    for step, leaf in (("products", "products"), ("weights", "weights"), ("heads", "heads")):
        tab.evaluate(f"location.hash = 'en/walk///1-2-1-2-2.cross-{step}'")
        playwright.expect(tab.locator(f"#step-cross-{step}")).to_be_focused()
        figure = tab.locator(f"#step-cross-{step} figure")
        field = figure.locator(".field")
        field.focus()
        field.press("ArrowRight")
        field.press("Enter")
        value = float(figure.locator("> output").inner_text().split("=")[1].replace("\u2212", "-"))
        column = 2 if leaf == "weights" else -1
        parts = [row.replace("\u2212", "-").split() for row in figure.locator("tbody tr").all_inner_texts()]
        total = float(figure.locator("tfoot td").nth(column).inner_text().replace("\u2212", "-"))
        assert sum(float(cells[column]) for cells in parts) == pytest.approx(total, abs=1e-2)
        made = total if leaf != "weights" else float(parts[1][2]) / total
        assert made == pytest.approx(value, abs=1e-3)
        assert tab.locator(".band").count() >= 2
    assert faults(tab) == []


@pytest.mark.parametrize("missing", ["Worker", "WebAssembly"])
def test_without_workers_or_webassembly_it_runs_and_says_so(
    page: Path, opened: Callable[..., Any], missing: str
) -> None:
    tab = opened(page, "en/beam", script=f"delete window.{missing}")
    looked(tab, lambda: tab.fill("#live-text", TYPED))
    assert tab.locator("html").get_attribute("data-engine") == ("javascript" if missing == "WebAssembly" else "wasm")
    expected = "without a worker" if missing == "Worker" else "JavaScript"
    assert expected in tab.locator("#live-status").inner_text()


BAD = {
    "": "The model runs in this page",
    "\x00\u202e\x07": "nothing to translate",
    "<b>red</b> <script>alert(1)</script>": "Computed",
    "\u0e44\u0e17\u0e22\u0e44\u0e17\u0e22": "a script that the model has not learned",
    "red dog " * 260: "Computed",
    "red dog sees. " * 360: "Only the first 4,000 characters are read",
}


def test_bad_input_is_named_and_leaves_a_page_that_works(page: Path, opened: Callable[..., Any]) -> None:
    tab = opened(page, "en/heads")
    status = tab.locator("#live-status")
    for text, report in BAD.items():
        tab.fill("#live-text", "red")
        playwright.expect(tab.locator(".sentence [lang=en]")).to_have_text("red")
        tab.fill("#live-text", text)
        playwright.expect(status).to_contain_text(report, timeout=60_000)
    assert tab.locator("#live select[onchange], .sentence b b, .sentence script").count() == 0
    tab.fill("#live-text", TYPED)
    playwright.expect(tab.locator(".sentence")).to_contain_text(TYPED)


def test_weights_that_were_cut_are_reported_and_the_recording_stays(
    page: Path, opened: Callable[..., Any], tmp_path: Path
) -> None:
    whole, changes = re.subn(r'("languages": ?\{"source": ?)"en"', r'\1"fr"', page.read_text(encoding="utf-8"))
    assert changes == 1
    (tmp_path / "cut.html").write_text(whole[: whole.index('id="weights"') + 5000], encoding="utf-8")
    tab = opened(tmp_path / "cut.html", "en/heads", ready=False)
    playwright.expect(tab.locator("#live-status")).to_contain_text("cut")
    assert RECORDED in tab.locator(".sentence").inner_text()
    assert tab.locator(".thumb").count() == 2 * 4 * 3
    box = tab.locator("#live").inner_text()
    assert "French" in box, "the language is named"
    assert "null" not in box, "of a language without examples none are shown"
    (tmp_path / "cut.html").write_text(whole[: whole.index('id="blob"') + 5000], encoding="utf-8")
    tab.goto(f"file://{tmp_path}/cut.html")  # no script is left
    tab.wait_for_selector("#cut", state="visible")
    assert "not copied whole" in tab.locator("body").inner_text()


def test_of_it_and_the_animal_the_page_says_what_it_measures(page: Path, opened: Callable[..., Any]) -> None:
    tab = opened(page, "en/heads")
    assert tab.locator("#found").inner_text() == ""
    looked(tab, lambda: tab.fill("#live-text", "animal street it wide"))
    pieces = tab.evaluate("window.dragoman.data.pieces.source")
    starts = [i for i, piece in enumerate(pieces) if piece.startswith("\u2581") or piece == "</s>"]
    animal, street, it, _ = [range(a, b) for a, b in pairwise(starts)]
    read = (
        "Array.from({ length: 2 }, (_, i) => [...window.dragoman.array(`encoder.${i}.self_attention.weights`).values])"
    )
    weights = torch.tensor(tab.evaluate(read)).reshape(8, len(pieces), len(pieces))
    sums = weights[:, it][:, :, animal].sum(2).mean(1)
    link = tab.locator("#found a").first
    layer, head = divmod(int(sums.argmax()), 4)
    assert link.inner_text() == f"it \u2192 animal {float(sums.max()):.2f} ({layer + 1}.{head + 1})"
    strongest = {"animal": float(sums.max()), "street": float(weights[:, it][:, :, street].sum(2).mean(1).max())}
    kind = "none" if max(strongest.values()) < 0.3 else "wrong"
    if kind == "wrong" and strongest["street"] > strongest["animal"]:  # a reader of "wide" takes it for the street
        kind = "right"
    claim = tab.evaluate(f"""JSON.parse(document.getElementById("texts").textContent).en["found.{kind}"]""")
    assert claim.replace("{meant}", "street").replace("{other}", "animal") in tab.locator("#found").inner_text()
    link.click()
    playwright.expect(tab.locator(".enlarged figcaption")).to_contain_text(f"Layer {layer + 1} \u00b7 Head {head + 1}")


@pytest.mark.parametrize(("language", "size"), [("en", (1440, 900)), ("ko", (390, 844))])
def test_figure_one_is_always_in_sight_and_lit_where_the_view_is(
    page: Path, opened: Callable[..., Any], language: str, size: tuple[int, int]
) -> None:
    tab = opened(page, f"{language}/walk", size=size)
    lit = {
        "heads": {"cross-qkv"},
        "positions": {"source-position", "target-position"},
        "masks": {"self-qkv", "masked-qkv"},
        "beam": {"softmax", "word"},
    }
    for view in VIEWS:
        tab.locator(f"#to-{view}").click()
        tab.wait_for_selector(f"#view-{view}.current h2")
        tab.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        now = {box.removeprefix("box-") for box in tab.locator("#stage .box.now").evaluate_all(IDS)}
        assert now == lit.get(view, now) != set(), view
        seen = tab.locator("#stage").bounding_box()
        assert 0 <= seen["y"] < seen["y"] + seen["height"] <= size[1], view
        assert size[0] > 1000 or seen["height"] < 70, view
    if size[0] < 1000:
        tab.locator("#stage summary").click()
    tab.locator("#box-masked-qkv").click()
    playwright.expect(tab.locator("#step-masked-qkv")).to_be_focused()
    steps = tab.locator("#view-walk .step:visible")
    assert steps.count() == 1
    assert tab.locator("#step-masked-qkv").bounding_box()["y"] < size[1] / 2
    tab.keyboard.press(" ")
    playwright.expect(tab.locator("#step-masked-products")).to_be_focused()
    assert tab.locator("#stage .box.now").evaluate_all(IDS) == ["box-masked-qkv"]
    tab.locator("#step-all").click()
    assert steps.count() == tab.locator("#view-walk .step").count() > 20
    assert faults(tab) == []


def test_pieces_are_merged_to_words_everywhere_and_in_the_address(page: Path, opened: Callable[..., Any]) -> None:
    tab = opened(page, "en/heads///encoder.2.self_attention.3")
    looked(tab, lambda: tab.fill("#live-text", "redder birds"))  # words of several pieces
    pieces = tab.evaluate("window.dragoman.data.pieces.source")
    tab.locator("#words").click()
    shown = ["redder", "birds", "</s>"]
    playwright.expect(tab.locator(".enlarged .labels.rows span")).to_have_text(shown)
    assert len(pieces) > len(shown)
    read = "name => Array.from(window.dragoman.array(name).values)"
    count = len(pieces)
    weights = torch.tensor(tab.evaluate(read, "encoder.1.self_attention.weights")).reshape(4, count, count)[2]
    starts = [i for i, piece in enumerate(pieces) if piece.startswith("\u2581") or piece == "</s>"]
    words = [range(a, b) for a, b in zip(starts, [*starts[1:], count], strict=True)]
    expected = [[float(weights[rows][:, columns].sum() / len(rows)) for columns in words] for rows in words]
    field = tab.locator(".enlarged .field")
    merged = torch.tensor(field.evaluate("one => Array.from(one.x.values)")).reshape(3, 3)
    torch.testing.assert_close(merged, torch.tensor(expected), atol=1e-5, rtol=0)
    field.focus()
    field.press("Enter")
    assert tab.locator(".enlarged").inner_text().count("mean over the pieces that read") == 1
    total = tab.locator(".enlarged tfoot td").last.inner_text()
    assert float(total) == pytest.approx(expected[0][0], abs=1e-4)
    tab.locator("#to-attribution").click()
    playwright.expect(tab.locator("#view-attribution .way").first.locator(".piece")).to_have_text(shown)
    assert "Each output word" in tab.locator("#view-attribution").inner_text()
    assert "Computed by pieces" in tab.locator("#view-attribution section").last.inner_text()
    sent = tab.evaluate("location.hash")
    assert sent.endswith("/words")
    other = opened(page, sent.lstrip("#"))
    other.wait_for_selector('html[data-looked="1"]', state="attached")
    assert other.locator("#words").get_attribute("aria-pressed") == "true"
    assert other.locator("#view-attribution .way").first.locator(".piece").all_inner_texts() == shown
    assert faults(tab) == []


def test_why_not_that_word(page: Path, opened: Callable[..., Any]) -> None:
    tab = opened(page, "en/beam")
    rank = lambda: tab.locator(".rival dd").nth(2).inner_text()  # noqa: E731
    tab.locator("#view-beam .bars button.plain").nth(2).click()
    tab.wait_for_selector(".rival .facts")
    assert re.match(r"\d+ / \d+", rank())
    gap = float(tab.locator(".rival dd").nth(3).inner_text().split(",")[0].replace("\u2212", "-"))
    shares = tab.locator(".rival .terms tbody tr td:last-child").all_inner_texts()
    assert sum(float(share.replace("\u2212", "-")) for share in shares) == pytest.approx(gap, abs=0.02)
    assert tab.locator(".rival table").count() >= 2, "the reasons, and what the search finds"
    assert tab.locator(".node.path").count() >= 1
    sent = tab.evaluate("location.hash")
    other = opened(page, sent.lstrip("#"))
    playwright.expect(other.locator(".rival dd").nth(2)).to_have_text(rank())  # once its model runs
    tab.fill("#rival-text", "red dog")
    tab.press("#rival-text", "Enter")
    tab.wait_for_selector('html[data-rival="red dog"]', state="attached")
    assert tab.locator(".rival h4").inner_text().count("\u2581") >= 2
    typed = tab.evaluate("location.hash")
    tab.locator("#to-heads").click()
    tab.wait_for_selector("#view-heads.current h2")
    tab.locator("#to-beam").click()
    tab.wait_for_selector("#view-beam.current .rival h4")
    assert tab.evaluate("location.hash") == typed, "the tab of a view keeps what the view has chosen"
    for address in (sent, typed, sent):
        tab.evaluate("(hash) => (location.hash = hash)", address)
        count = 2 if address == typed else 1
        playwright.expect(tab.locator(".rival h4")).to_have_text(
            re.compile(r"^Step \d+: " + r"\S*\u2581.*" * (count - 1) + ".* instead of")
        )
        assert tab.locator("#rival-text").input_value() == ("red dog" if address == typed else "")
    tab.evaluate("location.hash = 'en/beam'")
    playwright.expect(tab.locator(".rival .facts")).to_have_count(0)
    tab.locator(".node.pruned").last.click()
    tab.wait_for_selector(".rival .facts")
    assert tab.locator(".node.path").count() >= 2, "the whole path is lit"
    assert faults(tab) == []


def test_a_cell_of_a_linear_layer_shows_its_products_and_its_bias(page: Path, opened: Callable[..., Any]) -> None:
    tab = opened(page, "en/walk///1-2-1-2-2.self-qkv")
    tensors = load_tensors(page.parent / "model" / "model.safetensors")
    for step, figure, layer in (
        ("self-qkv", 0, "encoder.0.self_attention.w_q"),
        ("self-output", 1, "encoder.0.self_attention.w_o"),
        ("encoder-ffn-ffn", 2, "encoder.0.feed_forward.w_2"),
    ):
        tab.evaluate(f"window.dragoman.leadTo('step-{step}')")
        shown = tab.locator(f"#step-{step} figure").nth(figure)
        shown.locator(".field").focus()
        shown.locator(".field").press("ArrowRight")
        shown.locator(".field").press("Enter")
        shown.locator("tfoot").wait_for()
        rows = [row.replace("\u2212", "-").split() for row in shown.locator("tbody tr").all_inner_texts()]
        assert float(rows[-1][-1]) == pytest.approx(float(tensors[f"{layer}.bias"][1]), abs=1e-3)
        assert float(rows[0][2]) == pytest.approx(float(tensors[f"{layer}.weight"][1, 0]), abs=1e-3)
        total = float(shown.locator("tfoot td").last.inner_text().replace("\u2212", "-"))
        assert sum(float(row[-1]) for row in rows) == pytest.approx(total, abs=5e-3)
        value = float(shown.locator("> output").inner_text().split("=")[1].replace("\u2212", "-"))
        assert value == pytest.approx(total, abs=2e-3)


def test_a_cell_of_the_stream_shows_its_way_through_the_norm(page: Path, opened: Callable[..., Any]) -> None:
    tab = opened(page, "en/walk///1-2-1-2-2.self-add")
    tensors = load_tensors(page.parent / "model" / "model.safetensors")
    figure = tab.locator("#step-self-add figure").last
    field = figure.locator(".field")
    field.focus()
    for _ in range(3):
        field.press("ArrowRight")
    field.press("Enter")
    rows = [row.split("\t")[-1].replace("\u2212", "-") for row in figure.locator("tbody tr").all_inner_texts()]
    x, mean, variance, epsilon, hat, gain, shift, result = map(float, rows)
    assert hat == pytest.approx((x - mean) / (variance + epsilon) ** 0.5, abs=2e-3)
    learned = [tensors[f"encoder.0.self_attention_norm.norm.{name}"][3] for name in ("weight", "bias")]
    assert [gain, shift] == pytest.approx([float(value) for value in learned], abs=2e-3)
    assert gain * hat + shift == pytest.approx(result, abs=2e-3)
    total = tab.locator("#step-self-add figure").nth(2)
    total.locator(".field").focus()
    total.locator(".field").press("Enter")
    terms = [float(cell.replace("\u2212", "-")) for cell in total.locator("tbody td:last-child").all_inner_texts()]
    written = float(total.locator("tfoot td").last.inner_text().replace("\u2212", "-"))
    assert sum(terms) == pytest.approx(written, abs=2e-4)
    assert faults(tab) == []


def test_of_another_sentence_no_word_shines_and_a_skipped_layer_has_no_infinite_sum(
    page: Path, opened: Callable[..., Any]
) -> None:
    tab = opened(page, "en/walk///1-2-1-2-2.self-weights")
    tab.locator(".sentence .lit").first.click()
    assert tab.locator(".lit[aria-pressed=true]").count() == 1
    tab.click("#language")
    assert tab.locator(".lit[aria-pressed=true]").count() == 1, "in another language the same word shines"
    looked(tab, lambda: tab.fill("#live-text", TYPED))
    assert tab.locator(".lit[aria-pressed=true]").count() == 0
    tab.locator("#live summary").click()
    looked(tab, lambda: tab.select_option("#switch-layers", "encoder.0"))
    for _ in range(3):
        assert not re.search(r"(?<![-\u2212])\u221e|Infinity|NaN", tab.locator("main").inner_text())
        tab.keyboard.press("ArrowLeft")
