"""`dragoman train`: run a configuration, show its progress, print the next commands."""

from typing import Annotated

import typer

from dragoman.cli.shared.arguments import Config, Json, Overrides, app


@app.command()
def train(
    config: Config,
    overrides: Overrides = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue exactly where the run stopped.")] = False,
    language_model: Annotated[
        bool, typer.Option("--language-model", help="Train a language model of the run's target text and pieces.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train a model from text files.

    Checks the text, learns the tokenizer, trains, scores, writes the model. Ctrl-C saves; --resume continues.
    """
    from dragoman.cli.shared.console import quoted
    from dragoman.cli.shared.progress import Display
    from dragoman.cli.shared.reports import shown
    from dragoman.cli.shared.runs import print_result, read_resumable, resume_command, say_next
    from dragoman.config import LanguageModelConfig
    from dragoman.config.file import read_config
    from dragoman.errors import Interrupted
    from dragoman.workflows.train.language_model import read_language_model, shared_tokenizer
    from dragoman.workflows.train.run_folder import output_of
    from dragoman.workflows.train.train import train as run

    read = read_language_model if language_model else read_config
    run_config, keys, all_overrides = read_resumable(config, overrides or [], resume, read)
    arguments = [*(["--language-model"] if language_model else []), str(config)]
    command = resume_command("train", arguments, all_overrides)
    tokenizer = None
    if isinstance(run_config.model, LanguageModelConfig) and language_model and not resume:
        tokenizer = shared_tokenizer(config, run_config.model.language)
    hints = [f"writes {shown(str(output_of(run_config)))}; Ctrl-C saves and stops, this continues:", f"  {command}"]
    with Display(hints) as display:
        try:
            result = run(run_config, resume, [display], user_keys=keys, tokenizer=tokenizer, overrides=all_overrides)
        except Interrupted as stopped:
            raise Interrupted(str(stopped).replace("with --resume", f"with: {command}")) from None
    if not result.scores:  # not the main process of several
        return
    if as_json:
        print_result("dragoman.train/1", result)
    model = quoted(result.model_path)
    next_commands = [f'translate -m {model} "…"', f"model show -m {model}"]
    if language_model:
        weight = "-O language_model_weight=0.2"
        next_commands = [f"model perplexity -m {model} FILE", f"translate -m MODEL -O language_model={model} {weight}"]
    say_next(result, "The model", config, next_commands)
