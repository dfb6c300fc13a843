"""A `Trainer` for a run: the model, its batches, the validation, and how an update is divided into micro-batches."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.config import DecodeConfig, RunConfig
from dragoman.data.batches.batch import Batch, Example
from dragoman.data.batches.stream import BatchStream, validation_batches
from dragoman.data.corpus.directions import directions
from dragoman.data.corpus.report import CorpusReport
from dragoman.engine.torch import TorchEngine
from dragoman.errors import counted
from dragoman.evaluation import bleu, chrf
from dragoman.model.build import build_network, require_transformer
from dragoman.model.initialise import can_initialise_from, initialise_from_base, initialise_from_teacher
from dragoman.model.parts.network import EncoderDecoder
from dragoman.model.transformer import Transformer
from dragoman.text.terms.symbols import Symbols
from dragoman.text.tokens.extension import Ids
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.training.estimate.fitting import find_micro_batch, fits_predicate
from dragoman.training.loop import Trainer
from dragoman.training.report.reports import TranslationScores
from dragoman.training.resume.checkpoint import read_progress
from dragoman.training.resume.pull import Pull, read_start, save_start
from dragoman.training.update.distributed import ProcessGroup
from dragoman.training.update.freezing import freeze
from dragoman.workflows.evaluate.held_out import held_out_by_pair
from dragoman.workflows.listener import Listeners
from dragoman.workflows.train.both_directions import BothDirections
from dragoman.workflows.train.replay import replay_weight, with_replay
from dragoman.workflows.train.sampled import RiskSampler

Completion = Callable[[EncoderDecoder, Batch, int], Batch]


@dataclass(frozen=True)
class Run:
    """What one run, or one process of it, is made of."""

    config: RunConfig
    user_keys: Collection[str]
    """The dotted keys that the user set."""
    folder: Path
    device: torch.device
    group: ProcessGroup
    listener: Listeners
    reports: Sequence[CorpusReport]
    """What the check of the text found; empty in all processes but the main one."""
    base: Bundle | None
    """The model that fine-tuning starts from."""
    teacher: Bundle | None
    """The model that distillation learns from."""
    resume: bool
    overrides: Sequence[str] = ()
    """The KEY=VALUE that the configuration was read with."""
    replaced: tuple[Sequence[Ids], Sequence[Ids]] = ((), ())
    """For source and target, the ids of the base model that each piece of `tokenizer.extend` replaces."""
    tokenizer: Tokenizer | None = None
    """The tokenizer that a language model shares with translation models; None: that of a base, or a new one."""


def build_trainer(run: Run, tokenizer: Tokenizer, first_step: int) -> Trainer:
    """The trainer of the run, its weights initialised, before it resumes at `first_step`, which is 0 for a new run."""
    config, checkpoints = run.config, run.folder / "checkpoints"
    model = _initial_model(run, tokenizer)
    if run.resume:  # the sizes found at the start stay: another choice could give other updates
        before = read_progress(checkpoints, first_step)
        tokens, accumulate = before.batch_tokens, before.accumulate
    else:
        tokens, accumulate = _micro_batches(run, model.to(run.device))
    replay = replay_weight(config.data, run.reports) if config.data.replay and run.group.is_main else 0.0
    data = with_replay(config.data, run.group.broadcast(replay)) if config.data.replay else config.data
    complete, terms = completion(run, tokenizer)
    text = directions(config, data.train)
    if config.train.objective == "dual":  # each pair once: the other direction completes it
        text = [direction for direction in text if not direction.reverse]
    stream = BatchStream(
        data,
        tokenizer,
        batch_tokens=tokens,
        seed=config.train.seed,
        sampling=config.tokenizer.sampling,
        rank=run.group.rank,
        world=run.group.size,
        few_shapes=config.train.compile,
        directions=text,
        terms=terms,
        symbols=Symbols.of(config, tokenizer.symbols),
    )
    valid, skipped = validation_batches(
        directions(config, config.data.valid_corpora),
        tokenizer,
        max_length=config.data.max_length,
        batch_tokens=tokens,
        symbols=Symbols.of(config, tokenizer.symbols),
    )
    if skipped.count:
        run.listener.notice(
            f"valid: {counted(skipped.count, 'pair')} over data.max_length not used, the first at {skipped.first}"
        )
    train = config.train.model_copy(update={"batch_tokens": tokens, "accumulate": accumulate})
    start = _start_of(run, model) if train.pull else {}
    trainer = Trainer(
        config.model_copy(update={"train": train}),
        model,
        stream,
        valid,
        folder=checkpoints,
        device=run.device,
        translate=validator(tokenizer, config, run.device) if run.group.is_main else None,
        group=run.group,
    )
    trainer.complete = complete
    if train.pull:
        trainer.optimizer.register_step_post_hook(Pull(trainer.model, start, train.pull))
    return trainer


def completion(run: Run, tokenizer: Tokenizer) -> tuple[Completion | None, Callable[[Example], int] | None]:
    """What adds to a batch what its objective needs, and the terms of the loss that a pair has; None for likelihood."""
    train = run.config.train
    if train.objective == "risk":
        return RiskSampler(train.risk, tokenizer, train.seed, run.device), lambda example: 1
    if train.objective == "dual":
        return BothDirections(
            run.config, tokenizer, run.device
        ), lambda example: len(example.source) + 1 + (example.target_tokens)
    return None, None


def _start_of(run: Run, model: EncoderDecoder) -> dict[str, Tensor]:
    """The weights at the start of the run, which its folder holds; `model` has them in a new run."""
    if run.resume:
        return read_start(run.folder, model)
    start = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    if run.group.is_main:
        save_start(run.folder, start)
    return start


def _initial_model(run: Run, tokenizer: Tokenizer) -> EncoderDecoder:
    """A model with random weights, or with those of the base model, or with layers of the teacher."""
    config, teacher = run.config, run.teacher
    torch.manual_seed(config.train.seed)
    shape = config.model
    if config.train.objective == "risk":  # what is sampled and what is scored are the same distribution
        shape = shape.model_copy(update={"dropout": 0.0})
    model = build_network(shape, len(tokenizer.source), len(tokenizer.target))
    if run.base:
        initialise_from_base(model, run.base.load_model(), run.replaced)
    alike = teacher and teacher.has_weights and can_initialise_from(config.model, teacher.config.model)
    if teacher and alike and not run.resume and isinstance(model, Transformer):
        initialise_from_teacher(model, require_transformer(teacher.load_model(), "distil"))
        run.listener.notice(f"the student is initialised with layers of {teacher.folder}")
    freeze(model, config.train.freeze)
    return model


def validator(
    tokenizer: Tokenizer, config: RunConfig, device: torch.device
) -> Callable[[EncoderDecoder], TranslationScores] | None:
    """Greedy translation of the first `train.translate_lines` validation sentences, scored; None for no lines.

    The scores of several pairs of languages are the mean of those of each.
    """
    if not config.train.translate_lines:
        return None
    texts = held_out_by_pair(config, config.data.valid_corpora, config.train.translate_lines)
    symbols = Symbols.of(config, tokenizer.symbols)
    greedy = DecodeConfig(beam=1)  # not [decode]: scores of runs with different searches stay comparable

    def translate(model: EncoderDecoder) -> TranslationScores:
        engine, translations, by_pair = TorchEngine(model, device), list[list[str]](), dict[str, dict[str, float]]()
        for text in texts:
            translator = text.translator(tokenizer, engine, greedy, symbols=symbols)
            translations.append([translation.text for translation in translator.translate(text.sources)])
            scores = {
                "bleu": bleu(translations[-1], text.references).value,
                "chrf": chrf(translations[-1], text.references).value,
            }
            by_pair[text.pair.name] = scores
        sample = len(translations[0]) // 2
        return TranslationScores(
            mean(scores["bleu"] for scores in by_pair.values()),
            mean(scores["chrf"] for scores in by_pair.values()),
            texts[0].sources[sample],
            translations[0][sample],
            texts[0].references[sample],
            by_pair if len(by_pair) > 1 else {},
        )

    return translate


def _micro_batches(run: Run, model: EncoderDecoder) -> tuple[int, int]:
    """Tokens of a micro-batch, and how many of them each process accumulates into an update."""
    train, group = run.config.train, run.group
    if train.batch_tokens != "auto":
        return train.batch_tokens, train.accumulate
    sizes = None
    if group.is_main:
        sizes = find_micro_batch(train.update_tokens, group.size, fits_predicate(model, train, run.device))
        run.listener.notice(f"an update of {train.update_tokens:,} tokens is {sizes[1]} × {sizes[0]:,} of each process")
    tokens, accumulate = group.broadcast(sizes)
    return tokens, accumulate
