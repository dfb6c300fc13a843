"""`dragoman doctor`: what this machine has, what is missing, and the command that provides it."""

import textwrap
from pathlib import Path

import typer

from dragoman.cli.shared.arguments import Json, app
from dragoman.cli.shared.console import print_json

WIDTH = 80
SIGNS = {"ok": " ", "note": "-", "fault": "!"}


@app.command()
def doctor(as_json: Json = False) -> None:
    """Report what this machine has and what is missing.

    Processor, memory, GPU, versions, models; for what is missing, the command that provides it.
    """
    from dragoman.workflows.doctor import diagnose, is_usable

    findings = diagnose(Path.cwd())
    usable = is_usable(findings)
    if as_json:
        print_json({"schema": "dragoman.doctor/1", "usable": usable, "findings": findings})
    else:
        for finding in findings:
            first = f"{SIGNS[finding.state]} {finding.name:15} "
            print(textwrap.fill(finding.value, WIDTH, initial_indent=first, subsequent_indent=" " * len(first)))
            if finding.remedy:
                print(f"  {'':15} → {finding.remedy}")
        print("ready" if usable else "not usable: see the lines with !")
    if not usable:
        raise typer.Exit(1)
