"""What a run is made of: frozen, self-checking values. No torch and no file is touched here.

Enters: plain dictionaries (see `dragoman.configfile`). Leaves: a `RunConfig`. Every key is documented by the
docstring below it; an unknown key is an error, never ignored. Model names are those of "Attention Is All You
Need" (Vaswani et al. 2017), section 3 and table 3.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ModelWrapValidatorHandler, model_validator
from pydantic_core import PydanticCustomError

from dragoman.options import DecodeConfig, Fraction, NonNegative, Positive, Section
from dragoman.presets import MODEL_PRESETS, SHAPE, both_depths


def _not_empty(given: Any) -> Any:
    if given == "":  # which Path would take for the folder where it stands
        raise PydanticCustomError("path_type", "Input should be a path")
    return given


Where = Annotated[Path, BeforeValidator(_not_empty)]


class ProjectConfig(Section):
    """What the system is called and which languages it joins."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """Name of the run and of its model; letters, digits, dots, dashes."""
    source: Annotated[str, Field(min_length=1)]
    """Language translated from, as a BCP-47 tag (`ko`, `en`, `pt-BR`)."""
    target: Annotated[str, Field(min_length=1)]
    """Language translated into, as a BCP-47 tag."""
    license: str = "private"
    """Licence of the trained model, for its card."""


class CorpusConfig(Section):
    """Parallel text: two files of lines, or one `.tsv` or `.jsonl` file; each may end in `.gz` or `.zst`."""

    source: Where
    """File of source sentences, or a `.tsv` (two columns) or `.jsonl` file that holds both sides."""
    target: Where | None = None
    """File of target sentences, line by line the translations of `source`."""
    weight: Annotated[float, Field(gt=0, le=10_000)] = 1.0
    """How many times an epoch shows each pair: 3 repeats, 0.5 draws half of them."""
    fields: tuple[str, str] = ("source", "target")
    """Names of the two fields of a `.jsonl` file."""

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, given: Any) -> Any:
        return {"source": given} if isinstance(given, str | Path) else given

    @property
    def single_file(self) -> Literal["tsv", "jsonl"] | None:
        """The format of a file that holds both sides, by its name without `.gz` or `.zst`."""
        name = self.source.name.removesuffix(".gz").removesuffix(".zst")
        if name.endswith(".tsv"):
            return "tsv"
        return "jsonl" if name.endswith(".jsonl") else None

    @property
    def files(self) -> tuple[Path, ...]:
        """The one or two files of this corpus."""
        return (self.source,) if self.target is None else (self.source, self.target)

    @model_validator(mode="after")
    def _two_sides(self) -> Self:
        if self.single_file and self.target is not None:
            raise ValueError(f"target: {self.source.name} holds both sides already; remove `target`")
        if not self.single_file and self.target is None:
            raise ValueError(f"target: missing; {self.source.name} holds one side, name the file of the other")
        return self


class AugmentConfig(Section):
    """Shares of the training pairs that an epoch shows changed, one change a pair, where the pair allows the change."""

    upper: Fraction = 0.0
    """Both sides in capitals, where the source's script has them."""
    title: Fraction = 0.0
    """Both sides With Every Word Capitalised, where the source's script has capitals."""
    unpunctuated: Fraction = 0.0
    """Both sides without their final full stop, question or exclamation mark."""
    typos: Fraction = 0.0
    """The source with letters swapped, dropped or doubled in up to three words."""
    fragments: Fraction = 0.0
    """One sentence of a pair that has several, as many on each side."""

    @model_validator(mode="after")
    def _shares(self) -> Self:
        if (total := sum(self.model_dump().values())) > 1 + 1e-9:
            raise ValueError(f"upper: with the other shares it makes {total:g}; lower them to 1 in all at the most")
        return self


class DataConfig(Section):
    """Which text is learned from, watched and tested on."""

    train: Annotated[tuple[CorpusConfig, ...], Field(min_length=1)]
    """One corpus or more to learn from."""
    valid: CorpusConfig
    """Held-out pairs watched during training."""
    test: CorpusConfig | None = None
    """Held-out pairs scored once, after training, for the model card."""
    max_length: Positive = 200
    """Pairs with more tokens than this on a side are counted, reported and skipped in training."""
    shuffle_buffer: Positive = 500_000
    """Pairs held in memory at once: a corpus up to this size is shuffled whole, a larger one by parts."""
    augment: AugmentConfig = AugmentConfig()
    """Changes of the training text on the fly."""


class TokenizerConfig(Section):
    """How SentencePiece cuts text into pieces (Kudo and Richardson 2018)."""

    kind: Literal["unigram", "bpe"] = "unigram"
    """Unigram language model (Kudo 2018) or byte-pair encoding (Sennrich et al. 2016)."""
    vocab_size: Annotated[int, Field(ge=16, le=1_000_000)] | None = None
    """Pieces in the vocabulary (with `joint = false`, in each of the two); as suits the amount of text unless given."""
    joint: bool = True
    """One vocabulary for both languages, as in the paper, section 5.1."""
    byte_fallback: bool = True
    """Spell characters never seen in training as UTF-8 bytes, so that nothing is unknown."""
    character_coverage: Annotated[float, Field(ge=0.98, le=1)] = 0.9995  # SentencePiece's own bounds
    """Share of the characters that get pieces of their own."""
    user_defined_symbols: tuple[str, ...] = ()
    """Strings that always stay one piece."""
    sample: Positive = 1_000_000
    """Pairs drawn from the training text, at the most, to learn from."""
    sampling: Fraction = 0.0
    """Training text is cut at random, anew in each epoch, unless 0. `bpe`: the share of merges left out, the more the
    more varied (BPE-dropout, Provilkov et al. 2020; often 0.1). `unigram`: α of Kudo 2018, by whose P^α one is drawn
    among all segmentations, the less the more varied (often 0.2 to 0.5)."""


class ModelConfig(Section):
    """The shape of the Transformer, section 3. `preset` fills what is not given.

    `model_fields_set` is what was given, with `layers` by this name; not what was filled.
    """

    preset: Literal["paper-base", "paper-big", "tiny", "small", "base", "big"] | None = None
    """`paper-base` and `paper-big` are exactly 2017; the others are what we recommend today."""
    encoder_layers: Positive
    """N of the encoder; `layers` sets both depths at once."""
    decoder_layers: Positive
    """N of the decoder."""
    d_model: Positive
    """Width of embeddings and of every sub-layer's output."""
    d_ff: Positive
    """Inner width of the position-wise feed-forward networks."""
    heads: Positive
    """h, the number of parallel attention heads."""
    d_k: Positive
    """Width of a head's queries and keys; d_model / h unless given."""
    d_v: Positive
    """Width of a head's values; d_model / h unless given."""
    dropout: Fraction = 0.1
    """P_drop of section 5.4: on each sub-layer's output and on embedding + position."""
    norm_order: Literal["post", "pre"] = "pre"
    """`post`: LayerNorm(x + Sublayer(x)), the paper. `pre`: x + Sublayer(LayerNorm(x)), Xiong et al. 2020."""
    norm: Literal["layer", "rms"] = "layer"
    """`layer`: LayerNorm, the paper. `rms`: RMSNorm, Zhang and Sennrich 2019."""
    positions: Literal["sinusoidal", "rotary"] = "sinusoidal"
    """`sinusoidal`: added to the embeddings, section 3.5. `rotary`: RoPE in self-attention, Su et al. 2021."""
    feed_forward: Literal["relu", "swiglu"] = "relu"
    """`relu`: Eq. (2). `swiglu`: a gated network of three matrices, Shazeer 2020."""
    bias: bool = True
    """Whether the linear layers add a bias, as in Eq. (2)."""
    tie: Literal["all", "target", "none"] = "all"
    """`all`: source, target embeddings and the output projection are one matrix (section 3.4);
    `target`: the latter two only; `none`: three matrices."""

    @model_validator(mode="wrap")
    @classmethod
    def _from_what_was_given(cls, given: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(given, dict):
            return build(given)
        config = build(cls._filled(given))
        object.__setattr__(config, "__pydantic_fields_set__", set(given))
        return config

    @staticmethod
    def _filled(given: dict[str, Any]) -> dict[str, Any]:
        preset = given.get("preset", None if SHAPE & given.keys() else "small")
        filled = both_depths(MODEL_PRESETS.get(str(preset), {})) | both_depths(given)
        if preset:
            filled["preset"] = preset
        for key in SHAPE & given.keys():
            if not isinstance(given[key], int):
                raise ValueError(f"{key}: input should be a whole number, not {given[key]!r}")
        d_model, heads = filled.get("d_model"), filled.get("heads")
        if isinstance(d_model, int) and isinstance(heads, int) and heads > 0:
            if d_model % heads and not {"d_k", "d_v"} <= set(filled):
                raise ValueError(
                    f"heads: {heads} does not divide d_model = {d_model}; "
                    f"make d_model {d_model // heads * heads or heads} or {(d_model // heads + 1) * heads}"
                )
            filled = {"d_k": d_model // heads, "d_v": d_model // heads} | filled
        return filled


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


class RunConfig(Section):
    """One run, whole: from text files to a model."""

    version: Literal[1] = 1
    """Version of this format."""
    project: ProjectConfig
    """Name and languages."""
    data: DataConfig
    """Text."""
    tokenizer: TokenizerConfig = TokenizerConfig()
    """Pieces."""
    model: ModelConfig = Field(default_factory=lambda: ModelConfig.model_validate({}))
    """Architecture."""
    train: TrainConfig = TrainConfig()
    """Optimisation."""
    decode: DecodeConfig = DecodeConfig()
    """Search."""

    @model_validator(mode="after")
    def _tied_vocabularies(self) -> Self:
        if self.train.start_from:  # both come with that model
            return self
        if self.model.tie == "all" and not self.tokenizer.joint:
            raise ValueError('model.tie: "all" needs one vocabulary; set tokenizer.joint = true or tie = "target"')
        return self
