"""TMX: variants in the target language are added, with the inline codes of the source; the rest stays."""

from io import BytesIO
from pathlib import Path

import pytest

from documents.real import needs_data, real
from dragoman.documents.core.document import Document, Request
from dragoman.documents.exchange import tmx
from dragoman.documents.xml.elements import plain_text, read_elements
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

SAMPLE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="*all*"/><body>
  <tu tuid="a"><note>A button</note>
    <tuv xml:lang="en-US">
      <seg>Press <bpt i="1">&lt;b&gt;</bpt>OK<ept i="1">&lt;/b&gt;</ept><ph>&lt;br&gt;</ph> &amp; wait</seg>
    </tuv>
    <tuv xml:lang="fr"><seg>Appuyez</seg></tuv>
  </tu>
  <tu><tuv lang="EN"><seg>Yes</seg></tuv><tuv lang="ko"><prop type="x">y</prop><seg>예</seg></tuv></tu>
  <tu><tuv xml:lang="de"><seg>Nein</seg></tuv></tu>
</body></tmx>
"""
EN_KO = Request("en", "ko")


def opened(tmp_path: Path, content: str | bytes, request: Request = EN_KO) -> Document:
    path = tmp_path / "a.tmx"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return tmx.read(path, request)


def written(document: Document, texts: list[InlineText | None], request: Request = EN_KO) -> bytes:
    file = BytesIO()
    tmx.write(document, texts, request, file)
    return file.getvalue()


def test_variants_are_added_and_replaced(tmp_path: Path) -> None:
    document = opened(tmp_path, SAMPLE)
    units = list(document.units)
    assert [unit.source.text for unit in units] == ["Press OK & wait", "Yes"]
    assert [code.kind for code in units[0].source.codes] == ["open", "close", "alone"]
    assert units[1].existing == InlineText("예")
    assert written(document, [None, None]) == written(document, [None, units[1].existing]) == SAMPLE.encode()
    result = written(document, [units[0].source, InlineText("네")]).decode()
    added = """</tuv>
    <tuv xml:lang="ko">
      <seg>Press <bpt i="1">&lt;b&gt;</bpt>OK<ept i="1">&lt;/b&gt;</ept><ph>&lt;br&gt;</ph> &amp; wait</seg>
    </tuv>
    <tuv xml:lang="fr">"""
    assert added in result
    assert '<prop type="x">y</prop><seg>네</seg>' in result
    assert [unit.existing for unit in opened(tmp_path, result).units] == [units[0].source, InlineText("네")]


def test_update_fills_what_is_missing(tmp_path: Path) -> None:
    request = Request("en", "ko", update=True)
    assert [unit.source.text for unit in opened(tmp_path, SAMPLE, request).units] == ["Press OK & wait"]


def test_a_memory_without_the_language_says_so(tmp_path: Path) -> None:
    assert opened(tmp_path, SAMPLE, Request("ja", "ko")).notices == ("it has no text in ja",)


def test_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not TMX, but <r>"):
        opened(tmp_path, "<r/>")
    with pytest.raises(DataError, match="declares the entity 'd'"):
        opened(tmp_path, '<!DOCTYPE tmx [<!ENTITY % d SYSTEM "http://127.0.0.1:9/a"> %d;]><tmx/>')


@needs_data
@pytest.mark.parametrize("path", real("tmx"), ids=lambda path: path.name)
def test_real_files(path: Path, tmp_path: Path) -> None:
    request = Request("en", "fr" if "memory" in path.name else "ko")
    document = tmx.read(path, request)
    units = list(document.units)
    assert written(document, [None] * len(units), request) == path.read_bytes()
    assert written(document, [unit.existing for unit in units], request) == path.read_bytes()
    result = written(document, [unit.source for unit in units], request)
    again = opened(tmp_path, result, request)
    assert [unit.existing for unit in again.units] == [unit.source for unit in units]
    decoded, root = read_elements("a", result)
    others = [plain_text(decoded.text, each) for each in root.walk() if each.name == "prop"]
    decoded, root = read_elements("a", path.read_bytes())
    assert others == [plain_text(decoded.text, each) for each in root.walk() if each.name == "prop"]
