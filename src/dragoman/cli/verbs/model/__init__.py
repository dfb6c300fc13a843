"""`dragoman model …`: the verbs about models."""

import typer

from dragoman.cli.shared.arguments import app

model_app = typer.Typer(help="List, verify, pack and install models; add something to one.", no_args_is_help=True)
app.add_typer(model_app, name="model")
