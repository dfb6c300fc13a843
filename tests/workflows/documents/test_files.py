"""Names of translated documents: the tag of the source's language gives way to that of the target's."""

from pathlib import Path

import pytest

from dragoman.documents.formats import kind_of
from dragoman.workflows.documents.files import Source, name_in_language


@pytest.mark.parametrize(
    ("name", "language", "target", "result"),
    [
        ("report.docx", "en", "ko", "report.ko.docx"),
        ("app_en.arb", "en", "ko", "app_ko.arb"),
        ("app-pt-BR.json", "pt-BR", "ko", "app-ko.json"),
        ("app-pt.json", "pt-BR", "ko", "app-ko.json"),
        ("film.nb.srt", "no", "en", "film.en.srt"),
        ("messages_iw.properties", "he", "en", "messages_en.properties"),
        ("messages_in.properties", "en", "id", "messages_in.id.properties"),
        ("strings.xml", "en", "ko", "strings.ko.xml"),
    ],
)
def test_the_name_in_the_target_language(name: str, language: str, target: str, result: str) -> None:
    path = Path(name)
    assert name_in_language(Source(path, kind_of(path), path), language, target) == result
