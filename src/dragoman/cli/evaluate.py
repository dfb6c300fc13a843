"""`dragoman evaluate`: a model on a test set, beside copying the source."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.cli.console import print_json, say
from dragoman.cli.data import corpus_of
from dragoman.data.corpus import read_pairs
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation import Score, bleu, chrf, ter


def run_evaluate(
    model: Path,
    source: Path,
    reference: Path | None,
    changes: Mapping[str, Any],
    tokenize: str | None,
    output: Path | None,
    engine: str,
    device: str,
    as_json: bool,
) -> None:
    """Translate, score, print."""
    from dragoman.cli.translate import destination, load_translator, refuse_unwritable

    if output:
        refuse_unwritable(output)
    pairs = list(read_pairs(corpus_of(source, reference)))
    if not pairs:
        raise DataError(f"{source}: no lines; a test set needs text")
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    _refuse_unusable(tokenize)
    translator = load_translator(model, engine, device, changes)
    translations = [translation.text for translation in translator.stream(sources)]
    scores = score_all(translations, references, tokenize=tokenize, bootstrap=1000)
    copying = score_all(sources, references, tokenize=tokenize)
    try:
        if output:
            with destination(output) as file:
                file.writelines(text + "\n" for text in translations)
    finally:  # whatever became of the file
        if as_json:
            print_json({"schema": "dragoman.evaluate/1", "model": str(model), "lines": len(pairs),
                        "scores": [_plain(score) for score in scores],
                        "copying": [_plain(score) for score in copying]})  # fmt: skip
        else:
            say_scores(scores, copying)


def _refuse_unusable(tokenize: str | None) -> None:
    """Before an hour is spent on translating: unknown, or without what it needs to be installed."""
    from sacrebleu.metrics.bleu import BLEU

    if tokenize and tokenize not in BLEU.TOKENIZERS:
        raise ConfigError(f"--tokenize {tokenize}: sacreBLEU knows {', '.join(sorted(BLEU.TOKENIZERS))}")
    score_all(["a word"], ["a word"], tokenize=tokenize)


def score_all(
    translations: Sequence[str], references: Sequence[str], *, tokenize: str | None = None, bootstrap: int = 0
) -> list[Score]:
    """BLEU, chrF and TER."""
    try:
        return [
            bleu(translations, references, bootstrap=bootstrap, **({"tokenize": tokenize} if tokenize else {})),
            chrf(translations, references, bootstrap=bootstrap),
            ter(translations, references),
        ]
    except (ValueError, ImportError, RuntimeError) as error:
        raise ConfigError(f"--tokenize {tokenize}: {error}") from None


def say_scores(scores: Sequence[Score], copying: Sequence[Score]) -> None:
    """A line a metric: the model, its interval, copying the source, the signature. They are data: stdout."""
    for score, copied in zip(scores, copying, strict=True):
        interval = "" if math.isnan(score.low) else f" [{score.low:.1f}–{score.high:.1f}]"
        print(f"{score.name:5} {score.value:5.1f}{interval}  copying the source {copied.value:.1f}  {score.signature}")
    say("BLEU and chrF: higher is better; TER: lower is better")


def _plain(score: Score) -> dict[str, object]:
    interval = None if math.isnan(score.low) else [score.low, score.high]
    return {"metric": score.name, "value": score.value, "interval": interval, "signature": score.signature}
