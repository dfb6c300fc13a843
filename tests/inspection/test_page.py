"""The page as a file: what is in it, what cannot get out of its place, how many bytes it may have."""

import json
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.config import DecodeConfig
from dragoman.inspection import page, payload
from dragoman.inspection.inspect import BundleInspection
from dragoman.inspection.inspection import Inspection, inspect_model
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import Tokenizer

OPTIONS = DecodeConfig(beam=2, max_length=6)
Look = Callable[..., Inspection]


@pytest.fixture
def look(build: Callable[..., Transformer], toy_tokenizer: Tokenizer) -> Look:
    """What a tiny model did with a sentence."""

    def make(text: str = "red dog", target: str | None = None, **keys: Any) -> Inspection:
        model = build(len(toy_tokenizer.source), **keys)
        return inspect_model(model, toy_tokenizer, text, target, OPTIONS)

    return make


def write(inspection: Inspection, folder: Path, **keys: Any) -> str:
    BundleInspection.of(inspection, "toy", ("en", "de"), OPTIONS).to_html(folder / "p.html", **keys)
    return (folder / "p.html").read_text(encoding="utf-8")


def script(text: str, name: str) -> str:
    """What the page holds in the script of this name, as a browser cuts it."""
    found = re.search(rf'<script type="[^"]+" id="{name}">(.*?)</script', text, re.DOTALL)
    assert found
    return found[1]


@pytest.mark.parametrize("kind", [{"norm_order": "post"}, {"norm_order": "pre", "norm": "rms", "positions": "rotary"}])
def test_stored_arrays_are_those_recorded(look: Look, kind: dict[str, Any]) -> None:
    found = look(**kind)
    made = payload.gather(found, name="toy", languages=("en", "de"), byte_budget=10**7, options=OPTIONS)
    index = made.facts["arrays"]
    assert {name for name in found if name.endswith(".weights")} <= set(index)
    for name in set(index) & set(found) - {"logits"}:
        values = np.frombuffer(made.blob, "<f4", offset=index[name]["offset"], count=found[name].values.size)
        np.testing.assert_array_equal(values.reshape(index[name]["shape"]), found[name].values, err_msg=name)


@pytest.mark.slow
def test_probabilities_are_the_models(look: Look) -> None:
    found = look()
    made = payload.gather(found, name="toy", languages=("en", "de"), byte_budget=10**7, options=OPTIONS)
    count = len(found.target_ids)
    read = {
        name: np.frombuffer(made.blob, "<f4", offset=made.facts["arrays"][name]["offset"], count=size).reshape(
            count, -1
        )
        for name, size in (("logits", count * payload.CANDIDATES), ("logsumexp", count))
    }
    probabilities = np.exp(read["logits"] - read["logsumexp"])
    for step, piece, row, log_prob in zip(
        made.facts["predictions"], found.pieces["output"], probabilities, found.log_probs, strict=True
    ):
        assert step["candidates"][step["chosen"]] == piece
        assert row[step["chosen"]] == pytest.approx(float(log_prob.exp()), abs=1e-6)
        assert not {"<pad>", "<unk>", "<s>"} & set(step["candidates"])


@pytest.mark.slow
def test_a_small_budget_keeps_the_weights_then_the_layers_asked_for(look: Look) -> None:
    found = look()
    wide = payload.gather(found, name="toy", languages=("en", "de"), byte_budget=10**7, options=OPTIONS)
    assert "decoder.0.cross_attention.q" in wide.facts["arrays"]
    for layers, there, missing in (((1,), "encoder.0", "encoder.1"), ((2,), "encoder.1", "encoder.0")):
        keys = {"name": "toy", "languages": ("en", "de"), "options": OPTIONS}
        made = payload.gather(found, byte_budget=82_000, layers=layers, **keys)
        index = made.facts["arrays"]
        assert all(name in index for name in found if name.endswith(".weights"))
        assert f"{there}.self_attention.q" in index
        assert f"{missing}.feed_forward.inner" not in index
        assert len(made.blob) < len(wide.blob)


@pytest.mark.slow
def test_a_sentence_too_long_becomes_blocks(look: Look, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = look(" ".join(["red dog cat"] * 60))
    text = write(found, tmp_path)
    assert len(text.encode()) < page.size_limit(len(found.source_ids))
    assert "reduced" not in json.loads(script(text, "payload"))[0]["arrays"]["encoder.0.self_attention.weights"]
    small = sum(len(part.encode()) for part in page._static().values()) + 400_000
    monkeypatch.setattr(page, "size_limit", lambda _: small)
    text = write(found, tmp_path)
    assert len(text.encode()) < small
    entry = json.loads(script(text, "payload"))[0]["arrays"]["encoder.0.self_attention.weights"]
    count, factor = len(found.source_ids), entry["reduced"]
    assert factor > 1
    assert entry["shape"] == [4, -(-count // factor), -(-count // factor)]


def test_a_budget_too_small_for_anything_ends_with_one_block_per_map() -> None:
    assert payload.block_side([(2, 7, 9), (3, 4)], -1) == 9


def test_a_block_is_the_mean_of_what_is_in_it() -> None:
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    np.testing.assert_array_equal(payload.block_means(x, 1, 2), [[0.5, 2.5, 4.0], [5.5, 7.5, 9.0]])


@pytest.mark.slow
def test_what_a_sentence_says_stays_text(look: Look, tmp_path: Path) -> None:
    wicked = "</script><script>alert(1)</script><!--<script> {{blob}} {{title}} \u2028 & \u202e red"
    text = write(look(wicked, "hund </script> {{style}}"), tmp_path)
    facts = json.loads(script(text, "payload"))[0]
    assert facts["source"] == wicked
    assert facts["forced"] is True
    assert text.count("<script") == 4
    assert text.count("</script>") == 4
    assert "<title>&lt;/script&gt;" in text


def test_a_model_with_control_characters_for_pieces(
    look: Look, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tokenizer, "pieces", lambda _, tokens, side: [f"\x00\x1b<{token}" for token in tokens])
    text = write(look(), tmp_path)
    assert not set(text) & {chr(code) for code in range(32) if chr(code) != "\n"}
    assert json.loads(script(text, "payload"))[0]["pieces"]["source"][0].startswith("\x00\x1b<")


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(look: Look, tmp_path: Path) -> None:
    text = write(look(), tmp_path)
    assert "default-src 'none'" in text
    addresses = set(re.findall(r"\bhttps?://[\w./-]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"}
    assert not re.search(r"@import|<link[^>]+stylesheet|<script[^>]+src=|fetch\(|XMLHttpRequest|localStorage", text)


def test_a_sentence_of_twenty_tokens_stays_under_three_megabytes() -> None:
    assert page.size_limit(24) < 3_000_000
    assert page.size_limit(500) < 15_000_000


def test_both_languages_have_the_same_texts() -> None:
    english, korean = (page._texts()[code] for code in page.LANGUAGES)
    assert list(english) == list(korean)
    for key, text in english.items():
        assert text.strip(), key
        assert korean[key].strip(), key
        assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", korean[key])), key
    code = "".join(text for name, text in page._static().items() if name.endswith(".js"))
    assert set(re.findall(r'\bt\("([^"]+)"[,)]', code)) <= set(english)


def test_scripts_are_all_there_and_short() -> None:
    folder = files("dragoman.inspection") / "web"
    scripts = {
        entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir() if entry.name.endswith(".js")
    }
    assert set(scripts) == set(page.SCRIPTS)
    assert max(len(text.splitlines()) for text in scripts.values()) <= 250


def test_letters_of_a_turned_label_are_turned_alike() -> None:
    """Of vertical lines Korean letters are upright; with the line they would be turned upside down."""
    style = page._static()["style.css"]
    turned = [rule for rule in style.splitlines() if "writing-mode: vertical" in rule]
    assert turned
    assert all("text-orientation: sideways" in rule for rule in turned)


def test_queries_keys_and_values_have_the_colours_of_the_course() -> None:
    style = page._static()["style.css"]
    figures = (Path(__file__).parents[2] / "docs/figures/draw.py").read_text(encoding="utf-8")
    for name in "qkv":
        light, dark = re.findall(rf"--{name}: (#\w+)", figures)
        assert f"--{name}: light-dark({light}, {dark})" in style
