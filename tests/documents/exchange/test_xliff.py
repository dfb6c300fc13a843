"""XLIFF: targets with the inline codes of their sources, nothing else changed."""

import re
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from documents.real import needs_data, real
from dragoman.documents.core.document import Document, DocumentOptions
from dragoman.documents.exchange import xliff
from dragoman.documents.xml.elements import plain_text, read_elements
from dragoman.errors import DataError
from dragoman.text.words.inline import Code, InlineText
from nesting import is_nested

OLD = """<?xml version='1.0' encoding="UTF-8"?>\r
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">\r
 <file original="a" source-language="en" datatype="html"><body>\r
  <trans-unit id="1" maxwidth="9" size-unit="char">\r
   <source xml:lang="en">Save &amp; <g id='1'>close</g><x id="2"/> now</source>\r
   <note>A button</note>\r
  </trans-unit>\r
  <trans-unit id="2" approved="yes"><source>Open</source><target state="final">열기</target>
   <alt-trans><source>Open</source><target>닫기</target></alt-trans></trans-unit>\r
  <trans-unit id="3" translate="no"><source>Never</source></trans-unit>\r
  <trans-unit id="4"><source>One. Two.</source><seg-source><mrk mtype="seg" mid="0">One.</mrk> <mrk mtype="seg"\
 mid="1"><bpt id="1">&lt;b></bpt>Two<ept id="1">&lt;/b></ept>.</mrk></seg-source>\
<target><mrk mtype="seg" mid="0">하나.</mrk></target></trans-unit>\r
  <trans-unit id="5"><source>Hi <ph id="1">%s</ph>, <mrk mtype="protected">Dragoman</mrk> has <bpt id="1"/>a\
 <g id="2">b<ept id="1"/>c</g> d</source><target/></trans-unit>\r
  <trans-unit id="6"><source>100 %</source></trans-unit>\r
 </body></file>\r
</xliff>\r
"""
NEW = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="ko">
 <file id="f" translate="no"><unit id="u" translate="yes"><notes><note>Max length: 30</note></notes>
  <segment id="s" state="initial">
   <source>Press <pc id="1">the <ph id="2" equiv="{name}"/> key</pc> or <sc id="3"/>quit<ec startRef="3"/>.</source>
  </segment>
  <ignorable><source> </source></ignorable>
  <segment><source>Done</source><target>완료</target></segment>
 </unit><unit id="v"><segment><source>No</source></segment></unit></file>
</xliff>
"""
EN_KO = DocumentOptions("en", "ko")
# A tag of a file, one that was asked for, and whether they name one language.
TAGS = [
    ("nb", "no", True), ("no", "nn", True), ("zh-TW", "zh-Hant", True), ("zh-CN", "zh-TW", False),
    ("sr", "sr-Latn", True), ("sr-Cyrl", "sr-Latn", False), ("pt-BR", "pt", True), ("iw", "he", True),
    ("in", "id", True), ("de", "nl", False),
]  # fmt: skip


def opened(tmp_path: Path, content: str, request: DocumentOptions = EN_KO) -> Document:
    path = tmp_path / "a.xlf"
    path.write_bytes(content.encode())
    return xliff.read(path, request)


def written(document: Document, texts: list[InlineText | None], request: DocumentOptions = EN_KO) -> str:
    file = BytesIO()
    xliff.write(document, texts, request, file)
    return file.getvalue().decode()


def test_units_of_1_2(tmp_path: Path) -> None:
    units = list(opened(tmp_path, OLD).units)
    assert [unit.source.text for unit in units] == [
        "Save & close now",
        "Open",
        "One.",
        "Two.",
        "Hi %s, Dragoman has a bc d",
    ]
    assert [(code.kind, code.position) for code in units[0].source.codes] == [("open", 7), ("close", 12), ("alone", 12)]
    assert (units[0].context, units[0].max_length, units[0].location) == ("A button", 9, "line 5, 1")
    assert [unit.existing and unit.existing.text for unit in units] == [None, "열기", "하나.", None, None]
    last = units[4].source
    assert [last.text[begin:end] for begin, end in last.protected] == ["%s", "Dragoman"]
    # The half that crosses a pair is a code of its own.
    assert [code.kind for code in last.codes] == ["alone", "open", "alone", "close"]


def test_units_of_2(tmp_path: Path) -> None:
    units = list(opened(tmp_path, NEW).units)
    assert [unit.source.text for unit in units] == ["Press the {name} key or quit.", "Done"]
    assert [code.kind for code in units[0].source.codes] == ["open", "close", "open", "close"]
    assert is_nested(units[0].source)
    assert units[0].max_length == 30


@pytest.mark.parametrize("content", [OLD, NEW])
def test_nothing_changes_without_translations_or_with_those_it_has(tmp_path: Path, content: str) -> None:
    document = opened(tmp_path, content)
    units = list(document.units)
    assert written(document, [None] * len(units)) == content
    assert written(document, [unit.existing for unit in units]) == content


def test_targets_of_1_2(tmp_path: Path) -> None:
    document = opened(tmp_path, OLD)
    first = next(iter(document.units)).source
    codes = tuple(Code(position, code.kind, code.name) for position, code in zip((0, 2, 5), first.codes, strict=True))
    texts = [InlineText("닫기 & <저장>", codes), None, None, InlineText("둘."), None]
    result = written(document, [texts[0], None, None, InlineText("둘.", list(document.units)[3].source.codes), None])
    assert (
        '</source>\r\n   <target xml:lang="ko" state="translated"><g id=\'1\'>닫기</g> &amp; <x id="2"/>&lt;저장&gt;'
        "</target>\r\n   <note>" in result
    )
    assert '<target><mrk mtype="seg" mid="0">하나.</mrk> <mrk mtype="seg" mid="1"><bpt id="1">&lt;b></bpt>둘.' in result
    assert '<source>100 %</source><target state="translated">100 %</target>' in result
    assert 'approved="yes"><source>Open</source><target state="final">열기</target>' in result
    assert 'datatype="html" target-language="ko">' in result
    again = list(opened(tmp_path, result).units)
    assert [unit.source for unit in again] == [unit.source for unit in document.units]
    assert again[0].existing
    assert again[0].existing.text == "닫기 & <저장>"


def test_an_approval_ends_with_what_was_approved(tmp_path: Path) -> None:
    document = opened(tmp_path, OLD)
    texts = [InlineText("열어") if unit.source.text == "Open" else None for unit in document.units]
    assert 'approved="no"><source>Open</source><target state="translated">열어</target>' in written(document, texts)
    request = DocumentOptions("en", "ko", mark=True)
    assert 'state="needs-review-translation">열어<' in written(document, texts, request)


def test_targets_of_2(tmp_path: Path) -> None:
    document = opened(tmp_path, NEW)
    units = list(document.units)
    result = written(document, [units[0].source, InlineText("다 됨")], DocumentOptions("en", "de"))
    _, root = read_elements("a", result.encode())
    assert root.attributes["trgLang"] == "de"
    segments = [each for each in root.walk() if each.name == "segment"]
    assert [each.attributes.get("state") for each in segments] == ["translated", "translated", None]
    source, target = (segments[0].child(name) for name in ("source", "target"))
    assert source
    assert target
    assert plain_text(result, source) == plain_text(result, target)
    assert result[source.opened : source.closing] == result[target.opened : target.closing]


def test_update_reads_what_has_no_translation(tmp_path: Path) -> None:
    request = DocumentOptions("en", "ko", update=True)
    document = opened(tmp_path, OLD, request)
    assert "Open" not in [unit.source.text for unit in document.units]
    texts = [None if unit.existing else unit.source for unit in document.units]
    assert '<mrk mtype="seg" mid="0">하나.</mrk> <mrk mtype="seg" mid="1"><bpt' in written(document, texts, request)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<xliff version='1.2'><file></xliff>", "a.xlf:1:30: not well-formed"),
        ("<r/>", "a.xlf:1: not XLIFF 1.2 or 2.x, but <r>"),
        ('<!DOCTYPE xliff [<!ENTITY a SYSTEM "file:///etc/passwd">]><xliff version="1.2">&a;</xliff>', "entity 'a'"),
        ("<xliff version='1.2'>" + "<group>" * 300 + "</group>" * 300 + "</xliff>", "more than 256 nested"),
    ],
)
def test_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        opened(tmp_path, content)
    assert message in str(error.value)


def test_ids_that_are_there_twice_are_named(tmp_path: Path) -> None:
    document = opened(tmp_path, OLD.replace('id="2"', 'id="1"'))
    assert document.notices == ("line 8: the id '1' again, as in line 4",)


@needs_data
@pytest.mark.parametrize("path", real("xliff"), ids=lambda path: path.name)
def test_real_files(path: Path, tmp_path: Path) -> None:
    document = xliff.read(path, EN_KO)
    units = list(document.units)
    content = path.read_bytes()
    file = BytesIO()
    for texts in ([None] * len(units), [unit.existing for unit in units]):
        file = BytesIO()
        xliff.write(document, texts, EN_KO, file)
        assert file.getvalue() == content
    file = BytesIO()
    xliff.write(document, [unit.source for unit in units], EN_KO, file)
    copy = tmp_path / path.name
    copy.write_bytes(file.getvalue())
    again = xliff.read(copy, EN_KO)
    assert [unit.source for unit in again.units] == [unit.source for unit in units]
    elements = [each.name for each in read_elements("a", content)[1].walk() if each.name != "target"]
    assert set(elements) <= {each.name for each in read_elements("a", file.getvalue())[1].walk()}


def test_a_translation_keeps_the_codes_at_its_edges(tmp_path: Path) -> None:
    content = NEW.replace("Press <pc", "<pc").replace(' or <sc id="3"/>quit<ec startRef="3"/>.', " now")
    document = opened(tmp_path, content)
    unit = next(iter(document.units))
    codes = [code for code in unit.source.codes if code.name.startswith("pc")]
    around = tuple(Code(position, code.kind, code.name) for position, code in zip((0, 9), codes, strict=True))
    result = written(document, [InlineText("{name} 키 입", around, ((0, 6),)), None])
    again = next(iter(opened(tmp_path, result).units)).existing
    assert again
    assert (again.text, [code.kind for code in again.codes]) == ("{name} 키 입", ["open", "close"])


@pytest.mark.parametrize(
    ("version", "source", "expected"),
    [
        (
            "1.2",
            'a <bx id="1" rid="7"/>b <g id="2">c<ex id="3" rid="7"/> d</g> e',
            '<bx id="1" rid="7"/>A <g id="2">B</g> C<ex id="3" rid="7"/> D',
        ),
        (
            "2.0",
            'a <sc id="1"/>b <pc id="2">c<ec id="3" startRef="1"/> d</pc> e',
            '<sc id="1"/>A <pc id="2">B</pc> C<ec id="3" startRef="1"/> D',
        ),
    ],
)
def test_halves_of_pairs_that_overlap_keep_their_order(
    tmp_path: Path, version: str, source: str, expected: str
) -> None:
    inside = f"<source>{source}</source>"
    inside = (
        f'<trans-unit id="a">{inside}</trans-unit>'
        if version == "1.2"
        else f"<unit id='a'><segment>{inside}</segment></unit>"
    )
    body = f"<file original='a' source-language='en' id='f'><body>{inside}</body></file>"
    body = body if version == "1.2" else body.replace("<body>", "").replace("</body>", "")
    document = opened(tmp_path, f'<xliff version="{version}" srcLang="en">{body}</xliff>')
    [unit] = document.units
    begin, end = [code for code in unit.source.codes if code.kind == "alone"]
    pair = [code for code in unit.source.codes if code.kind != "alone"]
    moved = (replace(end, position=0), *(replace(code, position=at) for code, at in zip(pair, (2, 3), strict=True)))
    new = written(document, [InlineText("A B C D", (*moved, replace(begin, position=5)))])
    assert f">{expected}</target>" in new


def test_accelerator_keys_are_not_translated_but_set_again(tmp_path: Path) -> None:
    units = (
        '<trans-unit id="1"><source>&amp;File</source></trans-unit>'
        '<trans-unit id="2"><source>_Edit</source><target>고치기(_E)</target></trans-unit>'
        '<trans-unit id="3"><source>R&amp;D</source></trans-unit>'
    )
    document = opened(
        tmp_path,
        '<xliff version="1.2"><file original="a" source-language="en" target-language="ko" datatype="plaintext"><body>'
        f"{units}</body></file></xliff>",
    )
    assert [unit.source.text for unit in document.units] == ["File", "Edit", "R&D"]
    assert [unit.existing and unit.existing.text for unit in document.units] == [None, "고치기", None]
    result = written(document, [InlineText("파일"), InlineText("편집"), None])
    assert '<target state="translated">파일(&amp;F)</target>' in result
    assert ">편집(_E)</target>" in result


@pytest.mark.parametrize(("tag", "target", "same"), TAGS)
def test_the_language_of_the_targets_stays_if_it_is_the_one_asked_for(
    tag: str, target: str, same: bool, tmp_path: Path
) -> None:
    request = DocumentOptions("en", target)
    for content, attribute in [
        (NEW.replace('trgLang="ko"', f'trgLang="{tag}"'), "trgLang"),
        (OLD.replace('datatype="html"', f'target-language="{tag}"'), "target-language"),
    ]:
        document = opened(tmp_path, content, request)
        result = written(document, [unit.source for unit in document.units], request)
        assert f'{attribute}="{tag if same else target}"' in result


def test_text_between_halves_of_a_mark_that_forbids_translation_stays(tmp_path: Path) -> None:
    page = (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="ko"><file id="f">'
        '<unit id="u"><segment id="s"><source>Open <sm id="1" translate="no"/>Big <ph id="2"/>Apple<em startRef="1"/> '
        "now</source></segment></unit></file></xliff>"
    )
    document = opened(tmp_path, page)
    [unit] = document.units
    assert unit.source.text == "Open Big Apple now"
    assert [unit.source.text[begin:end] for begin, end in unit.source.protected] == ["Big Apple"]
    file = BytesIO()
    xliff.write(document, [InlineText("Big Apple 열기", (), ((0, 9),))], EN_KO, file)
    assert (
        '<sm id="1" translate="no"/>Big <ph id="2"/>Apple<em startRef="1"/> 열기</target>' in file.getvalue().decode()
    )


@pytest.mark.parametrize(
    "source",
    [
        'Copy <ph id="1">%s</ph> to <ph id="2">%s</ph>',
        '<x id="a" equiv-text="{{a}}"/> is in <x id="b" equiv-text="{{a}}"/> now',
        'Copy <g id="3"><ph id="1">%s</ph> there</g> to <ph id="2">%s</ph>',
        '<g id="3">Copy <ph id="1">%s</ph></g> to <ph id="2">%s</ph> now',
    ],
)
def test_a_target_with_two_codes_for_one_variable_is_read_as_its_source_is(tmp_path: Path, source: str) -> None:
    entry = f'<trans-unit id="1"><source>{source}</source></trans-unit>'
    content = f'<xliff version="1.2"><file original="a" source-language="en"><body>{entry}</body></file></xliff>'
    document = opened(tmp_path, content)
    [unit] = document.units
    result = written(document, [replace(unit.source, text=unit.source.text.upper())])
    assert all(result.count(code) == 2 for code in re.findall("<(?:ph|x)[^>]*>", source))
    [again] = opened(tmp_path, result).units
    assert again.existing
    assert again.existing.text == unit.source.text.upper()
    assert again.existing.counted_codes == unit.source.counted_codes


@pytest.mark.parametrize(
    ("source", "text", "target"),
    [
        ("<source>Line one&#10;Line two\n  more</source>", "Line one\nLine two more", "LINE ONE&#10;LINE TWO MORE"),
        (
            '<source xml:space="preserve">One&#10;two\n  more   so</source>',
            "One\ntwo\nmore   so",
            "ONE&#10;TWO\n  MORE   SO",
        ),
    ],
)
def test_a_break_that_is_a_reference_is_of_the_text(tmp_path: Path, source: str, text: str, target: str) -> None:
    content = f'<xliff version="1.2"><file><body><trans-unit id="1">{source}</trans-unit></body></file></xliff>'
    document = opened(tmp_path, content)
    assert [unit.source.text for unit in document.units] == [text]
    assert f">{target}</target>" in written(document, [InlineText(text.upper())])


TRADOS = """<xliff xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0" version="1.2"\
 xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" datatype="x" source-language="en"\
 target-language="ko"><body><trans-unit id="u"><source>One. Two. Three.</source><seg-source>\
<mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two.</mrk> <mrk mtype="seg" mid="3">Three.</mrk>\
</seg-source><target><mrk mtype="seg" mid="1">하나.</mrk> <mrk mtype="seg" mid="2"/> <mrk mtype="seg" mid="3"/>\
</target><sdl:seg-defs><sdl:seg id="1" locked="true" conf="ApprovedSignOff"/><sdl:seg id="2" conf="Draft"/>\
<sdl:seg id="3" locked="true"/></sdl:seg-defs></trans-unit></body></file></xliff>
"""
LOCKED = """<xliff xmlns:x="{}" version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a"\
 datatype="x" source-language="en" target-language="ko"><body><trans-unit id="1" {}><source>Save</source>\
<target>저장</target></trans-unit><trans-unit id="2" x:locked="false"><source>Close</source><target/></trans-unit>\
</body></file></xliff>
"""


@pytest.mark.parametrize("update", [False, True])
def test_segments_that_trados_has_locked_stay(tmp_path: Path, update: bool) -> None:
    request = replace(EN_KO, update=update)
    document = opened(tmp_path, TRADOS, request)
    assert [unit.source.text for unit in document.units] == ["Two."]
    result = written(document, [InlineText("둘.")], request)
    assert result == TRADOS.replace('<mrk mtype="seg" mid="2"/>', '<mrk mtype="seg" mid="2">둘.</mrk>').replace(
        '<mrk mtype="seg" mid="3"/>', '<mrk mtype="seg" mid="3"></mrk>'
    )


@pytest.mark.parametrize(
    ("space", "lock"), [("MQXliff", 'x:locked="locked"'), ("http://www.memsource.com/mxlf/2.0", 'x:locked="true"')]
)
def test_units_that_memoq_or_phrase_has_locked_stay(tmp_path: Path, space: str, lock: str) -> None:
    content = LOCKED.format(space, lock)
    document = opened(tmp_path, content)
    assert [unit.source.text for unit in document.units] == ["Close"]
    assert written(document, [InlineText("닫기")]) == content.replace("<target/>", "<target>닫기</target>")
    everything = opened(tmp_path, content, replace(EN_KO, confirmed=True))
    assert [unit.source.text for unit in everything.units] == ["Save", "Close"]
