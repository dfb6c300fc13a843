"""`dragoman evaluate`: scores of models and of finished translations on a test set."""

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dragoman.cli.console import print_json, say
from dragoman.cli.loading import EngineChoice, load_translator
from dragoman.cli.output import STDOUT, destination, refuse_unwritable
from dragoman.cli.progress import Display
from dragoman.cli.reports import plain, print_comparison, print_scores
from dragoman.data.corpus.corpus import read_pairs
from dragoman.errors import ConfigError, DataError
from dragoman.text.words.lines import WINDOW
from dragoman.workflows.data.check import corpus_of
from dragoman.workflows.evaluate.evaluate import (
    Evaluation,
    check_tokenizer,
    read_test_set,
    read_translations,
    score_systems,
    translate_all,
    unused,
    warn_if_tokenised,
)
from dragoman.workflows.listener import Listeners


@dataclass(frozen=True)
class Request:
    """What the command line asked for."""

    models: Sequence[Path]
    source: Path
    reference: Path | None
    translations: Sequence[Path]
    compare: bool
    tokenize: str | None
    output: Path | None
    engine: EngineChoice
    as_json: bool
    verbose: bool = False
    to: str | None = None
    from_: str | None = None


def run_evaluate(request: Request, changes: Mapping[str, Any]) -> None:
    """Translate, score, print."""
    if not request.models and not request.translations:
        raise ConfigError(
            "nothing to evaluate; give a model with -m (a folder, or a bundled one, as en-ko), "
            "or a file of translations with --translations"
        )
    if request.output == STDOUT and request.as_json:
        raise ConfigError("--output -: stdout is for JSON with --json; write the translations to a file")
    if request.output:
        inputs = [path for path in (request.source, request.reference, *request.translations) if path]
        refuse_unwritable(request.output, inputs)
    with Display() as display:
        listener = Listeners([display])
        test_set = read_test_set(request.source, request.reference)
        check_tokenizer(request.tokenize)
        warn_if_tokenised(test_set, request.tokenize, listener)
        files = [(str(path), read_translations(path, test_set)) for path in request.translations]
        systems: dict[str, Sequence[str]] = {}
        for models in _systems(request):
            translator = load_translator(models, request.engine, changes).to(request.to, request.from_)
            name = " + ".join(map(str, models))
            systems[unused(name, systems)] = translate_all(translator, test_set.sources, listener)
        for name, lines in files:
            systems[unused(name, systems)] = lines
        found = score_systems(systems, test_set, tokenize=request.tokenize, listener=listener)
    with ExitStack() as printed:  # whatever becomes of the file
        printed.callback(_print, request, found)
        if request.output:
            with destination(request.output) as file:
                file.writelines(text + "\n" for text in found.translations)


def _systems(request: Request) -> list[list[Path]]:
    """The models of each system: one system of all models, an ensemble, or with --compare one system per model."""
    models = list(request.models)
    if request.compare:
        if len(models) + len(request.translations) < 2:
            raise ConfigError("--compare: one system; give several with -m and --translations")
        return [[model] for model in models]
    return [models] if models else []


def _print(request: Request, found: Evaluation) -> None:
    if not request.as_json:
        if found.comparison:
            print_comparison(found.comparison)
        else:
            print_scores(found.scores, found.copying, request.verbose)
        return
    record: dict[str, Any] = {
        "schema": "dragoman.evaluate/1",
        "model": found.name,
        "lines": len(found.translations),
        "scores": [plain(score) for score in found.scores],
        "copying": [plain(score) for score in found.copying],
    }
    if found.comparison:
        record["comparison"] = asdict(found.comparison)
    print_json(record)


def run_score(request: Request, changes: Mapping[str, Any]) -> None:
    """log P of each reference given its source, one line per pair, and the mean per token."""
    if not request.models:
        raise ConfigError("--score: needs a model; give it with -m")
    pairs = [(pair.source, pair.target) for pair in read_pairs(corpus_of(request.source, request.reference))]
    if not pairs:
        raise DataError(f"{request.source}: no lines; a test set needs text")
    translator, rows = load_translator(request.models, request.engine, changes), list[list[float]]()
    translator = translator.to(request.to, request.from_).to(texts=[source for source, _ in pairs])
    with Display() as display:
        progress = Listeners([display]).counter("scoring", "pairs", len(pairs))
        for start in range(0, len(pairs), WINDOW):
            rows += translator.score(pairs[start : start + WINDOW])
            progress(len(pairs[start : start + WINDOW]))
    for number, row in enumerate(rows, 1):
        if request.as_json:
            print_json({"line": number, "log_prob": _finite(sum(row)), "log_probs": [_finite(value) for value in row]})
        else:
            print(f"{sum(row):.4f}")
    tokens, total = sum(map(len, rows)), sum(map(sum, rows))
    perplexity = math.exp(min(-total / tokens, 700))
    say(f"{total / tokens:.4f} nats per token over {tokens:,} tokens, perplexity {perplexity:.2f}")


def _finite(value: float) -> float | None:
    """None for −∞, which JSON does not have: log P of a token that the model cannot produce."""
    return value if math.isfinite(value) else None
