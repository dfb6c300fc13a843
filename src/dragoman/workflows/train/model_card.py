"""The model card: architecture, data, training, scores and limits of a model, as Markdown."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dragoman.config import RunConfig
from dragoman.config.sections.architectures.known import title
from dragoman.data.corpus.report import CorpusReport
from dragoman.errors import counted
from dragoman.training.report.reports import Outcome
from dragoman.version import __version__
from dragoman.workflows.evaluate.held_out import ScoredText

# An expression in an f-string has no backslash before Python 3.12.
NEWLINES = "\n\n"


def model_card(
    config: RunConfig,
    parameters: int,
    pieces: int,
    outcome: Outcome,
    reports: Sequence[CorpusReport],
    scored: Sequence[ScoredText],
    teacher: str | None = None,
    sections: Mapping[str, str] | None = None,
    base_training: Mapping[str, Any] | None = None,
) -> str:
    """Markdown with the YAML header that model hubs read; `teacher` is the name of the teacher of a distilled model.

    `sections` are further sections by their titles, before the limits; `base_training` is what the base model of a
    fine-tuned one says of its own training.
    """
    project = config.project
    scored_on = "test" if config.data.test else "valid"
    return f"""---
language: [{", ".join(map(_quoted, project.languages))}]
license: {_quoted(project.license)}
pipeline_tag: translation
---

# {project.name}: {", ".join(f"{pair.source} → {pair.target}" for pair in project.all_pairs)}

{title(config.model)} trained by Dragoman {__version__}:
{parameters:,} parameters, {config.model.encoder_layers} + {config.model.decoder_layers} layers of width \
{config.model.d_model}, {_vocabularies(config)} of \
{pieces:,} pieces ({config.tokenizer.kind}).

## Data

{_table(("corpus", "pairs", "files"), [(r.name, f"{r.pairs:,}", _files(r)) for r in reports])}

## Training

{_base_model(config, base_training or {})}{_distilled_from(teacher)}\
{counted(outcome.step, "step")}, {outcome.target_tokens:,} target tokens in {outcome.precision}, \
{outcome.seconds / 60:.1f} minutes; ended because \
{outcome.reason}. The weights are {_weights(outcome)}. Validation loss {outcome.loss:.3f} nats per token.

## Scores on {scored_on}

{_score_table(config, scored)}

Beam {config.decode.beam}, length penalty {config.decode.length_penalty:g}; raw text against detokenised output.

{"".join(f"## {title}{NEWLINES}{body.strip()}{NEWLINES}" for title, body in (sections or {}).items())}\
## Limits

It works for the kind of text it was trained on. It may omit, add or mistranslate words, names and numbers,
above all in sentences that are longer than its training data or about other subjects. Have a person check what
matters.

## Licence

{project.license}
"""


def _vocabularies(config: RunConfig) -> str:
    if config.tokenizer.joint:
        return "one vocabulary"
    return "two vocabularies with the same ids" if config.tokenizer.shared else "two vocabularies"


def _quoted(text: str) -> str:
    """Quoted, because YAML reads `no`, a language, as false."""
    return json.dumps(text, ensure_ascii=False)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _score_table(config: RunConfig, scored: Sequence[ScoredText]) -> str:
    head = ("metric", "score", "copying the source", "signature")
    rows = [
        (
            scored_text.text.pair.name,
            score.name,
            f"{score.value:.1f}",
            f"{copied.value:.1f}",
            f"`{score.signature}`".replace("|", "\\|"),
        )
        for scored_text in scored
        for score, copied in zip(scored_text.scores, scored_text.copying, strict=True)
    ]
    return _table(("pair", *head), rows) if config.project.pairs else _table(head, [row[1:] for row in rows])


def _files(report: CorpusReport) -> str:
    return ", ".join(name.rsplit("/", 1)[-1] for name in report.files)


def _base_model(config: RunConfig, training: Mapping[str, Any]) -> str:
    if not (start := config.train.start_from):
        return ""
    tokens = training.get("target_tokens")
    trained = f", which was trained on {tokens:,} target tokens and" if isinstance(tokens, int) else ","
    return f"Its training started from the weights of the model `{start.name}`{trained} whose tokenizer it keeps.\n\n"


def _distilled_from(teacher: str | None) -> str:
    return (
        f"It was trained on translations by the model `{teacher}` (sequence-level distillation, "
        "Kim and Rush 2016), whose tokenizer it keeps.\n\n"
        if teacher
        else ""
    )


def _weights(outcome: Outcome) -> str:
    if len(outcome.averaged) == 1:
        return f"those of step {outcome.averaged[0]:,}"
    return f"the mean of {len(outcome.averaged)} checkpoints (steps {outcome.averaged[0]:,}–{outcome.averaged[-1]:,})"
