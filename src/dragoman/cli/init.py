"""`dragoman init`: a folder with a commented configuration."""

import errno
import os
import re
from pathlib import Path

from dragoman.cli.console import program, say
from dragoman.config.project import NAME_RULE, is_name
from dragoman.errors import ConfigError
from dragoman.storage import storage_error, write_text_atomically

TEMPLATE = """\
# A Dragoman run. Check the text with `dragoman data check {file}`, train with `dragoman train {file}`.
# Any key can be overridden on the command line: `dragoman train {file} train.max_steps=1000`.
version = 1

[project]
name = "{name}"
source = "{source}"          # language translated from (BCP-47)
target = "{target}"          # language translated into
license = "private"    # of the trained model, for its card

[data]
# Two files of lines, or one .tsv (two columns) or .jsonl file; .gz and .zst are read directly.
# Several corpora: repeat [[data.train]]; with `weight = 3` an epoch has its pairs three times.
valid = {{source = "data/valid.{source}", target = "data/valid.{target}"}}   # validated on during training
test = {{source = "data/test.{source}", target = "data/test.{target}"}}      # scored once, at the end; optional
max_length = 200       # longer pairs (in tokens) are counted and skipped

[[data.train]]
source = "data/train.{source}"
target = "data/train.{target}"

[tokenizer]
kind = "unigram"       # or "bpe"
# vocab_size = 8000    # default: 2000 for up to 10 thousand pairs … 32000 for a million and more
joint = true           # one vocabulary for both languages

[model]
preset = "auto"        # by the text; or tiny | small | base | big; exactly 2017: paper-base | paper-big
# dropout = 0.3        # higher if there is little text

[train]
batch_tokens = 4096    # per micro-batch; raise it on a GPU
accumulate = 1         # micro-batches per update
max_steps = "auto"     # by the text; `dragoman data check {file} --estimate` shows the time it takes
# max_minutes = 120    # a limit of time
warmup = "auto"
validate_every = "auto"
patience = 10          # validations without a better `watch` before it stops
watch = "loss"         # or "bleu", "chrf" of real translations

[decode]
beam = 4
length_penalty = 0.6
"""


def write_project(folder: Path, pair: str) -> None:
    """Write `folder`/run.toml and an empty `folder`/data. Raises ConfigError."""
    match = re.fullmatch(r"([A-Za-z]{2,3}(?:-\w+)*):([A-Za-z]{2,3}(?:-\w+)*)|([A-Za-z]{2,3})-([A-Za-z]{2,3})", pair)
    if not match:
        raise ConfigError(
            f'--pair {pair}: not two languages; give, for example, "ko-en", or "pt-BR:en" for longer tags'
        )
    source, target = (group for group in match.groups() if group)
    if source == target:
        raise ConfigError(f"--pair {pair}: the same language twice, so both sides would be the same file; give two")
    name = folder.name or folder.absolute().name  # "." is the folder we are in
    if not is_name(name):
        raise ConfigError(f"{name!r}: not a name: {NAME_RULE}")
    path = folder / "run.toml"
    text = TEMPLATE.format(file=path, name=name, source=source, target=target)
    try:
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        (folder / "data").mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise ConfigError(f"{error.filename}: already exists; edit it, or choose another name") from None
    except OSError as error:
        raise storage_error(path, error) from None
    write_text_atomically(path, text)
    say(f"{path} is written. Put your text into {folder}/data (see [data] there), or split a corpus:")
    say(f"  {program()} data split {path} all.{source} all.{target}")
    say(f"  {program()} data check {path}\n  {program()} train {path}")
