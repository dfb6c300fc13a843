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

from dragoman.bundle import Bundle, open_bundle
from dragoman.engine import Engine
from dragoman.engine.load import load_engine
from dragoman.errors import ModelError, checked_path, counted
from dragoman.exporting.golden import FILE, Golden, read_golden
from dragoman.exporting.verify import LOG_PROB
from dragoman.installed import resolve_model

# Mean difference of a token's log P, in nats, of a quantized network that is intact. Those of int8 are around 0.01;
# another network's, 1 and more.
QUANTIZED = 0.25
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


def verify_model(model: str | PathLike[str]) -> ModelCheck:
    """Verify size and hash of every file, the tokenizer, and the golden sentences with each engine that `model` has.

    Raises ModelError that names the file at fault.
    """
    return verify_bundle(open_bundle(resolve_model(checked_path("model", model))))


def verify_bundle(bundle: Bundle, fastest: bool = False) -> ModelCheck:
    """As `verify_model`, of an opened bundle; if `fastest`, only with the engine that translates by default."""
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
    found = tuple(check for check in checks if check)
    return ModelCheck(bundle.folder, len(files), size, len(golden), found, tuple(skipped))


def _check_tokenizer(bundle: Bundle, golden: Sequence[Golden]) -> None:
    """Raise ModelError unless the tokenizer divides the golden sentences as it did when the model was made."""
    found = bundle.tokenizer.encode([sentence.source for sentence in golden], "source")
    for number, (sentence, tokens) in enumerate(zip(golden, found, strict=True), 1):
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
    file = bundle.folder / ("model.safetensors" if name == "torch" else f"{name}/model.bin")
    differences = _differences(engine, golden)
    largest, mean = max(differences), sum(differences) / len(differences)
    limit, found = (LOG_PROB, largest) if name in EXACT else (QUANTIZED, mean)
    if not found <= limit:  # NaN is no number below the limit
        what = "of a token" if name in EXACT else "of tokens, on average,"
        raise ModelError(
            f"{file}: log P {what} of {counted(len(golden), 'golden sentence')} differs by {found:.2g} nats from "
            f"{FILE}, more than {limit:g}; copy the bundle again"
        )
    return EngineCheck(name, largest, mean, _identical(bundle, engine, golden))


def _differences(engine: Engine, golden: Sequence[Golden]) -> list[float]:
    """|Δ log P| of each golden token, in nats."""
    found = engine.score([s.tokens for s in golden], [s.translation for s in golden])
    pairs = zip(found, golden, strict=True)
    return [abs(a - b) for log_probs, s in pairs for a, b in zip(log_probs, s.log_probs, strict=True)]


def _identical(bundle: Bundle, engine: Engine, golden: Sequence[Golden]) -> int:
    """How many golden sentences are translated to the same tokens."""
    options = bundle.config.decode.model_copy(update={"method": "beam", "n_best": 1, "shortlist": False})
    found = engine.translate([sentence.tokens for sentence in golden], options)
    return sum(list(best[0].tokens) == s.translation for best, s in zip(found, golden, strict=True))
