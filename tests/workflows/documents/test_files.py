"""Names of translated documents: the tag of the source's language gives way to that of the target's."""

from pathlib import Path

import pytest

from dragoman.documents.formats import kind_of
from dragoman.errors import ConfigError
from dragoman.workflows.documents.files import Source, find_sources, name_in_language, target_of


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
        ("report.en.pdf", "en", "ko", "report.ko.docx"),
    ],
)
def test_the_name_in_the_target_language(name: str, language: str, target: str, result: str) -> None:
    path = Path(name)
    assert name_in_language(Source(path, kind_of(path), path), language, target) == result


def test_a_pdf_is_written_as_another_format(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    source = Source(path, kind_of(path), Path("a.pdf"))
    assert target_of(source, tmp_path, True, ("en", "ko")) == tmp_path / "a.docx"
    for name in ("b.docx", "b.md"):
        assert target_of(source, tmp_path / name, False, ("en", "ko")) == tmp_path / name
    with pytest.raises(ConfigError, match=r"a PDF is written as \.docx or \.md"):
        target_of(source, tmp_path / "b.pdf", False, ("en", "ko"))


def test_a_file_of_a_folder_that_only_has_the_name_of_a_format_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "b.pdf").write_text("no PDF")
    sources, others = find_sources([tmp_path], None)
    assert [source.path.name for source in sources] == ["a.txt"]
    assert [path.name for path in others] == ["b.pdf"]
