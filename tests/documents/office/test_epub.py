"""Books: chapters byte for byte outside of their text, title, language and contents; DRM is refused."""

from pathlib import Path

import pytest

pytest.importorskip("lxml")

from documents.packages import archive, check_laws, hostile, part, put, shown
from documents.real import needs_data, real
from documents.splicing import opened, texts
from dragoman.documents import Document
from dragoman.errors import DataError

CONTAINER = """<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="book/a.opf"/></rootfiles></container>"""
PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">
<metadata><dc:title>A Book</dc:title><dc:language>en</dc:language></metadata>
<manifest><item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
<item id="b" href="two%20.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="one.xhtml" media-type="application/xhtml+xml"/></manifest>
<spine><itemref idref="a"/><itemref idref="b"/></spine></package>"""
NCX = """<ncx xmlns="n"><navMap><navPoint><navLabel><text>One</text></navLabel></navPoint></navMap></ncx>"""
ONE = """<?xml version="1.0"?>\r\n<html xmlns="http://www.w3.org/1999/xhtml" lang="en" xml:lang='en'>
<head><title>One</title><script src="x"></script></head>
<body><p class='a'  id="x">The <b>red</b> &#8212; car<br/>goes</p>
<p/><img src="i" alt="A &amp; B"/><code>x = 1</code></body></html>"""
TWO = """<html xmlns="http://www.w3.org/1999/xhtml"><body><p>Second chapter</p></body></html>"""


def parts(**others: str) -> dict[str, str | bytes]:
    book = {"mimetype": "application/epub+zip", "META-INF/container.xml": CONTAINER, "book/a.opf": PACKAGE}
    return {**book, "book/toc.ncx": NCX, "book/two .xhtml": TWO, "book/one.xhtml": ONE, **others}  # type: ignore[dict-item]


def book(path: Path) -> Document:
    return opened(archive(path / "a.epub", parts()))


def test_the_text_of_a_book_in_the_order_of_reading(tmp_path: Path) -> None:
    document = book(tmp_path)
    assert texts(document) == ["A Book", "One", "The red — car\ngoes", "A & B", "Second chapter", "One"]
    check_laws(document.path, tmp_path)


def test_only_text_and_languages_change(tmp_path: Path) -> None:
    document = book(tmp_path)
    sentence = next(unit.source for unit in document.units if unit.source.text.startswith("The"))
    new = {shown(sentence): shown(sentence).replace("The", "\xa0그").replace("car", '<"차">'), "A & B": 'A & "B"'}
    content = put(document, new)
    assert part(content, "book/one.xhtml").replace("\r\n", "\n") == (
        ONE.replace("\r\n", "\n")
        .replace("The", "\xa0그")
        .replace("car", '&lt;"차"&gt;')
        .replace("A &amp; B", "A &amp; &quot;B&quot;")
        .replace("lang=\"en\" xml:lang='en'", 'lang="ko" xml:lang="ko"')
        .replace("&#8212;", "—")
    )
    assert "<dc:language>ko</dc:language>" in part(content, "book/a.opf")
    assert part(content, "book/two .xhtml") == TWO


ENCRYPTED = (
    '<e:encryption xmlns:e="x"><e:EncryptedData><e:EncryptionMethod Algorithm="{}"/></e:EncryptedData></e:encryption>'
)


def test_drm_is_refused_and_obfuscated_fonts_are_not(tmp_path: Path) -> None:
    fonts = {"META-INF/encryption.xml": ENCRYPTED.format("http://www.idpf.org/2008/embedding")}
    assert texts(opened(archive(tmp_path / "a.epub", parts(**fonts))))
    drm = {"META-INF/encryption.xml": ENCRYPTED.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")}
    with pytest.raises(DataError, match="DRM"):
        opened(archive(tmp_path / "b.epub", parts(**drm)))


def test_another_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a book"):
        opened(archive(tmp_path / "a.epub", {"mimetype": "application/epub+zip"}))


@needs_data
@pytest.mark.parametrize("path", real("epub"), ids=lambda path: path.name)
def test_real_documents(tmp_path: Path, path: Path) -> None:
    assert list(check_laws(path, tmp_path).units)


@needs_data
@pytest.mark.parametrize("path", hostile(".epub"), ids=lambda path: path.name)
def test_hostile_documents(path: Path) -> None:
    with pytest.raises(DataError):
        opened(path)
