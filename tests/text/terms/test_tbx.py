"""TBX term bases of both versions and styles, and what is refused."""

from pathlib import Path

import pytest

from dragoman.errors import DataError
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.tbx import TermBase, read_glossary

V2 = """<?xml version="1.0"?><!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd">
<martif type="TBX" xml:lang="en"><text><body>
<termEntry id="1">
 <langSet xml:lang="en-US"><tig><term>server</term></tig><tig><term>host</term>
  <termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></tig></langSet>
 <langSet xml:lang="ko"><ntig><termGrp><term>전산기</term></termGrp></ntig><ntig><termGrp><term>서버</term>
  <termNote type="administrativeStatus">preferredTerm-admn-sts</termNote></termGrp></ntig></langSet>
</termEntry>
<termEntry><langSet xml:lang="en"><tig><term>lonely</term></tig></langSet></termEntry>
</body></text></martif>"""
V3_DCA = """<tbx type="TBX-Basic" style="dca" xml:lang="en" xmlns="urn:iso:std:iso:30042:ed-2"><text><body>
<conceptEntry id="a"><langSec xml:lang="en"><termSec><term> big
 cat </term></termSec></langSec><langSec xml:lang="ko"><termSec><term>호랑이</term></termSec></langSec></conceptEntry>
<conceptEntry id="b"><langSec xml:lang="en"><termSec><term>Big Cat</term></termSec></langSec>
<langSec xml:lang="ko"><termSec><term>사자</term></termSec></langSec></conceptEntry>
<conceptEntry id="c"><langSec xml:lang="en"><termSec><term>C*</term></termSec></langSec>
<langSec xml:lang="ko"><termSec><term>씨*</term></termSec></langSec></conceptEntry></body></text></tbx>"""
V3_DCT = """<tbx type="TBX-Min" style="dct" xmlns="urn:iso:std:iso:30042:ed-2" xmlns:min="http://www.tbxinfo.net/ns/min">
<text><body><conceptEntry><langSec xml:lang="en"><termSec><term>old</term>
<min:administrativeStatus>supersededTerm-admn-sts</min:administrativeStatus></termSec><termSec><term>new</term></termSec>
</langSec><langSec xml:lang="ko"><termSec><term>새것</term></termSec></langSec></conceptEntry></body></text></tbx>"""


def glossary(tmp_path: Path, text: str, source: str = "en", target: str = "ko") -> dict[str, tuple[str, ...]]:
    path = tmp_path / "terms.tbx"
    path.write_text(text, encoding="utf-8")
    return {entry.term: entry.translations for entry in TermBase.read(path).glossary(source, target).entries}


def test_version_2_with_status_of_terms(tmp_path: Path) -> None:
    assert glossary(tmp_path, V2) == {"server": ("서버", "전산기")}  # the preferred one first
    assert glossary(tmp_path, V2, "ko", "en") == {"서버": ("server",), "전산기": ("server",)}


def test_version_3_in_both_styles(tmp_path: Path) -> None:
    assert glossary(tmp_path, V3_DCA) == {"big cat": ("호랑이", "사자"), "C\\*": ("씨\\*",)}
    assert glossary(tmp_path, V3_DCT) == {"new": ("새것",)}


def test_terms_in_an_encoding_of_several_bytes(tmp_path: Path) -> None:
    path = tmp_path / "terms.tbx"
    path.write_bytes(V3_DCA.replace("<tbx", '<?xml version="1.0" encoding="EUC-KR"?>\n<tbx').encode("euc-kr"))
    terms = {entry.term: entry.translations for entry in TermBase.read(path).glossary("en", "ko").entries}
    assert terms == glossary(tmp_path, V3_DCA)


def test_a_star_is_no_stem(tmp_path: Path) -> None:
    path = tmp_path / "terms.tbx"
    path.write_text(V3_DCA, encoding="utf-8")
    found = TermBase.read(path).glossary("en", "ko")
    assert [match.entry.term for match in found.find("In C* code and Cats")] == ["C\\*"]


def test_a_glossary_is_read_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.TBX").write_text(V2, encoding="utf-8")
    (tmp_path / "a.tsv").write_text("server\t서버\n", encoding="utf-8")
    assert isinstance(read_glossary(tmp_path / "a.TBX"), TermBase)
    assert isinstance(read_glossary(tmp_path / "a.tsv"), Glossary)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("<tbx><text>", r"terms\.tbx:1:\d+: not well-formed XML"),
        ("<html/>", r"terms\.tbx: not TBX, but <html>"),
        ('<!DOCTYPE tbx [<!ENTITY a "b">]><tbx/>', r"terms\.tbx:1: declares the entity 'a', which is refused"),
        ("<tbx/>", r"terms\.tbx: no term from en into ko; its languages are none"),
        (V2.replace("ko", "de"), r"terms\.tbx: no term from en into ko; its languages are de, en"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, cause: str) -> None:
    with pytest.raises(DataError, match=cause):
        glossary(tmp_path, text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"no\.tbx: the glossary cannot be read: No such file or directory; check the path"
    ):
        TermBase.read(tmp_path / "no.tbx")


def test_terms_of_the_nearest_region_come_first_and_those_of_another_script_are_of_another_language(
    tmp_path: Path,
) -> None:
    terms = [("en-US", "truck"), ("pt-PT", "camião"), ("pt-BR", "caminhão"), ("zh-CN", "卡车"), ("zh-TW", "貨車")]
    terms += [("KR", "트럭")]
    sets = "".join(f'<langSet xml:lang="{tag}"><tig><term>{term}</term></tig></langSet>' for tag, term in terms)
    text = f'<martif type="TBX"><text><body><termEntry>{sets}</termEntry></body></text></martif>'
    assert glossary(tmp_path, text, "en", "pt-PT") == {"truck": ("camião", "caminhão")}
    assert glossary(tmp_path, text, "en-GB", "pt-BR") == {"truck": ("caminhão", "camião")}
    assert glossary(tmp_path, text, "en", "zh-TW") == {"truck": ("貨車",)}
    assert glossary(tmp_path, text, "en", "ko") == {"truck": ("트럭",)}
    assert glossary(tmp_path, text, "zh-Hans", "en") == {"卡车": ("truck",)}
