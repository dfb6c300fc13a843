"""Export to CTranslate2: convert a bundle's network, verify it against the reference, write it into a bundle."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle, open_bundle, update_bundle
from dragoman.config import CorpusConfig, DecodeConfig
from dragoman.config.file import build_section, read_run_config
from dragoman.data.corpus import read_pairs
from dragoman.engine import Engine, Ids
from dragoman.engine.ctranslate2 import CTranslate2Engine
from dragoman.errors import ConfigError, QualityError, checked_path, counted
from dragoman.evaluation import bleu
from dragoman.exporting.golden import Golden, golden_sentences, read_golden
from dragoman.exporting.verify import BEAMS, Verdict, verify_float32, verify_quantised
from dragoman.shortlist.file import MAPPING, Shortlist
from dragoman.storage import refuse_unwritable_folder, storage_error
from dragoman.workflows.data import corpus_of
from dragoman.workflows.listener import Listener, Listeners

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


def export(
    model: str | PathLike[str],
    source: str | PathLike[str] | None = None,
    reference: str | PathLike[str] | None = None,
    *,
    quantization: str = "int8",
    output: str | PathLike[str] | None = None,
    options: Mapping[str, Any] | None = None,
    lines: int = 1000,
    force: bool = False,
    listeners: Iterable[Listener] = (),
) -> ExportResult:
    """Convert the bundle `model` to CTranslate2, verify the result, and write it into the bundle.

    It is verified with at most `lines` pairs of `source` and `reference`, or of the validation text of the model's run,
    and `options`, keys of [decode]. `quantization` is int8, int8_bfloat16 or float32. With `output` the export goes
    into a new bundle without the training weights. An existing export is replaced only with `force`. Raises
    QualityError if the export translates worse than the model; nothing is written then.
    """
    if quantization not in QUANTIZATIONS:
        raise ConfigError(f"quantization {quantization}: choose one of {', '.join(QUANTIZATIONS)}")
    bundle = open_bundle(model)
    bundle.require_weights()
    target = bundle.folder if output is None else checked_path("output", output)
    search = build_section(bundle.config.decode, options or {}, "decode")
    name, separate = f"ct2-{quantization}", output is not None
    _refuse_existing(bundle, target, name, separate, force)
    pairs = _verification_text(bundle, corpus_of(source, reference) if source else None, lines)
    network = bundle.load_model()  # its error names what is missing

    import torch

    from dragoman.engine.torch import TorchEngine
    from dragoman.exporting.ctranslate2 import convert

    shortlist = Shortlist.of_bundle(bundle)
    candidates = shortlist.candidates if shortlist else None
    exact = TorchEngine(network, torch.device("cpu"), shortlist=candidates)
    golden = read_golden(bundle.folder, bundle.tokenizer) or golden_sentences(
        bundle.tokenizer, exact, search, [pair[0] for pair in pairs]
    )
    listener = Listeners(listeners)
    with folder_next_to(target) as temporary:
        folders = {kind: temporary / f"ct2-{kind}" for kind in dict.fromkeys(("float32", quantization))}
        for kind, folder in folders.items():
            listener.notice(f"converting to {kind}")
            convert(network, bundle.tokenizer, folder, kind)
            if shortlist:
                (folder / MAPPING).write_text(shortlist.text(bundle.tokenizer), encoding="utf-8")
        try:
            verdicts = _verify(bundle, search, exact, folders, pairs, golden, candidates, listener)
        except QualityError as error:
            raise QualityError(f"{model}: not exported to {quantization}: {error}") from None
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
    if separate and (target / "model.safetensors").exists():
        raise ConfigError(f"{target}: holds the weights of training, which are never replaced; choose another folder")
    if not force:
        elsewhere = "" if separate else ", --output goes elsewhere"
        raise ConfigError(f"{taken}: already exists; --force replaces it{elsewhere}")


@contextmanager
def folder_next_to(target: Path) -> Iterator[Path]:
    """A temporary folder on the same disk as `target`, which needs space for the model anyway."""
    parent = target.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        temporary = tempfile.TemporaryDirectory(prefix=".dragoman-", dir=parent)
    except OSError as error:
        raise storage_error(target, error) from None
    with temporary as folder:
        try:
            yield Path(folder)
        except OSError as error:  # a converter's own files
            raise storage_error(target, error) from None


def _verification_text(bundle: Bundle, corpus: CorpusConfig | None, lines: int) -> list[tuple[str, str]]:
    """Pairs of the corpus, or of the validation text of the run that the bundle came from; none with a blank source."""
    corpus = corpus or _validation_corpus(bundle)
    pairs = [(pair.source, pair.target) for pair in islice(read_pairs(corpus), lines)]
    with_text = [pair for pair in pairs if pair[0].strip()]
    if not with_text:
        raise ConfigError(f"{corpus.source}: no lines to verify the export with; name a file with text")
    return with_text


def _validation_corpus(bundle: Bundle) -> CorpusConfig:
    try:
        corpus = read_run_config(bundle.folder.parent).data.valid
    except ConfigError:
        corpus = None
    if corpus is None or not all(file.exists() for file in corpus.files):
        raise ConfigError(
            f"{bundle.folder}: the validation text of its run is not here; name text to verify the export with: "
            f"`dragoman export -m {bundle.folder} SOURCE REFERENCE`"
        )
    return corpus


def _verify(
    bundle: Bundle,
    options: DecodeConfig,
    reference: Engine,
    folders: Mapping[str, Path],
    pairs: Sequence[tuple[str, str]],
    golden: Sequence[Golden],
    candidates: Callable[[Ids], Ids] | None,
    listener: Listeners,
) -> dict[str, Verdict]:
    """The verdict on each converted network, float32 first. Raises QualityError."""
    tokenizer = bundle.tokenizer
    sources = tokenizer.encode([source for source, _ in pairs], "source")
    progress = listener.counter("verifying", "sentences", 2 * len(sources) * (len(BEAMS) + len(folders) - 1))
    engines = {
        kind: CTranslate2Engine(folder, tokenizer, "cpu", shortlist=candidates) for kind, folder in folders.items()
    }
    verdict = verify_float32(reference, engines["float32"], options, sources, golden, progress)
    same = ", ".join(f"{count:,} at {beam}" for beam, count in verdict.identical.items())
    listener.notice(
        f"float32: log P within {verdict.log_prob_difference:.1g} of the reference; "
        f"of {counted(verdict.sentences, 'sentence')} the same {same}"
        + (", the others near-ties" if min(verdict.identical.values()) < verdict.sentences else "")
    )
    verdicts = {"float32": verdict}
    references = [target for _, target in pairs]

    def score(translations: Sequence[Ids]) -> float:
        return bleu(tokenizer.decode(translations, "target"), references).value

    for kind in [kind for kind in folders if kind != "float32"]:
        found = verify_quantised(engines["float32"], engines[kind], options, sources, golden, score, progress)
        listener.notice(f"{kind}: BLEU {found.bleu:.2f}, float32 {found.bleu_of_reference:.2f}")
        if (found.bleu_of_reference or 0.0) < MEANINGFUL_BLEU:
            why = "so BLEU says little about the export; name other text to verify with, or train longer"
            listener.on_warning(f"{kind}: the model itself scores BLEU {found.bleu_of_reference:.2f}, {why}")
        verdicts[kind] = found
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
            (partial / "model.safetensors").unlink()
