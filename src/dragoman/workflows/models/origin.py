"""The origin of an imported model, carried to every model that is made from it: its entry in `bundle.json` and card."""

from collections.abc import Mapping
from typing import Any

from dragoman.bundle import Bundle

# The title of the section in a model card, and the key in `bundle.json` and in a run's notes.
TITLE, KEY = "Origin", "origin"


def derived_origin(base: Bundle | None, teacher: Bundle | None) -> dict[str, Any] | None:
    """The origin of a model that is trained from a base model or a teacher; None if that was not imported."""
    before = base or teacher
    origin = origin_of(before.manifest) if before else None
    if before is None or origin is None:
        return None
    name = before.manifest["name"]
    how = "fine-tuned from" if base else "trained on translations by"
    return {**origin, "changes": [*origin.get("changes", ()), f"It was {how} the model `{name}` with Dragoman."]}


def origin_of(facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """The origin in `bundle.json` or in the notes of a run; None if there is none, or none that can be read."""
    origin = facts.get(KEY)
    return origin if isinstance(origin, dict) and isinstance(origin.get("changes", []), list) else None


def origin_section(origin: Mapping[str, Any]) -> str:
    """Where the weights come from, their licence, and what was changed, as the card of every descendant has it."""
    name, url = origin.get("name", "unknown"), origin.get("url")
    lines = [f"- model: {f'[{name}]({url})' if url else f'`{name}`'} (files of kind `{origin.get('kind')}`)"]
    if revision := origin.get("revision"):
        lines.append(f"- revision: `{revision}`")
    if author := origin.get("author"):
        lines.append(f"- author: {author}")
    lines.append(f"- licence: {licence(origin)}")
    lines += [f"- changed: {change}" for change in origin.get("changes", ())]
    return "\n".join(lines) + "\n"


def licence(origin: Mapping[str, Any]) -> str:
    """The licence and where its name comes from, in a few words."""
    source = origin.get("license_from")
    return f"{origin.get('license')} (from {source})" if source else "unknown (no file names one)"
