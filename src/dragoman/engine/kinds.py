"""Two kinds of bundle: translation models and language models, each refused where the other is expected."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

from dragoman.bundle import Bundle, open_bundle
from dragoman.config.sections.architectures.language_model import LANGUAGE_MODEL
from dragoman.errors import ModelError
from dragoman.text.tokens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from dragoman.model.others.language_model import LanguageModel


def require_kind(bundle: Bundle, language_model: bool) -> None:
    """Raise ModelError for a language model where a translation model is expected, and for the reverse."""
    if (bundle.config.model.architecture == LANGUAGE_MODEL) == language_model:
        return
    if language_model:
        remedy = "`dragoman train --language-model` trains one"
        raise ModelError(f"{bundle.folder}: a translation model; a language model is expected, {remedy}")
    raise ModelError(f"{bundle.folder}: a language model, which translates nothing; give a translation model")


def language_model_of(bundle: Bundle, tokenizer: Tokenizer, of: str) -> "LanguageModel":
    """The network of a language model with the target pieces of the tokenizer `of` a translation model.

    Raises ModelError if the bundle is none, or has other pieces.
    """
    require_kind(bundle, language_model=True)
    if bundle.tokenizer.target.serialized != tokenizer.target.serialized:
        raise ModelError(
            f"{bundle.folder}: its vocabulary is not that of {of}; train it from the same run.toml with "
            "`dragoman train --language-model`"
        )
    return cast("LanguageModel", bundle.load_model())


def load_language_model(folder: Path | None, of: Bundle) -> "LanguageModel | None":
    """`language_model_of` the bundle in a folder, for the translation model `of`; None without a folder.

    Raises ModelError also for one of a language into which it does not translate.
    """
    if folder is None:
        return None
    bundle = open_bundle(folder)
    network = language_model_of(bundle, of.tokenizer, str(of.folder))
    language, targets = network.config.language, [pair.target for pair in of.config.project.all_pairs]
    if language not in targets:
        raise ModelError(
            f"{folder}: a language model of {language}, but {of.folder} translates into {' and '.join(targets)}; "
            f"train one with model.language={targets[0]}"
        )
    return network
