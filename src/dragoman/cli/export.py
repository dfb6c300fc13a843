"""`dragoman export`: a network in CTranslate2's format, verified, beside or in place of the weights it was made of."""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from dragoman.bundle import Bundle, amend, open_bundle
from dragoman.cli.console import program, say
from dragoman.cli.data import corpus_of
from dragoman.config import CorpusConfig
from dragoman.config.file import read_run_config
from dragoman.data.corpus import read_pairs
from dragoman.engine import Engine, Ids
from dragoman.engine.ctranslate2 import CTranslate2Engine
from dragoman.errors import ConfigError, QualityError
from dragoman.evaluation import bleu
from dragoman.exporting.golden import Golden, golden_sentences, read_golden
from dragoman.exporting.verify import Verdict, verify_float32, verify_quantised
from dragoman.shortlist.file import MAPPING, Shortlist
from dragoman.storage import refuse_unwritable_folder

QUANTIZATIONS = ("int8", "int8_bfloat16", "float32")


def run_export(
    model: Path,
    text: tuple[Path | None, Path | None],
    quantization: str,
    output: Path | None,
    lines: int,
    force: bool,
) -> None:
    """Convert, verify, write."""
    if quantization not in QUANTIZATIONS:
        raise ConfigError(f"--quantization {quantization}: choose among {', '.join(QUANTIZATIONS)}")
    bundle = open_bundle(model)
    name = f"ct2-{quantization}"
    _refuse_existing(bundle, name, output, force)
    pairs = _text(bundle, text, lines)
    network = bundle.load_model()  # says what is missing, if it is

    import torch

    from dragoman.engine.torch import TorchEngine
    from dragoman.exporting.ctranslate2 import convert

    reference = TorchEngine(network, torch.device("cpu"))
    golden = read_golden(bundle.folder, bundle.tokenizer) or golden_sentences(
        bundle.tokenizer, reference, bundle.config.decode, [pair[0] for pair in pairs]
    )
    with tempfile.TemporaryDirectory(prefix="dragoman-") as temporary:
        folders = {kind: Path(temporary) / f"ct2-{kind}" for kind in dict.fromkeys(("float32", quantization))}
        for kind, folder in folders.items():
            convert(network, bundle.tokenizer, folder, kind)
        try:
            verdict = _verify(bundle, reference, folders, quantization, pairs, golden)
        except QualityError as error:
            raise QualityError(f"{model}: not exported to {quantization}: {error}") from None
        folder = _write(bundle, folders[quantization], name, output, verdict)
    say(f'The export is in {folder / name}. Next:\n  {program()} translate -m {folder} "…"')


def _refuse_existing(bundle: Bundle, name: str, output: Path | None, force: bool) -> None:
    """Nothing is replaced unless asked, and nothing but a model even then."""
    refuse_unwritable_folder(output or bundle.folder)
    taken = output or bundle.folder / name
    if not taken.exists():
        return
    if output and not (output / "bundle.json").exists():
        raise ConfigError(f"{output}: is there already, and no model; choose another folder")
    if output and (output / "model.safetensors").exists():
        raise ConfigError(f"{output}: holds the weights of training, which nothing replaces; choose another folder")
    if not force:
        elsewhere = "" if output else ", --output goes elsewhere"
        raise ConfigError(f"{taken}: is there already; --force replaces it{elsewhere}")


def _text(bundle: Bundle, given: tuple[Path | None, Path | None], lines: int) -> list[tuple[str, str]]:
    """Pairs to verify with: those named, or else the validation text of the run the bundle came from."""
    source, target = given
    corpus = corpus_of(source, target) if source else _validation_text(bundle)
    pairs = [(pair.source, pair.target) for pair in islice(read_pairs(corpus), lines)]
    spoken = [pair for pair in pairs if pair[0].strip()]
    if not spoken:
        raise ConfigError(f"{corpus.source}: no lines to verify the export with; name a file with text")
    return spoken


def _validation_text(bundle: Bundle) -> CorpusConfig:
    try:
        corpus = read_run_config(bundle.folder.parent).data.valid
    except ConfigError:
        corpus = None
    if corpus is None or not all(path.exists() for path in corpus.files):
        raise ConfigError(
            f"{bundle.folder}: the validation text of its run is not here; name text to verify the export with: "
            f"{program()} export {bundle.folder} SOURCE REFERENCE"
        )
    return corpus


def _verify(
    bundle: Bundle,
    reference: Engine,
    folders: dict[str, Path],
    quantization: str,
    pairs: Sequence[tuple[str, str]],
    golden: Sequence[Golden],
) -> Verdict:
    options, tokenizer = bundle.config.decode, bundle.tokenizer
    sources = tokenizer.encode([source for source, _ in pairs], "source")
    exact = CTranslate2Engine(folders["float32"], tokenizer, "cpu")
    verdict = verify_float32(reference, exact, options, sources, golden)
    same = ", ".join(f"{count:,} at {beam}" for beam, count in verdict.identical.items())
    say(
        f"float32: log P within {verdict.log_prob_difference:.1g} of the reference; "
        f"of {verdict.sentences:,} sentences the same {same}, the others near-ties"
    )
    if quantization == "float32":
        return verdict
    quantised = CTranslate2Engine(folders[quantization], tokenizer, "cpu")
    references = [target for _, target in pairs]

    def judge(translations: Sequence[Ids]) -> float:
        return bleu(tokenizer.decode(translations, "target"), references).value

    verdict = verify_quantised(exact, quantised, options, sources, golden, judge)
    say(f"{quantization}: BLEU {verdict.bleu:.2f}, float32 {verdict.bleu_of_reference:.2f}")
    return verdict


def _write(bundle: Bundle, made: Path, name: str, output: Path | None, verdict: Verdict) -> Path:
    """Beside the weights, or with `output` into a bundle of its own that leaves them out."""
    folder = output or bundle.folder
    others = {} if output else open_bundle(bundle.folder).manifest.get("exports", {})
    facts = {"exports": {**others, name: asdict(verdict)}}
    with amend(bundle, folder, facts) as partial:
        shutil.rmtree(partial / name, ignore_errors=True)
        shutil.copytree(made, partial / name)
        if shortlist := Shortlist.of_bundle(bundle):
            (partial / name / MAPPING).write_text(shortlist.text(bundle.tokenizer), encoding="utf-8")
        if output:
            for other in [path for path in partial.glob("ct2-*") if path.name != name]:
                shutil.rmtree(other)
            (partial / "model.safetensors").unlink()
    return folder
