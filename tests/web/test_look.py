"""What the page of `look` watches and changes in its engine: the values of `inspect` with the same rounded weights."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from architectures import TRANSFORMERS, tiny
from dragoman.bundle import Bundle, open_bundle, write_bundle
from dragoman.config import DecodeConfig, RunConfig
from dragoman.exporting.packing import pack
from dragoman.exporting.page import PageModel, _facts
from dragoman.inspection.inspection import Inspection, inspect_model
from dragoman.inspection.page import analyse
from dragoman.inspection.payload import gather
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import EOS, Tokenizer
from dragoman.web import LOOK, PACKAGE
from dragoman.workflows.models.html import page_model
from javascript import ask, evaluate

LOOK_FOLDER = Path(__file__).parents[2] / "src" / PACKAGE.replace(".", "/") / "look"
TEXT = "red dog sees two big cat"
OPTIONS = DecodeConfig(beam=3, max_length=7)
DRIVER = """
async function answer({ facts, base64, requests, names }) {
  const answers = [];
  const engine = new Engine(({ value, error }) => answers.push(error ?? value));
  await engine.receive({ id: 0, kind: "load", which: 0, facts, base64, plain: true });
  for (const [id, request] of requests.entries()) await engine.receive({ id: id + 1, ...request });
  const failed = answers.find((one) => typeof one === "string" && one !== "javascript");
  if (failed) throw new Error(failed);
  const isShown = ([name]) => !names || names.includes(name);
  const plain = ([name, { values, ...rest }]) => [name, { ...rest, values: Array.from(values) }];
  const undefinedIn = (arrays) => Object.keys(arrays).filter((name) => !arrays[name].values.every(Number.isFinite));
  return {
    answers: answers.slice(1).map(({ facts, arrays = {}, ...rest }) => ({
      ...rest,
      facts,
      undefined: undefinedIn(arrays),
      arrays: Object.fromEntries(Object.entries(arrays).filter(isShown).map(plain)),
    })),
  };
}
"""


@pytest.fixture
def bundle(
    request: pytest.FixtureRequest, toy_run: Callable[..., RunConfig], toy_tokenizer: Tokenizer, tmp_path: Path
) -> Bundle:
    """Random weights, larger than at birth, of a shape."""
    torch.manual_seed(7)
    config = toy_run().model_copy(update={"model": tiny(**TRANSFORMERS[request.param]), "decode": OPTIONS})
    model = Transformer(config.model, len(toy_tokenizer.source), len(toy_tokenizer.target))  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5) if parameter.dim() > 1 else parameter.add_(0.1 * torch.randn_like(parameter))
    write_bundle(tmp_path / "model", config=config, tokenizer=toy_tokenizer, model=model, card="", facts={})
    return open_bundle(tmp_path / "model")


def asked(
    folder: Path, model: PageModel, *requests: dict[str, Any], names: list[str] | None = None
) -> list[dict[str, Any]]:
    block = pack(model.tensors)
    facts = _facts(model) | {"index": block.index, "bytes": len(block.content), "checksum": block.checksum}
    question = {
        "facts": facts,
        "base64": base64.b64encode(block.content).decode(),
        "requests": requests,
        "names": names,
    }
    answers: list[dict[str, Any]] = ask(folder, question, DRIVER, watched=True)["answers"]
    return answers


def inspected(bundle: Bundle, model: PageModel, target: str | None = None) -> Inspection:
    """By PyTorch, with the weights of the page."""
    config = bundle.config.model
    network = Transformer(config, len(bundle.tokenizer.source), len(bundle.tokenizer.target))  # type: ignore[arg-type]
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(torch.from_numpy(model.tensors[name].floats))
    return inspect_model(network.eval(), bundle.tokenizer, TEXT, target, OPTIONS)


def array(answer: dict[str, Any], name: str) -> np.ndarray[Any, Any]:
    found = answer["arrays"][name]
    return np.array(found["values"], np.float32).reshape(found["shape"])


def tolerance(inspection: Inspection, values: np.ndarray[Any, Any]) -> float:
    """Every sub-layer before a value is a sum of at most d_ff products, each rounded to float32."""
    config = inspection.model.config
    depth = 2 * config.encoder_layers + 3 * config.decoder_layers + 1
    return float(depth * max(config.d_ff, config.d_model) * 2.0**-23 * np.abs(values).max())


@pytest.mark.parametrize(
    "bundle",
    [pytest.param(name, marks=() if name == "today" else pytest.mark.slow, id=name) for name in TRANSFORMERS],
    indirect=True,
)
def test_what_the_engine_shows_is_what_inspect_records(bundle: Bundle, tmp_path: Path) -> None:
    model = page_model(bundle)
    expected = inspected(bundle, model)
    [answer, erasure] = asked(tmp_path, model, {"kind": "inside", "text": TEXT, "surgery": {}}, {"kind": "erasure"})
    facts, maps = analyse(expected)
    payload = gather(expected, name="", languages=("en", "de"), byte_budget=10**8, options=OPTIONS, analyses=facts)
    for name in answer["arrays"].keys() & set(expected) - {"logits"}:
        wanted = expected[name].values
        np.testing.assert_allclose(array(answer, name), wanted, atol=tolerance(expected, wanted), err_msg=name)
    recorded = {name for name in expected if name.split(".")[-1] not in ("products", "scaled", "masked", "encoder")}
    layers = {name for name in recorded if name.split(".")[-1].isdigit()}
    assert recorded - layers - {"logits"} <= answer["arrays"].keys() | {"source_embedding.scaled"}
    shown = answer["facts"]
    for key in ("source", "translation", "forced", "pieces", "padding", "padded_layer"):
        assert json.dumps(shown[key]) == json.dumps(payload.facts[key]), key
    for step, wanted_step in zip(shown["predictions"], payload.facts["predictions"], strict=True):
        assert step["candidates"][step["chosen"]] == wanted_step["candidates"][wanted_step["chosen"]]
        assert step["candidates"][:3] == wanted_step["candidates"][:3]
    close(shown["norms"], payload.facts["norms"])
    close(shown["lens"], payload.facts["lens"])
    close(shown["beam"], payload.facts["beam"])
    close(erasure["facts"]["heads"], payload.facts["heads"])
    close(erasure["facts"]["attribution"]["attention"], payload.facts["attribution"]["attention"])
    pair = "attention-erasure"
    close(erasure["facts"]["attribution"]["agreement"][pair], payload.facts["attribution"]["agreement"][pair])
    wanted = maps["attribution.erasure"].values
    np.testing.assert_allclose(array(erasure, "attribution.erasure"), wanted, atol=1e-4)
    padded = np.frombuffer(payload.blob, "<f4", offset=payload.facts["arrays"]["padding.scaled"]["offset"])
    found = array(answer, "padding.scaled")
    np.testing.assert_allclose(found.ravel(), padded[: found.size], atol=tolerance(expected, found))


def close(ours: Any, theirs: Any) -> None:
    """The same structure, and numbers within what five digits leave."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key in theirs:
            close(ours[key], theirs[key])
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            close(one, other)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-3, abs=2e-4)
    else:
        assert ours == theirs


SLIDERS: list[dict[str, Any]] = [
    *({"temperature": value} for value in (0.1, 10)),
    *({"search": {"beam": value}} for value in (1, 12)),
    *({"search": {"length_penalty": value}} for value in (0, 3)),
]


@pytest.mark.parametrize("bundle", ["pre"], indirect=True)
def test_a_part_that_is_switched_off_changes_what_it_should_and_nothing_is_undefined(
    bundle: Bundle, tmp_path: Path
) -> None:
    ids = bundle.tokenizer.encode([TEXT], "source")[0]
    given = {"kind": "inside", "source_ids": ids, "target_ids": [9, 8, 7, 3]}
    operations: list[dict[str, Any]] = [
        {},
        {"positions": False},
        {"scale": False},
        {"mask": False},
        {"heads": ["encoder.0.self_attention.1"]},
        {"layers": ["decoder.1"]},
        {"uniform": "decoder.cross_attention"},
    ]
    requests = [given | {"surgery": surgery} for surgery in operations]
    requests.append(given | {"source_ids": ids[::-1], "surgery": {"positions": False}})
    requests += [{"kind": "inside", "text": TEXT, "surgery": surgery} for surgery in (*operations[1:], *SLIDERS)]
    names = ["memory", "decoder.0.cross_attention.weights", "decoder.0.self_attention.weights"]
    names += [f"encoder.0.self_attention.{leaf}" for leaf in ("q", "k", "heads", "weights")]
    names += ["decoder.1.self_attention_norm.x", "decoder.1.feed_forward_norm.output"]
    answers = asked(tmp_path, page_model(bundle), *requests, names=names)
    whole, unplaced, unscaled, unmasked, headless, shallow, uniform, reversed_ = answers[:8]
    weights = [array(answer, "decoder.0.self_attention.weights") for answer in (whole, unmasked)]
    future = np.triu(np.ones(weights[0].shape[1:]), 1).astype(bool)
    assert (weights[0][:, future] == 0).all()
    assert (weights[1][:, future] > 0).all()
    # Without positions a sentence is a set: reversed, it has the reversed memory.
    np.testing.assert_allclose(array(unplaced, "memory"), array(reversed_, "memory")[::-1], atol=1e-5)
    assert not np.allclose(array(unplaced, "memory"), array(whole, "memory"), atol=1e-2)
    q, k = (array(unscaled, f"encoder.0.self_attention.{leaf}").astype(float) for leaf in "qk")
    exponentials = np.exp(q @ k.swapaxes(1, 2))
    expected = exponentials / exponentials.sum(-1, keepdims=True)
    np.testing.assert_allclose(array(unscaled, "encoder.0.self_attention.weights"), expected, atol=1e-5)
    np.testing.assert_array_equal(array(headless, "encoder.0.self_attention.heads")[1], 0)
    assert array(headless, "encoder.0.self_attention.heads")[0].any()
    before, after = (
        array(shallow, f"decoder.1.{norm}") for norm in ("self_attention_norm.x", "feed_forward_norm.output")
    )
    np.testing.assert_array_equal(before, after)
    cross = array(uniform, "decoder.0.cross_attention.weights")
    np.testing.assert_allclose(cross, 1 / cross.shape[-1], rtol=1e-6)
    for answer in answers:
        for name in answer["arrays"]:
            assert np.isfinite(array(answer, name)).all(), name
        assert all(
            np.isfinite(hypothesis["score"]) for hypothesis in (answer["facts"]["beam"] or {}).get("hypotheses", [])
        )
        if effect := answer["facts"].get("effect"):
            assert np.isfinite([effect["before"], effect["after"]]).all()


@pytest.mark.slow
@pytest.mark.parametrize("bundle", ["post", "today"], indirect=True)
def test_a_rival_has_its_rank_its_reasons_and_the_search_that_begins_with_it(bundle: Bundle, tmp_path: Path) -> None:
    model = page_model(bundle)
    [inside] = asked(tmp_path, model, {"kind": "inside", "text": TEXT, "surgery": {}})
    facts = inside["facts"]
    before, step = facts["pieces"]["output"][:1], facts["predictions"][1]
    rival = next(
        piece for i, piece in enumerate(step["candidates"]) if i not in (0, step["chosen"]) and piece != "</s>"
    )
    question = {"kind": "rival", "before": before, "rival": rival}
    typed = question | {"rival": "red dog", "typed": True}
    cold = {"kind": "inside", "text": TEXT, "surgery": {"temperature": 0.5}}
    answers = asked(tmp_path, model, {"kind": "inside", "text": TEXT, "surgery": {}}, question, typed, cold, question)
    _, answer, word, _, colder = answers
    distribution = inspected(bundle, model).distribution[1]
    to_id = bundle.tokenizer.target.processor.PieceToId
    assert answer["against"][0] == facts["pieces"]["output"][1]
    assert answer["pieces"] == [rival]
    assert answer["rank"] == 1 + int((distribution > distribution[to_id(rival)]).sum())
    assert answer["logProbs"][0] == pytest.approx(float(distribution[to_id(rival)]), abs=1e-3)
    for reply in (answer, colder):
        gap = reply["logProbs"][0] - reply["against"][1]
        assert sum(value for _, value in reply["reasons"]["parts"]) == pytest.approx(gap, abs=1e-3)
        assert np.isfinite([head["value"] for head in reply["reasons"]["heads"]]).all()
    pieces = answer["search"]["pieces"]
    assert pieces[:2] == [*before, rival]
    source = [*bundle.tokenizer.encode([TEXT], "source")[0], EOS]
    ids = {"source_ids": source, "target_ids": [to_id(piece) for piece in pieces]}
    [scored] = asked(tmp_path, model, {"kind": "inside", "surgery": {}, **ids})
    assert answer["search"]["log_prob"] == pytest.approx(sum(scored["facts"]["logProbs"]), abs=1e-3)
    assert len(word["pieces"]) == len(word["logProbs"]) > 1


@pytest.mark.slow
@pytest.mark.parametrize("bundle", ["today"], indirect=True)
def test_a_typed_word_is_compared_where_it_differs_from_the_output(bundle: Bundle, tmp_path: Path) -> None:
    model, target = page_model(bundle), bundle.tokenizer.target.processor
    source = [*bundle.tokenizer.encode([TEXT], "source")[0], EOS]
    output, other = (target.EncodeAsIds(text) for text in ("red dog sees", "red cat"))
    letters = [target.PieceToId(piece) for piece in "\u2581red"]
    assert target.EncodeAsIds("red") != letters

    def typed(text: str) -> dict[str, Any]:
        return {"kind": "rival", "before": [], "rival": text, "typed": True}

    def inside(ids: list[int]) -> dict[str, Any]:
        return {"kind": "inside", "surgery": {}, "source_ids": source, "target_ids": [*ids, EOS]}

    row = {"kind": "row", "name": "encoder.0.self_attention.w_q", "row": 0}
    requests = [typed("red"), row, inside(output), typed("red dog"), typed("red cat"), inside(letters), typed("red")]
    lost, lost_row, _, chosen, rival, _, same = asked(tmp_path, model, *requests)
    [scored] = asked(tmp_path, model, inside(other))
    assert lost["lost"]
    assert lost_row["lost"], "an engine that has read no sentence"
    assert chosen["chosen"]
    assert "sameText" not in chosen
    at = next(i for i, (one, two) in enumerate(zip(output, other, strict=False)) if one != two)
    assert rival["at"] == at > 0
    assert rival["against"][0] == target.IdToPiece(output[at])
    assert rival["pieces"] == [target.IdToPiece(piece) for piece in other]
    assert rival["logProbs"] == pytest.approx(scored["facts"]["logProbs"][:-1], abs=1e-3)
    gap = rival["logProbs"][at] - rival["against"][1]
    assert sum(value for _, value in rival["reasons"]["parts"]) == pytest.approx(gap, abs=1e-3)
    assert same["sameText"]
    assert not rival["sameText"]


def test_punctuation_around_a_word_is_not_part_of_it(tmp_path: Path) -> None:
    words = (LOOK_FOLDER.parents[1] / "inspection/web/words.js").read_text(encoding="utf-8")
    driver = """
const joined = (pieces) => groupsOf(pieces).map((group) => group.map((i) => pieces[i]).join(" "));
const answer = (lines) => lines.map(joined);
"""
    lines = {
        "\u2581it \u2581t ired . </s>": ["\u2581it", "\u2581t ired", ".", "</s>"],
        "\u2581didn ' t": ["\u2581didn ' t"],
        '\u2581( a ) . "': ["\u2581(", "a", ') . "'],
        "\u2581 <0xEA> <0xB0> <0x80> , \u25813 . 5": ["\u2581 <0xEA> <0xB0> <0x80>", ",", "\u25813 . 5"],
        "<unk> . a": ["<unk>", ". a"],
    }
    found = evaluate(tmp_path, f"{words}\n{driver}", [line.split(" ") for line in lines])
    assert found == list(lines.values())


def test_joiners_stay_and_what_could_move_other_text_is_shown(tmp_path: Path) -> None:
    script = (LOOK_FOLDER.parents[1] / "inspection/web/dom.js").read_text(encoding="utf-8")
    document = 'const document = { getElementById: () => ({ textContent: "{}" }) };'
    driver = f"function answer(lines) {{ {document}\n{script}\nreturn lines.map(shown); }}"
    lines = {
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\U0001f469\u200d\U0001f467": "\U0001f469\u200d\U0001f467",
        "a\u202eb\u0007\n": "a\\u202eb\u2407\u240a",
    }
    assert evaluate(tmp_path, driver, list(lines)) == list(lines.values())


def test_a_module_is_short() -> None:
    assert {path.name for path in LOOK_FOLDER.glob("*.js")} == set(LOOK)
    for script in LOOK_FOLDER.glob("*.js"):
        assert len(script.read_text(encoding="utf-8").splitlines()) <= 200, script.name


def test_no_name_of_the_page_is_also_one_of_the_engine() -> None:
    """Without workers both are scripts of one page."""
    page, engine = (
        LOOK_FOLDER.parents[1] / "inspection/web",
        [*LOOK_FOLDER.glob("*.js"), *LOOK_FOLDER.parent.glob("engine/*.js")],
    )
    names = [
        {
            name
            for path in scripts
            for name in re.findall(
                r"^(?:async )?(?:function\*?|const|let|class) (\w+)", path.read_text("utf-8"), re.MULTILINE
            )
        }
        for scripts in ([*page.glob("*.js")], engine)
    ]
    assert min(map(len, names)) > 50
    assert names[0] & names[1] == set()
