"""A language model: the run of a translation model, changed so that it reads one language, and its bundle.

Input: a `run.toml`. Output: a bundle of architecture "language-model" with the tokenizer of the translation run, so
that the pieces of the two agree; `card` and `bundle.json` have its perplexity.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle, write_bundle
from dragoman.config import LanguageModelConfig, RunConfig
from dragoman.config.file import load_config, read_config
from dragoman.config.sections.architectures.known import title
from dragoman.data.batches.stream import validation_batches
from dragoman.data.corpus.directions import directions
from dragoman.data.corpus.report import summary
from dragoman.engine import queries
from dragoman.engine.kinds import require_kind
from dragoman.engine.torch import TorchEngine
from dragoman.errors import ConfigError, counted
from dragoman.evaluation import Score
from dragoman.model.parts.device import pick_device
from dragoman.model.parts.network import EncoderDecoder
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.training.report.reports import Outcome
from dragoman.training.resume.validation import validation_loss
from dragoman.version import __version__
from dragoman.workflows.train.finetune import open_base_model
from dragoman.workflows.train.run_folder import output_of
from dragoman.workflows.train.run_tokenizer import learn_tokenizer
from dragoman.workflows.train.trainer import Run

# The largest exponent of a perplexity: beyond it is no float.
LARGEST = 700.0
# Keys of a translation run that mean nothing here: fine-tuning, the objective, translations during validation.
DROPPED = {
    "train": (
        *("output", "start_from", "freeze", "pull", "lora_rank", "lora_alpha", "lora_matrices", "lora_dropout"),
        *("objective", "risk", "dual", "watch", "card_lines"),
    ),
    "data": ("augment", "replay", "replay_share", "general_test"),
    "tokenizer": ("extend", "shared"),
    "decode": ("language_model", "language_model_weight"),
}


def read_language_model(path: Path, overrides: Sequence[str]) -> tuple[RunConfig, frozenset[str]]:
    """The configuration of the language model of a run, and the keys that were given.

    `model.*` among the overrides are keys of the language model; the run's own [model] has no effect. Raises
    ConfigError.
    """
    config, user_keys = read_config(path, overrides, _change)
    model = config.model
    if not isinstance(model, LanguageModelConfig):
        raise ConfigError("model.architecture: --language-model trains a language model; leave the key out")
    language = model.language or config.project.target
    if language not in config.project.languages:
        known = ", ".join(config.project.languages)
        raise ConfigError(f"model.language: {language} is no language of this project; choose one of: {known}")
    name = f"{config.project.name}-lm-{language}"
    run = load_config(path)
    output = config.train.output if "train.output" in user_keys else output_of(run).with_name(name)
    config = config.model_copy(
        update={
            "project": config.project.model_copy(update={"name": name}),
            "model": model.model_copy(update={"language": language}),
            "train": config.train.model_copy(update={"output": output}),
        }
    )
    return config, user_keys


def shared_tokenizer(path: Path, language: str) -> Tokenizer:
    """The pieces that a translation run has for a language, as a tokenizer of one vocabulary.

    They are those of the run in its folder, or of its base model, or what the run will learn.
    """
    run = load_config(path)
    tokenizer = _tokenizer_of(run)
    side = tokenizer.target if run.project.target_side(language) else tokenizer.source
    return Tokenizer(side, side)


def _change(tree: dict[str, Any]) -> None:
    """What is altered in the file before the overrides are read."""
    tree["model"] = {"architecture": "language-model"}
    for name, keys in DROPPED.items():
        section = tree.get(name)
        if isinstance(section, dict):
            for key in keys:
                section.pop(key, None)
    train = tree.setdefault("train", {})
    if isinstance(train, dict):
        train["translate_lines"] = 0
    pieces = tree.setdefault("tokenizer", {})
    if isinstance(pieces, dict):
        pieces["joint"] = True  # one vocabulary: that of its language


def _tokenizer_of(run: RunConfig) -> Tokenizer:
    folder = output_of(run) / "tokenizer"
    if folder.is_dir():
        return Tokenizer.load(folder, run.tokenizer.shared)
    if run.train.start_from:
        return open_base_model(run.train.start_from).tokenizer
    return learn_tokenizer(run)


def write_language_model(run: Run, tokenizer: Tokenizer, model: EncoderDecoder, outcome: Outcome) -> tuple[Path, Score]:
    """Measure the finished model and write its bundle; its folder and its perplexity."""
    config, folder = run.config, run.folder / "model"
    assert isinstance(config.model, LanguageModelConfig)
    batches, _ = validation_batches(
        directions(config, config.data.test_corpora or config.data.valid_corpora),
        tokenizer,
        max_length=config.data.max_length,
        batch_tokens=4096,
    )
    loss = validation_loss(model.eval(), [batch.to(run.device) for batch in batches], run.device)
    on, perplexity = "test" if config.data.test else "valid", math.exp(loss)
    run.listener.notice(f"  perplexity {perplexity:.2f} per piece on {on}")
    write_bundle(
        folder,
        config=config,
        tokenizer=tokenizer,
        model=model,
        card=_card(config, model.parameter_count, len(tokenizer.target), outcome, f"{on}: {perplexity:.2f}"),
        facts={
            "languages": {"source": config.model.language, "target": config.model.language},
            "data": summary(run.reports),
            "training": asdict(outcome),
            "scores": [{"on": on, "metric": "perplexity per piece", "value": perplexity}],
        },
    )
    return folder, Score("perplexity per piece", perplexity, f"{on}, end of sentence counted")


def _card(config: RunConfig, parameters: int, pieces: int, outcome: Outcome, scores: str) -> str:
    assert isinstance(config.model, LanguageModelConfig)
    files = ", ".join(path.name for corpus in config.data.train for path in corpus.files)
    return f"""---
language: ["{config.model.language}"]
license: "{config.project.license}"
pipeline_tag: text-generation
---

# {config.project.name}: a language model of {config.model.language}

{title(config.model)} trained by Dragoman {__version__}: {parameters:,} parameters, \
{counted(config.model.layers, "layer")} of width {config.model.d_model}, {pieces:,} pieces.
It translates nothing: it says how probable a sentence of {config.model.language} is, for shallow fusion, dual
learning and the choice of text.

## Data and training

The sentences in {config.model.language} of {files}; {counted(outcome.step, "step")}, {outcome.target_tokens:,} tokens,
{outcome.seconds / 60:.1f} minutes. Perplexity per piece on {scores}.

## Licence

{config.project.license}
"""


class LineScorer:
    """A language model that says how surprising lines are. Raises ModelError for a translation model."""

    def __init__(self, bundle: Bundle, device: str = "auto") -> None:
        require_kind(bundle, language_model=True)
        self.tokenizer, self.engine = bundle.tokenizer, TorchEngine(bundle.load_model(), pick_device(device))

    def perplexities(self, lines: Sequence[str]) -> list[float]:
        """exp(−log P / pieces) of each line, its end counted as a piece."""
        ids = self.tokenizer.encode(lines, "target")
        scored = self.engine.score(queries([()] * len(ids)), ids)
        return [math.exp(min(-sum(log_probs) / len(log_probs), LARGEST)) for log_probs in scored]
