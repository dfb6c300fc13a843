"""`dragoman keys …`: create, list and revoke the keys of the service."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.shared.arguments import Database, Json, State, app
from dragoman.cli.shared.console import facts_of, print_json, say
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.serve.store.keys import ApiKey, KeyStore

keys_app = typer.Typer(help="Create, list and revoke the keys of the service.", no_args_is_help=True)
app.add_typer(keys_app, name="keys")

# The largest limit, which every database holds, and the longest time, a hundred years.
MOST, MOST_DAYS = 10**15, 36_500
# The last second of the year 9999, after which there are no dates.
LAST = 253_402_300_799.0


@keys_app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="Who or what the key is for.")],
    per_minute: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Requests per minute; no limit unless given.")
    ] = None,
    per_day: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Characters to translate per day (UTC); no limit unless given.")
    ] = None,
    per_request: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Characters of a request; as the service unless given.")
    ] = None,
    models: Annotated[
        list[Path] | None, typer.Option("--model", "-m", help="A model that it may use; all unless given.")
    ] = None,
    days: Annotated[
        float | None, typer.Option(min=0, max=MOST_DAYS, help="Days until it expires; never unless given.")
    ] = None,
    state: State = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Create a key and print it, once.

    As soon as there is a key, requests need one, unless the service was started with --no-auth.
    """
    from dragoman.bundle import read_manifest
    from dragoman.installed import resolve_model

    folders = [resolve_model(model) for model in models or ()]
    for folder in folders:
        read_manifest(folder)  # what is no model is refused here
    if days is not None and not isfinite(days):
        raise ConfigError(f"--days {days}: give a number of days")
    with _opened(state, database) as store:
        key, text = store.create(
            name,
            per_minute=per_minute,
            characters_per_day=per_day,
            characters=per_request,
            models=[folder.name for folder in folders],
            expires=None if days is None else time.time() + 86_400 * days,
        )
    if as_json:
        print_json({"schema": "dragoman.keys.create/1", "key": text, **facts_of(key)})
    else:
        print(text)  # data: stdout
        say(f"{key.name}: keep it, it is not shown again; send it as: Authorization: Bearer {text[:6]}…")


@keys_app.command("list")
def list_keys(state: State = None, database: Database = None, as_json: Json = False) -> None:
    """Print the keys: names, limits and use, never the keys themselves."""
    with _opened(state, database) as store:
        uses = [(key, store.used_today(key.id)) for key in store.list()]
    if as_json:
        facts = [{**facts_of(key), "used_today": used} for key, used in uses]
        print_json({"schema": "dragoman.keys.list/1", "keys": facts})
        return
    for key, used in uses:
        print("  ".join([key.id, key.name, *_details(key, used)]))
    if not uses:
        say("no keys: anyone who reaches the service may use it, which is this machine alone without --host")


@keys_app.command("revoke")
def revoke(
    name: Annotated[str, typer.Argument(help="Name or id of the key.")],
    state: State = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Revoke a key: within seconds no service accepts it."""
    with _opened(state, database) as store:
        key = store.revoke(name)
    if as_json:
        print_json({"schema": "dragoman.keys.revoke/1", **facts_of(key)})
        return
    say(f"{key.name}: revoked; services stop accepting it within seconds")


def _details(key: "ApiKey", used: int) -> Iterator[str]:
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
def _opened(state: Path | None, database: str | None) -> Iterator["KeyStore"]:
    from dragoman.serve.store.database import ServiceState, state_folder
    from dragoman.serve.store.keys import KeyStore

    with (
        closing(ServiceState(state or state_folder(), database)) as service_state,
        closing(KeyStore(service_state.database)) as store,
    ):
        yield store
