"""What a bundle's network computes for one sentence, as arrays or as a page."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.config import DecodeConfig
from dragoman.control.languages import Pairs
from dragoman.inspection.checkpoints import CheckpointView
from dragoman.inspection.film import FILM_BYTES, film, run_of
from dragoman.inspection.inspection import Inspection, inspect_model
from dragoman.inspection.page import LiveModel, analyse, free_bytes, render
from dragoman.inspection.payload import Payload, gather, rounded
from dragoman.model.build import require_transformer
from dragoman.model.parts.network import EncoderDecoder
from dragoman.system.files import write_text_atomically
from dragoman.text.terms.symbols import Symbols
from dragoman.text.tokens.marks import NO_MARKS, Marks
from dragoman.translator import Translator

Model = str | os.PathLike[str] | Bundle | Translator


@dataclass(frozen=True, repr=False)
class BundleInspection(Inspection):
    """An inspection with what a page needs to know about the model."""

    name: str
    languages: tuple[str, str]
    """Source and target, BCP-47."""
    options: DecodeConfig
    marks: Marks = NO_MARKS
    """The language tokens of source and target."""
    run: Path | None = None
    """The folder of the run that the model is from, if it has snapshots for the film of the page."""
    why_recorded: str = ""
    """Why the page does not run the model, if it says so."""

    @classmethod
    def of(
        cls,
        inspection: Inspection,
        name: str,
        languages: tuple[str, str],
        options: DecodeConfig,
        marks: Marks = NO_MARKS,
        run: Path | None = None,
    ) -> "BundleInspection":
        values = {field.name: getattr(inspection, field.name) for field in fields(Inspection)}
        return cls(**values, name=name, languages=languages, options=options, marks=marks, run=run)

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        layers: Sequence[int] = (),
        checkpoints: Sequence[CheckpointView] | None = None,
        live: LiveModel | None = None,
    ) -> None:
        """Write one HTML file that shows every quantity and needs no network.

        `layers`, counted from 1, are shown in full before the others. `checkpoints` comes from `across_checkpoints`.
        With `live` the page runs the model too. Raises DragomanError if the file cannot be written.
        """
        payload = self.payload(layers=layers, checkpoints=checkpoints, live=live)
        write_text_atomically(Path(path), render([payload], live))

    def payload(
        self,
        *,
        layers: Sequence[int] = (),
        checkpoints: Sequence[CheckpointView] | None = None,
        sentences: int = 1,
        live: LiveModel | None = None,
    ) -> Payload:
        """What a page shows of it, which has that many `sentences`."""
        facts, maps = analyse(self, checkpoints)
        if self.run:
            facts["film"] = rounded(film(self.run, self, self.options, self.marks, FILM_BYTES // sentences))
        if not live:
            facts["why_recorded"] = self.why_recorded
        return gather(
            self,
            name=self.name,
            languages=self.languages,
            byte_budget=free_bytes(max(len(self.source_ids), len(self.target_ids)), sentences, live),
            layers=layers,
            options=self.options,
            analyses=facts,
            maps=maps,
        )


def write_page(
    path: Path,
    inspections: Sequence[BundleInspection],
    *,
    layers: Sequence[int] = (),
    live: LiveModel | None = None,
) -> None:
    """Write a page of several sentences, one of which it shows at a time. Raises DragomanError if it cannot."""
    count = len(inspections)
    payloads = [inspection.payload(layers=layers, sentences=count, live=live) for inspection in inspections]
    write_text_atomically(path, render(payloads, live))


def inspect_bundle(
    bundle: Bundle,
    network: EncoderDecoder,
    text: str,
    target: str | None,
    options: DecodeConfig,
    to: str | None = None,
    source: str | None = None,
) -> BundleInspection:
    """Translate `text`, or force the translation `target`, and record everything that the network computes.

    `network` is that of the bundle. `to` is the target language and `source` that of the text, for a model of several.
    The text is translated as a whole by beam search, without a glossary. Raises DataError if it is empty or if `target`
    contains what the vocabulary cannot write.
    """
    transformer = require_transformer(network, "look")
    name, pairs = bundle.config.project.name, Pairs.of(bundle.config.project, bundle.tokenizer)
    pair = pairs.choose(to, source, [text])
    symbols = Symbols.of(bundle.config, bundle.tokenizer.symbols)
    inspection = inspect_model(transformer, bundle.tokenizer, text, target, options, pair.marks, symbols)
    languages, run = (pair.source, pair.target or "und"), run_of(bundle.folder, bundle.tokenizer)
    return BundleInspection.of(inspection, name, languages, options, pair.marks, run)
