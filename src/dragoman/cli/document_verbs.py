"""The verb about formats of documents: its arguments and help. Heavy imports happen inside it."""

from dragoman.cli.arguments import Json, app


@app.command()
def documents(as_json: Json = False) -> None:
    """List the formats of documents that `translate` reads and writes."""
    from dragoman.cli.documents import run_list

    run_list(as_json)
