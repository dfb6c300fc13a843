"""The bundled models together: each line goes to the one that reads its script."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dragoman.bundled import bundled_model_for, readable
from dragoman.config import DecodeConfig
from dragoman.errors import ConfigError
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.tbx import TermBase
from dragoman.translation import Candidate, Flag, Translation
from dragoman.translator import Translator


def ignore(notice: str) -> None:
    """Do nothing with a notice."""


@dataclass
class BundledTranslators:
    """A function from a text to its translator; each is made by `load` and named by `notice` when it is first used."""

    load: Callable[[Path], Translator]
    """From the folder of a model to its translator, with these `options` and this `glossary`."""
    options: DecodeConfig = field(default_factory=DecodeConfig)
    glossary: Glossary | TermBase | None = None
    to: str | None = None
    from_: str | None = None
    notice: Callable[[str], None] = ignore
    loaded: dict[str, Translator] = field(default_factory=dict, init=False)
    """The translators by the names of their models."""

    def __call__(self, text: str) -> Translator | Translation:
        """The translator of a line; where no model reads its letters, the line as it is, with a warning."""
        try:
            model = bundled_model_for(text)
        except ConfigError as error:
            cause = str(error).partition(";")[0]
            flag = Flag("script", f"{cause}; the line is left as it is")
            return Translation(text, (Candidate(text, 0.0, 0.0),), (flag,))
        if model.name not in self.loaded:
            self.notice(f"Using the bundled model {model.name}: {model.limits} Train your own with `dragoman train`")
            self.loaded[model.name] = self.load(model.folder).to(self.to, self.from_)
        return self.loaded[model.name]

    def refuse_unreadable(self, lines: Sequence[str]) -> None:
        """Raise ConfigError if no model reads any of these lines."""
        if not any(map(readable, lines)):
            bundled_model_for("\n".join(lines))
