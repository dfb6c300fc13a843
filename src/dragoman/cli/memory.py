"""`dragoman memory …`, and the memory of `dragoman translate`: parse, call a workflow, print."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dragoman.cli.console import print_json, program, say
from dragoman.errors import counted
from dragoman.memory import contents
from dragoman.translator import Translator
from dragoman.workflows.documents.memory import add_to_memory, export_memory, open_memory


class WithMemory:
    """A function from a translator to the same with a memory, which is opened once for each pair of languages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._made: dict[tuple[int, str], tuple[Translator, Translator]] = {}

    def __call__(self, translator: Translator) -> Translator:
        """Raises ConfigError and DataError for a memory that cannot be used."""
        pair = translator.pair
        if pair is None:
            return translator
        key = id(translator), pair.name
        if key not in self._made:
            memory = open_memory(self.path, pair.source, pair.target or "und")
            self._made[key] = translator, translator.with_memory(memory)  # the first keeps its id from being reused
        return self._made[key][1]


def run_add(memory: Path, files: Sequence[Path], source: str, target: str, as_json: bool) -> None:
    """Add what files hold, and report how much each has."""
    result = add_to_memory(memory, files, source=source, target=target)
    if as_json:
        print_json({"schema": "dragoman.memory.add/1", **asdict(result)})
        return
    for name, count in result.files.items():
        say(f"{count:>12,}  {'pair' if count == 1 else 'pairs'}  {name}")
    say(f"{result.new:>12,}  new in {result.path}")
    say(f"Next: {program()} translate FILE --memory {result.path}")


def run_export(memory: Path, output: Path, source: str | None, target: str | None, force: bool, as_json: bool) -> None:
    """Export, and report how much."""
    result = export_memory(memory, output, source=source, target=target, force=force)
    if as_json:
        print_json({"schema": "dragoman.memory.export/1", **asdict(result)})
        return
    say(f"{output}: {counted(sum(result.files.values()), 'pair')}")


def run_stats(memory: Path, as_json: bool) -> None:
    """Print what a memory holds: data, so stdout."""
    found = contents(memory)
    if as_json:
        print_json(
            {"schema": "dragoman.memory.stats/1", "memory": str(memory), "pairs": [asdict(one) for one in found]}
        )
        return
    for one in found:
        print(f"{one.source} → {one.target}  {counted(one.units, 'unit')}, added {one.first[:10]} to {one.last[:10]}")
    if not found:
        say(f"{memory}: empty")
