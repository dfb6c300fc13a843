"""The engine of a page and the PyTorch engine with the same rounded weights: the same tokens, pieces and sentences."""

import base64
import hashlib
import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from architectures import TRANSFORMERS, tiny
from dragoman.bundle import Bundle, open_bundle, write_bundle
from dragoman.config import CorpusConfig, DecodeConfig, RunConfig, TokenizerConfig
from dragoman.data.corpus.corpus import sample_pairs
from dragoman.decode.hypothesis import Hypothesis
from dragoman.engine.torch import TorchEngine
from dragoman.exporting.golden import read_golden
from dragoman.exporting.packing import Numbers, pack
from dragoman.exporting.page import PageModel, _facts
from dragoman.importing.marian.layers import network_of
from dragoman.importing.marian.marian import read_marian
from dragoman.installed.opening import open_model
from dragoman.model.transformer import Transformer
from dragoman.text.segment import sentences
from dragoman.text.tokens.extension import with_symbols
from dragoman.text.tokens.marks import Marks
from dragoman.text.tokens.tokenizer import Tokenizer, learn
from dragoman.text.words.normalise import normalise
from dragoman.web import PACKAGE
from dragoman.workflows.models.dequantise import dequantised
from dragoman.workflows.models.html import page_model
from javascript import ask
from stand_ins import queries

WEB = Path(__file__).parents[2] / "src" / PACKAGE.replace(".", "/")
SHAPES: dict[str, dict[str, Any]] = {
    **TRANSFORMERS,
    "widths": {"d_k": 6, "d_v": 3, "tie": "none", "norm": "rms", "d_model": 20},
    "vectors": {
        "d_model": 32,
        "d_ff": 48,
        "heads": 2,
        "positions": "rotary",
        "feed_forward": "swiglu",
        "tie": "target",
    },
}


def question(model: PageModel, **rest: Any) -> dict[str, Any]:
    block = pack(model.tensors)
    facts = _facts(model) | {"index": block.index, "bytes": len(block.content), "checksum": block.checksum}
    return {"facts": facts, "base64": base64.b64encode(block.content).decode(), **rest}


def reference(bundle: Bundle, model: PageModel) -> TorchEngine:
    """The network with the weights of the page."""
    config = bundle.config.model
    network = Transformer(config, len(bundle.tokenizer.source), len(bundle.tokenizer.target))  # type: ignore[arg-type]
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(torch.from_numpy(model.tensors[name].floats))
    return TorchEngine(network.eval(), torch.device("cpu"), precision="float32")


def compare(ours: Sequence[dict[str, Any]], theirs: Sequence[Sequence[Hypothesis]], tolerance: float) -> int:
    """How many sentences have the same best tokens; the log P of those agree."""
    same = 0
    for hypotheses, expected in zip(ours, theirs, strict=True):
        best = hypotheses[0]  # type: ignore[index]
        if tuple(best["tokens"]) == expected[0].tokens:
            same += 1
            assert best["logProb"] == pytest.approx(expected[0].log_prob, abs=tolerance)
            assert best["score"] == pytest.approx(expected[0].score, abs=tolerance)
    return same


@pytest.fixture
def bundle(
    request: pytest.FixtureRequest, toy_run: Callable[..., RunConfig], toy_tokenizer: Tokenizer, tmp_path: Path
) -> Bundle:
    """Random weights, larger than at birth, of a shape."""
    torch.manual_seed(7)
    config = toy_run().model_copy(update={"model": tiny(**SHAPES[request.param])})
    model = Transformer(config.model, len(toy_tokenizer.source), len(toy_tokenizer.target))  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0) if parameter.dim() > 1 else parameter.add_(0.1 * torch.randn_like(parameter))
    write_bundle(tmp_path / "model", config=config, tokenizer=toy_tokenizer, model=model, card="", facts={})
    return open_bundle(tmp_path / "model")


@pytest.mark.parametrize("bundle", SHAPES, indirect=True, ids=SHAPES)
@pytest.mark.parametrize("numbers", ["float16", "int8"])
def test_the_page_finds_the_translations_of_the_torch_engine(bundle: Bundle, numbers: Numbers, tmp_path: Path) -> None:
    rng = random.Random(2)
    ids = [[rng.randrange(4, len(bundle.tokenizer.source)) for _ in range(length)] for length in (1, 3, 9)]
    model = page_model(bundle, numbers)
    engine = reference(bundle, model)
    searches = [{"beam": 1, "plain": True}, {"beam": 4, "plain": True}, {"beam": 4, "plain": False}]
    asked = question(model, queries=ids, searches=searches)
    asked["facts"]["decode"]["extra_length"] = 6
    for search, answer in zip(searches, ask(tmp_path, asked)["searches"], strict=True):
        options = bundle.config.decode.model_copy(update={"beam": search["beam"], "extra_length": 6})
        assert answer["kernels"] == ("javascript" if search["plain"] else "wasm")
        # The kernels round vectors to 16 bits before they multiply them with int8.
        tolerance = 0.1 if numbers == "int8" and not search["plain"] else 1e-3
        assert compare(answer["hypotheses"], engine.translate(queries(ids), options), tolerance) == len(ids)


MARIAN = Path(__file__).parents[1] / "importing" / "fixtures"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["marian-shared", "marian-tc", "marian-separate"])
def test_an_imported_marian_says_the_same_in_a_page(name: str, tmp_path: Path) -> None:
    """Post-LN, a bias on the logits of a tied projection, decoding from PAD, vocabularies that are renumbered."""
    foreign = read_marian(MARIAN / name, pair=("en", "ko"))
    network, config = network_of(foreign), foreign.config
    write_bundle(tmp_path / "model", config=config, tokenizer=foreign.tokenizer, model=network, card="", facts={})
    bundle = open_bundle(tmp_path / "model")
    model = page_model(bundle, "float16")
    texts = json.loads((MARIAN / name / "expected.json").read_text(encoding="utf-8"))["sources"][:8]
    ids = bundle.tokenizer.encode(texts, "source")
    marks = Marks.of(config.project.all_pairs[0], bundle.tokenizer)
    asked = question(model, pieces=texts, queries=ids, beam=4)
    asked["facts"]["decode"]["extra_length"] = 6
    answer = ask(tmp_path, asked)
    assert answer["pieces"] == ids
    options = config.decode.model_copy(update={"beam": 4, "extra_length": 6})
    theirs = reference(bundle, model).translate(queries(ids, marks=[marks] * len(ids)), options)
    assert compare(answer["hypotheses"], theirs, 1e-3) == len(ids)


RULES = {"min_length": 7, "max_length": 8, "no_repeat_ngram": 2, "length_penalty": 0.3}


@pytest.mark.parametrize("bundle", ["today"], indirect=True)
def test_rules_of_the_search(bundle: Bundle, tmp_path: Path) -> None:
    ids = [[9, 20, 31], [40, 8, 8, 70, 12]]
    model = page_model(bundle)
    options = DecodeConfig(beam=3, n_best=3, **RULES)  # type: ignore[arg-type]
    asked = question(model, queries=ids, beam=3)
    asked["facts"]["decode"] |= RULES
    ours = ask(tmp_path, asked)["hypotheses"]
    theirs = reference(bundle, model).translate(queries(ids), options)
    assert [[tuple(h["tokens"]) for h in row] for row in ours] == [[h.tokens for h in row] for row in theirs]


LINES = [
    "Hello  world, it's 3.5 m!",
    "각자의 길을 가다 ㄱㅏ 한글",
    "e\u0301 cafe\u0301 \u200bzero\ufeff width \u00a0space\u3000wide",
    "می‌خواهم \u200c \u200d",
    "👩‍👩‍👧 🇰🇷 emoji 🏽",
    "देवनागरी परीक्षण",
    "日本語のテスト。中文測試",
    "Привет, мир ελληνικά",
    "tab\tand\nline\r\x00\x07control\x85next",
    "ends with \u2581",
    "\u2581\u2581 begins",
    "",
    "   ",
    "a" * 300,
    "⟦0⟧ symbol ⟦1⟧⟦0⟧",
    "<unk> </s> <0x41>",
    "ไทย ทดสอบ עברית العربية",
]


@pytest.mark.parametrize("kind", ["unigram", "bpe", "no bytes", "symbols"])
def test_pieces_are_those_of_sentencepiece(
    kind: str, toy_run: Callable[..., RunConfig], toy_corpus: Path, tmp_path: Path
) -> None:
    config = toy_run()
    pairs = sample_pairs([CorpusConfig(source=toy_corpus / "train.tsv")], 1000, 1)
    pairs = [*pairs, *[(line, line) for line in LINES if line.isprintable() and "⟦" not in line]]
    keys: dict[str, Any] = {"kind": "bpe" if kind == "bpe" else "unigram", "byte_fallback": kind != "no bytes"}
    if kind == "symbols":
        keys["user_defined_symbols"] = ("red dog", "cat")
    tokenizer = learn(pairs, TokenizerConfig(vocab_size=None, **keys))
    if kind == "symbols":
        tokenizer = with_symbols(tokenizer, 2).tokenizer
    torch.manual_seed(1)
    model = Transformer(config.model, len(tokenizer.source), len(tokenizer.target))  # type: ignore[arg-type]
    write_bundle(tmp_path / "model", config=config, tokenizer=tokenizer, model=model, card="", facts={})
    rng = random.Random(5)
    words = ["red", "dog", "cat", "zwei", "여러", "ㅋㅋ", "quux", "ß", "…"]
    lines = [*LINES, *(" ".join(rng.choices(words, k=6)) for _ in range(40))]
    drawn = [[rng.randrange(1, len(tokenizer.source)) for _ in range(12)] for _ in range(60)]
    answer = ask(tmp_path, question(page_model(open_bundle(tmp_path / "model")), pieces=lines, decoded=drawn))
    assert answer["pieces"] == tokenizer.encode(lines, "source")
    assert answer["decoded"] == [tokenizer.target.processor.DecodeIds(ids) for ids in drawn]


TEXTS = {
    "en": 'He said "Go home. Now." Then he left. Dr. Smith wrote e.g. this. It is 3.5 km long! J. K. Rowling? '
    "See fig. 3. Really... Maybe. Use file.txt now. "
    "Ms. Kim sat. Open Sat. through Mon. for max. 5 hrs. in ch. 3. The end",
    "ko": '그는 갔다. 나는 "가자!" 하고 말했다. 길이는 3.5미터다. 끝났다! 정말? 네. (참고. 예) 그리고 끝. '
    "2024. 1. 1.부터 2024. 12. 31.까지다. 기간은 2023. 5. 1.(월) ~ 5. 31.이다. "
    '초.중.고에 갔다.그는 왔다. "네?" 하더니 갔다.',
    "ja": "今日は。明日は！「行こう！」と言った。終わり",
}


@pytest.mark.parametrize("bundle", ["post"], indirect=True)
def test_sentences_end_where_translate_ends_them(bundle: Bundle, tmp_path: Path) -> None:
    answer = ask(tmp_path, question(page_model(bundle), divided=[*TEXTS.values()]))
    assert answer["divided"] == [sentences(normalise(text), language) for language, text in TEXTS.items()]


@pytest.mark.slow
@pytest.mark.parametrize("bundle", ["post"], indirect=True)
def test_a_long_line_is_divided_in_linear_time(bundle: Bundle, tmp_path: Path) -> None:
    """A line of what a quotation, a bracket or an abbreviation might begin with: quadratic, it would take minutes."""
    kinds = ("(a). ", "“", '"a" ', "a. ", "\u2581", "( ", "a,", "[", ".", "cat dog. ", "«»", "'")
    lines = [f"{kind * (200_000 // len(kind))} b" for kind in kinds]
    answer = ask(tmp_path, question(page_model(bundle), divided=lines))
    assert ["".join(parts).replace(" ", "") for parts in answer["divided"]] == [line.replace(" ", "") for line in lines]


def test_the_kernels_are_those_of_their_source() -> None:
    recorded = dict(line.split()[::-1] for line in (WEB / "kernels.sha256").read_text().splitlines())
    assert recorded.keys() == {"kernels.c", "kernels.wasm"}
    for name, digest in recorded.items():
        assert hashlib.sha256((WEB / name).read_bytes()).hexdigest() == digest, f"{name}: run `make kernels`"


def test_the_kernels_can_be_built_again(tmp_path: Path) -> None:
    clang = shutil.which("clang")
    if not clang or not shutil.which("wasm-ld"):
        pytest.skip("no clang for WebAssembly on this machine")
    version = subprocess.run([clang, "--version"], capture_output=True, text=True, check=True).stdout
    if not re.search(r"version 14\.", version):
        pytest.skip("another version of clang writes other bytes")
    makefile = (WEB.parents[2] / "Makefile").read_text()
    command = re.search(r"^KERNELS := (.*)$", makefile, re.MULTILINE)
    assert command
    flags = command[1].split()
    built = tmp_path / "kernels.wasm"
    subprocess.run([*flags, "-o", str(built), str(WEB / "kernels.c")], check=True)
    assert built.read_bytes() == (WEB / "kernels.wasm").read_bytes()


def test_a_module_of_the_engine_is_short() -> None:
    for script in (WEB / "engine").glob("*.js"):
        assert len(script.read_text(encoding="utf-8").splitlines()) <= 200, script.name


@pytest.mark.slow
def test_a_fine_tuned_model_says_the_same_in_a_page(tmp_path: Path) -> None:
    """The bundled model with weights that are moved as a short training moves them; int8 is rounded again."""
    base, network = dequantised(open_model("en-ko"))
    torch.manual_seed(4)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(1 + 0.02 * torch.randn_like(parameter))
    write_bundle(tmp_path / "model", config=base.config, tokenizer=base.tokenizer, model=network, card="", facts={})
    bundle = open_bundle(tmp_path / "model")
    model = page_model(bundle)
    assert {tensor.values.dtype.name for tensor in model.tensors.values()} == {"int8", "float32"}
    texts = [sentence.source for sentence in read_golden(open_model("en-ko").folder, bundle.tokenizer)][:12]
    ids = bundle.tokenizer.encode(texts, "source")
    answer = ask(tmp_path, question(model, queries=ids, beam=4))
    theirs = reference(bundle, model).translate(queries(ids), bundle.config.decode.model_copy(update={"beam": 4}))
    assert compare(answer["hypotheses"], theirs, 1e-2) >= 11


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("name", ["en-ko", "ko-en"])
def test_a_bundled_model_says_the_same_in_a_page(name: str, beam: int, tmp_path: Path) -> None:
    """A hundred sentences: its golden ones and their parts."""
    bundle = open_model(name)
    model = page_model(bundle)
    golden = read_golden(bundle.folder, bundle.tokenizer)
    rng = random.Random(9)
    words = [word for sentence in golden for word in sentence.source.split()]
    texts = [sentence.source for sentence in golden]
    texts += [" ".join(rng.sample(words, rng.randint(2, 12))) for _ in range(100 - len(texts))]
    ids = bundle.tokenizer.encode(texts, "source")
    answer = ask(tmp_path, question(model, pieces=texts, queries=ids, beam=beam))
    assert answer["pieces"] == ids
    options = bundle.config.decode.model_copy(update={"beam": beam})
    theirs = reference(bundle, model).translate(queries(ids), options)
    # Of hypotheses as good as each other either may be found.
    assert compare(answer["hypotheses"], theirs, 1e-2) >= 99
    print(json.dumps({"model": name, "beam": beam, "same": compare(answer["hypotheses"], theirs, 1e-2)}))
