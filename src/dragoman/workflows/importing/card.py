"""The model card of an imported model."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dragoman.bundle import Bundle
from dragoman.evaluation import Score
from dragoman.version import __version__
from dragoman.workflows.models.origin import TITLE, is_non_commercial, origin_section


def import_card(bundle: Bundle, trial: str, scores: Sequence[Score], copying: Sequence[Score], text: str) -> str:
    """Markdown; `trial` is a sentence, `text` the name of what was scored."""
    project, origin, parameters = bundle.config.project, bundle.manifest["origin"], bundle.manifest["parameters"]
    return f"""---
language: [{_quoted(project.source)}, {_quoted(project.target)}]
license: {_quoted(project.license)}
pipeline_tag: translation
---

# {project.name}: {project.source} → {project.target}

A Transformer that was trained elsewhere and imported by Dragoman {__version__}: {parameters:,} parameters.

## {TITLE}

{origin_section(origin)}
## Scores

{_scores(scores, copying, text)}{trial}

## Limits

Dragoman has not trained this model and knows its training text only from its origin. It may omit, add or mistranslate
words, names and numbers. Score it on text of your own with `dragoman evaluate`, and have a person check what matters.

## Licence

{_licence(origin)}
"""


def _licence(origin: Mapping[str, Any]) -> str:
    if origin.get("license_from") is None:
        return (
            "unknown: the files name no licence. Ask the author before you use or pass on this model; "
            "`dragoman import --license` writes what you find."
        )
    text = f"{origin['license']}, from {origin['license_from']}."
    return text + (" **Not for commercial use.**" if is_non_commercial(str(origin["license"])) else "")


def _scores(scores: Sequence[Score], copying: Sequence[Score], text: str) -> str:
    if not scores:
        return "None measured; `dragoman evaluate` measures them.\n\n"
    rows = "".join(
        f"| {score.name} | {score.value:.1f} | {copied.value:.1f} | `{score.signature.replace('|', chr(92) + '|')}` |\n"
        for score, copied in zip(scores, copying, strict=True)
    )
    head = "| metric | score | copying the source | signature |\n| --- | --- | --- | --- |\n"
    return f"On {text}:\n\n{head}{rows}\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
