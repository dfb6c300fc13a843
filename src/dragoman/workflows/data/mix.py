"""Mixing corpora: the corpus of data.train from those of [data.mix], and a file that names the origin of each line."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path

from dragoman.config import CorpusConfig, MixedCorpus, RunConfig
from dragoman.config.file import load_config
from dragoman.data.corpus.output import new_text_files, real_path, refuse_pipes, refuse_same
from dragoman.data.make.mix import count_pairs, mixture, sizes
from dragoman.errors import ConfigError
from dragoman.system.files import refuse_existing
from dragoman.workflows.listener import Listener, Listeners

# Pairs written at once.
CHUNK = 4096


@dataclass(frozen=True, slots=True)
class MixedFrom:
    """How much of a mixture is from one corpus."""

    domain: str
    """Its tag, or the name of its file."""
    pairs: int
    mixed: int


@dataclass(frozen=True, slots=True)
class MixResult:
    """A mixture of corpora."""

    pairs: int
    corpora: tuple[MixedFrom, ...]
    files: tuple[Path, ...]
    """The training text: one file or two."""
    domains: Path
    """The domain of each of its lines."""


def mix_data(
    config: RunConfig | str | PathLike[str], *, force: bool = False, listeners: Iterable[Listener] = ()
) -> MixResult:
    """Mix the corpora of [data.mix] into the one corpus of data.train; `train.domain` names the origin of each line.

    The mixture depends only on the text and the configuration. Raises ConfigError if a file exists and not `force`, if
    there is nothing to mix or a tag is not in tokenizer.user_defined_symbols; DataError if a corpus cannot be read.
    """
    config = config if isinstance(config, RunConfig) else load_config(config)
    mix = config.data.mix
    written = _output_files(config, force)
    listener = Listeners(listeners)
    counts = [count_pairs(corpus) for corpus in mix.corpora]
    wanted = sizes(counts, mix)
    progress = listener.counter("mixing", "pairs", sum(counts))
    domains = [corpus.tag.strip("<>") or corpus.source.name for corpus in mix.corpora]
    train = config.data.train[0]
    pairs = mixture(mix, counts, wanted, progress)
    with new_text_files(written) as out:
        while chunk := list(islice(pairs, CHUNK)):
            out.write_pairs(train, ((pair.source, pair.target) for pair in chunk))
            out.write(len(train.files), (domains[pair.corpus] for pair in chunk))
    parts = tuple(map(MixedFrom, domains, counts, wanted))
    return MixResult(sum(wanted), parts, train.files, written[-1])


def _output_files(config: RunConfig, force: bool) -> list[Path]:
    """The files of the mixture. Raises ConfigError if it cannot be made."""
    train, corpora = config.data.train, config.data.mix.corpora
    if not corpora:
        raise ConfigError("data.mix.corpora: names nothing to mix; name the corpora, with weights and tags")
    if len(train) != 1:
        raise ConfigError(f"data.train: names {len(train)} corpora, but a mixture is one; name one")
    for corpus in corpora:
        refuse_pipes(corpus.files)
        _refuse_unknown_tag(corpus, config)
    written = [*train[0].files, _domain_file(train[0])]
    refuse_same(written, "give each side its own file in data.train")
    read = {real_path(path) for corpus in corpora for path in corpus.files}
    if overlap := next((path for path in written if real_path(path) in read), None):
        raise ConfigError(f"{overlap}: is both mixed and written; name other files in data.train")
    if not force:
        refuse_existing(written, "give --force to replace it, or name another file in data.train")
    return written


def _refuse_unknown_tag(corpus: MixedCorpus, config: RunConfig) -> None:
    if corpus.tag and corpus.tag not in config.tokenizer.user_defined_symbols:
        raise ConfigError(
            f'data.mix.corpora: the tag "{corpus.tag}" would be cut into pieces; '
            "add it to tokenizer.user_defined_symbols"
        )


def _domain_file(train: CorpusConfig) -> Path:
    """`train.domain` for `train.ko`, compressed in the same way."""
    name = train.source.name
    ending = next((ending for ending in (".gz", ".zst") if name.endswith(ending)), "")
    return train.source.with_name(Path(name.removesuffix(ending)).stem + ".domain" + ending)
