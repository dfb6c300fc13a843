"""A network that CTranslate2 cannot load: whose fault it is."""

from typing import NoReturn

import ctranslate2
import pytest

from dragoman.bundled import HOME
from dragoman.errors import ModelError
from dragoman.translator import Translator


def test_a_name_that_is_not_utf8_is_that_of_a_damaged_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object, **__: object) -> NoReturn:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")  # of its message about a variable

    monkeypatch.setattr(ctranslate2, "Translator", load)
    with pytest.raises(ModelError, match=r"ct2-int8: CTranslate2 cannot load it: damaged; export the model again$"):
        Translator.load(HOME / "en-ko")
