"""Several systems side by side, on one test set: quality, cost of training, speed, and where each fails.

Input: configurations, which are trained, and folders of finished runs. Output: a `RunComparison`, and a page by
`dragoman.workflows.compare.page`. Section 6.1 and Tables 1 and 2 of the paper, on one's own text.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from dragoman.bundle import open_bundle
from dragoman.config.file import dump_config
from dragoman.evaluation import RESAMPLES, check_resamples
from dragoman.training.resume.checkpoint import resumable_steps
from dragoman.translator import Translator
from dragoman.workflows.compare.budget import (
    Equal,
    budget_of,
    refuse_other_budget,
    refuse_other_objectives,
    refuse_other_sizes,
    with_budget,
)
from dragoman.workflows.compare.inputs import (
    BUDGETED,
    System,
    edited_keys,
    read_systems,
    require_training_text,
    shared_test_set,
    tested_pair,
)
from dragoman.workflows.compare.measures import attention_of, chains_of, score_by_length, training_cost
from dragoman.workflows.compare.page import write_page
from dragoman.workflows.compare.result import ComparedRun, RunComparison
from dragoman.workflows.evaluate.evaluate import TestSet, check_tokenizer, score_systems, translate_all
from dragoman.workflows.listener import Listener, Listeners
from dragoman.workflows.train.train import train

LONGEST_EXAMPLE = 25


def compare_runs(
    runs: Sequence[str | PathLike[str]],
    *,
    overrides: Sequence[str] = (),
    equal: Equal | None = None,
    page: str | PathLike[str] | None = None,
    tokenize: str | None = None,
    resamples: int = RESAMPLES,
    listeners: Iterable[Listener] = (),
) -> RunComparison:
    """Train what is not trained, and compare the systems on their common test set.

    Each of `runs` is a configuration, the folder of a run, or a folder of such. A configuration whose run is finished
    is not trained again, and one that was interrupted is resumed. `overrides`, "section.key=value", are for all
    configurations; one whose run had another value is refused. `equal` gives the configurations after the first
    the budget of the first: the same `flops`, `minutes` or `updates`; a run that was trained before with another
    budget is refused. `parameters` refuses those whose number of parameters differs by more than a tenth. `page` is
    where the self-contained page is written.

    Raises ConfigError for runs that cannot be compared, DataError, ModelError, and what `train` raises.
    """
    listener = Listeners(listeners)
    check_tokenizer(tokenize)
    check_resamples(resamples)
    systems = read_systems(runs, overrides, budgeted=equal not in (None, "parameters"))
    test_set = shared_test_set(systems)
    example = _example(test_set)
    require_training_text(systems)
    if equal == "parameters":
        refuse_other_sizes(systems)
    if equal == "flops":
        refuse_other_objectives(systems)
    for system in systems:
        skipped = BUDGETED if equal not in (None, "parameters") and system is not systems[0] else ()
        if keys := edited_keys(system, skipped):
            listener.on_warning(
                f"{system.name}: compared as it was trained, with another {' and '.join(keys)} than its configuration "
                "has now; give that another train.output to train it again"
            )
    measured, budget = list[ComparedRun](), None
    for system in systems:
        if not system.is_finished:
            system = with_budget(system, equal, budget)
            listener.notice(f"{system.name}: training")
            started = bool(resumable_steps(system.folder / "checkpoints"))
            train(system.config, resume=started, listeners=listeners, user_keys=system.user_keys)
        run = _measured(system, test_set, example, tokenize, listener)
        if equal and budget:
            refuse_other_budget(system, equal, budget, run.cost)
        budget = budget or budget_of(system.folder / "model", run.cost)
        measured.append(run)
    named = {run.name: run.translations for run in measured}
    scored = score_systems(named, test_set, tokenize=tokenize, resamples=resamples, listener=listener)
    assert scored.comparison, "two systems or more are compared"
    by_name = {system.name: system.scores for system in (scored, *scored.others)}
    complete = tuple(replace(run, scores=by_name[run.name]) for run in measured)
    result = RunComparison(complete, test_set, scored.comparison, equal, example)
    if page is not None:
        write_page(result, Path(page))
    return result


def _measured(
    system: System, test_set: TestSet, example: int, tokenize: str | None, listener: Listeners
) -> ComparedRun:
    """Everything but the scores, which the systems get together."""
    bundle = open_bundle(system.folder / "model")
    bundle.require_weights()
    pair = tested_pair(system)
    translator = Translator.of_bundle(bundle, engine="torch").to(pair.target, pair.source)
    listener.notice(f"{system.name}: translating the test set")
    started = time.perf_counter()
    lines = translate_all(translator, test_set.sources, listener)
    seconds = time.perf_counter() - started
    tokens = sum(map(len, bundle.tokenizer.encode(lines, "target")))
    listener.notice(f"{system.name}: counting operations")
    model = bundle.load_model()
    # What `auto` and a base model made of the configuration is in the bundle, where its text is now is not.
    data = bundle.config.data.model_copy(update={"train": system.config.data.train})
    cost = training_cost(bundle, model, bundle.config.model_copy(update={"data": data}), system.folder)
    return ComparedRun(
        name=system.name,
        folder=system.folder,
        architecture=str(bundle.manifest.get("architecture", "transformer")),
        parameters=model.parameter_count,
        cost=cost,
        scores=(),
        lines_per_second=len(lines) / seconds,
        target_tokens_per_second=tokens / seconds,
        curve=cost.curve,
        by_length=score_by_length(lines, test_set, tokenize),
        chains=chains_of(model),
        attention=attention_of(translator, test_set.sources[example], lines[example]),
        translations=tuple(lines),
        config=dump_config(bundle.config),
    )


def _example(test_set: TestSet) -> int:
    """The longest of the sentences that a map can show: there, systems differ."""
    lengths = [len(source.split()) for source in test_set.sources]
    fitting = [index for index, length in enumerate(lengths) if length <= LONGEST_EXAMPLE]
    if not fitting:
        return lengths.index(min(lengths))
    return max(fitting, key=lambda index: lengths[index])
