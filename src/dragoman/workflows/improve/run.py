"""The run of an improvement: which corrections it learns from, and its configuration.

The corrections are few and the text that is replayed is much: an epoch has all corrections and a share of other pairs,
which change from epoch to epoch, so that a correction is seen often and nothing else is seen twice in a row.
"""

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle
from dragoman.config import CorpusConfig, RunConfig
from dragoman.config.file import read_config
from dragoman.config.sizes import epochs_for
from dragoman.errors import ConfigError
from dragoman.system.files import write_text_atomically
from dragoman.workflows.improve.corrections import Correction
from dragoman.workflows.improve.text import Texts
from dragoman.workflows.train.project import PEAK, PEAK_WARMUP

REPLAY_SHARE = 0.8
# From this number of corrections on, one of PART is held out, but not more than MOST_HELD_OUT.
HOLD_OUT_FROM, PART, MOST_HELD_OUT = 50, 10, 200
BATCH_TOKENS, NEVER = 2048, 1_000_000
# Steps at least, and the pairs of a step, about: ten corrections are seen fifty times, a thousand twenty times.
FEWEST_STEPS, PAIRS_OF_STEP = 40, 60
# Of the pull toward the weights of the base (L2-SP), chosen with the other keys (decision 0045).
PULL = 100.0


def hold_out(corrections: Sequence[Correction]) -> tuple[list[Correction], list[Correction]]:
    """The corrections to learn from, and those that are kept to test with; none of few. The same for the same ones."""
    if len(corrections) < HOLD_OUT_FROM:
        return list(corrections), []
    order = sorted(corrections, key=lambda correction: (correction.pair, correction.source, correction.target))
    chosen = random.Random("held out").sample(range(len(order)), min(MOST_HELD_OUT, len(order) // PART))
    held_out = {id(order[index]) for index in chosen}
    return (
        [correction for correction in corrections if id(correction) not in held_out],
        [order[index] for index in sorted(chosen)],
    )


def refuse_own_keys(overrides: Sequence[str]) -> None:
    """Raise ConfigError for keys that an improvement sets itself."""
    for override in overrides:
        key = override.partition("=")[0].strip()
        free = key.startswith("train.") and key not in ("train.output", "train.start_from")
        if not free and key not in ("data.replay_share", "model.dropout"):
            raise ConfigError(
                f"{key}: is set by `improve`; keys of [train], data.replay_share and model.dropout may be"
            )


def check_keys(work: Path, bundle: Bundle, name: str, overrides: Sequence[str]) -> None:
    """Raise ConfigError for a wrong override before a model translates text."""
    languages = bundle.config.project.all_pairs[0].name if bundle.config.project.pairs else ""
    some = (CorpusConfig(source=work / "some.source", target=work / "some.target", languages=languages),)
    run_config(work, bundle, bundle.folder, name, Texts(some, some, some, by_model=True), some, 1, overrides)


def steps_for(corrections: int) -> int:
    """The steps for this many corrections."""
    pairs = corrections / (1 - REPLAY_SHARE)
    return max(FEWEST_STEPS, math.ceil(epochs_for(corrections, tuning=True) * pairs / PAIRS_OF_STEP))


def run_config(
    work: Path,
    bundle: Bundle,
    base: Path,
    name: str,
    texts: Texts,
    corrections: Sequence[CorpusConfig],
    learned: int,
    overrides: Sequence[str],
) -> tuple[RunConfig, frozenset[str]]:
    """The configuration of the run in `work`, which learns from `learned` corrections, and the keys that it sets.

    Raises ConfigError for a wrong override.
    """
    import tomli_w

    base_config = bundle.config
    tree: dict[str, Any] = {
        "project": base_config.project.model_copy(update={"name": name}).model_dump(mode="json"),
        "data": {
            "train": _plain(corrections),
            "replay": _plain(texts.replay),
            "replay_share": REPLAY_SHARE,
            "valid": _plain(texts.valid),
            "test": _plain(texts.test),
            "max_length": base_config.data.max_length,
        },
        "model": {"dropout": 0.1},
        "train": {
            "output": str(work / "run"),
            "start_from": str(base.absolute()),
            "learning_rate": PEAK * (base_config.model.d_model * PEAK_WARMUP) ** -0.5,
            "schedule": "linear",
            "warmup": "auto",
            "batch_tokens": BATCH_TOKENS,
            "max_steps": steps_for(learned),
            "pull": PULL,
            "validate_every": NEVER,  # but at the end: the best weights on other text are those of the start
            "translate_lines": 0,
            "average_count": 1,
            "clip_norm": 5.0,
        }
        | ({"card_lines": 0} if texts.by_model else {}),
        "decode": base_config.decode.model_dump(mode="json", exclude_none=True),
    }
    path = work / "improve.toml"
    write_text_atomically(path, tomli_w.dumps(tree))
    try:
        return read_config(path, overrides)
    except ConfigError as error:  # about a key that was given, not about a file that nobody sees
        raise ConfigError(str(error).removeprefix(f"{path}: ")) from None


def _plain(corpora: Sequence[CorpusConfig]) -> list[dict[str, Any]]:
    return [corpus.model_dump(mode="json", exclude_none=True) for corpus in corpora]
