"""Training, a whole run: text files in, a model bundle out.

OUTPUT/config.toml, data.json     what the run was started with, compared on resume
OUTPUT/tokenizer/                 the SentencePiece models
OUTPUT/checkpoints/               see `dragoman.training.resume.checkpoint`
OUTPUT/metrics.jsonl              losses and scores over time
OUTPUT/model/                     the finished bundle
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path

import torch

from dragoman.bundle import Bundle, write_bundle
from dragoman.config import LanguageModelConfig, RunConfig
from dragoman.config.file import changed_keys, read_config, require_text
from dragoman.config.sizes import warmup_for
from dragoman.data.corpus.report import CorpusReport, require_usable, summary
from dragoman.engine.torch import TorchEngine
from dragoman.errors import ConfigError, Interrupted, counted
from dragoman.evaluation import Score
from dragoman.model.parts.device import pick_device
from dragoman.model.parts.network import EncoderDecoder
from dragoman.system.processes import sigterm_interrupts
from dragoman.text.terms.keep import check_keep
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.training.estimate.estimate import Estimate
from dragoman.training.loop import Trainer
from dragoman.training.report.loggers import MetricsLog, TensorBoardLog
from dragoman.training.report.reports import Outcome
from dragoman.training.resume.checkpoint import LOG
from dragoman.training.update.distributed import ProcessGroup, join_process_group, leave_process_group
from dragoman.training.update.threads import prepare_process
from dragoman.workflows.data.check import check_with_progress
from dragoman.workflows.evaluate.evaluate import TestSet
from dragoman.workflows.evaluate.held_out import golden_by_pair, score_by_pair, score_facts
from dragoman.workflows.evaluate.quality import measure_quality
from dragoman.workflows.listener import Listener, Listeners
from dragoman.workflows.models.origin import KEY, TITLE, derived_origin, origin_section
from dragoman.workflows.train.before_after import FineTuningReport, compare_with_base, section
from dragoman.workflows.train.costs import estimate_run, refuse_beyond_memory, training_workload, with_choices
from dragoman.workflows.train.finetune import (
    adapter_section,
    apply_base_model,
    base_file,
    describe_adapter,
    trained_adapter,
)
from dragoman.workflows.train.language_model import write_language_model
from dragoman.workflows.train.model_card import model_card
from dragoman.workflows.train.run_folder import (
    DATA_NOTE,
    begin,
    check_resumable,
    check_unused,
    lock_run,
    output_of,
    record_inputs,
    recorded_log,
    recorded_origin,
    restore_run,
    with_original_choices,
)
from dragoman.workflows.train.run_tokenizer import save_tokenizer
from dragoman.workflows.train.trainer import Run, build_trainer

MODEL_MISSING = "the model is not written yet; continue with --resume"


@dataclass(frozen=True)
class TrainResult:
    """A finished run.

    In a run of several processes only the main one has scores, once the model is written; the others return before.
    """

    model_path: Path
    """Folder of the model bundle."""
    outcome: Outcome
    scores: tuple[Score, ...] = ()
    """BLEU, chrF and TER on the test set, or on the validation set if there is no test set; of the first pair."""
    copying: tuple[Score, ...] = ()
    """The scores of the source text itself: what a model that translates nothing would get."""
    by_pair: Mapping[str, tuple[Score, ...]] = field(default_factory=dict)
    """The scores of each pair of languages by its name, such as `en-ko`."""
    estimate: Estimate | None = None
    """What the run was expected to cost when it started or resumed; None if that could not be known."""
    fine_tuning: FineTuningReport | None = None
    """The scores before and after fine-tuning; None without a base model."""
    doubts: tuple[str, ...] = ()
    """Why the model is no use yet, by its own loss and scores; empty for one that learned something."""


def train(
    config: RunConfig | str | PathLike[str],
    resume: bool = False,
    listeners: Iterable[Listener] = (),
    *,
    user_keys: Collection[str] | None = None,
    teacher: Bundle | None = None,
    tokenizer: Tokenizer | None = None,
    overrides: Sequence[str] = (),
) -> TrainResult:
    """Check the text, learn the tokenizer, train, score and write the model bundle.

    `config` is a configuration or the path of one. With `resume` the run continues from its last checkpoint.
    `user_keys` are the dotted keys that the user set, if `config` comes from `read_config`; otherwise those that are
    not the defaults count; `overrides` are the KEY=VALUE among them, which the run's folder keeps for its resumption.
    With a `teacher`, whose translations are the training text, its tokenizer is used and none is learned; so is a
    `tokenizer` that is given, to a language model. When torchrun starts several processes, all of them train and the
    main one does the rest.

    Raises ConfigError, ResumeError, DataError, DivergenceError, and Interrupted after a signal, with everything saved.
    """
    if not isinstance(config, RunConfig):
        config, user_keys = read_config(config)
    check_trainable(config)
    user_keys = changed_keys(config) if user_keys is None else user_keys
    folder = output_of(config)
    config, base = apply_base_model(config, user_keys, resume)
    prepare_process(config.train.threads, config.model.d_model)
    group, device = join_process_group(pick_device(config.train.device), config.train.peer_timeout)
    listener = Listeners(listeners if group.is_main else ())
    try:
        with group.raise_if_lost("outside the training steps"):
            refuse_beyond_memory(config, device, group)
            if resume:
                config = with_original_choices(folder, config, user_keys)
            reports = _check_data(config, folder, resume, listener) if group.is_main else ()
            with lock_run(folder) if group.is_main else nullcontext():
                run = Run(config, user_keys, folder, device, group, listener, reports, base, teacher, resume, overrides)
                return _train(replace(run, tokenizer=tokenizer))
    finally:
        leave_process_group()


def check_trainable(config: RunConfig, where: str = "configuration") -> None:
    """Raise ConfigError, which may start with `where`, for what would otherwise be refused after hours of work."""
    require_text(config, where)
    if isinstance(config.model, LanguageModelConfig) and not config.model.language:
        raise ConfigError("model.architecture: a language model is trained by `dragoman train --language-model`")
    check_keep(config.decode.keep, "decode.keep")  # which nothing reads before the finished model is scored


def _check_data(config: RunConfig, folder: Path, resume: bool, listener: Listeners) -> Sequence[CorpusReport]:
    """The reports on the text; nothing is written before it is known to be usable."""
    check_unused(folder)
    check_resumable(folder, config, resume)
    reports = check_with_progress(config, listener)
    if not resume:  # the findings are known
        listener.on_data(reports)
    require_usable(reports)
    return reports


def _train(run: Run) -> TrainResult:
    first_step = 0
    if run.group.is_main:
        check_resumable(run.folder, run.config, run.resume)  # another process may have trained here meanwhile
        if run.resume:
            first_step = restore_run(run.folder, run.listener.notice)
        else:
            begin(run.folder, run.overrides)
            run = save_tokenizer(run)
    first_step, replaced = run.group.broadcast((first_step, run.replaced))
    run = replace(run, replaced=replaced)
    tokenizer = Tokenizer.load(run.folder / "tokenizer", run.config.tokenizer.shared)
    processes = run.group.size
    workload = training_workload(run.config, tokenizer, run.reports, processes) if run.group.is_main else None
    chooses_warmup = run.config.train.warmup == "auto"
    run = with_choices(run, workload)
    refuse_beyond_memory(run.config, run.device, run.group, len(tokenizer.target))
    sources = base_file(run.config, run.base), derived_origin(run.base, run.teacher)
    inputs = run.config, run.reports, tokenizer, run.resume, run.overrides, *sources
    files = record_inputs(run.folder, *inputs) if run.group.is_main else {}
    trainer = build_trainer(run, tokenizer, first_step)
    trainer.run_files = files
    _describe(run, tokenizer, trainer)
    trainer.listeners.append(run.listener)
    if run.group.is_main:
        trainer.listeners.append(_metrics_log(run, first_step))
        if run.config.train.tensorboard:
            trainer.listeners.append(TensorBoardLog(run.folder / "tensorboard", first_step))
    if run.resume:
        trainer.resume(first_step)
        run.listener.notice(f"resumed at step {trainer.step:,}")
    trainer.prepare()
    estimate = estimate_run(trainer, workload) if run.group.is_main else None
    if estimate:
        run.listener.on_estimate(estimate)
    if run.config.train.max_minutes and not run.resume:
        steps = run.group.broadcast(estimate and estimate.steps)
        run = fit_warmup(run, trainer, steps, chooses_warmup)
        if run.group.is_main:  # again, as it may be shorter
            trainer.run_files = record_inputs(run.folder, run.config, *inputs[1:])
    outcome = trainer.fit()
    if not run.group.is_main:
        return TrainResult(run.folder / "model", outcome)
    run.listener.notice(f"done: {outcome.reason}; step {outcome.step:,}, validation loss {outcome.loss:.3f}")
    try:
        with sigterm_interrupts():
            result = write_model(run, tokenizer, trainer.final, outcome)
    except KeyboardInterrupt:
        raise Interrupted(f"trained to step {outcome.step:,}, saved, but {MODEL_MISSING}") from None
    doubts = tuple(_doubts(result, len(tokenizer.target)))
    for doubt in doubts:
        run.listener.on_warning(doubt)
    return replace(result, estimate=estimate, doubts=doubts)


def fit_warmup(run: Run, trainer: Trainer, steps: int | None, chooses: bool) -> Run:
    """The run whose warm-up ends in time where train.max_minutes ends it after about `steps`; None if that is unknown.

    An `auto` that was chosen for max_steps, where it `chooses`, is chosen again; a number of the user's is warned of.
    """
    train = run.config.train
    if steps is None or steps >= train.total_steps:
        return run
    fitting = warmup_for(steps, train.start_from is not None)
    if not chooses:
        if steps <= train.warmup_steps <= train.total_steps:  # a warm-up longer than the run is warned of anyway
            run.listener.on_warning(
                f"train.warmup: {train.warmup_steps:,} steps, but about {steps:,} fit into train.max_minutes = "
                f'{train.max_minutes:g}: the learning rate does not reach its peak; set it to "auto"'
            )
        return run
    if fitting >= train.warmup_steps:
        return run
    run.listener.notice(
        f"warmup {fitting:,}, as about {steps:,} steps fit into train.max_minutes={train.max_minutes:g}"
    )
    trainer.config = _with_warmup(trainer.config, fitting)
    return replace(run, config=_with_warmup(run.config, fitting))


def _with_warmup(config: RunConfig, steps: int) -> RunConfig:
    return config.model_copy(update={"train": config.train.model_copy(update={"warmup": steps})})


def _doubts(result: TrainResult, vocab: int) -> Iterator[str]:
    """What shows that a model has learned nothing yet; `vocab` is the number of target pieces."""
    loss, guessing = result.outcome.loss, math.log(vocab)
    if loss > guessing:
        above = f"the validation loss, {loss:.2f}, is above ln V = {guessing:.2f}"
        yield f"{above}, that of guessing: it learned nothing yet"
    for score, copied in zip(result.scores[:1], result.copying[:1], strict=False):  # a language model copies nothing
        if score.value < copied.value:
            yield (
                f"{score.name} {score.value:.1f} is below that of copying the source, {copied.value:.1f}: the model "
                "does not translate yet"
            )


def _metrics_log(run: Run, first_step: int) -> MetricsLog:
    log = MetricsLog(run.folder / LOG, first_step, recorded_log(run.folder, first_step) if first_step else None)
    if log.fault:
        run.listener.notice(f"{log.path}: {log.fault}")
    return log


def write_model(run: Run, tokenizer: Tokenizer, model: EncoderDecoder, outcome: Outcome) -> TrainResult:
    """Score the finished weights and write them as the bundle of the run. Raises DragomanError if writing fails."""
    config = run.config
    if isinstance(config.model, LanguageModelConfig):
        folder, perplexity = write_language_model(run, tokenizer, model, outcome)
        return TrainResult(folder, outcome, (perplexity,))
    engine = TorchEngine(model, run.device)
    alone = config.decode.model_copy(update={"language_model": None})  # the card is about this model
    config = config.model_copy(update={"decode": alone})
    options = alone.model_copy(update={"confidence": False})  # it is learned below
    scored = score_by_pair(config, tokenizer, engine, options, run.listener)
    first = scored[0]
    test_set = TestSet(first.text.sources, first.text.references)
    of_base = lambda base: TorchEngine(base.load_model(), run.device)  # noqa: E731
    report = compare_with_base(config, run.base, of_base, (tokenizer, engine), scored, run.listener)
    quality = measure_quality(first.translator, config, test_set, first.translations, run.listener)
    origin = recorded_origin(run.folder / DATA_NOTE)
    compared = {"Compared with the base model": section(report)} if report else {}
    adapter = trained_adapter(run, outcome.averaged) if config.train.lora_rank and run.base else None
    write_bundle(
        run.folder / "model",
        config=config,
        tokenizer=tokenizer,
        model=model,
        card=model_card(
            config,
            model.parameter_count,
            len(tokenizer.source),
            outcome,
            run.reports,
            scored,
            teacher=run.teacher.manifest["name"] if run.teacher else None,
            sections=({TITLE: origin_section(origin)} if origin else {})
            | adapter_section(adapter)
            | compared
            | quality.sections,
            base_training=run.base.manifest.get("training") if run.base else None,
        ),
        facts={
            "data": summary(run.reports),
            "training": asdict(outcome),
            "scores": score_facts(config, scored),
            **({"fine_tuning": asdict(report)} if report else {}),
            **({KEY: origin} if origin else {}),
            **quality.facts,
        },
        files=quality.files,
        golden=golden_by_pair(config, tokenizer, TorchEngine(model, run.device, precision="float32")),
        adapter=adapter,
    )
    by_pair = {scored_text.text.pair.name: tuple(scored_text.scores) for scored_text in scored}
    result = TrainResult(run.folder / "model", outcome, tuple(first.scores), tuple(first.copying), by_pair)
    return replace(result, fine_tuning=report)


def _describe(run: Run, tokenizer: Tokenizer, trainer: Trainer) -> None:
    config, shape, group = run.config, run.config.model, run.group
    pieces = f"{len(tokenizer.source):,}" + ("" if tokenizer.joint else f" and {len(tokenizer.target):,}")
    pairs = ", ".join(f"{pair.source} → {pair.target}" for pair in config.project.all_pairs)
    run.listener.notice(
        f"{pairs}: {trainer.final.parameter_count / 1e6:.1f} M parameters, "
        f"{shape.encoder_layers} + {shape.decoder_layers} layers of width {shape.d_model}, {pieces} pieces"
    )
    if config.train.lora_rank:
        run.listener.notice(describe_adapter(config, trainer.model.parameter_count, trainer.final.parameter_count))
    threads = torch.get_num_threads()
    run.listener.notice(
        f"{run.device} with {counted(threads, 'thread')}"
        + (f" in each of {group.size} processes ({config.train.parallel})" if group.size > 1 else "")
        + f", seed {config.train.seed}"
    )
    for warning in _ignored_keys(config, run.user_keys, group):
        run.listener.on_warning(warning)


def _ignored_keys(config: RunConfig, user_keys: Collection[str], group: ProcessGroup) -> list[str]:
    """Warnings about keys that the user gave and that have no effect with the others."""
    train = config.train
    warnings = {
        'train.parallel: "fsdp" has no effect in a single process; start several with torchrun': (
            train.parallel == "fsdp" and group.size == 1
        ),
        'train.accumulate: has no effect with train.batch_tokens = "auto"; set train.update_tokens instead': (
            train.batch_tokens == "auto" and "train.accumulate" in user_keys
        ),
        "train.r_drop: with model.dropout = 0 both passes are the same, so it only doubles the time": (
            train.r_drop > 0 and config.model.dropout == 0
        ),
        'model.dropout: has no effect with train.objective = "risk", which trains without': (
            train.objective == "risk" and "model.dropout" in user_keys
        ),
        f"train.warmup: {train.warmup_steps:,} steps of a run of {train.total_steps:,}: the learning rate does not "
        'reach its peak; set it to "auto"': train.warmup_steps > train.total_steps,
        f'train.objective: "{train.objective}" is meant for a trained model; set train.start_from': (
            train.objective != "likelihood" and not train.start_from
        ),
    }
    return [warning for warning, holds in warnings.items() if holds]
