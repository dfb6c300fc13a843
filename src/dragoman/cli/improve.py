"""`dragoman improve`: fine-tune on corrections, show the progress and what changed, print the next commands."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from dragoman.cli.console import print_json, program, say
from dragoman.cli.progress import Display
from dragoman.system.processes import sigterm_interrupts
from dragoman.workflows.improve.improve import ImproveResult, improve


def run_improve(
    model: Path,
    corrections: str,
    output: Path | None,
    pair: str,
    replay: Path | None,
    test: tuple[Path, Path] | None,
    page: Path | None,
    overrides: Sequence[str],
    as_json: bool,
) -> None:
    """Improve and report."""
    with sigterm_interrupts(), _as_file(corrections) as file, Display() as display:
        result = improve(
            model,
            file,
            output=output,
            pair=pair,
            replay=replay,
            test=test,
            page=page,
            overrides=overrides,
            listeners=[display],
        )
    if as_json:
        print_json(_plain(result))
    say(f"\nThe new version is in {result.model_path}; {result.page} shows what changed. Next:")
    say(f'  {program()} translate -m {result.model_path} "…"\n  {program()} serve -m {result.model_path}')


@contextmanager
def _as_file(corrections: str) -> Iterator[str]:
    """The corrections as a file: of a database server, a copy that is removed afterwards."""
    if "://" not in corrections:
        yield corrections
        return
    from dragoman.serve.store.corrections import FILE, copy_corrections

    with TemporaryDirectory() as folder:
        path = Path(folder) / FILE
        copy_corrections(corrections, path)
        yield str(path)


def _plain(result: ImproveResult) -> dict[str, object]:
    """The result as one JSON object, without the texts, which are on the page."""
    return {
        "schema": "dragoman.improve/1",
        "model": str(result.model_path),
        "page": str(result.page),
        "corrections": result.corrections,
        "held_out": result.held_out,
        "left_out": [{"where": one.correction.where, "kind": one.kind} for one in result.left_out],
        "texts": [
            {
                "on": text.on,
                "pair": text.pair,
                "sentences": len(text.sources),
                "changed": text.changed,
                "right": text.right,
                "metrics": [asdict(one) for one in text.metrics],
            }
            for text in result.texts
        ],
    }
