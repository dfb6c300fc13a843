"""The keys of [train]: how the weights are learned, section 5 of the paper."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dragoman.config.base import Fraction, NonNegative, Positive, Section, Where


class TrainConfig(Section):
    """How the weights are learned, section 5."""

    output: Where | None = None
    """Folder of the run; `runs/NAME` beside the configuration unless given."""
    start_from: Where | None = None
    """Fine-tuning: folder of a model whose weights this run begins with, and whose pieces and shape it keeps."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    """Seed of initialisation, dropout and data order."""
    device: str = "auto"
    """`auto` (a GPU if there is one), `cpu`, `cuda`, `cuda:1`, `mps`."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Arithmetic of layers and logits, `auto` being the faster here by trial; weights and their updates are float32."""
    recompute: bool = False
    """Activation checkpointing: a layer's inner values are computed again when needed; less memory, a third slower."""
    compile: bool = False
    """Layers through `torch.compile`, and batches of few shapes for it (decision 12): needs a C++ compiler; for GPUs,
    for on a CPU it was slower."""
    parallel: Literal["ddp", "fsdp"] = "ddp"
    """With torchrun: `ddp` keeps the model whole in every process, `fsdp` a part of it in each."""
    peer_timeout: Annotated[float, Field(ge=1, le=1_000_000)] = 1800.0
    """Seconds that a process waits for the others before it gives up; above the time of a validation, and of checking
    the text and learning the pieces."""
    threads: Annotated[int, Field(gt=0, le=1024)] | None = None
    """CPU threads; all that this process may use unless given."""
    batch_tokens: Positive | Literal["auto"] = 4096
    """Sentences × longest side of a micro-batch, padding counted; `auto`: as much of an update as memory takes."""
    accumulate: Positive = 1
    """Micro-batches of each process that are summed into one update; with `batch_tokens = "auto"` it is found."""
    update_tokens: Positive = 25_000
    """With `batch_tokens = "auto"`, tokens of an update; section 5.1's unless given."""
    max_steps: Positive = 100_000
    """Updates after which training ends."""
    max_minutes: Annotated[float, Field(gt=0)] | None = None
    """Minutes of training, resumed parts added up, after which it ends."""
    learning_rate: Annotated[float, Field(gt=0)] | None = None
    """Peak of Eq. (3)'s curve; d_model^-0.5 · warmup^-0.5, the paper's own, unless given."""
    warmup: Positive = 4000
    """Steps of linear increase, Eq. (3)."""
    schedule: Literal["inverse_sqrt", "linear"] = "inverse_sqrt"
    """What follows the warm-up: `inverse_sqrt`, Eq. (3); `linear`, straight down to nothing at `max_steps`, which is
    then fixed, or by the clock at `max_minutes`, if that is nearer."""
    betas: tuple[Fraction, Fraction] = (0.9, 0.98)
    """Adam's β₁ and β₂, section 5.3."""
    epsilon: Annotated[float, Field(gt=0)] = 1e-9
    """Adam's ε, section 5.3."""
    label_smoothing: Fraction = 0.1
    """ε_ls of section 5.4."""
    r_drop: Annotated[float, Field(ge=0, le=1000)] = 0.0
    """α of R-Drop, Liang et al. 2021: every pair goes through twice, and what dropout makes differ costs; 1 to 5."""
    clip_norm: Annotated[float, Field(gt=0)] | None = None
    """Gradients longer than this are shortened to it."""
    validate_every: Positive = 1000
    """Steps between validations; each saves a checkpoint."""
    translate_lines: NonNegative = 200
    """Validation sentences translated (greedily) at each validation for BLEU and chrF; 0 for none."""
    watch: Literal["loss", "bleu", "chrf"] = "loss"
    """What early stopping and the best checkpoint go by, on the validation set."""
    patience: NonNegative = 0
    """Validations without a better `watch` after which training ends; 0 for never."""
    average: Literal["last", "best", "ema"] = "last"
    """Which checkpoints the final model averages, section 6.1; `ema`: none, for each holds a moving average."""
    ema_decay: Fraction = 0.999
    """How much of the moving average remains after a step."""
    average_count: Positive = 5
    """How many checkpoints the final model averages."""
    log_every: Positive = 50
    """Steps between lines in `metrics.jsonl`."""
    tensorboard: bool = False
    """Also write TensorBoard event files into the run's folder."""

    @model_validator(mode="after")
    def _watchable(self) -> Self:
        if self.watch != "loss" and not self.translate_lines:
            raise ValueError(f'watch: "{self.watch}" needs translations; set translate_lines above 0')
        return self
