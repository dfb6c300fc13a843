"""`dragoman serve`: its arguments and help. Heavy imports happen inside it."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.cli.arguments import (
    DATABASE_HELP,
    MODEL_HELP,
    STATE_HELP,
    RayAddress,
    Threads,
    app,
    bytes_of,
    refuse_useless,
)


@app.command()
def serve(
    models: Annotated[
        list[Path] | None,
        typer.Option("--model", "-m", help=f"{MODEL_HELP} May be given several times. Default: the bundled models."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; that of this machine alone unless given.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 is any free one.")] = 8080,
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A host name by which the service may be asked.")
    ] = None,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Need no key: everyone who reaches it may use it.")
    ] = False,
    threads: Threads = None,
    memory_limit: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory for loaded models, such as 2G; others give way.")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Bit-identical in any batch, but slower: decode.exact.")
    ] = False,
    memory: Annotated[
        Path | None, typer.Option(help="Translation memory, asked first: .db, .tmx, .tsv, .po or .xliff.")
    ] = None,
    state: Annotated[Path | None, typer.Option(help=STATE_HELP)] = None,
    database: Annotated[str | None, typer.Option(metavar="URL", help=DATABASE_HELP)] = None,
    log: Annotated[Literal["plain", "json"], typer.Option(help="Log on stderr: lines for people, or JSON.")] = "plain",
    otlp: Annotated[
        str | None, typer.Option(metavar="URL", help="Send traces to this OpenTelemetry collector.")
    ] = None,
    max_requests: Annotated[int, typer.Option(min=1, help="Requests that are worked on at a time.")] = 256,
    max_seconds: Annotated[float, typer.Option(min=0.1, help="Seconds that a request may take.")] = 60.0,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of the body of a request.")] = 4 << 20,
    max_document: Annotated[int, typer.Option(min=1, help="Bytes of a document.")] = 32 << 20,
    document_minutes: Annotated[float, typer.Option(min=0.1, help="How long a translated document is kept.")] = 60.0,
    ray: Annotated[bool, typer.Option("--ray", help="Serve by replicas on the machines of a Ray cluster.")] = False,
    replicas: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Processes that serve on the port, each with its threads; with --ray, 2."),
    ] = None,
    ray_address: RayAddress = None,
) -> None:
    """Serve translations over HTTP, on this machine alone by default.

    Its own interface is under /v1, see /docs; programs that speak LibreTranslate use it unchanged.
    """
    from dragoman.cli.serve import run_serve
    from dragoman.cli.serve_on_ray import RayReplicas, run_serve_on_ray
    from dragoman.cli.serve_replicas import run_serve_replicas
    from dragoman.cli.serve_request import ServeRequest
    from dragoman.serve.documents.store import DocumentLimits
    from dragoman.serve.run import Address
    from dragoman.serve.work.service import ServiceLimits

    if not ray:
        refuse_useless({"ray-address": ray_address}, "this machine alone; add --ray")
    request = ServeRequest(
        models or [],
        Address(host, port, allow_host or [], no_auth),
        ServiceLimits(places=max_requests, seconds=max_seconds, body_bytes=max_body),
        DocumentLimits(bytes=max_document, seconds=60 * document_minutes),
        threads,
        exact,
        memory,
        state,
        database,
        log,
        otlp,
        None if memory_limit is None else bytes_of("--memory-limit", memory_limit),
    )
    if ray:
        run_serve_on_ray(request, RayReplicas(replicas or 2, ray_address))
    elif replicas:
        run_serve_replicas(request, replicas)
    else:
        run_serve(request)
