"""Two models in a row: both copy what is copied, both warn, and where there are no two one line says so."""

from pathlib import Path

import pytest

import dragoman
from dragoman.config import DecodeConfig, TokenizerConfig
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine import Query
from dragoman.errors import ConfigError
from dragoman.text.tokens.tokenizer import Tokenizer, learn
from dragoman.translator import Translator
from dragoman.workflows.lines import via
from dragoman.workflows.lines.via import Hop, PivotTranslator, choose_hops
from stand_ins import FakeEngine

PAIRS = [("open the file and save it please X1 X2", "das ist ein Haus"), ("it costs", "a b 1 2 3")] * 20


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    ascii_ = "".join(map(chr, range(33, 127)))
    return learn([*PAIRS, (ascii_, ascii_)] * 4, TokenizerConfig(vocab_size=360))


def pivot(tokenizer: Tokenizer, first: FakeEngine, second: FakeEngine, **options: object) -> PivotTranslator:
    changed = DecodeConfig.model_validate(options)
    hops = (("de", "en", first), ("en", "fr", second))
    return PivotTranslator(
        *(
            Translator(tokenizer, engine, changed, max_source_tokens=400, language=source, target_language=target)
            for source, target, engine in hops
        )
    )


def test_what_is_copied_survives_both_and_the_source_is_that_of_the_first(tokenizer: Tokenizer) -> None:
    translator = pivot(tokenizer, FakeEngine(), FakeEngine(), keep=["Zorblat", "/T-\\d+/"])
    lines = ["- open %s please", "  Zorblat\tsave T-77 ", "", "----"]
    translations = translator.translate(lines)
    assert [translation.text for translation in translations] == lines
    assert [translation.source for translation in translations] == lines
    assert translator.pair.name == "de-fr"
    assert translator.to("fr", "de") is translator
    with pytest.raises(ConfigError, match="de-fr"):
        translator.to("ko")


def test_warnings_are_those_of_both_each_kind_once(tokenizer: Tokenizer) -> None:
    def without_number(query: Query, options: DecodeConfig) -> list[Hypothesis]:
        [ids] = tokenizer.encode(["das ist ein Haus"], "target")
        return [Hypothesis(tuple(ids), -1.0, -1.0)]

    lossy = FakeEngine(without_number)
    [translation] = pivot(tokenizer, lossy, FakeEngine()).translate(["save it for %s and 4711"])
    flags = {flag.kind: flag.text for flag in translation.warnings}
    assert flags["inserted"].startswith("on the way, in en: ")
    [translation] = pivot(tokenizer, FakeEngine(), lossy).translate(["save it for %s and 4711"])
    assert "on the way" not in {flag.kind: flag.text for flag in translation.warnings}["inserted"]


@pytest.mark.parametrize("name", ["alignment", "confidence"])
def test_what_belongs_to_one_model_is_refused(tokenizer: Tokenizer, name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: belongs to one model"):
        pivot(tokenizer, FakeEngine(), FakeEngine()).translate(["open"], **{name: True})


def test_two_models_at_hand_are_chosen_or_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def hops(names: list[str]) -> list[Hop]:
        return [Hop(Path(name), *name.split("-")) for name in names]

    at_hand = ["ko-en", "en-ko", "en-fr"]
    monkeypatch.setattr(via, "hops_at_hand", lambda models=(): hops(at_hand))
    assert choose_hops("en", None, None) == tuple(hops(["ko-en", "en-fr"]))
    assert choose_hops("en", "ko", "ko") == tuple(hops(["ko-en", "en-ko"]))
    several = [Hop(Path("a"), "en", "de"), Hop(Path("b"), "en-US", "de"), Hop(Path("c"), "de", "ko")]
    with monkeypatch.context() as patched:
        patched.setattr(via, "hops_at_hand", lambda models=(): several)
        assert choose_hops("de", "en", "ko") == (several[0], several[2])
        written = [Hop(Path("a"), "en", "zh-Hans"), Hop(Path("b"), "zh-Hant", "ko")]
        patched.setattr(via, "hops_at_hand", lambda models=(): written)
        with pytest.raises(ConfigError, match="no two models at hand for en → zh → ko"):
            choose_hops("zh", "en", "ko")
    at_hand.append("de-en")
    with pytest.raises(ConfigError, match="several languages are possible, ko → fr, de → ko, de → fr; give --from"):
        choose_hops("en", None, None)
    with pytest.raises(
        ConfigError, match=r"--via en: no two models at hand for ko → en → it; at hand: ko-en \(ko → en"
    ):
        choose_hops("en", "ko", "it")


def test_a_file_goes_through_the_bundled_models(tmp_path: Path) -> None:
    (tmp_path / "a.ko").write_text("- 안녕하세요, %s!\n\n", encoding="utf-8")
    options = DecodeConfig(beam=1)
    result = dragoman.translate_file(
        tmp_path / "a.ko", tmp_path / "b.ko", via="en", from_="ko", to="ko", options=options
    )
    text = (tmp_path / "b.ko").read_text(encoding="utf-8")
    assert result.lines == 2
    assert text.startswith("- ")
    assert "%s" in text
    with pytest.raises(ConfigError, match="model: has no effect on two models in a row"):
        dragoman.translate_file(tmp_path / "a.ko", tmp_path / "c.ko", via="en", model="ko-en")
