"""`dragoman model list | verify | pack | install | remove`: models at hand."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman.cli.console import print_json, program, say
from dragoman.errors import ConfigError, Interrupted, counted
from dragoman.installed import models_folder
from dragoman.workflows.models.models import (
    ModelInfo,
    adapters_of,
    install_model,
    list_models,
    pack_model,
    removable_model,
    remove_model,
)
from dragoman.workflows.models.verify import verify_model

COLUMNS = ("name", "pairs", "size", "licence", "score", "where")


def run_list(as_json: bool) -> None:
    """Print the installed and the bundled models: data, so stdout."""
    found = list_models()
    if as_json:
        facts = [_facts(model) for model in found]
        print_json({"schema": "dragoman.model.list/1", "folder": str(models_folder()), "models": facts})
        return
    rows = [_row(model) for model in found]
    widths = [max(len(row[column]) for row in (COLUMNS, *rows)) for column in range(len(COLUMNS))]
    for row in (COLUMNS, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for model in found:
        if model.fault:
            say(f"{model.name}: {model.fault}", style="red")
    say(f"Installed models are in {models_folder()}; `{program()} model install` adds one.")


def _facts(model: ModelInfo) -> dict[str, Any]:
    scores = [dict(zip(("metric", "value", "on"), score, strict=True)) for score in model.scores]
    return {**asdict(model), "model_path": str(model.model_path), "scores": scores}


def _row(model: ModelInfo) -> tuple[str, ...]:
    where = "bundled" if model.bundled else "installed"
    if model.fault:
        return model.name, "", "", "", "", f"{where}, damaged"
    chosen = next((score for score in model.scores if score[0].startswith("chrF")), (*model.scores, None)[0])
    score = f"{chosen[0]} {chosen[1]:.1f}" if chosen else ""
    pairs = ", ".join(model.pairs[:2]) + (f" + {len(model.pairs) - 2}" if len(model.pairs) > 2 else "")
    where += ", hidden by the installed one" if model.hidden else f", adapter of {model.base}" if model.base else ""
    return model.name, pairs, f"{model.bytes / 1e6:.1f} MB", model.license, score, where


def run_verify(model: Path, base: Path | None, as_json: bool) -> None:
    """Verify a model and print what was verified: data, so stdout."""
    found = verify_model(model, base=base)
    if as_json:
        print_json({"schema": "dragoman.model.verify/1", **asdict(found)})
        return
    print(
        f"{'files':13} {counted(found.files, 'file')}, {found.bytes / 1e6:.1f} MB: sizes and hashes as in bundle.json"
    )
    if found.sentences:
        sentences = counted(found.sentences, "golden sentence")
        print(f"{'tokenizer':13} divides {sentences} as when the model was made")
    for check in found.engines:
        same = f"{check.identical:,} of {found.sentences:,} translated to the same tokens"
        print(f"{check.engine:13} log P within {check.largest:.1g} nats, {check.mean:.1g} on average; {same}")
    for skipped in found.skipped:
        say(f"not verified: {skipped}", style="yellow")


def run_pack(model: Path, output: Path, base: Path | None, weights: bool, force: bool, as_json: bool) -> None:
    """Pack a model and print the hash of the file."""
    found = pack_model(model, output, base=base, weights=weights, force=force)
    if as_json:
        print_json({"schema": "dragoman.model.pack/1", **asdict(found)})
        return
    say(f"{found.path}: {found.name}, {found.bytes / 1e6:.1f} MB, sha256 {found.sha256}")
    say(f"Next, on any machine:\n  {program()} model install {found.path.name}")


def run_install(model: Path, name: str | None, force: bool, as_json: bool) -> None:
    """Install a model and print the next command."""
    found = install_model(model, name=name, force=force)
    if as_json:
        print_json({"schema": "dragoman.model.install/1", **_facts(found)})
        return
    say(f"Installed {found.name} ({', '.join(found.pairs)}), verified, in {found.model_path}")
    say(f'Next:\n  {program()} translate -m {found.name} "…"')


def run_remove(name: str, yes: bool) -> None:
    """Remove an installed model, after a question on a terminal. Raises ConfigError where nobody can be asked."""
    folder = removable_model(name)
    if adapters := adapters_of(folder):
        say(f"{name} is the base of {', '.join(adapters)}, which cannot be used without it", style="yellow")
    if not yes:
        if not is_terminal():
            raise ConfigError(f"{name}: --yes removes it without a question, and here nobody can be asked")
        print(f"Remove {folder}? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
            raise Interrupted(f"{name}: not removed")
    remove_model(name)
    say(f"{folder}: removed")


def is_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty()
