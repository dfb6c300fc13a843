"""`dragoman model shortlist`: learn a shortlist for a model and report its coverage."""

from pathlib import Path

from dragoman.cli.console import print_json, say
from dragoman.cli.progress import Display
from dragoman.workflows.models.shortlist import learn_model_shortlist


def run_shortlist(
    model: Path,
    source: Path,
    target: Path | None,
    *,
    per_piece: int,
    frequent: int,
    pairs: int,
    device: str,
    as_json: bool,
) -> None:
    """Learn, write and report."""
    with Display() as display:
        result = learn_model_shortlist(
            model,
            source,
            target,
            per_piece=per_piece,
            frequent=frequent,
            pairs=pairs,
            device=device,
            listeners=[display],
        )
    if as_json:
        print_json({"schema": "dragoman.model.shortlist/1", "model": str(model), **result.facts})
        return
    found = result.coverage
    print(
        f"covers {100 * found.share:.2f} % of the target tokens of {found.pairs:,} held-out pairs, "
        f"with {found.size:,.0f} of {found.vocabulary:,} pieces per sentence"
    )
    say(f"{result.path} is written; `translate decode.shortlist=true` uses it")
