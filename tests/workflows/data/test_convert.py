"""Bilingual documents give the pairs that they hold, one per line."""

import gzip
import json
import re
import sys
import tracemalloc
from pathlib import Path

import pytest

from documents.real import needs_data, real
from dragoman.data.corpus.tmx import read_tmx
from dragoman.documents import DocumentOptions
from dragoman.errors import ConfigError, DataError
from dragoman.workflows.data.convert import bilingual_pairs, convert_data
from dragoman.workflows.documents.memory import add_to_memory

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en-US"><seg>Press <bpt i="1">&lt;b&gt;</bpt>OK<ept i="1">&lt;/b&gt;</ept>
 &amp; wait<ph>&lt;br&gt;</ph></seg></tuv><tuv xml:lang="ko"><seg>확인을 <hi>누르고</hi> 기다리기</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Only English</seg></tuv></tu>
<tu><tuv lang="KO-kr"><seg>예</seg></tuv><tuv lang="EN"><seg>Yes</seg></tuv></tu>
</body></tmx>
"""
PO = """msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

msgid "Open\\n"
msgstr "열기\\n"

#, fuzzy
msgid "Close"
msgstr "닫힘"

msgid "New"
msgstr ""
"""


def test_pairs_of_memories_and_po_files(tmp_path: Path) -> None:
    (tmp_path / "a.tmx.gz").write_bytes(gzip.compress(TMX.replace("UTF-8", "UTF-16").encode("utf-16")))
    (tmp_path / "b.po").write_text(PO, encoding="utf-8")
    output = tmp_path / "pairs.tsv"
    files = [tmp_path / "a.tmx.gz", tmp_path / "b.po"]
    result = convert_data(files, output, source="en", target="ko")
    assert output.read_text("utf-8") == "Press OK & wait\t확인을 누르고 기다리기\nYes\t예\nOpen\t열기\n"
    assert (result.pairs, list(result.files.values())) == (3, [2, 1])
    with pytest.raises(ConfigError, match="already exists"):
        convert_data(files, output, source="en", target="ko")
    with pytest.raises(DataError, match="no pair of ja and ko"):
        convert_data(files[:1], tmp_path / "c.tsv", source="ja", target="ko")
    assert not (tmp_path / "c.tsv").exists()


TS = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="ko_KR" sourcelanguage="en">
<context><name>Window</name>
<message><source>&amp;Open a
 file</source><translation>파일 열기(&amp;O)</translation></message>
<message><source>Close</source><translation type="unfinished">닫기</translation></message>
<message><source>Save</source><translation type="unfinished"></translation></message>
<message><source>Old</source><translation type="vanished">옛것</translation></message>
<message numerus="yes"><source>%n file(s)</source>
<translation><numerusform>파일 %n개</numerusform></translation></message>
</context>
</TS>
"""
XCSTRINGS = {
    "sourceLanguage": "en",
    "strings": {
        "Hello": {"localizations": {"ko": {"stringUnit": {"state": "translated", "value": "안녕하세요"}}}},
        "Bye": {"localizations": {"ko": {"stringUnit": {"state": "needs_review", "value": "잘 가요"}}}},
        "New": {"localizations": {"ko": {"stringUnit": {"state": "new", "value": ""}}}},
        "key": {
            "localizations": {
                "en": {"stringUnit": {"state": "translated", "value": "Text of a key"}},
                "ko": {"stringUnit": {"state": "translated", "value": "키의 글"}},
                "de": {"stringUnit": {"state": "translated", "value": "Text eines Schlüssels"}},
            }
        },
        "none": {},
    },
    "version": "1.0",
}


def test_finished_pairs_of_catalogues(tmp_path: Path) -> None:
    (tmp_path / "a.ts").write_text(TS, encoding="utf-8")
    (tmp_path / "b.xcstrings").write_text(json.dumps(XCSTRINGS), encoding="utf-8")
    output = tmp_path / "pairs.tsv"
    files = [tmp_path / "a.ts", tmp_path / "b.xcstrings"]
    result = convert_data(files, output, source="en", target="ko")
    assert output.read_text("utf-8").splitlines() == [
        "Open a file\t파일 열기", "%n file(s)\t파일 %n개", "Hello\t안녕하세요", "Text of a key\t키의 글"
    ]  # fmt: skip
    assert list(result.files.values()) == [2, 2]
    with pytest.raises(DataError, match="no pair of en and de"):  # its translations are Korean
        convert_data(files[:1], tmp_path / "c.tsv", source="en", target="de")
    assert convert_data(files[1:], tmp_path / "c.tsv", source="en", target="de").pairs == 1
    files[0].write_text(TS.replace('sourcelanguage="en"', 'sourcelanguage="de"'), encoding="utf-8")
    with pytest.raises(DataError, match="no pair of en and ko"):  # its sources are German
        convert_data(files[:1], tmp_path / "d.tsv", source="en", target="ko")


def xliff(languages: str, version: str = "1.2") -> str:
    unit = "<source>Open</source><target>Öffnen</target>"
    if version == "1.2":
        return (
            f'<xliff version="1.2"><file original="a" datatype="plaintext" {languages}><body><trans-unit id="1">{unit}'
            '</trans-unit></body></file><file original="b" datatype="plaintext" source-language="en" '
            'target-language="ko"><body><group><trans-unit id="2"><source>Close</source><target>닫기</target>'
            "</trans-unit></group></body></file></xliff>"
        )
    return (
        f'<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" {languages}><file id="f"><unit id="1">'
        f'<segment state="final">{unit}</segment></unit></file></xliff>'
    )


@pytest.mark.parametrize(
    ("name", "content", "pairs"),
    [
        ("a.po", PO.replace('UTF-8\\n"', 'UTF-8\\n"\n"Language: de\\n"'), []),
        ("a.po", PO.replace('UTF-8\\n"', 'UTF-8\\n"\n"Language: ko_KR\\n"'), ["Open\t열기"]),
        ("a.po", PO.replace('UTF-8\\n"', 'UTF-8\\n"\n"Language: Korean\\n"'), ["Open\t열기"]),
        ("a.xliff", xliff('source-language="en" target-language="de"'), ["Close\t닫기"]),
        ("a.xliff", xliff('source-language="fr" target-language="ko"'), ["Close\t닫기"]),
        ("a.xliff", xliff('source-language="en-US"'), ["Open\tÖffnen", "Close\t닫기"]),  # undeclared
        ("a.xliff", xliff('srcLang="en" trgLang="de"', "2.0"), []),
        ("a.xliff", xliff('srcLang="fr" trgLang="ko"', "2.0"), []),
        ("a.xliff", xliff('srcLang="en-GB" trgLang="ko-KR"', "2.0"), ["Open\tÖffnen"]),
    ],
)
def test_only_pairs_of_the_languages_that_a_file_declares(
    tmp_path: Path, name: str, content: str, pairs: list[str]
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    output = tmp_path / "pairs.tsv"
    if pairs:
        convert_data([tmp_path / name], output, source="en", target="ko")
        assert output.read_text("utf-8").splitlines() == pairs
    else:
        with pytest.raises(DataError, match="no pair of en and ko"):
            convert_data([tmp_path / name], output, source="en", target="ko")


def test_a_file_of_the_other_direction_has_no_pair(tmp_path: Path) -> None:
    (tmp_path / "a.xliff").write_text(xliff('source-language="en" target-language="ko"'), encoding="utf-8")
    (tmp_path / "b.po").write_text(PO.replace('UTF-8\\n"', 'UTF-8\\n"\n"Language: ko\\n"'), encoding="utf-8")
    with pytest.raises(DataError, match="no pair of ko and en"):
        convert_data([tmp_path / "a.xliff", tmp_path / "b.po"], tmp_path / "c.tsv", source="ko", target="en")
    with pytest.raises(DataError, match="nothing from ko into en"):
        add_to_memory(tmp_path / "m.db", tmp_path / "a.xliff", source="ko", target="en")


def test_lines_of_units_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(TMX, encoding="utf-8")
    assert [(pair.source, pair.line) for pair in read_tmx(path, "ko", "en")] == [
        ("확인을 누르고 기다리기", 3),
        ("예", 6),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<r/>", "not TMX, but <r>"),
        ("<tmx>\n<body></tmx>", "a.tmx:2:9: not well-formed XML"),
        ('<!DOCTYPE tmx [<!ENTITY a "b">]>\n<tmx/>', "a.tmx:1: declares the entity 'a'"),
        ('<!DOCTYPE tmx [<!ENTITY % d SYSTEM "http://127.0.0.1:9/a"> %d;]>\n<tmx/>', "declares the entity 'd'"),
    ],
)
def test_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as error:
        list(read_tmx(path, "en", "ko"))
    assert message in str(error.value)
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(ConfigError, match="not a bilingual document"):
        convert_data([tmp_path / "a.txt"], tmp_path / "b.tsv", source="en", target="ko")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ('<ph x="1">&lt;br/&gt;</ph>', "First line Second line"),
        ('<ph x="1">&lt;w:br /&gt;</ph>', "First line Second line"),
        ('<ph type="lb"/>', "First line Second line"),
        ("<it pos='begin'>\\n</it>", "First line Second line"),
        ("<ph>&#10;</ph>", "First line Second line"),
        ("<ph>&lt;b&gt;<sub>a</sub></ph>", "First lineSecond line"),
        ("<ph>&lt;brand/&gt;</ph>", "First lineSecond line"),
    ],
)
def test_a_code_that_is_a_line_break_parts_words(tmp_path: Path, code: str, text: str) -> None:
    (tmp_path / "a.tmx").write_text(
        TMX.replace("Only English", f"First line{code}Second line").replace(
            "</seg></tuv></tu>\n<tu><tuv lang",
            "</seg></tuv><tuv xml:lang='ko'><seg>첫째 둘째</seg></tuv></tu>\n<tu><tuv lang",
        ),
        encoding="utf-8",
    )
    assert [pair.source for pair in read_tmx(tmp_path / "a.tmx", "en", "ko")][1] == text


@pytest.mark.parametrize("encoding", ["UTF-8", "EUC-KR", "cp949", "Johab", "ISO-2022-KR"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_memory_in_any_encoding(tmp_path: Path, encoding: str, mark: bytes) -> None:
    content = TMX.replace("UTF-8", encoding).replace("<body>", f"<body><!--{'가' * 70_000}-->")
    (tmp_path / "a.tmx").write_bytes(mark + content.encode("utf-8" if mark else encoding))
    assert [pair.target for pair in read_tmx(tmp_path / "a.tmx", "en", "ko")] == ["확인을 누르고 기다리기", "예"]


@pytest.mark.parametrize(
    ("encoding", "codec"),
    [("utf8", "utf-8"), ("UTF8", "utf-8"), ("euc-kr", "cp949"), ("ks_c_5601-1987", "cp949"), ("latin1", "ascii")],
)
def test_a_memory_with_letters_of_the_wider_encoding(tmp_path: Path, encoding: str, codec: str) -> None:
    word = "hello" if codec == "ascii" else "똠방각하"
    content = TMX.replace("UTF-8", encoding).replace("예", word)
    (tmp_path / "a.tmx").write_bytes(content.encode(codec, "replace"))
    assert [pair.target for pair in read_tmx(tmp_path / "a.tmx", "en", "ko")][1] == word


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TMX.replace("UTF-8", "x-hangul").encode(), "a.tmx: encoding x-hangul is unknown; save the file as UTF-8"),
        (TMX.replace("UTF-8", "hex").encode(), "a.tmx: encoding hex is unknown; save the file as UTF-8"),
        (TMX.replace("UTF-8", "EUC-KR").encode(), "a.tmx:4: not CP949, the encoding that the file declares; correct"),
    ],
)
def test_a_memory_in_no_encoding(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.tmx").write_bytes(content)
    with pytest.raises(DataError, match=re.escape(f"{tmp_path}/{message}")):
        convert_data([tmp_path / "a.tmx"], tmp_path / "b.tsv", source="en", target="ko")


@pytest.mark.slow
def test_a_large_memory_needs_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.tmx"
    unit = "<tu><tuv xml:lang='en'><seg>One line.</seg></tuv><tuv xml:lang='ko'><seg>한 줄.</seg></tuv></tu>\n"
    path.write_text(f"<tmx><body>\n{unit * 20_000}</body></tmx>", encoding="utf-8")
    tracemalloc.start()
    count = sum(1 for _ in read_tmx(path, "en", "ko"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 20_000
    assert peak < path.stat().st_size
    assert sys.getsizeof(unit) < peak


@needs_data
@pytest.mark.parametrize("path", real("tmx"), ids=lambda path: path.name)
def test_real_memories(path: Path) -> None:
    pairs = [pair for target in ("fr", "de") for pair in read_tmx(path, "en", target)]
    assert pairs
    assert all(pair.source and pair.target for pair in pairs)


WAITING = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:m="MQXliff" xmlns:s="sdl"><file\
 original="a" datatype="x" source-language="en" target-language="ko"><body>
<trans-unit id="1"><source>One</source><target state="needs-review-translation">하나</target></trans-unit>
<trans-unit id="2" m:locked="locked"><source>Two</source><target state="final">둘</target></trans-unit>
<trans-unit id="3" m:status="MachineTranslated"><source>Three</source><target>셋</target></trans-unit>
<trans-unit id="4" m:confirmed="0"><source>Four</source><target>넷</target></trans-unit>
<trans-unit id="5" m:confirmed="1" m:status="ManuallyConfirmed"><source>Five</source><target>다섯</target></trans-unit>
<trans-unit id="6"><source>A b</source><seg-source><mrk mtype="seg" mid="1">A.</mrk> <mrk mtype="seg" mid="2">B.</mrk>\
 <mrk mtype="seg" mid="3">C.</mrk></seg-source><target><mrk mtype="seg" mid="1">가.</mrk> <mrk mtype="seg"\
 mid="2">나.</mrk> <mrk mtype="seg" mid="3">다.</mrk></target><s:seg-defs><s:seg id="1" conf="Draft"/>\
<s:seg id="2" conf="Translated" locked="true"/><s:seg id="3"/></s:seg-defs></trans-unit>
<trans-unit id="7"><source>Six</source><target state="translated" state-qualifier="mt-suggestion">여섯</target>\
</trans-unit>
<trans-unit id="8"><source>Seven</source><target state-qualifier="rejected-spelling">일굽</target></trans-unit>
<trans-unit id="9"><source>Eight</source><target state="final" state-qualifier="tm-suggestion">여덟</target>\
</trans-unit>
</body></file></xliff>
"""


@pytest.mark.parametrize("name", ["a.xlf", "a.sdlxliff", "a.mqxliff", "A.MXLIFF"])
def test_translations_that_wait_for_a_person_are_no_pairs_and_locked_ones_are(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(WAITING, encoding="utf-8")
    convert_data([tmp_path / name], tmp_path / "pairs.tsv", source="en", target="ko")
    assert (tmp_path / "pairs.tsv").read_text("utf-8") == "Two\t둘\nFive\t다섯\nB.\t나.\nEight\t여덟\n"


@pytest.mark.parametrize(
    ("languages", "expected"),
    [
        (("en", "pt"), ["Bus\tônibus", "Train\ttrem"]),
        (("en-GB", "pt-PT"), ["Bus\tautocarro", "Train\ttrem"]),
        (("en-US", "pt-BR"), ["Bus\tônibus", "Train\ttrem"]),
        (("en", "zh-TW"), ["Bus\t公車"]),
        (("pt-PT", "pt-BR"), ["autocarro\tônibus"]),
        (("pt", "pt_BR"), ["autocarro\tônibus"]),
    ],
)
def test_of_several_variants_of_a_language_the_nearest_is_taken(
    tmp_path: Path, languages: tuple[str, str], expected: list[str]
) -> None:
    units = [
        [("en-US", "Bus"), ("pt-PT", "autocarro"), ("pt-BR", "ônibus"), ("zh-CN", "公交车"), ("zh-TW", "公車")],
        [("EN_us", "Train"), ("pt", "trem"), ("zh-CN", "火车")],
    ]
    variants = ["".join(f'<tuv xml:lang="{tag}"><seg>{text}</seg></tuv>' for tag, text in unit) for unit in units]
    body = "".join(f"<tu>{of_unit}</tu>" for of_unit in variants)
    (tmp_path / "a.tmx").write_text(f'<tmx version="1.4"><header/><body>{body}</body></tmx>', encoding="utf-8")
    convert_data([tmp_path / "a.tmx"], tmp_path / "pairs.tsv", source=languages[0], target=languages[1])
    assert (tmp_path / "pairs.tsv").read_text("utf-8").splitlines() == expected


@pytest.mark.parametrize(("ours", "theirs", "pairs"), [("EN", "kr", 1), ("en", "jp", 0), ("fr", "kr", 0)])
def test_the_code_of_the_country_may_name_the_language(tmp_path: Path, ours: str, theirs: str, pairs: int) -> None:
    unit = '<trans-unit id="1"><source>Yes</source><target>예</target></trans-unit>'
    file = f'<file original="a" datatype="x" source-language="{ours}" target-language="{theirs}"><body>{unit}</body>'
    (tmp_path / "a.xlf").write_text(f'<xliff version="1.2">{file}</file></xliff>', encoding="utf-8")
    assert len(list(bilingual_pairs(tmp_path / "a.xlf", DocumentOptions("en", "ko")))) == pairs
    variants = f'<tuv xml:lang="{ours}"><seg>Yes</seg></tuv><tuv xml:lang="{theirs}"><seg>예</seg></tuv>'
    tmx = f'<tmx version="1.4"><header/><body><tu>{variants}</tu></body></tmx>'
    (tmp_path / "a.tmx").write_text(tmx, encoding="utf-8")
    assert len(list(bilingual_pairs(tmp_path / "a.tmx", DocumentOptions("en", "ko")))) == pairs
