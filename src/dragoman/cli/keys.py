"""`dragoman keys …`: create, list and revoke the keys of the service."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path

from dragoman.bundle import read_manifest
from dragoman.cli.console import print_json, say
from dragoman.errors import ConfigError
from dragoman.installed import resolve_model
from dragoman.serve.store.keys import ApiKey, KeyStore
from dragoman.serve.store.state import ServiceState, state_folder

# The last second of the year 9999, after which there are no dates.
LAST = 253_402_300_799.0


def run_create(
    name: str,
    per_minute: int | None,
    per_day: int | None,
    per_request: int | None,
    models: Sequence[Path],
    days: float | None,
    state: Path | None,
    database: str | None,
    as_json: bool,
) -> None:
    """Create a key; the key itself is data, and goes to stdout."""
    folders = [resolve_model(model) for model in models]
    for folder in folders:
        read_manifest(folder)  # what is no model is refused here
    names = [folder.name for folder in folders]
    if days is not None and not isfinite(days):
        raise ConfigError(f"--days {days}: give a number of days")
    expires = None if days is None else time.time() + 86_400 * days
    with _opened(state, database) as store:
        key, text = store.create(
            name,
            per_minute=per_minute,
            characters_per_day=per_day,
            characters=per_request,
            models=names,
            expires=expires,
        )
    if as_json:
        print_json({"schema": "dragoman.keys.create/1", "key": text, **asdict(key)})
    else:
        print(text)
        say(f"{key.name}: keep it, it is not shown again; send it as: Authorization: Bearer {text[:6]}…")


def run_list(state: Path | None, database: str | None, as_json: bool) -> None:
    """Print a line per key."""
    with _opened(state, database) as store:
        found = [(key, store.used_today(key.id)) for key in store.list()]
    if as_json:
        print_json(
            {"schema": "dragoman.keys.list/1", "keys": [{**asdict(key), "used_today": used} for key, used in found]}
        )
        return
    for key, used in found:
        print("  ".join([key.id, key.name, *_details(key, used)]))
    if not found:
        say("no keys: anyone who reaches the service may use it, which is this machine alone without --host")


def run_revoke(name: str, state: Path | None, database: str | None, as_json: bool) -> None:
    """Revoke a key."""
    with _opened(state, database) as store:
        key = store.revoke(name)
    if as_json:
        print_json({"schema": "dragoman.keys.revoke/1", **asdict(key)})
        return
    say(f"{key.name}: revoked; services stop accepting it within seconds")


def _details(key: ApiKey, used: int) -> Iterator[str]:
    yield f"created {_day(key.created)}"
    if key.fault:
        yield key.fault.removeprefix("the key ")
    elif key.expires:
        yield f"expires {_day(key.expires)}"
    if key.per_minute:
        yield f"{key.per_minute:,} requests per minute"
    yield f"{used:,} characters today" + (f" of {key.characters_per_day:,}" if key.characters_per_day else "")
    if key.characters:
        yield f"{key.characters:,} characters per request"
    if key.models:
        yield f"only {', '.join(key.models)}"


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(min(seconds, LAST), UTC).date().isoformat()


@contextmanager
def _opened(state: Path | None, database: str | None) -> Iterator[KeyStore]:
    kept = ServiceState(state or state_folder(), database)
    store = KeyStore(kept.database)
    try:
        yield store
    finally:
        store.close()
        kept.close()
