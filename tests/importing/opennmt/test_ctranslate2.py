"""Folders of CTranslate2: what is imported translates as CTranslate2 itself does with the toolkit's own pieces."""

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman import Translator
from dragoman.bundle import Bundle, open_bundle, write_bundle
from dragoman.config import DecodeConfig
from dragoman.errors import ConfigError
from dragoman.importing.files.foreign import Foreign
from dragoman.importing.opennmt.ctranslate2 import read_ctranslate2
from dragoman.importing.opennmt.tokenizer import is_language
from dragoman.text.tokens.marks import Marks
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from importing.ct2_models import (
    TEXTS,
    as_version_5,
    by_ctranslate2,
    foreign_folder,
    network,
    pieces_of,
    toy_tokenizer,
)
from stand_ins import queries
from suites import cases

PAIR = ("en", "ko")
GREEDY, BEAM = DecodeConfig(beam=1), DecodeConfig(beam=4, length_penalty=0)


@pytest.fixture(scope="module")
def joint() -> Tokenizer:
    return toy_tokenizer()


def read(folder: Path, tmp_path: Path, pair: tuple[str, str] | None = PAIR) -> Foreign:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return read_ctranslate2(folder, pair=pair, scratch=scratch)


def imported(folder: Path, tmp_path: Path) -> Bundle:
    foreign = read(folder, tmp_path)
    write_bundle(
        tmp_path / "bundle",
        config=foreign.config,
        tokenizer=foreign.tokenizer,
        model=None,
        card="",
        facts={"parameters": foreign.parameters},
        engine_folder=foreign.engine_folder,
    )
    return open_bundle(tmp_path / "bundle")


def found(bundle: Bundle, options: DecodeConfig, **changes: Any) -> list[list[str]]:
    """The pieces of the bundle's translations of `TEXTS`, each alone and whole."""
    translator = Translator.of_bundle(bundle, threads=1)
    ids = bundle.tokenizer.encode(TEXTS, "source")
    options = options.model_copy(update=changes)
    best = [translator.engine.translate(queries([source]), options)[0][0].tokens for source in ids]
    return [bundle.tokenizer.pieces(tokens, "target") for tokens in best]


def check_parity(folder: Path, tokenizer: Tokenizer, tmp_path: Path, end: tuple[str, ...] = ()) -> Bundle:
    """The imported folder finds what CTranslate2 finds, greedily and with a beam."""
    bundle = imported(folder, tmp_path)
    sources = [[*pieces, *end] for pieces in pieces_of(tokenizer)]
    for options in (GREEDY, BEAM):
        expected = by_ctranslate2(folder, sources, beam_size=options.beam)
        ended = [n for n, pieces in enumerate(expected) if len(pieces) < len(sources[n]) + 49]
        assert ended  # at the limit our search differs from CTranslate2's (0019-parity.md)
        ours = found(bundle, options)
        assert [ours[n] for n in ended] == [expected[n] for n in ended]
    return bundle


@pytest.mark.parametrize("quantization", ["float32", "int8", "int8_bfloat16", "float16"])
def test_an_opennmt_folder_translates_as_by_ctranslate2(quantization: str, joint: Tokenizer, tmp_path: Path) -> None:
    dropped = joint.pieces(range(270, 278), "target")
    folder = foreign_folder(tmp_path / "folder", network(joint), joint, quantization, dropped=dropped)
    bundle = check_parity(folder, joint, tmp_path)
    assert [path.name for path in bundle.exports] == [f"ct2-{quantization}"]
    assert bundle.tokenizer.joint
    assert json.loads((bundle.exports[0] / "config.json").read_text())["add_source_eos"] is False


@pytest.mark.parametrize(
    "shape",
    [{"norm_order": "post", "tie": "none"}, {"feed_forward": "silu", "tie": "target"},
     {"feed_forward": "swiglu", "positions": "rotary", "norm": "rms", "bias": False}],
    ids=["post", "silu", "today"],
)  # fmt: skip
def test_its_shape_is_read_from_its_weights(shape: dict[str, Any], joint: Tokenizer, tmp_path: Path) -> None:
    model = network(joint, **shape)
    bundle = check_parity(foreign_folder(tmp_path / "folder", model, joint), joint, tmp_path)
    ours = {**model.config.model_dump(), "output_bias": True, "preset": None}  # the export adds a bias to the logits
    assert bundle.config.model.model_dump(exclude={"dropout"}) == {k: v for k, v in ours.items() if k != "dropout"}
    assert bundle.manifest["parameters"] == model.parameter_count + (
        0 if model.config.output_bias else len(joint.target)
    )
    assert bundle.manifest["architecture"] == "ctranslate2"


@pytest.mark.parametrize("tie", ["target", "none"])
def test_two_vocabularies_of_different_sizes(tie: str, tmp_path: Path) -> None:
    tokenizer = toy_tokenizer(joint=False)
    folder = foreign_folder(tmp_path / "folder", network(tokenizer, tie=tie), tokenizer, "int8")
    bundle = check_parity(folder, tokenizer, tmp_path)
    assert not bundle.tokenizer.joint
    assert bundle.config.model.tie == tie
    assert (bundle.exports[0] / "source_vocabulary.json").exists()


def test_a_marian_folder_gets_the_end_of_its_sources(joint: Tokenizer, tmp_path: Path) -> None:
    """The tokenizer of Hugging Face appends </s>, so that its converter leaves add_source_eos false."""
    folder = foreign_folder(
        tmp_path / "folder",
        network(joint, norm_order="post"),
        joint,
        dropped=["<pad>", "<s>"],
        zero_start=True,
        decoder_start_token="</s>",
    )
    bundle = check_parity(folder, joint, tmp_path, end=("</s>",))
    assert any("</s> is appended" in note for note in read(folder, tmp_path / "bundle").notes)
    config = json.loads((bundle.exports[0] / "config.json").read_text())
    assert config["add_source_eos"] is True
    assert config["decoder_start_token"] == "</s>"


def test_the_source_language_token_of_a_config_is_kept(joint: Tokenizer, tmp_path: Path) -> None:
    """A converter of packages for Argos puts >>vie<< before sources with the setting for <s>."""
    token = joint.pieces([275], "source")[0]
    folder = foreign_folder(
        tmp_path / "folder",
        network(joint),
        joint,
        names={token: ">>vie<<", "<pad>": "<blank>"},
        add_source_bos=True,
        bos_token=">>vie<<",
    )
    bundle = check_parity(folder, joint, tmp_path)
    [mark] = [
        n for n, piece in enumerate(bundle.tokenizer.pieces(range(len(joint.source)), "source")) if piece == ">>vie<<"
    ]
    assert bundle.tokenizer.source.processor.IsControl(mark)
    assert mark not in bundle.tokenizer.encode([">>vie<< dog"], "source")[0]


def test_a_folder_of_an_early_version(joint: Tokenizer, tmp_path: Path) -> None:
    folder = foreign_folder(tmp_path / "folder", network(joint), joint, "int8")
    as_version_5(folder)
    check_parity(folder, joint, tmp_path)


@pytest.mark.parametrize("logit", [30.0, None], ids=["likely", "without a bias"])
def test_special_tokens_are_never_generated(logit: float | None, joint: Tokenizer, tmp_path: Path) -> None:
    """As CTranslate2 with these tokens suppressed, also where they would be likely."""
    folder = foreign_folder(tmp_path / "folder", network(joint), joint, special_logit=logit)
    sources = pieces_of(joint)
    if logit:
        assert any({"<unk>", "<blank>", "<s>"} & {*pieces} for pieces in by_ctranslate2(folder, sources, beam_size=1))
    suppressed: dict[str, Any] = {"disable_unk": True, "suppress_sequences": [["<blank>"], ["<s>"]]}
    assert found(imported(folder, tmp_path), GREEDY) == by_ctranslate2(folder, sources, beam_size=1, **suppressed)


def test_pieces_that_only_one_of_the_two_knows(joint: Tokenizer, tmp_path: Path) -> None:
    """Of the tokenizer alone: still pieces of text, unknown to the network, never generated; and vice versa."""
    own = joint.pieces(range(270, 280), "source")
    folder = foreign_folder(tmp_path / "folder", network(joint), joint, names={own[9]: "madeupword7"}, dropped=own[:5])
    bundle = check_parity(folder, joint, tmp_path)
    tokenizer = bundle.tokenizer
    pieces = tokenizer.pieces(range(len(tokenizer.source)), "source")
    assert pieces[:4] == ["<pad>", "<unk>", "<s>", "</s>"]
    assert sorted(pieces[-6:]) == sorted([*own[:5], own[9]])
    for text in TEXTS:
        assert tokenizer.source.processor.EncodeAsPieces(text) == joint.source.processor.EncodeAsPieces(text)
    assert tokenizer.decode([[pieces.index("madeupword7")]], "target") == ["madeupword7"]
    assert "madeupword7" not in tokenizer.source.processor.EncodeAsPieces("madeupword7")
    generated = {piece for each in found(bundle, DecodeConfig(method="sample", n_best=1)) for piece in each}
    assert not generated & {*own[:5], own[9]}


# --- every option of [decode], as with any other bundle --------------------------------------------------------------

OPTIONS: list[dict[str, Any]] = [
    {"n_best": 4}, {"no_repeat_ngram": 2}, {"min_length": 12}, {"max_length": 4}, {"length_penalty": 2.0, "n_best": 4},
    {"exact": True}, {"method": "sample", "top_k": 1}, {"token_scores": True}, {"alignment": True},
]  # fmt: skip


@pytest.mark.parametrize("options", cases(OPTIONS, quick=[OPTIONS[0], OPTIONS[2], OPTIONS[5], OPTIONS[6]]), ids=str)
def test_options_do_what_they_do_with_the_models_own_export(
    options: dict[str, Any], joint: Tokenizer, tmp_path: Path
) -> None:
    """The network was ours: its import and its export find the same text, and the same log P."""
    from dragoman.exporting.ctranslate2 import convert

    model = network(joint)
    bundle = imported(foreign_folder(tmp_path / "folder", model, joint, add_source_eos=True), tmp_path)
    own = tmp_path / "own" / "ct2-float32"
    own.parent.mkdir()
    convert(model, joint, own, "float32")
    write_bundle(tmp_path / "ours", config=bundle.config, tokenizer=joint, model=None, card="", facts={"parameters": 1},
                 engine_folder=own)  # fmt: skip
    ours, theirs = (
        Translator.of_bundle(one, threads=1).translate(TEXTS, **options)
        for one in (open_bundle(tmp_path / "ours"), bundle)
    )
    for expected, translation in zip(ours, theirs, strict=True):
        assert [candidate.text for candidate in translation.candidates] == [one.text for one in expected.candidates]
        log_probs = [one.log_prob for one in expected.candidates]
        assert [one.log_prob for one in translation.candidates] == pytest.approx(log_probs, abs=1e-4)


def test_language_tokens_are_known_by_their_form() -> None:
    tokens = [">>kor<<", ">>cmn_Hans<<", "__ko__", "kor_Hang", "ko_KR", "<2ko>"]
    assert all(is_language(token) for token in tokens)
    assert not any(is_language(token) for token in ["dog", "▁ko", ">>", "a_b", "<0x0A>", "__init__"])


def test_special_tokens_have_our_ids(joint: Tokenizer, tmp_path: Path) -> None:
    bundle = imported(foreign_folder(tmp_path / "folder", network(joint), joint), tmp_path)
    assert bundle.tokenizer.pieces([PAD, UNK, BOS, EOS], "target") == ["<pad>", "<unk>", "<s>", "</s>"]
    pieces = json.loads((bundle.exports[0] / "shared_vocabulary.json").read_text(encoding="utf-8"))
    assert pieces == bundle.tokenizer.pieces(range(len(pieces)), "target")


@pytest.mark.parametrize("form", ["__{}__", "<2{}>", ">>{}<<"])
def test_a_model_of_several_languages_gets_the_tokens_of_the_pair(form: str, joint: Tokenizer, tmp_path: Path) -> None:
    """As CTranslate2 with the tokens put before source and target by hand, as its examples for M2M-100 do."""
    marks = {language: form.format(language) for language in ("en", "ko")}
    own = joint.pieces([270, 271], "source")
    names = dict(zip(own, marks.values(), strict=True)) | {"<pad>": "<blank>"}
    folder = foreign_folder(tmp_path / "folder", network(joint), joint, names=names, decoder_start_token="</s>")
    bundle = imported(folder, tmp_path)
    [pair] = bundle.config.project.pairs
    both = form == "__{}__"
    assert pair.source_marks == (marks["en" if both else "ko"],)
    assert pair.target_marks == ((marks["ko"],) if both else ())
    translator, greedy = Translator.of_bundle(bundle, threads=1), DecodeConfig(beam=1)
    put = Marks.of(pair, bundle.tokenizer)
    ids = bundle.tokenizer.encode(TEXTS, "source")
    best = [translator.engine.translate(queries([source], None, [put]), greedy)[0][0].tokens for source in ids]
    sources = [[*pair.source_marks, *pieces, "</s>"] for pieces in bundle_pieces(bundle)]
    expected = by_ctranslate2(folder, sources, beam_size=1, prefix=pair.target_marks)
    length = [len(source) + 50 for source in ids]  # the limit counts text only
    assert [bundle.tokenizer.pieces(tokens, "target") for tokens in best] == [
        pieces[:limit] for pieces, limit in zip(expected, length, strict=True)
    ]
    with pytest.raises(ConfigError, match=r"--pair: de is none of this model's languages; choose: (en, ko|ko, en)"):
        read(folder, tmp_path / "bundle", ("en", "de"))


def bundle_pieces(bundle: Bundle) -> list[list[str]]:
    return [bundle.tokenizer.pieces(ids, "source") for ids in bundle.tokenizer.encode(TEXTS, "source")]
