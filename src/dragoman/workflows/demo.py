"""The demo: every step from text to translation on the embedded English-Korean text, without a network.

It writes an ordinary project (text, `run.toml`, run), so that each step can be repeated by hand.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from dragoman.config.file import load_config
from dragoman.data.corpus.corpus import embedded_pairs, read_pairs
from dragoman.errors import ConfigError
from dragoman.installed.opening import open_model
from dragoman.system.files import storage_error, write_text_atomically
from dragoman.system.pages import refuse_other_file
from dragoman.training.resume.checkpoint import checkpoint_steps
from dragoman.translator import Translator
from dragoman.workflows.listener import Listener, Listeners
from dragoman.workflows.models.look import inspect, live_model
from dragoman.workflows.train.train import train

# Longest English sentence of the demo, in words: short ones are learned within minutes.
WORDS = 14
# Test sentences that are translated at the end.
SHOWN = 6
# The sentence of the page at the end.
SENTENCE = "Click the OK button."

CONFIG = """\
# The demo's run: everything in it is explained in the file that `dragoman init NAME --pair en-ko` writes.
version = 1

[project]
name = "demo"
source = "en"
target = "ko"
license = "MPL-2.0"

[data]
train = ["data/train.tsv"]
valid = "data/valid.tsv"
test = "data/test.tsv"

[tokenizer]
vocab_size = 4000

[model]
layers = 3
d_model = 128
d_ff = 512
heads = 4
dropout = 0.2
norm_order = "pre"

[train]
batch_tokens = 1280
learning_rate = 4e-3
warmup = 400
max_minutes = {minutes}
validate_every = 250
translate_lines = 100
average_count = 3

[decode]
beam = 4
length_penalty = 1.0
"""

# This text with any number of minutes: what an earlier demo wrote.
ANY_MINUTES = re.compile(re.escape(CONFIG).replace(re.escape("{minutes}"), r"[\w.+-]+").encode())


@dataclass(frozen=True, slots=True)
class DemoExample:
    """A test sentence, its translation, and its human reference."""

    source: str
    translation: str
    reference: str


def run_demo(folder: Path, minutes: float, listeners: Iterable[Listener] = ()) -> list[DemoExample]:
    """Write the project to `folder`, train for `minutes`, translate some test sentences.

    A demo that was interrupted is continued. Raises ConfigError for files in the folder that no demo wrote.
    """
    listener = Listeners(listeners)
    config = load_config(_write_project(folder, minutes))
    text = f"sentences of at most {WORDS} words from LibreOffice's help (MPL-2.0), written to {folder / 'data'}"
    listener.notice(f"Text: {text}.\n")
    started = bool(checkpoint_steps(folder / "runs" / "demo" / "checkpoints"))
    model = train(config, resume=started, listeners=[listener]).model_path
    pairs = list(read_pairs(*config.data.test_corpora))
    chosen = pairs[:: max(1, len(pairs) // SHOWN)][:SHOWN]
    translations = Translator.load(model).translate([pair.source for pair in chosen])
    return [
        DemoExample(pair.source, translation.text, pair.target)
        for pair, translation in zip(chosen, translations, strict=True)
    ]


def write_page(folder: Path) -> Path:
    """Write the page of `dragoman look` with the demo's model in it, SENTENCE, and the film of its training.

    Raises ConfigError for a file of this name that no demo wrote.
    """
    page = folder / "look.html"
    refuse_other_file(page, "choose another folder with --output")
    bundle = open_model(folder / "runs" / "demo" / "model")
    inspection = inspect(bundle, SENTENCE)
    inspection.to_html(page, live=live_model(bundle, inspection))
    return page


def _write_project(folder: Path, minutes: float) -> Path:
    """Write the short sentences of the embedded text and run.toml; files that no demo wrote are not replaced."""
    config = folder / "run.toml"
    texts = {folder / "data" / f"{split}.tsv": _short_pairs(split) for split in ("train", "valid", "test")}
    try:
        for path, text in texts.items():
            _refuse_foreign(path, text.encode().__eq__)
        _refuse_foreign(config, ANY_MINUTES.fullmatch)
        (folder / "data").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(folder, error) from None
    for path, text in texts.items():
        write_text_atomically(path, text)
    write_text_atomically(config, CONFIG.format(minutes=minutes))
    return config


def _refuse_foreign(path: Path, ours: Callable[[bytes], object]) -> None:
    if path.exists() and not ours(path.read_bytes()):
        raise ConfigError(
            f"{path}: was not written by the demo and is not replaced; choose another folder with --output"
        )


def _short_pairs(split: str) -> str:
    short = (pair for pair in embedded_pairs(split) if len(pair.source.split()) <= WORDS)
    return "".join(f"{pair.source}\t{pair.target}\n" for pair in short)
