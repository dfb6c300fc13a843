"""Export to CTranslate2: convert a bundle's network, verify it against the reference, write it into a bundle; or to a
page (`workflows.models.html`)."""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, overload

from dragoman.adapter import ADAPTER
from dragoman.bundle import WEIGHTS, Bundle, open_bundle, update_bundle
from dragoman.config import CorpusConfig, DecodeConfig
from dragoman.config.file import build_section, read_run_config
from dragoman.control.placeholders.symbols import mask_texts
from dragoman.engine import Engine, Ids, queries
from dragoman.engine.ctranslate2 import CTranslate2Engine
from dragoman.errors import ConfigError, ModelError, QualityError, checked_path, counted
from dragoman.evaluation import bleu
from dragoman.exporting.golden import Golden, golden_sentences, read_golden
from dragoman.exporting.verify import BEAMS, Verdict, verify_float32, verify_quantised
from dragoman.installed.opening import ModelPath, open_models
from dragoman.shortlist.file import MAPPING, Shortlist
from dragoman.system.files import folder_next_to, refuse_unwritable_folder
from dragoman.text.terms.symbols import Symbols, restore
from dragoman.text.tokens.marks import Marks
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.workflows.data.check import corpus_of
from dragoman.workflows.evaluate.held_out import HeldOutText, held_out_by_pair
from dragoman.workflows.listener import Listener, Listeners
from dragoman.workflows.models.html import PageResult, export_page
from dragoman.workflows.models.merge import write_merged

QUANTIZATIONS = ("int8", "int8_bfloat16", "float32")


# Below this BLEU of the model itself, a drop of BLEU cannot show that an export is worse.
MEANINGFUL_BLEU = 1.0


@dataclass(frozen=True)
class ExportResult:
    """An export that was verified and written."""

    model_path: Path
    """Folder of the bundle that holds the export."""
    name: str
    """Name of the export in the bundle, as `ct2-int8`."""
    float32: Verdict
    """How the network in float32 compares with the reference."""
    verdict: Verdict
    """How the network in the chosen quantization compares; for float32 the same as `float32`."""


@overload
def export(
    model: ModelPath | Sequence[ModelPath],
    *,
    to: Literal["html"],
    output: str | PathLike[str],
    quantization: str | None = None,
    force: bool = False,
    base: ModelPath | None = None,
    listeners: Iterable[Listener] = (),
) -> PageResult: ...
@overload
def export(
    model: ModelPath,
    source: str | PathLike[str] | None = None,
    reference: str | PathLike[str] | None = None,
    *,
    to: Literal["ctranslate2"] = "ctranslate2",
    quantization: str | None = None,
    output: str | PathLike[str] | None = None,
    options: Mapping[str, Any] | None = None,
    lines: int = 1000,
    force: bool = False,
    languages: str = "",
    base: ModelPath | None = None,
    listeners: Iterable[Listener] = (),
) -> ExportResult: ...
def export(
    model: ModelPath | Sequence[ModelPath],
    source: str | PathLike[str] | None = None,
    reference: str | PathLike[str] | None = None,
    *,
    to: str = "ctranslate2",
    quantization: str | None = None,
    output: str | PathLike[str] | None = None,
    options: Mapping[str, Any] | None = None,
    lines: int = 1000,
    force: bool = False,
    languages: str = "",
    base: ModelPath | None = None,
    listeners: Iterable[Listener] = (),
) -> ExportResult | PageResult:
    """Export `model` to CTranslate2, or with `to="html"` one or more models to a page (`export_page`).

    Convert the bundle `model` to CTranslate2, verify the result, and write it into the bundle.

    It is verified with at most `lines` pairs of `source` and `reference`, or of the validation text of the model's run,
    and `options`, keys of [decode]. `quantization` is int8 unless given, int8_bfloat16 or float32. With `output` the
    export goes into a new bundle without the training weights; that of an adapter always does, merged with its base
    model, which `base` names if it is not where it was. In a model of several pairs of languages `languages` is that of
    the text, such as `ko-en`. An existing export is replaced only with `force`. Raises
    QualityError if the export translates worse than the model; nothing is written then.
    """
    models: list[Any] = [*model] if isinstance(model, list | tuple) and model else [model]
    if to == "html":
        if output is None:
            raise ConfigError("output: name the file of the page, such as translator.html")
        if source is not None or options or languages:
            raise ConfigError("source, options, languages: a page is not verified on text; leave them out")
        return export_page(models, output, numbers=quantization, force=force, base=base, listeners=listeners)
    if to != "ctranslate2":
        raise ConfigError(f"to {to}: choose one of ctranslate2, html")
    if len(models) != 1:
        raise ConfigError("model: only a page has several; export one after the other")
    return _to_ctranslate2(
        models[0], source, reference, quantization or "int8", output, options or {}, lines, force, languages, base,
        Listeners(listeners),
    )  # fmt: skip


def _to_ctranslate2(
    model: ModelPath,
    source: str | PathLike[str] | None,
    reference: str | PathLike[str] | None,
    quantization: str,
    output: str | PathLike[str] | None,
    options: Mapping[str, Any],
    lines: int,
    force: bool,
    languages: str,
    base: ModelPath | None,
    listener: Listeners,
) -> ExportResult:
    if quantization not in QUANTIZATIONS:
        raise ConfigError(f"quantization {quantization}: choose one of {', '.join(QUANTIZATIONS)}")
    (bundle,) = open_models([model], base)
    bundle.require_weights()
    if (architecture := bundle.config.model.architecture) != "transformer":
        raise ModelError(
            f"{bundle.folder}: CTranslate2 runs Transformers alone, and this model is of architecture "
            f'"{architecture}"; translate with it as it is, by the engine torch'
        )
    if bundle.base and output is None:
        raise ConfigError(f"{bundle.folder}: an adapter, whose export is a whole model; give its folder with -o")
    target = bundle.folder if output is None else checked_path("output", output)
    search = build_section(bundle.config.decode, options, "decode")
    name, separate = f"ct2-{quantization}", output is not None
    _refuse_existing(bundle, target, name, separate, force)
    corpus = corpus_of(source, reference).model_copy(update={"languages": languages}) if source else None
    texts = _verification_text(bundle, corpus, lines)
    loaded = bundle.load_model()  # its error names what is missing

    import torch

    from dragoman.engine.torch import TorchEngine
    from dragoman.exporting.ctranslate2 import convert
    from dragoman.model.build import require_transformer

    network = require_transformer(loaded, "export")
    shortlist = Shortlist.of_bundle(bundle)
    candidates = shortlist.candidates if shortlist else None
    exact = TorchEngine(network, torch.device("cpu"), shortlist=candidates)
    with folder_next_to(target) as temporary:
        folders = {kind: temporary / f"ct2-{kind}" for kind in dict.fromkeys(("float32", quantization))}
        for kind, folder in folders.items():
            listener.notice(f"converting to {kind}")
            convert(network, bundle.tokenizer, folder, kind)
            if shortlist:
                (folder / MAPPING).write_text(shortlist.text(bundle.tokenizer), encoding="utf-8")
        try:
            verdicts = _verify_pairs(bundle, search, exact, folders, texts, candidates, listener)
        except QualityError as error:
            raise QualityError(f"{model}: not exported to {quantization}: {error}") from None
        if bundle.base:
            write_merged(bundle, temporary / "merged")
            bundle = open_bundle(temporary / "merged")
        _write(bundle, folders[quantization], name, target, separate, verdicts[quantization])
    return ExportResult(target, name, verdicts["float32"], verdicts[quantization])


def _refuse_existing(bundle: Bundle, target: Path, name: str, separate: bool, force: bool) -> None:
    """Raise ConfigError if the output exists, except for a model or an export that `force` replaces."""
    refuse_unwritable_folder(target)
    if separate and bundle.folder.resolve() in target.resolve().parents:
        raise ConfigError(f"{target}: is inside the model {bundle.folder}; choose a folder outside of it")
    taken = target if separate else target / name
    if not taken.exists():
        return
    if separate and not (target / "bundle.json").exists():
        raise ConfigError(f"{target}: already exists and is not a model folder; choose another folder")
    if separate and any((target / name).exists() for name in (WEIGHTS, ADAPTER)):
        raise ConfigError(f"{target}: holds the weights of training, which are never replaced; choose another folder")
    if not force:
        elsewhere = "" if separate else ", --output goes elsewhere"
        raise ConfigError(f"{taken}: already exists; --force replaces it{elsewhere}")


def _verification_text(bundle: Bundle, corpus: CorpusConfig | None, lines: int) -> list[HeldOutText]:
    """The corpus, or the validation text of the bundle's run, by pair of languages; no source is blank."""
    config = bundle.config
    corpora = (corpus,) if corpus else _validation_corpora(bundle)
    if not all(map(config.pairs_of, corpora)):
        names = ", ".join(pair.name for pair in config.project.all_pairs)
        raise ConfigError(f"--languages {corpora[0].languages}: not a pair of this model, which has {names}")
    texts = []
    for text in held_out_by_pair(config, corpora, lines):
        pairs = [pair for pair in zip(text.sources, text.references, strict=True) if pair[0].strip()]
        texts += [HeldOutText(text.pair, *zip(*pairs, strict=True))] if pairs else []
    if not texts:
        raise ConfigError(f"{corpora[0].source}: no lines to verify the export with; name a file with text")
    return texts


def _validation_corpora(bundle: Bundle) -> tuple[CorpusConfig, ...]:
    try:
        corpora = read_run_config(bundle.folder.parent).data.valid_corpora
    except ConfigError:
        corpora = ()
    if not corpora or not all(file.exists() for corpus in corpora for file in corpus.files):
        raise ConfigError(
            f"{bundle.folder}: the validation text of its run is not here; name text to verify the export with: "
            f"`dragoman export -m {bundle.folder} SOURCE REFERENCE`"
        )
    return corpora


def _verify_pairs(
    bundle: Bundle,
    options: DecodeConfig,
    reference: Engine,
    folders: Mapping[str, Path],
    texts: Sequence[HeldOutText],
    candidates: Callable[[Ids], Ids] | None,
    listener: Listeners,
) -> dict[str, Verdict]:
    """The verdict on each converted network, float32 first; over all pairs of languages. Raises QualityError."""
    tokenizer, has_several_pairs = bundle.tokenizer, len(bundle.config.project.pairs) > 1
    golden, symbols = read_golden(bundle.folder, tokenizer), Symbols.of(bundle.config, tokenizer.symbols)
    engines = {
        kind: CTranslate2Engine(folder, tokenizer, "cpu", shortlist=candidates) for kind, folder in folders.items()
    }
    pair_verdicts: list[dict[str, Verdict]] = []
    for text in texts:
        marks, name = Marks.of(text.pair, tokenizer), text.pair.name if has_several_pairs else ""
        sentences = [sentence for sentence in golden if sentence.pair == name]
        masked, _ = mask_texts(text.sources, symbols)
        sentences = sentences or golden_sentences(tokenizer, reference, options, masked, name, marks=marks)
        if has_several_pairs:
            listener.notice(f"{name}:")
        pair_verdicts.append(_verify(tokenizer, options, reference, engines, text, sentences, marks, symbols, listener))
    return {kind: Verdict.worst([verdicts[kind] for verdicts in pair_verdicts]) for kind in folders}


def _verify(
    tokenizer: Tokenizer,
    options: DecodeConfig,
    reference: Engine,
    engines: Mapping[str, Engine],
    text: HeldOutText,
    golden: Sequence[Golden],
    marks: Marks,
    symbols: Symbols,
    listener: Listeners,
) -> dict[str, Verdict]:
    """The verdict on each engine with a converted network, float32 first. Raises QualityError."""
    masked, tables = mask_texts(text.sources, symbols)
    sources = queries(tokenizer.encode(masked, "source"), marks)
    progress = listener.counter("verifying", "sentences", 2 * len(sources) * (len(BEAMS) + len(engines) - 1))
    verdict = verify_float32(reference, engines["float32"], options, sources, golden, marks, progress)
    same = ", ".join(f"{count:,} at {beam}" for beam, count in verdict.identical.items())
    listener.notice(
        f"float32: log P within {verdict.log_prob_difference:.1g} of the reference; "
        f"of {counted(verdict.sentences, 'sentence')} the same {same}"
        + (", the others near-ties" if min(verdict.identical.values()) < verdict.sentences else "")
    )
    verdicts = {"float32": verdict}

    def score(translations: Sequence[Ids]) -> float:
        lines = zip(tokenizer.decode(translations, "target"), tables, strict=True)
        return bleu([restore(line, table) for line, table in lines], text.references).value

    for kind in [kind for kind in engines if kind != "float32"]:
        kind_verdict = verify_quantised(
            engines["float32"], engines[kind], options, sources, golden, score, marks, progress
        )
        listener.notice(f"{kind}: BLEU {kind_verdict.bleu:.2f}, float32 {kind_verdict.bleu_of_reference:.2f}")
        if (kind_verdict.bleu_of_reference or 0.0) < MEANINGFUL_BLEU:
            why = "so BLEU says little about the export; name other text to verify with, or train longer"
            listener.on_warning(f"{kind}: the model itself scores BLEU {kind_verdict.bleu_of_reference:.2f}, {why}")
        verdicts[kind] = kind_verdict
    return verdicts


def _write(bundle: Bundle, converted: Path, name: str, target: Path, separate: bool, verdict: Verdict) -> None:
    """Into the bundle itself, or into a bundle of its own that has no training weights."""
    others = {} if separate else open_bundle(bundle.folder).manifest.get("exports", {})
    facts = {"exports": {**others, name: asdict(verdict)}}
    with update_bundle(bundle, target, facts) as partial:
        shutil.rmtree(partial / name, ignore_errors=True)
        converted.rename(partial / name)
        if separate:
            for other in [path for path in partial.glob("ct2-*") if path.name != name]:
                shutil.rmtree(other)
            (partial / WEIGHTS).unlink()
