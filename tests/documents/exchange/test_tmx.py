"""TMX: variants in the target language are added, with the inline codes of the source; the rest stays."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from documents.real import needs_data, real
from dragoman.documents.core.document import Document, DocumentOptions
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
EN_KO = DocumentOptions("en", "ko")


def opened(tmp_path: Path, content: str | bytes, request: DocumentOptions = EN_KO) -> Document:
    path = tmp_path / "a.tmx"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return tmx.read(path, request)


def written(document: Document, texts: list[InlineText | None], request: DocumentOptions = EN_KO) -> bytes:
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
    request = DocumentOptions("en", "ko", update=True)
    assert [unit.source.text for unit in opened(tmp_path, SAMPLE, request).units] == ["Press OK & wait"]


def test_a_memory_without_the_language_says_so(tmp_path: Path) -> None:
    assert opened(tmp_path, SAMPLE, DocumentOptions("ja", "ko")).notices == ("it has no text in ja",)


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("nb", "no"), ("no", "nb"), ("nn-NO", "no"), ("zh-TW", "zh-Hant"), ("zh-Hant", "zh-TW"), ("sr-Latn", "sr"),
        ("pt", "pt-BR"), ("pt-BR", "pt"), ("iw", "he"), ("he", "iw"), ("in", "id"), ("ind", "id"),
    ],
)  # fmt: skip
def test_a_language_is_found_by_each_of_its_tags(tag: str, language: str, tmp_path: Path) -> None:
    content = f"""<tmx version="1.4"><body><tu>
<tuv xml:lang="{tag}"><seg>Ja</seg></tuv><tuv xml:lang="en"><seg>Yes</seg></tuv>
</tu></body></tmx>"""
    document = opened(tmp_path, content, DocumentOptions(language, "en"))
    assert [(unit.source.text, unit.existing) for unit in document.units] == [("Ja", InlineText("Yes"))]
    assert not document.notices
    backwards = DocumentOptions("en", language, update=True)
    assert not opened(tmp_path, content, backwards).units
    document = opened(tmp_path, content, replace(backwards, update=False))
    assert f'<tuv xml:lang="{tag}"><seg>Nei</seg>' in written(document, [InlineText("Nei")], backwards).decode()


@pytest.mark.parametrize(
    ("target", "existing"),
    [("zh-TW", "繁"), ("zh-Hant", "繁"), ("zh-CN", "简"), ("zh-Hans", "简"), ("pt-BR", "br"), ("pt-PT", "pt"),
     ("nn", "n"), ("nb", "b"), ("no", "b"), ("sr-Latn", None)],
)  # fmt: skip
def test_the_nearest_of_several_variants_is_the_translation(target: str, existing: str | None, tmp_path: Path) -> None:
    variants = {"zh-CN": "简", "zh-TW": "繁", "pt-PT": "pt", "pt-BR": "br", "nn": "n", "nb-NO": "b", "sr-Cyrl": "с"}
    tuvs = "".join(f'<tuv xml:lang="{tag}"><seg>{text}</seg></tuv>' for tag, text in variants.items())
    content = f'<tmx version="1.4"><body><tu><tuv xml:lang="en"><seg>x</seg></tuv>{tuvs}</tu></body></tmx>'
    document = opened(tmp_path, content, DocumentOptions("en", target))
    assert [unit.existing for unit in document.units] == [existing and InlineText(existing)]


def test_a_variant_in_another_script_stays(tmp_path: Path) -> None:
    content = """<tmx version="1.4"><body><tu><tuv xml:lang="en"><seg>x</seg></tuv>
<tuv xml:lang="zh-CN"><seg>简</seg></tuv></tu></body></tmx>"""
    request = DocumentOptions("en", "zh-TW", update=True)
    result = written(opened(tmp_path, content, request), [InlineText("繁")], request).decode()
    assert '<tuv xml:lang="zh-CN"><seg>简</seg></tuv>' in result
    assert '<tuv xml:lang="zh-TW"><seg>繁</seg></tuv>' in result


def test_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not TMX, but <r>"):
        opened(tmp_path, "<r/>")
    with pytest.raises(DataError, match="declares the entity 'd'"):
        opened(tmp_path, '<!DOCTYPE tmx [<!ENTITY % d SYSTEM "http://127.0.0.1:9/a"> %d;]><tmx/>')


@needs_data
@pytest.mark.parametrize("path", real("tmx"), ids=lambda path: path.name)
def test_real_files(path: Path, tmp_path: Path) -> None:
    request = DocumentOptions("en", "fr" if "memory" in path.name else "ko")
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
