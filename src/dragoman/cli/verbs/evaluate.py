"""`dragoman evaluate`: scores of models and of finished translations on a test set."""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.shared import arguments as args
from dragoman.cli.shared.console import facts_of, print_json, say
from dragoman.errors import ConfigError, DataError

if TYPE_CHECKING:
    from dragoman.translator import Translator
    from dragoman.workflows.evaluate.evaluate import Evaluation
    from dragoman.workflows.evaluate.robustness import Robustness


@dataclass(frozen=True)
class EvaluateOptions:
    """The arguments of the verb."""

    source: args.Source
    rest: Annotated[
        list[str] | None,
        typer.Argument(help="Their reference translations, line by line; then keys.", metavar="REFERENCE KEY=VALUE"),
    ] = None
    models: Annotated[
        list[Path] | None,
        typer.Option("--model", "-m", help=f"{args.MODEL_HELP} Several form an ensemble, or see --compare."),
    ] = None
    compare: Annotated[
        bool, typer.Option("--compare", help="Evaluate each model by itself, with paired tests against the first.")
    ] = False
    translations: Annotated[
        list[Path] | None,
        typer.Option(
            "--translations", help="File of finished translations of any system, to score on the same test set."
        ),
    ] = None
    score: Annotated[
        bool,
        typer.Option("--score", help="Do not translate: print log P (nats) of each reference, one line per pair."),
    ] = False
    to: args.To = None
    from_: args.From = None
    beam: args.Beam = None
    length_penalty: args.Penalty = None
    tokenize: Annotated[str | None, typer.Option(help="sacreBLEU's tokeniser for BLEU.")] = None
    suite: Annotated[
        str | None,
        typer.Option(help="robust: chrF of the test set in capitals, with typing errors, as one line, and so on."),
    ] = None
    lines: Annotated[
        int | None,
        typer.Option(min=1, help="With --suite: maximum number of lines changed in each way; 200 if not given."),
    ] = None
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the translations to this file; - is stdout.")
    ] = None
    force: Annotated[bool, typer.Option("--force", help="Replace the file of -o if it exists.")] = False
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print sacreBLEU's signature of each score.")] = False
    options: args.SearchKeys = None
    engine: args.Engine = "auto"
    device: args.Device = "auto"
    precision: args.Precision = "auto"
    threads: args.Threads = None
    base: args.Base = None
    reverse: args.Reverse = None
    as_json: args.Json = False

    def translator(self, models: Sequence[Path], changes: Mapping[str, Any]) -> "Translator":
        """The translator of a model, or of an ensemble of several."""
        from dragoman.cli.shared.loading import EngineChoice, load_translator

        choice = EngineChoice(self.engine, self.device, self.precision, self.threads, self.base, self.reverse)
        return load_translator(models, choice, changes)


@args.app.command()
@args.verb_of(EvaluateOptions)
def evaluate(options: EvaluateOptions) -> None:
    """Score models on a test set.

    BLEU and chrF by sacreBLEU with 95 % intervals, and TER, next to those of copying the source; -v prints their
    signatures. Several systems, with --compare or --translations, are compared by paired bootstrap and approximate
    randomisation.
    """
    from dragoman.cli.shared.loading import changes

    if options.score:
        args.refuse_useless({"reverse": options.reverse}, "--score, which translates nothing")
    translating = {
        "-o": options.output,
        "--compare": options.compare,
        "--translations": options.translations,
        "--tokenize": options.tokenize,
        "--force": options.force,
        "--verbose": options.verbose,
    }
    searching = {"--beam": options.beam, "--length-penalty": options.length_penalty}
    if options.score:
        useless = {**translating, **searching}.items()
        _refuse_with_score(name for name, value in useless if value not in (None, []) and value is not False)
    paths, keys = args.search_keys(options.rest, 1, "SOURCE REFERENCE")
    reference = paths[0] if paths else None
    search = [*keys, *(options.options or ())]
    if options.translations and not options.models:
        _refuse_search(options, search)
    changed = changes(search, beam=options.beam, length_penalty=options.length_penalty)
    if options.score:
        _refuse_with_score(f"decode.{key}" for key in changed if key != "precision")
    if options.suite is not None:
        if options.suite != "robust":
            raise ConfigError(f"--suite {options.suite}: choose one of: robust")
        if options.score or any(translating.values()):
            raise ConfigError("--suite robust: goes with models, text and keys of [decode] only; leave the others out")
        _evaluate_robustness(options, reference, changed)
        return
    if options.lines is not None:
        raise ConfigError("--lines: has no effect without --suite robust; leave it out")
    if options.score:
        _print_log_probs(options, reference, changed)
    else:
        _evaluate(options, reference, changed)


def _refuse_with_score(names: Iterable[str]) -> None:
    for name in names:
        raise ConfigError(f"{name}: has no effect with --score, which translates nothing; leave it out")


def _refuse_search(options: EvaluateOptions, keys: Sequence[str]) -> None:
    """Raise ConfigError for what chooses how a model translates, where none does."""
    what = "finished translations"
    names = ("to", "from_", "beam", "length_penalty", "engine", "device", "precision", "threads", "base", "reverse")
    is_set = {name: getattr(options, name) not in (None, "auto") for name in names}
    args.refuse_useless({name.strip("_").replace("_", "-"): value for name, value in is_set.items()}, what)
    for key in keys:
        raise ConfigError(f"{key}: has no effect on {what}; leave it out")


def _evaluate(options: EvaluateOptions, reference: Path | None, changed: dict[str, Any]) -> None:
    """Translate, score, print."""
    from dragoman.cli.shared.output import STDOUT, destination, refuse_output
    from dragoman.cli.shared.progress import Display
    from dragoman.workflows.evaluate import evaluate as workflow
    from dragoman.workflows.listener import Listeners

    translations = options.translations or []
    if not options.models and not translations:
        raise ConfigError(
            "nothing to evaluate; give a model with -m (a folder, or a bundled one, as en-ko), "
            "or a file of translations with --translations"
        )
    if options.output == STDOUT and options.as_json:
        raise ConfigError("--output -: stdout is for JSON with --json; write the translations to a file")
    if options.force and not options.output:
        raise ConfigError("--force: has no effect without an output; give -o FILE, or leave it out")
    if options.output:
        inputs = [path for path in (options.source, reference, *translations) if path]
        refuse_output(options.output, inputs, resume=False, force=options.force)
    with Display() as display:
        listener = Listeners([display])
        test_set = workflow.read_test_set(options.source, reference)
        workflow.check_tokenizer(options.tokenize)
        workflow.warn_if_tokenised(test_set, options.tokenize, listener)
        files = [(str(path), workflow.read_translations(path, test_set)) for path in translations]
        systems: dict[str, Any] = {}
        for models in _systems(options):
            translator = options.translator(models, changed).to(options.to, options.from_)
            name = workflow.unused(" + ".join(map(str, models)), systems)
            systems[name] = workflow.translate_all(translator, test_set.sources, listener)
        for name, lines in files:
            systems[workflow.unused(name, systems)] = lines
        evaluation = workflow.score_systems(systems, test_set, tokenize=options.tokenize, listener=listener)
    with ExitStack() as printed:  # whatever becomes of the file
        printed.callback(_print, options, evaluation)
        if options.output:
            with destination(options.output) as file:
                file.writelines(text + "\n" for text in evaluation.translations)


def _systems(options: EvaluateOptions) -> list[list[Path]]:
    """The models of each system: one system of all models, an ensemble, or with --compare one system per model."""
    models = options.models or []
    if options.compare:
        if len(models) + len(options.translations or ()) < 2:
            raise ConfigError("--compare: one system; give several with -m and --translations")
        return [[model] for model in models]
    return [models] if models else []


def _print(options: EvaluateOptions, evaluation: "Evaluation") -> None:
    from dragoman.cli.shared.reports import plain, print_comparison, print_scores

    if not options.as_json:
        if evaluation.comparison:
            print_comparison(evaluation.comparison)
        else:
            print_scores(evaluation.scores, evaluation.copying, options.verbose)
        return
    record: dict[str, Any] = {
        "schema": "dragoman.evaluate/1",
        "model": evaluation.name,
        "lines": len(evaluation.translations),
        "scores": [plain(score) for score in evaluation.scores],
        "copying": [plain(score) for score in evaluation.copying],
    }
    if evaluation.comparison:
        record["comparison"] = evaluation.comparison
    print_json(record)


def _print_log_probs(options: EvaluateOptions, reference: Path | None, changed: dict[str, Any]) -> None:
    """log P of each reference given its source, one line per pair, and the mean per token."""
    from dragoman.cli.shared.progress import Display
    from dragoman.data.corpus.corpus import read_pairs
    from dragoman.text.words.lines import WINDOW
    from dragoman.workflows.data.check import corpus_of
    from dragoman.workflows.listener import Listeners

    if not options.models:
        raise ConfigError("--score: needs a model; give it with -m")
    pairs = [(pair.source, pair.target) for pair in read_pairs(corpus_of(options.source, reference))]
    if not pairs:
        raise DataError(f"{options.source}: no lines; a test set needs text")
    translator, rows = options.translator(options.models, changed), list[list[float]]()
    translator = translator.to(options.to, options.from_).to(texts=[source for source, _ in pairs])
    with Display() as display:
        progress = Listeners([display]).counter("scoring", "pairs", len(pairs))
        for start in range(0, len(pairs), WINDOW):
            rows += translator.score(pairs[start : start + WINDOW])
            progress(len(pairs[start : start + WINDOW]))
    for number, row in enumerate(rows, 1):
        if options.as_json:
            print_json({"line": number, "log_prob": _finite(sum(row)), "log_probs": [_finite(value) for value in row]})
        else:
            print(f"{sum(row):.4f}")
    tokens, total = sum(map(len, rows)), sum(map(sum, rows))
    perplexity = math.exp(min(-total / tokens, 700))
    say(f"{total / tokens:.4f} nats per token over {tokens:,} tokens, perplexity {perplexity:.2f}")


def _finite(value: float) -> float | None:
    """None for −∞, which JSON does not have: log P of a token that the model cannot produce."""
    return value if math.isfinite(value) else None


def _evaluate_robustness(options: EvaluateOptions, reference: Path | None, changed: dict[str, Any]) -> None:
    """Print what the suite of robustness measures of one system, as a table or JSON."""
    from dragoman.cli.shared.progress import Display
    from dragoman.workflows.evaluate.robustness import evaluate_robustness

    if not options.models:
        raise ConfigError("--suite robust: needs a model; give it with -m")
    translator = options.translator(options.models, changed).to(options.to, options.from_)
    with Display() as display:
        result = evaluate_robustness(
            translator, options.source, reference, lines=options.lines or 200, listeners=[display]
        )
    if options.as_json:
        name = " + ".join(map(str, options.models))
        record = {"schema": "dragoman.evaluate.robust/1", "model": name, "robustness": result.score, **facts_of(result)}
        print_json(record)
    else:
        _print_robustness(result)


def _print_robustness(result: "Robustness") -> None:
    """One row for each kind of change, then the one number. It is data: stdout."""
    from dragoman.workflows.evaluate.robustness import DEFINITION

    width = max(len(row.kind) for row in result.rows)
    print(f"{'change':{width}}  {'lines':>5}  {'plain':>6}  {'changed':>7}  {'kept':>5}  {'warnings':>8}")
    for row in result.rows:
        numbers = f"{row.lines:5,}  {row.plain:6.1f}  {row.changed:7.1f}  {row.share_kept:5.2f}  {row.warnings:8,}"
        print(f"{row.kind:{width}}  {numbers}")
    print(f"robustness {result.score:.3f}")
    for kind, why in result.skipped.items():
        say(f"{kind}: not measured: {why}")
    say(f"robustness: {DEFINITION}; 1 is best")
