"""`dragoman evaluate`: a model on a test set, beside copying the source."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.cli.console import print_json, say
from dragoman.cli.data import corpus_of
from dragoman.data.check import looks_tokenised
from dragoman.data.corpus import read_pairs
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation import Score, bleu, chrf, ter


def run_evaluate(
    models: Sequence[Path],
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
    if tokenize is None and looks_tokenised(references):
        remedy = "score raw text, or give --tokenize none"
        say(f"{reference or source}: looks tokenised, and BLEU cuts words itself; {remedy}", style="yellow")
    translator = load_translator(models, engine, device, changes)
    translations = [translation.text for translation in translator.stream(sources)]
    scores = score_all(translations, references, tokenize=tokenize, bootstrap=1000)
    copying = score_all(sources, references, tokenize=tokenize)
    try:
        if output:
            with destination(output) as file:
                file.writelines(text + "\n" for text in translations)
    finally:  # whatever became of the file
        if as_json:
            print_json({"schema": "dragoman.evaluate/1", "model": " + ".join(map(str, models)), "lines": len(pairs),
                        "scores": [_plain(score) for score in scores],
                        "copying": [_plain(score) for score in copying]})  # fmt: skip
        else:
            say_scores(scores, copying)


def run_score(
    models: Sequence[Path],
    source: Path,
    reference: Path | None,
    changes: Mapping[str, Any],
    engine: str,
    device: str,
    as_json: bool,
) -> None:
    """log P of each reference given its source, a line a pair, and what that makes a token."""
    from dragoman.cli.translate import load_translator

    pairs = [(pair.source, pair.target) for pair in read_pairs(corpus_of(source, reference))]
    if not pairs:
        raise DataError(f"{source}: no lines; a test set needs text")
    rows = load_translator(models, engine, device, changes).score(pairs)
    for number, row in enumerate(rows, 1):
        if as_json:
            print_json({"line": number, "log_prob": _number(sum(row)), "log_probs": [_number(value) for value in row]})
        else:
            print(f"{sum(row):.4f}")
    tokens, total = sum(map(len, rows)), sum(map(sum, rows))
    say(f"{total / tokens:.4f} nats a token of {tokens:,}, perplexity {math.exp(min(-total / tokens, 700)):.2f}")


def _number(value: float) -> float | None:
    """What JSON has for −∞, the log P of a word that the model cannot say."""
    return value if math.isfinite(value) else None


def _refuse_unusable(tokenize: str | None) -> None:
    """Before an hour is spent on translating: unknown, or without what it needs to be installed."""
    from sacrebleu.metrics.bleu import BLEU

    if tokenize is None:
        return
    if tokenize not in BLEU.TOKENIZERS:
        raise ConfigError(f"--tokenize {tokenize}: there is {', '.join(sorted(BLEU.TOKENIZERS))}")
    try:
        bleu(["a word"], ["a word"], tokenize=tokenize)
    except OSError:
        remedy = "go online, or choose another"
        raise ConfigError(f"--tokenize {tokenize}: sacreBLEU cannot download what it needs; {remedy}") from None
    except (ValueError, ImportError, RuntimeError) as error:
        raise ConfigError(f"--tokenize {tokenize}: {error}") from None


def score_all(
    translations: Sequence[str], references: Sequence[str], *, tokenize: str | None = None, bootstrap: int = 0
) -> list[Score]:
    """BLEU, chrF and TER."""
    return [
        bleu(translations, references, bootstrap=bootstrap, **({"tokenize": tokenize} if tokenize else {})),
        chrf(translations, references, bootstrap=bootstrap),
        ter(translations, references),
    ]


def say_scores(scores: Sequence[Score], copying: Sequence[Score]) -> None:
    """A line a metric: the model, its interval, copying the source, the signature. They are data: stdout."""
    for score, copied in zip(scores, copying, strict=True):
        interval = "" if math.isnan(score.low) else f" [{score.low:.1f}–{score.high:.1f}]"
        print(f"{score.name:5} {score.value:5.1f}{interval}  copying the source {copied.value:.1f}  {score.signature}")
    say("BLEU and chrF: higher is better; TER: lower is better")


def _plain(score: Score) -> dict[str, object]:
    interval = None if math.isnan(score.low) else [score.low, score.high]
    return {"metric": score.name, "value": score.value, "interval": interval, "signature": score.signature}
