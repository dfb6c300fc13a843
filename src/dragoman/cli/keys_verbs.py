"""`dragoman keys …`: the arguments and help of the verbs about keys of the service. Heavy imports happen inside."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.arguments import DATABASE_HELP, STATE_HELP, Json, keys_app

State = Annotated[Path | None, typer.Option(help=STATE_HELP)]
# The largest limit, which every database holds, and the longest time, a hundred years.
MOST, MOST_DAYS = 10**15, 36_500
Database = Annotated[str | None, typer.Option(metavar="URL", help=DATABASE_HELP)]


@keys_app.command("create")
def keys_create(
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
    from dragoman.cli.keys import run_create

    run_create(name, per_minute, per_day, per_request, models or [], days, state, database, as_json)


@keys_app.command("list")
def keys_list(state: State = None, database: Database = None, as_json: Json = False) -> None:
    """Print the keys: names, limits and use, never the keys themselves."""
    from dragoman.cli.keys import run_list

    run_list(state, database, as_json)


@keys_app.command("revoke")
def keys_revoke(
    name: Annotated[str, typer.Argument(help="Name or id of the key.")],
    state: State = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Revoke a key: within seconds no service accepts it."""
    from dragoman.cli.keys import run_revoke

    run_revoke(name, state, database, as_json)
