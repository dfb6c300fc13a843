"""Verification of a model on this machine: every file, the tokenizer, and the golden sentences with every engine.

The reference engine wrote `golden.jsonl` when the model was made: log P of every token of 32 translations. Here each
engine computes them again. In float32 they differ by at most 1e-4, on any machine; what quantization changes depends on
the instructions of the processor, so there the mean decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from os import PathLike
from pathlib import Path

from dragoman.adapter import ADAPTER
from dragoman.bundle import WEIGHTS, Bundle
from dragoman.engine import Query
from dragoman.engine.load import load_engine
from dragoman.errors import ModelError, counted
from dragoman.exporting.golden import FILE, Golden, read_golden
from dragoman.exporting.verify import LOG_PROB
from dragoman.installed.opening import open_models
from dragoman.text.tokens.marks import Marks

# The mean and the largest difference of a token's log P, in nats, of a quantized network that is intact; the bundled
# ones have 0.01 and 0.3. The largest may also be a few times what was measured when it was exported.
QUANTIZED, LARGEST, TIMES = 0.25, 2.0, 4.0
EXACT = ("torch", "ct2-float32")


@dataclass(frozen=True)
class EngineCheck:
    """One engine on the golden sentences."""

    engine: str
    """`torch`, or the name of an export, as `ct2-int8`."""
    largest: float
    """The largest difference of a token's log P from the reference, in nats."""
    mean: float
    identical: int
    """How many sentences are translated to the same tokens; others may be as good."""


@dataclass(frozen=True)
class ModelCheck:
    """A model that was verified."""

    model_path: Path
    files: int
    bytes: int
    sentences: int
    """The number of golden sentences; 0 for a model that has none."""
    engines: tuple[EngineCheck, ...]
    skipped: tuple[str, ...] = ()
    """What could not be verified here, and why."""


def verify_model(model: str | PathLike[str], *, base: str | PathLike[str] | None = None) -> ModelCheck:
    """Verify size and hash of every file, the tokenizer, and the golden sentences with each engine that `model` has.

    `base` is the base model of an adapter that is no longer where it was. Raises ModelError that names the file at
    fault.
    """
    (bundle,) = open_models([model], base)
    return verify_bundle(bundle)


def verify_bundle(bundle: Bundle, fastest: bool = False) -> ModelCheck:
    """Verify an opened bundle as `verify_model` does; if `fastest`, only with the engine that translates by default."""
    golden = read_golden(bundle.folder, bundle.tokenizer)
    _check_tokenizer(bundle, golden)
    names = [folder.name for folder in bundle.exports]
    skipped = [] if golden else ["the translations: the model has no golden sentences"]
    if bundle.has_weights and not (fastest and names):
        if find_spec("torch"):
            names.append("torch")
        else:
            skipped.append('the weights: the torch engine needs `pip install "dragoman[train]"`')
    checks = [_check_engine(bundle, name, golden) for name in names[: 1 if fastest else None]]
    files = bundle.manifest["files"].values()
    size = sum(file["bytes"] for file in files)
    engine_checks = tuple(check for check in checks if check)
    return ModelCheck(bundle.folder, len(files), size, len(golden), engine_checks, tuple(skipped))


def _check_tokenizer(bundle: Bundle, golden: Sequence[Golden]) -> None:
    """Raise ModelError unless the tokenizer divides the golden sentences as it did when the model was made."""
    encodings = bundle.tokenizer.encode([sentence.source for sentence in golden], "source")
    for number, (sentence, tokens) in enumerate(zip(golden, encodings, strict=True), 1):
        if list(tokens) != sentence.tokens:
            raise ModelError(
                f"{bundle.folder / 'tokenizer'}: divides golden sentence {number} differently from {FILE}; "
                "these are files of two models, copy the bundle again"
            )


def _check_engine(bundle: Bundle, name: str, golden: Sequence[Golden]) -> EngineCheck | None:
    """What `name` computes for the golden sentences; None if there are none. Raises ModelError."""
    engine = load_engine(bundle, engine=name, device="cpu", precision="float32")
    if not golden:
        return None
    queries = [Query(sentence.tokens, (), _marks(bundle, sentence)) for sentence in golden]
    scored = engine.score(queries, [sentence.translation for sentence in golden])
    differences = [
        abs(a - b)
        for log_probs, sentence in zip(scored, golden, strict=True)
        for a, b in zip(log_probs, sentence.log_probs, strict=True)
    ]
    largest, mean = max(differences), sum(differences) / len(differences)
    _refuse_difference(bundle, name, len(golden), largest, mean)
    options = bundle.config.decode.model_copy(update={"method": "beam", "n_best": 1, "shortlist": False})
    best = [hypotheses[0].tokens for hypotheses in engine.translate(queries, options)]
    same = sum(list(tokens) == sentence.translation for tokens, sentence in zip(best, golden, strict=True))
    return EngineCheck(name, largest, mean, same)


def _marks(bundle: Bundle, sentence: Golden) -> Marks:
    """The language tokens of a golden sentence. Raises ModelError if the model has not got its pair."""
    pair = bundle.config.project.pair(sentence.pair)
    if pair is None:
        raise ModelError(f"{bundle.folder / FILE}: the model does not translate {sentence.pair}; copy the bundle again")
    return Marks.of(pair, bundle.tokenizer)


def _refuse_difference(bundle: Bundle, name: str, sentences: int, largest: float, mean: float) -> None:
    """Raise ModelError if the log P of an engine differ by more than its arithmetic explains."""
    exported = bundle.manifest.get("exports", {}).get(name, {}).get("log_prob_difference") or 0.0
    limits = {"of tokens, on average,": (mean, QUANTIZED), "of a token": (largest, max(LARGEST, TIMES * exported))}
    if name in EXACT:
        limits = {"of a token": (largest, LOG_PROB)}
    failed = [what for what, (difference, limit) in limits.items() if not difference <= limit]  # NaN is not
    if not failed:
        return
    what, (difference, limit) = failed[0], limits[failed[0]]
    weights = ADAPTER if bundle.base else WEIGHTS
    file = bundle.folder / (weights if name == "torch" else f"{name}/model.bin")
    raise ModelError(
        f"{file}: log P {what} of {counted(sentences, 'golden sentence')} differs by {difference:.2g} nats "
        f"from {FILE}, more than {limit:g}; copy the bundle again"
    )
