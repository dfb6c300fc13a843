"""The keys of [train]: how the model is trained, section 5 of the paper."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dragoman.config.sections.base import Fraction, NonNegative, Positive, Section, Where


class RiskConfig(Section):
    """Minimum risk training, with `train.objective = "risk"`: the expected cost of translations that are sampled."""

    form: Literal["expected", "reinforce"] = "expected"
    """`expected`: the mean cost under Q(y) ∝ P(y | x)^α over the different samples of a source (Shen et al. 2016).
    `reinforce`: the mean over samples as they were drawn, each against the mean of the others as baseline."""
    samples: Annotated[int, Field(le=1024)] = 20
    """Samples of each source, at least 2."""
    sharpness: Annotated[float, Field(gt=0, le=1000)] = 5e-3
    """α of `expected`."""
    reward: Literal["bleu", "gleu", "chrf"] = "bleu"
    """What a sample is worth, of 0 to 1, sentence by sentence: smoothed `bleu` or `chrf` of the text, by sacreBLEU, or
    `gleu` of the pieces, EOS among them (Wu et al. 2016). The cost is its negative."""
    reference: bool = True
    """Whether the reference is one of the samples of `expected`."""
    likelihood: Annotated[float, Field(ge=0, le=1000)] = 0.0
    """Weight of the likelihood of the reference, per token, that is added; Wu et al. 2016 add 0.017."""

    @model_validator(mode="after")
    def _at_least_two_samples(self) -> Self:
        if self.samples < 2:
            raise ValueError(f"samples: {self.samples} cannot be compared with anything; draw at least 2")
        return self


class DualConfig(Section):
    """Dual supervised learning, with `train.objective = "dual"` (Xia et al. 2017), of a model of both directions."""

    weight: Annotated[float, Field(ge=0, le=1000)] = 0.01
    """λ of the squared duality gap, log P(x) + log P(y | x) − log P(y) − log P(x | y), in nats of a whole sentence."""
    language_models: tuple[Where, ...] = ()
    """Folders of two language models, one for each language, with the pieces of the model; they stay as they are."""


Matrices = Literal["attention", "feed_forward", "w_q", "w_k", "w_v", "w_o", "w_1", "w_2", "w_3"]


class TrainConfig(Section):
    """How the model is trained, section 5."""

    output: Where | None = None
    """Folder of the run; `runs/NAME` next to the configuration file unless set."""
    start_from: Where | None = None
    """Fine-tuning: folder of the base model. The run starts from its weights and keeps its tokenizer and shape."""
    freeze: tuple[str, ...] = ()
    """Fine-tuning: what keeps the weights of the base model: `encoder`, `decoder`, `embeddings` (with the output
    projection), `norms`, one layer as in `encoder.0`, or a part of it as in `decoder.1.cross_attention`."""
    pull: Annotated[float, Field(ge=0, le=1_000_000)] = 0.0
    """Fine-tuning: λ of a pull toward the weights of the base model (L2-SP, Li et al. 2018). Each step also shortens
    the distance to them by the fraction λ · learning rate, apart from the gradient; often 1 to 100, 0 disables."""
    lora_rank: Annotated[int, Field(ge=0, le=65_536)] = 0
    """Fine-tuning by LoRA (Hu et al. 2021): rank r of the matrices A and B that are trained while the weights of the
    base model stay. The run ends with a small adapter of the base model; often 4 to 32, 0 trains the weights."""
    lora_alpha: Annotated[float, Field(gt=0, le=1_000_000)] = 16.0
    """LoRA: α of W₀ + α / r · B A. Because of r in it, another rank rarely needs another learning rate."""
    lora_matrices: Annotated[tuple[Matrices, ...], Field(min_length=1)] = ("attention", "feed_forward")
    """LoRA: the matrices W₀ that get an A and a B: all of `attention` and `feed_forward`, or single ones by their names
    in the paper, as `["w_q", "w_v"]` of Hu et al. Parts in `freeze` get none."""
    lora_dropout: Fraction = 0.0
    """LoRA: dropout of the input of A."""
    objective: Literal["likelihood", "risk", "dual"] = "likelihood"
    """What is minimised. `likelihood`: cross-entropy, section 5.4. `risk`: the expected cost of sampled translations,
    without dropout. `dual`: likelihood in both directions, tied by language models. The last two start from a trained
    model, `start_from`."""
    risk: RiskConfig = RiskConfig()
    """Minimum risk training."""
    dual: DualConfig = DualConfig()
    """Dual supervised learning."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    """Random seed of initialisation, dropout and data order."""
    device: str = "auto"
    """`auto` (a GPU if available), `cpu`, `cuda`, `cuda:1` or `mps`."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Arithmetic of layers and logits; `auto`: bfloat16 where the processor or the GPU has units for it and the model
    is at least 128 wide. Weights and updates are always float32."""
    recompute: bool = False
    """Activation checkpointing: recompute the activations of a layer in the backward pass. Needs less memory; a third
    slower."""
    compile: bool = False
    """Compile the layers with `torch.compile` and use batches of few shapes (decision record 12). Needs a C++ compiler.
    Intended for GPUs; slower on CPU."""
    parallel: Literal["ddp", "fsdp"] = "ddp"
    """With torchrun: `ddp` keeps the whole model in every process, `fsdp` shards it over the processes."""
    peer_timeout: Annotated[float, Field(ge=1, le=1_000_000)] = 1800.0
    """Seconds that a process waits for the others before it gives up. Must be longer than a validation, and than
    checking the text and learning the pieces."""
    threads: Annotated[int, Field(gt=0, le=1024)] | None = None
    """CPU threads; all that this process may use unless set."""
    batch_tokens: Positive | Literal["auto"] = 4096
    """Size of a micro-batch: sentences × longest side, in tokens with padding. `auto`: the largest that fits in
    memory."""
    accumulate: Positive = 1
    """Gradient accumulation: micro-batches per update in each process; chosen by `batch_tokens = "auto"`."""
    update_tokens: Positive = 25_000
    """With `batch_tokens = "auto"`: tokens per update; the default is that of section 5.1."""
    max_steps: Positive | Literal["auto"] = 100_000
    """Maximum number of training steps (updates). `auto`: by the amount of text, 100 epochs of 2,000 pairs, 5 of 2
    million; with `start_from` 20 epochs of 1,000 pairs, 5 of 100,000."""
    max_minutes: Annotated[float, Field(gt=0)] | None = None
    """Maximum time of training in minutes, summed over resumed parts."""
    learning_rate: Annotated[float, Field(gt=0)] | None = None
    """Peak learning rate; d_model^-0.5 · warmup^-0.5 as in Eq. (3) unless set."""
    warmup: Positive | Literal["auto"] = 4000
    """Steps of linear warm-up, Eq. (3). `auto`: a tenth of `max_steps`, from 400 to 4,000, at most a quarter; with
    `start_from` a tenth, at most 400. If `max_minutes` ends the run earlier, a share of the steps until then."""
    schedule: Literal["inverse_sqrt", "linear"] = "inverse_sqrt"
    """Learning rate after the warm-up. `inverse_sqrt`: Eq. (3). `linear`: decreases linearly to zero at `max_steps` or
    at `max_minutes`, whichever comes first; neither may change when such a run is resumed."""
    betas: tuple[Fraction, Fraction] = (0.9, 0.98)
    """Adam's β₁ and β₂, section 5.3."""
    epsilon: Annotated[float, Field(gt=0)] = 1e-9
    """Adam's ε, section 5.3."""
    label_smoothing: Fraction = 0.1
    """ε_ls of section 5.4."""
    r_drop: Annotated[float, Field(ge=0, le=1000)] = 0.0
    """α of R-Drop (Liang et al. 2021): run each pair twice and penalise the divergence of the two outputs; often 1 to
    5, 0 disables."""
    clip_norm: Annotated[float, Field(gt=0)] | None = None
    """Maximum norm of the gradient; larger gradients are scaled down. No clipping unless set."""
    validate_every: Positive | Literal["auto"] = 1000
    """Steps between validations; each validation saves a checkpoint. `auto`: a thirtieth of `max_steps`, with
    `start_from` a tenth, at most 1,000. Where the first validation would come later than after five minutes, a
    score is shown then; it changes nothing in the run."""
    checkpoint_minutes: Annotated[float, Field(ge=0)] = 10.0
    """Minutes of training after which a checkpoint is saved, if no validation has saved one; 0 disables."""
    snapshots: Annotated[int, Field(ge=0, le=1000)] | Literal["auto"] = "auto"
    """Number of snapshots of the weights, in float16, kept in the folder of the run: of step 0 and of the last steps
    that are powers of two. `dragoman look` shows a sentence by them as a film. `auto`: 12 for a Transformer of up to 4
    million parameters (100 MB), otherwise none; 0 disables."""
    translate_lines: NonNegative = 200
    """Number of validation sentences translated by greedy search at each validation, for BLEU and chrF; 0 disables."""
    watch: Literal["loss", "bleu", "chrf"] = "loss"
    """Metric on the validation set that decides early stopping and the best checkpoint."""
    patience: NonNegative = 0
    """Early stopping: end training after this many validations without improvement of `watch`; 0 disables."""
    average: Literal["last", "best", "ema"] = "last"
    """Checkpoints averaged into the final model, section 6.1: the `last` or the `best` ones. `ema`: no averaging of
    checkpoints but an exponential moving average of the weights."""
    ema_decay: Fraction = 0.999
    """Decay of the exponential moving average per step."""
    average_count: Positive = 5
    """Number of checkpoints averaged into the final model."""
    log_every: Positive = 50
    """Steps between lines in `metrics.jsonl`."""
    card_lines: NonNegative = 400
    """Number of validation lines from which the finished model learns its confidence. Also the most test lines that the
    suite of robustness changes in each way (of a twentieth of the test set, at most 200). 0: the card has neither."""
    tensorboard: bool = False
    """Also write TensorBoard event files to the folder of the run."""

    @property
    def total_steps(self) -> int:
        """`max_steps`, a number once a run has chosen it (`dragoman.config.sizes`)."""
        return _chosen(self.max_steps)

    @property
    def warmup_steps(self) -> int:
        return _chosen(self.warmup)

    @property
    def validation_interval(self) -> int:
        return _chosen(self.validate_every)

    @property
    def lora_scale(self) -> float:
        """α / r."""
        return self.lora_alpha / self.lora_rank

    @model_validator(mode="after")
    def _adaptable(self) -> Self:
        if self.lora_rank and self.pull:
            raise ValueError("pull: has no effect with lora_rank, which leaves the weights as they are; leave it out")
        if self.lora_rank and self.parallel == "fsdp":
            raise ValueError('parallel: "fsdp" shards weights that lora_rank does not train; use "ddp"')
        if self.lora_rank and self.snapshots not in (0, "auto"):
            raise ValueError('snapshots: has no effect with lora_rank, whose weights are few; set it to "auto"')
        return self

    @model_validator(mode="after")
    def _objective(self) -> Self:
        name = f'objective: "{self.objective}"'
        if self.objective == "likelihood":
            return self
        if self.batch_tokens == "auto":
            raise ValueError(f'{name} needs memory that batch_tokens = "auto" does not measure; give a number')
        if self.r_drop:
            raise ValueError(f"{name} has no r_drop; set it to 0")
        if self.compile:  # its batches have empty rows
            raise ValueError(f"{name} does not work with compile; set it to false")
        if self.objective == "risk" and self.parallel == "fsdp":
            raise ValueError(f'{name} samples with whole weights; set parallel = "ddp"')
        if self.objective == "dual" and len(self.dual.language_models) != 2:
            raise ValueError(f"{name} needs dual.language_models, one for each language; give two folders")
        return self

    @model_validator(mode="after")
    def _watchable(self) -> Self:
        if self.watch != "loss" and not self.translate_lines:
            raise ValueError(f'watch: "{self.watch}" needs translations; set translate_lines above 0')
        return self


def _chosen(value: int | Literal["auto"]) -> int:
    assert value != "auto", "a run chooses the value before it trains"
    return value
