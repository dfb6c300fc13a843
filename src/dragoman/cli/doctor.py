"""`dragoman doctor`: what this machine has, what is missing, and the command that provides it."""

import textwrap
from dataclasses import asdict
from pathlib import Path

import typer

from dragoman.cli.console import print_json
from dragoman.workflows.doctor import diagnose, is_usable

WIDTH = 80
SIGNS = {"ok": " ", "note": "-", "fault": "!"}


def run_doctor(as_json: bool) -> None:
    """Print the findings. They are data: stdout. Exits with 1 if Dragoman cannot be used as it is."""
    findings = diagnose(Path.cwd())
    usable = is_usable(findings)
    if as_json:
        print_json({"schema": "dragoman.doctor/1", "usable": usable, "findings": [asdict(one) for one in findings]})
    else:
        for finding in findings:
            first = f"{SIGNS[finding.state]} {finding.name:15} "
            print(textwrap.fill(finding.value, WIDTH, initial_indent=first, subsequent_indent=" " * len(first)))
            if finding.remedy:
                print(f"  {'':15} → {finding.remedy}")
        print("ready" if usable else "not usable: see the lines with !")
    if not usable:
        raise typer.Exit(1)
