"""`dragoman train`: the composition of a whole run, from text files to a model bundle.

OUTPUT/config.toml, data.json     what the run is made of, compared on --resume
OUTPUT/tokenizer/                 pieces
OUTPUT/checkpoints/               see `dragoman.training.checkpoint`
OUTPUT/metrics.jsonl              numbers over time
OUTPUT/model/                     the finished bundle
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import torch

from dragoman.bundle import Bundle, write_bundle
from dragoman.cli.console import program, say, silence
from dragoman.cli.data import say_reports
from dragoman.cli.evaluate import score_all
from dragoman.cli.progress import TrainingDisplay
from dragoman.config import CorpusConfig, DecodeConfig, RunConfig
from dragoman.config.file import changed_keys, read_config
from dragoman.data.check import CorpusReport, check_data, summary
from dragoman.data.corpus import read_pairs, sample_pairs
from dragoman.data.stream import BatchStream, validation_batches
from dragoman.engine.torch import TorchEngine
from dragoman.evaluation import Score, bleu, chrf
from dragoman.exporting.golden import COUNT as GOLDEN
from dragoman.exporting.golden import golden_sentences, golden_text
from dragoman.model.device import keep_few_kernels, keep_freed_memory, pick_device
from dragoman.model.inherit import inherit, may_inherit
from dragoman.model.transformer import Transformer
from dragoman.storage import atomic_folder
from dragoman.text.tokenizer import Tokenizer, learn
from dragoman.training.checkpoint import read_progress, resumable_steps
from dragoman.training.distributed import ProcessGroup, join_process_group, leave_process_group
from dragoman.training.fitting import divide_update, fitting
from dragoman.training.log import MetricsLog, Outcome, TensorBoardLog
from dragoman.training.loop import Trainer
from dragoman.training.validation import TranslationScores
from dragoman.translator import Translator
from dragoman.workflows.finetune import apply_base_model
from dragoman.workflows.model_card import model_card
from dragoman.workflows.run_folder import check_resumable, lock_run, output_of, record_inputs


def train_from_file(path: Path, overrides: Sequence[str], resume: bool) -> None:
    """Run `path` and say what to type next."""
    config, given = read_config(path, overrides)
    model = train_run(config, given, resume=resume)
    if not model:
        return
    say(f"\nThe model is in {model}. Next:")
    say(f'  {program()} translate -m {model} "…"\n  {program()} model show {model}')


def train_run(
    config: RunConfig, given: Collection[str] | None = None, *, resume: bool = False, teacher: Bundle | None = None
) -> Path | None:
    """Check, learn pieces, train, score, write the bundle; the bundle's folder.

    `given` are the dotted keys that the user set, from `read_config`; unless known, those that are not the defaults.
    With a `teacher`, whose translations are the training text, its pieces are kept and none learned. Started by
    torchrun, every process trains; the first one does the rest, and the others return None.
    """
    folder = output_of(config)
    config, start = apply_base_model(config, given, resume)
    if config.train.threads:
        torch.set_num_threads(config.train.threads)
    keep_freed_memory()
    keep_few_kernels(config.model.d_model)
    group, device = join_process_group(pick_device(config.train.device), config.train.peer_timeout)
    try:
        with silence(not group.is_main), group.raise_if_lost("outside the training steps"):
            reports = _checked(config, folder, resume) if group.is_main else []
            with lock_run(folder) if group.is_main else nullcontext():
                return _run(config, folder, device, group, reports, start, teacher, resume)
    finally:
        leave_process_group()


def _checked(config: RunConfig, folder: Path, resume: bool) -> list[CorpusReport]:
    """What there is to learn from; nothing is written before it has been found sound."""
    check_resumable(folder, config, resume)
    reports = check_data(config.data)
    say_reports(reports)
    return reports


def _run(
    config: RunConfig,
    folder: Path,
    device: torch.device,
    group: ProcessGroup,
    reports: Sequence[CorpusReport],
    start: Bundle | None,
    teacher: Bundle | None,
    resume: bool,
) -> Path | None:
    if group.is_main:
        check_resumable(folder, config, resume)  # another process may have trained here while the text was read
        if not resume:
            _save_tokenizer(folder, config, start or teacher)
    group.barrier()
    tokenizer = Tokenizer.load(folder / "tokenizer")
    if group.is_main:
        record_inputs(folder, config, reports, tokenizer, resume)
    trainer = _trainer(config, tokenizer, folder, device, group, start, teacher, resume)
    _describe(config, tokenizer, trainer.final, device, group)
    with TrainingDisplay(config.train) as display:
        trainer.listeners.append(display)
        if group.is_main:
            begun = resumable_steps(folder / "checkpoints")[-1] if resume else 0
            trainer.listeners.append(MetricsLog(folder / "metrics.jsonl", begun))
            if config.train.tensorboard:
                trainer.listeners.append(TensorBoardLog(folder / "tensorboard", begun))
        if resume:
            trainer.resume()
            say(f"resumed at step {trainer.step:,}")
        outcome = trainer.fit()
    if not group.is_main:
        return None
    _hand_over(config, folder, device, tokenizer, trainer.final, outcome, reports, teacher)
    return folder / "model"


def _hand_over(
    config: RunConfig,
    folder: Path,
    device: torch.device,
    tokenizer: Tokenizer,
    model: Transformer,
    outcome: Outcome,
    reports: Sequence[CorpusReport],
    teacher: Bundle | None,
) -> None:
    """Score the finished model and write its bundle."""
    say(f"done: {outcome.reason}; step {outcome.step:,}, validation loss {outcome.loss:.3f}")
    engine = TorchEngine(model, device)
    longest, language = config.data.max_length, config.project.source
    translator = Translator(tokenizer, engine, config.decode, longest=longest, language=language)
    scores, copying = _score(translator, config.data.test or config.data.valid)
    for score, copied in zip(scores, copying, strict=True):
        say(f"  {score.name} {score.value:.1f} (copying the source: {copied.value:.1f})  {score.signature}")
    watched = [pair.source for pair in islice(read_pairs(config.data.valid), GOLDEN)]
    write_bundle(
        folder / "model",
        config=config,
        tokenizer=tokenizer,
        model=model,
        card=model_card(
            config,
            model.parameter_count,
            len(tokenizer.source),
            outcome,
            reports,
            scores,
            copying,
            teacher=teacher.manifest["name"] if teacher else None,
        ),
        facts={"data": summary(reports), "training": asdict(outcome), "scores": _facts(config, scores)},
        golden=golden_text(golden_sentences(tokenizer, engine, config.decode, watched)),
    )


def validator(
    tokenizer: Tokenizer, config: RunConfig, device: torch.device
) -> Callable[[Transformer], TranslationScores] | None:
    """Greedy translation of the first `train.translate_lines` validation sentences, scored; None for no lines."""
    pairs = list(islice(read_pairs(config.data.valid), config.train.translate_lines))
    if not pairs:
        return None
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    greedy = DecodeConfig(beam=1)  # whatever [decode] asks for: runs are compared by it, and it may be watched

    def translate(model: Transformer) -> TranslationScores:
        found = Translator(tokenizer, TorchEngine(model, device), greedy).translate(sources)
        texts = [translation.text for translation in found]
        sample = len(texts) // 2
        return TranslationScores(
            bleu(texts, references).value,
            chrf(texts, references).value,
            sources[sample],
            texts[sample],
            references[sample],
        )

    return translate


def _trainer(
    config: RunConfig,
    tokenizer: Tokenizer,
    folder: Path,
    device: torch.device,
    group: ProcessGroup,
    start: Bundle | None,
    teacher: Bundle | None,
    resume: bool,
) -> Trainer:
    checkpoints = folder / "checkpoints"
    torch.manual_seed(config.train.seed)
    model = Transformer(config.model, len(tokenizer.source), len(tokenizer.target))
    if start:
        model.load_state_dict(start.load_model().state_dict())
    if teacher and not resume and may_inherit(config.model, teacher.config.model):
        inherit(model, teacher.load_model())
        say(f"the student begins with layers of {teacher.folder}")
    if resume:  # what was found then holds: found anew, an update could be another one
        before = read_progress(checkpoints, resumable_steps(checkpoints)[-1])
        tokens, accumulate = before.batch_tokens, before.accumulate
    else:
        tokens, accumulate = _micro_batches(config, model.to(device), device, group)
    stream = BatchStream(
        config.data,
        tokenizer,
        batch_tokens=tokens,
        seed=config.train.seed,
        sampling=config.tokenizer.sampling,
        rank=group.rank,
        world=group.size,
        few_shapes=config.train.compile,
    )
    valid, skipped = validation_batches(
        config.data.valid,
        tokenizer,
        max_length=config.data.max_length,
        batch_tokens=tokens,
    )
    if skipped.count:
        say(f"valid: {skipped.count:,} pairs over data.max_length are not watched, the first at {skipped.first}")
    train = config.train.model_copy(update={"batch_tokens": tokens, "accumulate": accumulate})
    return Trainer(
        config.model_copy(update={"train": train}),
        model,
        stream,
        valid,
        folder=checkpoints,
        device=device,
        translate=validator(tokenizer, config, device) if group.is_main else None,
        group=group,
    )


def _micro_batches(config: RunConfig, model: Transformer, device: torch.device, group: ProcessGroup) -> tuple[int, int]:
    """Tokens of a micro-batch, and how many of them a process accumulates."""
    train = config.train
    if train.batch_tokens != "auto":
        return train.batch_tokens, train.accumulate
    found = None
    if group.is_main:
        found = divide_update(train.update_tokens, group.size, fitting(model, train, device))
        say(f"an update of {train.update_tokens:,} tokens is {found[1]} × {found[0]:,} of each process")
    tokens, accumulate = group.broadcast(found)
    return tokens, accumulate


def _score(translator: Translator, corpus: CorpusConfig) -> tuple[list[Score], list[Score]]:
    """The model's scores on a corpus, and those of copying the source."""
    pairs = list(read_pairs(corpus))
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    translations = [translation.text for translation in translator.stream(sources)]
    return score_all(translations, references), score_all(sources, references)


def _facts(config: RunConfig, scores: Sequence[Score]) -> list[dict[str, object]]:
    on = "test" if config.data.test else "valid"
    return [{"on": on, "metric": s.name, "value": s.value, "signature": s.signature} for s in scores]


def _save_tokenizer(folder: Path, config: RunConfig, kept: Bundle | None) -> None:
    if kept:
        say(f"{'starting' if config.train.start_from else 'learning'} from {kept.folder}, its pieces kept")
        tokenizer = kept.tokenizer
    else:
        say("learning the pieces")
        # The same sample whatever train.seed is: models of several seeds share their pieces and translate together.
        tokenizer = learn(sample_pairs(config.data.train, config.tokenizer.sample, seed=1), config.tokenizer)
    with atomic_folder(folder / "tokenizer") as partial:
        tokenizer.save(partial)


def _describe(
    config: RunConfig, tokenizer: Tokenizer, model: Transformer, device: torch.device, group: ProcessGroup
) -> None:
    shape = config.model
    pieces = f"{len(tokenizer.source):,}" + ("" if tokenizer.joint else f" and {len(tokenizer.target):,}")
    say(
        f"{config.project.source} → {config.project.target}: {model.parameter_count / 1e6:.1f} M parameters, "
        f"{shape.encoder_layers} + {shape.decoder_layers} layers of width {shape.d_model}, {pieces} pieces, "
        f"{device} with {torch.get_num_threads()} threads"
        + (f" in each of {group.size} processes ({config.train.parallel})" if group.size > 1 else "")
        + f", seed {config.train.seed}"
    )
    for notice in _without_effect(config, group):
        say(notice, style="yellow")


def _without_effect(config: RunConfig, group: ProcessGroup) -> list[str]:
    """Keys that were given and that other keys leave nothing to do."""
    train = config.train
    notices = {
        'train.parallel: "fsdp" has no effect in a process alone; start several by torchrun': (
            train.parallel == "fsdp" and group.size == 1
        ),
        'train.accumulate: has no effect with train.batch_tokens = "auto"; train.update_tokens is an update\'s size': (
            train.batch_tokens == "auto" and "train.accumulate" in changed_keys(config)
        ),
        "train.r_drop: with model.dropout = 0 its two passes are one and the same, for twice the time": (
            train.r_drop > 0 and config.model.dropout == 0
        ),
    }
    return [notice for notice, holds in notices.items() if holds]
