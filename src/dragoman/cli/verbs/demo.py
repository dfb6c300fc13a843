"""`dragoman demo`: train and use a small model, and say what to type next."""

import math
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shared.arguments import app
from dragoman.cli.shared.console import program, quoted, say
from dragoman.errors import Interrupted


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--output", "-o", help="Folder that the demo writes.")] = Path(
        "dragoman-demo"
    ),
    minutes: Annotated[float, typer.Option(min=0.05, max=100_000, help="Minutes of training.")] = 4.0,
) -> None:
    """Train and use a small model on the embedded text.

    English → Korean in about five minutes, without a network: check, learn the tokenizer, train, score, translate.
    """
    from dragoman.cli.shared.progress import Display
    from dragoman.workflows.demo import run_demo, write_page

    say(f"Dragoman's demo: English → Korean in about {math.ceil(minutes + 1)} minutes, all on this machine.")
    try:
        with Display() as display:
            examples = run_demo(folder, minutes, [display])
    except Interrupted:
        raise Interrupted("stopped and saved; the same command continues") from None

    say("\nTest sentences it has never seen, each with its human translation below:")
    for example in examples:
        say(f"  {example.source}\n  → {example.translation}\n  = {example.reference}\n")
    say(
        f"\nThis is a very small model ({minutes:g} minutes, one kind of text, short sentences): it gets many phrases\n"
        "right, and invents words where it does not know them. Longer training on this little text does not help\n"
        "(thirty minutes on all of it: BLEU 24, reproduce/results.md); more text does.\n"
    )
    page = write_page(folder)
    say(f"What it computes, step by step, and a film of how it learned: {page}, to open in a browser.\n")
    dragoman, model = program(), quoted(folder / "runs/demo/model")
    say("What to type next:")
    say(f'  {dragoman} translate -m {model} "Click the OK button."')
    say(f"  {dragoman} model show -m {model}")
    say(f"  {dragoman} init mine --pair en-ko      # start with your own text")
