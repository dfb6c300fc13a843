"""The tokenizer of a run: learned from its text, or that of its base model or teacher, if asked with more pieces."""

from collections.abc import Sequence
from dataclasses import replace

from dragoman.config import RunConfig
from dragoman.data.corpus.directions import directions, sample_directions
from dragoman.errors import counted
from dragoman.system.files import atomic_folder
from dragoman.text.terms.symbols import Symbols, symbol
from dragoman.text.tokens.extension import Extension, extend, with_symbols
from dragoman.text.tokens.tokenizer import Tokenizer, learn
from dragoman.workflows.models.origin import derived_origin, licence
from dragoman.workflows.train.finetune import other_pair_warning
from dragoman.workflows.train.trainer import Run

# Pairs from which the pieces of `tokenizer.extend` are learned at most: they are frequent, or not worth it.
EXTENSION_SAMPLE = 100_000


def save_tokenizer(run: Run) -> Run:
    """Write the tokenizer into the folder of the run; the run, which knows what new pieces replace."""
    config, replaced = run.config, run.replaced
    if run.tokenizer:
        tokenizer = run.tokenizer
    elif bundle := run.base or run.teacher:
        action = "fine-tuning" if run.base else "distilling"
        run.listener.notice(f"{action} {bundle.folder} with its tokenizer")
        if origin := derived_origin(run.base, run.teacher):
            run.listener.notice(f"its licence binds what is made from it: {licence(origin)}")
        if run.base and (warning := other_pair_warning(config, run.base)):
            run.listener.on_warning(warning)
        tokenizer = bundle.tokenizer
        if config.data.protect and run.base and not tokenizer.symbols:
            extension = with_symbols(tokenizer, config.tokenizer.placeholders)
            tokenizer, replaced = extension.tokenizer, extension.replaced
            run.listener.notice(f"{counted(config.tokenizer.placeholders, 'symbol')} for placeholders added")
        if config.tokenizer.extend and run.base:
            extension = _extended(run, tokenizer)
            tokenizer = extension.tokenizer
            replaced = ([*replaced[0], *extension.replaced[0]], [*replaced[1], *extension.replaced[1]])
    else:
        run.listener.notice("learning the tokenizer")
        tokenizer = learn_tokenizer(config)
    with atomic_folder(run.folder / "tokenizer") as partial:
        tokenizer.save(partial)
    return replace(run, replaced=replaced)


def learn_tokenizer(config: RunConfig) -> Tokenizer:
    """The tokenizer of the training text; a vocabulary of one side has the texts that are sources in any direction."""
    project, corpus_directions = config.project, directions(config, config.data.train)
    if config.tokenizer.joint:
        corpus_directions = [direction for direction in corpus_directions if not direction.reverse]
    # The same sample for every train.seed: models of several seeds share a tokenizer and can form an ensemble.
    pairs = sample_directions(corpus_directions, config.tokenizer.sample)
    return learn_from(pairs, config, project.source_marks, project.target_marks)


def learn_from(
    pairs: Sequence[tuple[str, str]],
    config: RunConfig,
    source_marks: Sequence[str] = (),
    target_marks: Sequence[str] = (),
) -> Tokenizer:
    """The tokenizer of these pairs, with the symbols of a run that protects placeholders."""
    keys = config.tokenizer
    if config.data.protect:
        symbols = [symbol(number) for number in range(keys.placeholders)]
        pairs = Symbols.of(config, symbols).mask_pairs(pairs)
        every = dict.fromkeys([*keys.user_defined_symbols, *symbols])
        keys = keys.model_copy(update={"user_defined_symbols": tuple(every)})
    return learn(pairs, keys, source_marks, target_marks)


def _extended(run: Run, tokenizer: Tokenizer) -> Extension:
    wanted = run.config.tokenizer.extend
    corpus_directions = directions(run.config, run.config.data.train)
    pairs = sample_directions(corpus_directions, min(run.config.tokenizer.sample, EXTENSION_SAMPLE))
    pairs = Symbols.of(run.config, tokenizer.symbols).mask_pairs(pairs)
    extension = extend(tokenizer, pairs, wanted)
    count = max(map(len, extension.replaced))
    shorter = 1 - extension.tokens_after / max(1, extension.tokens_before)
    few = f", all that occur often enough of {wanted:,}" if count < wanted else ""
    run.listener.notice(f"{counted(count, 'piece')} added{few}; the training text has {shorter:.1%} fewer tokens")
    return extension
