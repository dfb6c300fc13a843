"""`dragoman model show | glossary`: what a verified bundle contains, and attaching a glossary to it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.bundle import CTRANSLATE2, Bundle, add_files, open_bundle
from dragoman.cli.console import print_json, program, say
from dragoman.config import PairConfig
from dragoman.config.sections.architectures.known import NAMES, summary
from dragoman.errors import ModelError, counted
from dragoman.installed import changeable_model
from dragoman.installed.opening import open_models
from dragoman.text.terms.tbx import TermBase, read_glossary
from dragoman.translator import GLOSSARY
from dragoman.workflows.models.origin import licence, origin_of


def show(folder: Path, as_json: bool, base: Path | None = None) -> None:
    """Verify every file of the bundle and print what it is. It is data: stdout. Raises ModelError."""
    (bundle,) = open_models([folder], base)
    try:
        lines = _lines(bundle)
    except (AttributeError, LookupError, TypeError, ValueError):
        raise ModelError(f"{folder}/bundle.json: malformed; copy the bundle again") from None
    if as_json:
        print_json({"schema": "dragoman.model.show/1", **bundle.manifest})
    else:
        print("\n".join(lines))


def attach_glossary(folder: Path, glossary: Path) -> None:
    """Attach a glossary to the bundle. Raises DataError if the file is not a glossary."""
    bundle = open_bundle(changeable_model(folder))
    given = read_glossary(glossary)  # once: it may be a pipe
    if isinstance(given, TermBase):
        given = given.glossary(bundle.config.project.source, bundle.config.project.target)
    entries = given.entries
    rows = ["\t".join((entry.term, *entry.translations)) + "\n" for entry in entries]
    add_files(bundle, {GLOSSARY: "".join(rows)}, {})
    say(f"{folder}: attached a glossary of {counted(len(entries), 'term')}")


def merge(adapter: Path, output: Path, base: Path | None) -> None:
    """Write an adapter merged with its base model. Raises ConfigError and ModelError as `merge_adapter` does."""
    from dragoman.workflows.models.merge import merge_adapter

    whole = merge_adapter(adapter, output, base=base)
    say(f"{whole}: the whole model; `{program()} export -m {whole}` makes it fast")


def _lines(bundle: Bundle) -> list[str]:
    manifest, model, tokenizer = bundle.manifest, bundle.config.model, bundle.tokenizer
    first = PairConfig.model_validate({side: manifest["languages"][side] for side in ("source", "target")})
    pairs = bundle.config.project.pairs or (first,)
    pieces = f"{len(tokenizer.source):,}" + ("" if tokenizer.joint else f" source, {len(tokenizer.target):,} target")
    size = sum(file["bytes"] for file in manifest["files"].values())
    rows = {
        "name": manifest["name"],
        "languages": ", ".join(f"{pair.source} → {pair.target}" for pair in pairs),
        "architecture": f"{NAMES[model.architecture]}, {manifest['parameters']:,} parameters, {_runs_on(bundle)}",
        **_adapter(bundle),
        **summary(model),
        "pieces": f"{pieces} ({bundle.config.tokenizer.kind})",
        "search": f"beam {bundle.config.decode.beam}, length penalty {bundle.config.decode.length_penalty:g}",
        "data": "; ".join(
            f"{corpus['corpus']} {counted(corpus['pairs'], 'pair')}" for corpus in manifest.get("data", [])
        ),
        "files": f"{len(manifest['files'])} verified, {size / 1e6:.1f} MB",
        "licence": bundle.config.project.license,
        **_origin(manifest),
    }
    scores = [
        f"{score['metric']:13} {score['value']:.1f} on {' '.join(filter(None, (score['on'], score.get('pair'))))}"
        for score in manifest.get("scores", [])
    ]
    return [f"{key:13} {value}" for key, value in rows.items() if value] + scores + _quality(manifest)


def _adapter(bundle: Bundle) -> dict[str, str]:
    """What an adapter adds to which model; nothing for a whole model."""
    if not bundle.base:
        return {}
    facts, base = bundle.manifest["adapter"], bundle.manifest["base"]
    numbers = f"LoRA of rank {facts['rank']}, α {facts['alpha']:g}, {facts['parameters']:,} of these parameters"
    return {"adapter": numbers, "base": f"{base['name']} in {bundle.base.folder}, weights {base['sha256'][:12]}…"}


def _runs_on(bundle: Bundle) -> str:
    if bundle.manifest.get("architecture") == CTRANSLATE2:
        return "imported from CTranslate2, which alone runs it"
    return f"preset {bundle.config.model.preset or 'none'}"


def _origin(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Where an imported model, or the one that it descends from, was found."""
    origin = origin_of(manifest)
    if origin is None:
        return {}
    where = " ".join(str(origin[key]) for key in ("name", "url", "revision") if origin.get(key))
    return {"origin": f"{where}, licence {licence(origin)}", "changed": " ".join(origin.get("changes", ()))}


def _quality(manifest: Mapping[str, Any]) -> list[str]:
    """A line for robustness and one for confidence, if they were measured."""
    found = []
    if robustness := manifest.get("robustness"):
        share = f"{robustness['score']:.2f}, the share of chrF kept under {len(robustness['rows'])} changes"
        found.append(f"{'robustness':13} {share}")
    if confidence := manifest.get("confidence"):
        error = confidence["measured"]["plain"]["ece"]
        found.append(f"{'confidence':13} calibration error {error:.3f} on {confidence['lines']:,} lines")
    return found
