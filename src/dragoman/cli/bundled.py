"""The bundled models together: each line goes to the one that reads its script."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dragoman.bundled import bundled_model_for, readable
from dragoman.cli.console import as_called, say
from dragoman.cli.loading import EngineChoice, load_translator
from dragoman.config import DecodeConfig
from dragoman.control.search.request import change_options
from dragoman.errors import ConfigError
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.tbx import TermBase
from dragoman.translation import Candidate, Flag, Translation
from dragoman.translator import Translator


def announce(text: str) -> None:
    """Print a message that names the program."""
    say(as_called(text))


class BundledTranslators:
    """A function from a text to its translator, each loaded and named when it is first used."""

    def __init__(
        self,
        choice: EngineChoice,
        changes: Mapping[str, Any],
        glossary: Glossary | TermBase | None,
        to: str | None = None,
        from_: str | None = None,
    ) -> None:
        self.choice, self.changes, self.glossary, self.languages = choice, changes, glossary, (to, from_)
        self.options = change_options(DecodeConfig(), changes)
        self.loaded: dict[str, Translator] = {}
        self.tell: Callable[[str], None] = announce

    def __call__(self, text: str) -> Translator | Translation:
        """The translator of a line; where no model reads its letters, the line as it is, with a warning."""
        try:
            model = bundled_model_for(text)
        except ConfigError as error:
            cause = str(error).partition(";")[0]
            flag = Flag("script", f"{cause}; the line is left as it is")
            return Translation(text, (Candidate(text, 0.0, 0.0),), (flag,))
        if model.name not in self.loaded:
            self.tell(f"Using the bundled model {model.name}: {model.limits} Train your own with `dragoman train`")
            found = load_translator([model.folder], self.choice, self.changes, self.glossary)
            self.loaded[model.name] = found.to(*self.languages)
        return self.loaded[model.name]

    def refuse_unreadable(self, lines: Sequence[str]) -> None:
        """Raise ConfigError if no model reads any of these lines."""
        if not any(map(readable, lines)):
            bundled_model_for("\n".join(lines))
