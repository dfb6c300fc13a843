"""The training cost of the paper's Table 2 in both ways: operations counted, and time × devices × sustained rate.

    python reproduce/training_cost.py

Table 2 of "Attention Is All You Need" multiplies the training time by the number of GPUs and an estimate of what one
of them sustains (footnote 5). Here that is done for every system whose training time is published, and the operations
of its network are counted by the equations (`dragoman.training.cost.flops`), which are held against a hook on real
updates of paper-base and paper-big. The ratio of both is how much of the devices was used. It is known where the number
of tokens is: for the Transformers. For the others the table shows how many tokens their device time could have paid
for. The last line is one JSON object.
"""

import json
from dataclasses import asdict, dataclass
from functools import partial

import torch

from dragoman.config import ByteNetConfig, ModelConfig, RnnConfig, TrainConfig
from dragoman.data.batches.batch import Batch
from dragoman.model.transformer import Transformer
from dragoman.training.cost.flops import forward_flops, training_flops
from dragoman.training.cost.other_flops import bytenet_flops, recurrence_flops
from dragoman.training.estimate.counting import counted, single_thread
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.gradient import GradientAccumulator

# Operations per second, sustained in float32: footnote 5 of the paper.
RATE = {"K80": 2.8e12, "K40": 3.7e12, "M40": 6.0e12, "P100": 9.5e12}
DAY, HOUR = 86_400.0, 3_600.0
# Section 5.1: tokens of each side in an update, and the vocabulary; sentences of this many tokens.
UPDATE_TOKENS, VOCABULARY, LENGTHS = 25_000, 37_000, (25, 50)


@dataclass(frozen=True)
class Training:
    """A published training: its time on its devices, and what Table 2 prints for it."""

    system: str
    pair: str
    seconds: float
    devices: int
    device: str
    printed: float

    @property
    def cost(self) -> float:
        """Time × devices × sustained rate."""
        return self.seconds * self.devices * RATE[self.device]


# Section 5.2 for the Transformers; Wu et al. 2016, Gehring et al. 2017 and Shazeer et al. 2017 for theirs. ByteNet and
# Deep-Att published no training time; ensembles cost eight times their systems.
TRAININGS = (
    Training("GNMT + RL", "en-de", DAY, 96, "K80", 2.3e19),
    Training("GNMT + RL", "en-fr", 6 * DAY, 96, "K80", 1.4e20),
    Training("ConvS2S", "en-de", 18.5 * DAY, 1, "M40", 9.6e18),
    Training("ConvS2S", "en-fr", 37 * DAY, 8, "M40", 1.5e20),
    Training("MoE", "en-de", DAY, 64, "K40", 2.0e19),
    Training("MoE", "en-fr", 6 * DAY, 64, "K40", 1.2e20),
    Training("Transformer base", "both", 12 * HOUR, 8, "P100", 3.3e18),
    Training("Transformer big", "both", 3.5 * DAY, 8, "P100", 2.3e19),
)
# Preset, steps, seconds of a step: section 5.2.
TRANSFORMERS = {"Transformer base": ("paper-base", 100_000, 0.4), "Transformer big": ("paper-big", 300_000, 1.0)}


# Width and kernel of the layers of ConvS2S, in either stack.
CONVS2S = {
    "en-de": [(512, 3)] * 9 + [(1024, 3)] * 4 + [(2048, 1)] * 2,
    "en-fr": [(512, 3)] * 6 + [(768, 3)] * 4 + [(1024, 3)] * 3 + [(2048, 1), (4096, 1)],
}
# Of the logits: width and pieces.
LOGITS = {"GNMT + RL": (1024, 32_000), "ConvS2S": (512, 40_000), "MoE": (512, 32_000)}
# Multiply-adds of a step without logits that Shazeer et al. print, tables 2 and 3.
PUBLISHED_STEP = {"GNMT + RL": 214e6, "MoE": 85e6}


def transformer(preset: str) -> ModelConfig:
    """Exactly the paper's."""
    return ModelConfig.model_validate({"preset": preset})


def update_flops(model: ModelConfig, length: int) -> int:
    """Operations of an update of section 5.1 in sentences of this length."""
    return training_flops(model, VOCABULARY, UPDATE_TOKENS // length, length, length)


def by_hook(model: ModelConfig, sentences: int = 2, length: int = 8, vocabulary: int = VOCABULARY) -> tuple[int, int]:
    """Operations of a small update as PyTorch runs them, and by the equations."""
    ids = torch.full((sentences, length), 5)
    network = Transformer(model, vocabulary, vocabulary)
    train = TrainConfig(precision="float32")
    gradient = GradientAccumulator(network, train, ProcessGroup(), torch.device("cpu"))
    batch = Batch(ids, ids, ids, ("",) * sentences)
    with single_thread():
        found = counted(partial(gradient.backward, [batch], batch.target_tokens))
    return found.flops, training_flops(model, vocabulary, sentences, length, length)


def lstm(inputs: int, cells: int, projection: int | None = None) -> int:
    """A position of an LSTM layer forward; with a projection the state has its width."""
    if projection is None:
        return recurrence_flops(RnnConfig(), inputs, cells)
    return 8 * cells * (inputs + projection) + 2 * cells * projection


def gnmt(length: int) -> float:
    """GNMT: 8 + 8 layers of 1,024, the first in both directions, the context in every decoder layer."""
    d, a = 1024, 512
    encoder = 2 * lstm(d, d) + lstm(2 * d, d) + 6 * lstm(d, d)
    attention = 2 * d * a + 2 * d * a + length * 2 * (a + d)
    return encoder + 8 * lstm(2 * d, d) + attention


def moe(length: int) -> float:
    """Shazeer et al.: 3 + 2 LSTM layers of 2,048 cells, projected to 512, and 4 experts of 2,048 in each stack."""
    d, cells, hidden, chosen = 512, 2048, 2048, 4
    recurrent = 3 * lstm(d, cells, d) + 2 * lstm(2 * d, cells, d)
    return recurrent + 4 * d * d + length * 4 * d + 2 * chosen * 4 * d * hidden


def convs2s(length: int, pair: str = "en-de") -> float:
    """ConvS2S, as its authors' code has it: embeddings of 768; attention in every layer, linear maps between widths."""
    f, out, before = 768, 512, 512
    stack, attention = 0, 0
    for width, kernel in CONVS2S[pair]:
        stack += 4 * kernel * before * width + (2 * before * width if before != width else 0)
        attention += 4 * width * f + length * 4 * f
        before = width
    return (2 * f * 512 + stack + 2 * before * f) + (2 * f * 512 + stack + attention + 2 * before * out)


def bytenet(length: int) -> float:
    """ByteNet, per target character: 30 + 30 blocks of width 2 × 800, about 300 characters."""
    model = ByteNetConfig(encoder_layers=30, decoder_layers=30, d_model=1600, extra=0)
    return bytenet_flops(model, length, length) / length + 2 * 1600 * 300


def forward_of(training: Training, length: int) -> tuple[float, float]:
    """Forward operations per target token, with as many source tokens: of the layers, and of the logits."""
    if training.system in TRANSFORMERS:
        model = transformer(TRANSFORMERS[training.system][0])
        logits = 2 * model.d_model * VOCABULARY
        return forward_flops(model, VOCABULARY, 1, length, length) / length - logits, logits
    width, pieces = LOGITS[training.system]
    if training.system == "ConvS2S":
        return convs2s(length, training.pair), 2 * width * pieces
    return {"GNMT + RL": gnmt, "MoE": moe}[training.system](length), 2 * width * pieces


def transformers() -> dict[str, dict[str, float]]:
    """Both ways for the Transformers."""
    found = {}
    for name, (preset, steps, step_seconds) in TRANSFORMERS.items():
        training = next(one for one in TRAININGS if one.system == name)
        low, high = (steps * update_flops(transformer(preset), length) for length in LENGTHS)
        by_steps = steps * step_seconds * training.devices * RATE[training.device]
        found[name] = {
            "steps": steps,
            "counted": low,
            f"counted_at_{LENGTHS[1]}": high,
            "time_times_rate": training.cost,
            "steps_times_rate": by_steps,
            "printed": training.printed,
            "used": low / training.cost,
        }
    return found


def main() -> None:
    """Count, print."""
    hook = {}
    for name, (preset, _, _) in TRANSFORMERS.items():
        seen, formula = by_hook(transformer(preset))
        hook[name] = {"hook": seen, "equations": formula}
        print(f"{name}, an update of 2 × 8 tokens: {seen:,} operations by the hook, {formula:,} by the equations")
    both = transformers()
    for name, one in both.items():
        print(
            f"{name}, {one['steps']:,} steps: {one['counted']:.2e} operations counted "
            f"({one[f'counted_at_{LENGTHS[1]}']:.2e} in sentences of {LENGTHS[1]}); time × devices × rate "
            f"{one['time_times_rate']:.2e} ({one['steps_times_rate']:.2e} by seconds a step), Table 2 "
            f"{one['printed']:.1e}: {one['used']:.0%} of the devices was used"
        )
    rows = []
    for one in TRAININGS:
        layers, logits = forward_of(one, LENGTHS[0])
        tokens = one.cost / (3 * (layers + logits))
        rows.append(
            {**asdict(one), "cost": one.cost, "layers": layers, "logits": logits, "tokens_at_full_rate": tokens}
        )
        print(
            f"{one.system:17} {one.pair:5}  {one.seconds / DAY:4.1f} days × {one.devices:2} {one.device:4}  "
            f"{one.cost:.2e}  Table 2 {one.printed:.1e}  {layers / 1e6:3.0f} + {logits / 1e6:2.0f} M operations "
            f"forward per target token  {tokens:.1e} tokens at the full rate"
        )
    for system, step in PUBLISHED_STEP.items():
        layers, _ = forward_of(next(one for one in TRAININGS if one.system == system), LENGTHS[0])
        print(f"{system}: {layers / 1e6:.0f} M operations without logits; published {2 * step / 1e6:.0f} M")
    print(f"ByteNet: no training time; {bytenet(100) / 1e6:.0f} M operations forward per target character")
    print(json.dumps({"transformers": both, "hook": hook, "systems": rows, "bytenet_forward": bytenet(100)}))


if __name__ == "__main__":
    main()
