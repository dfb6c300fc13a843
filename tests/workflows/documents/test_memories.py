"""Translation memories as files, and translators that ask them first."""

import gzip
import re
import sys
from pathlib import Path

import pytest

import dragoman
from dragoman import ConfigError, DataError, ResourceError, Translator
from dragoman.memory import Memory, MemoryUnit, contents
from dragoman.text.words.inline import Code, InlineText
from nesting import is_nested

PAIRS = {
    "Open the file": "파일 열기!",
    "Page 1 of 2": "2쪽 중 1쪽",
    "Keep {name}": "이름 지키기",
    "Ab & B <c>": "ㄱ & ㄴ <ㄷ>",
}
PO = """msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\nLanguage: ko\\n"

#. a button
msgid "Open the file"
msgstr ""

msgid "Open the files"
msgstr ""
"""


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("en-ko")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "m.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS.items()), encoding="utf-8")
    return path


@pytest.fixture
def database(tmp_path: Path, table: Path) -> Path:
    dragoman.add_to_memory(tmp_path / "m.db", [table], source="en", target="ko")
    return tmp_path / "m.db"


def test_lines_of_a_memory_are_its_own_and_the_others_those_of_the_engine(translator: Translator, table: Path) -> None:
    lines = ["Open  the file", "Good morning", "", "Page 7 of 9", "Keep {name}"]
    plain = translator.translate(lines)
    found = translator.with_memory(dragoman.open_memory(table, "en", "ko")).translate(lines)
    assert [one.match for one in found] == [100, None, None, 99, None]
    assert [one.text for one in found] == ["파일 열기!", plain[1].text, "", "9쪽 중 7쪽", plain[4].text]
    assert "{name}" in found[4].text  # what a memory lost is translated by the engine
    assert translator.translate("Open the file").match is None


def test_codes_are_placed_in_a_translation_of_the_memory(translator: Translator, table: Path) -> None:
    known = translator.with_memory(dragoman.open_memory(table, "en", "ko"))
    codes = (Code(9, "open", "b"), Code(13, "close", "b"))
    [found] = known.translate_inline([InlineText("Open the file", codes)])
    assert (found.inline.text, found.translation.match) == ("파일 열기!", 100)
    assert found.inline.counted_codes == InlineText("", codes).counted_codes
    assert is_nested(found.inline)
    [long] = known.translate_inline([InlineText("Open the file")], max_lengths=[3])
    assert long.translation.match is None


def test_it_is_used_for_its_own_languages_only(translator: Translator, table: Path) -> None:
    turned = Memory.temporary(table, "ko", "en")
    turned.add([MemoryUnit("파일 열기", "Open")])
    with pytest.raises(ConfigError, match=r"m\.tsv: a memory of ko → en; the model translates en-ko"):
        translator.with_memory(turned)


def test_every_format_gives_the_same_units(tmp_path: Path, database: Path) -> None:
    expected = list(PAIRS.items())
    for name in ("x.tmx", "x.tsv"):
        dragoman.export_memory(database, tmp_path / name)
        units = dragoman.open_memory(tmp_path / name, "en", "ko").units()
        assert [(unit.source, unit.target) for unit in units] == expected
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((tmp_path / name).read_bytes()))
        assert len(dragoman.open_memory(tmp_path / f"{name}.gz", "en", "ko")) == len(expected)
    turned = dragoman.open_memory(tmp_path / "x.tmx", "ko", "en").find("파일 열기!")
    assert turned
    assert turned.target == "Open the file"
    assert [one.units for one in contents(database)] == [len(expected)]


def test_finished_translations_and_a_corrected_review_are_added(tmp_path: Path) -> None:
    po = tmp_path / "a.po"
    po.write_text(
        PO.replace('msgstr ""\n\nmsgid "Open the files', 'msgstr "열기"\n\nmsgid "Open the files'), encoding="utf-8"
    )
    review = tmp_path / "out.review.tsv"
    review.write_bytes(
        "\ufefffile\tlocation\tsource\ttranslation\twhy\r\na.po\tline 3\t'=A1 is\t'=A1은\tbad\r\n".encode()
    )
    change = dragoman.add_to_memory(tmp_path / "m.db", [po, review], source="en", target="ko")
    assert (change.files, change.new) == ({str(po): 1, str(review): 1}, 2)
    units = dragoman.open_memory(tmp_path / "m.db", "en", "ko").units()
    assert [(unit.source, unit.target, unit.origin) for unit in units] == [
        ("Open the file", "열기", "a.po"),
        ("=A1 is", "=A1은", "out.review.tsv"),
    ]
    assert dragoman.add_to_memory(tmp_path / "m.db", [po], source="en", target="ko").new == 0


def test_documents_take_what_is_known_and_name_what_is_similar(
    tmp_path: Path, translator: Translator, database: Path
) -> None:
    (tmp_path / "a.po").write_text(PO, encoding="utf-8")
    result = dragoman.translate_documents(
        translator, tmp_path / "a.po", tmp_path / "ko.po", memory=database, memory_threshold=60
    )
    assert result.from_memory == 1
    written = (tmp_path / "ko.po").read_text(encoding="utf-8")
    assert '#. a button\nmsgid "Open the file"\nmsgstr "파일 열기!"\n' in written
    assert '# 66 %: Open the file → 파일 열기!\nmsgid "Open the files"\n' in written
    (tmp_path / "a.xlf").write_text(
        '<xliff version="1.2"><file original="a" source-language="en" datatype="x"><body>\n'
        '  <trans-unit id="1"><source>Ab &amp; B <g id="1">&lt;d></g></source></trans-unit>\n</body></file></xliff>'
    )
    dragoman.translate_documents(
        translator, tmp_path / "a.xlf", tmp_path / "ko.xlf", memory=database, memory_threshold=80
    )
    [similar] = re.findall("<alt-trans.*</alt-trans>", (tmp_path / "ko.xlf").read_text(encoding="utf-8"))
    assert similar == (
        '<alt-trans match-quality="83%" origin="m.tsv"><source>Ab &amp; B &lt;c&gt;</source>'
        "<target>ㄱ &amp; ㄴ &lt;ㄷ&gt;</target></alt-trans>"
    )


def test_what_similar_sources_need_is_reported_before_the_work(
    tmp_path: Path, translator: Translator, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rapidfuzz.distance", None)
    (tmp_path / "a.po").write_text(PO, encoding="utf-8")
    with pytest.raises(ResourceError, match=r"need rapidfuzz; pip install 'dragoman\[documents\]'"):
        dragoman.translate_documents(translator, tmp_path / "a.po", tmp_path / "ko.po", memory=table)
    (tmp_path / "a.txt").write_text("Open the file\n")
    dragoman.translate_documents(translator, tmp_path / "a.txt", tmp_path / "ko.txt", memory=table)
    assert (tmp_path / "ko.txt").read_text(encoding="utf-8") == "파일 열기!\n"


def test_a_resumed_translation_needs_the_same_memory(tmp_path: Path, translator: Translator, database: Path) -> None:
    document = tmp_path / "a.txt"
    document.write_text("Open the file\nHello\n")
    (tmp_path / "other.tsv").write_text("Hello\t여보세요\n", encoding="utf-8")
    first = dragoman.translate_documents(translator, document, tmp_path / "ko.txt", memory=database)
    assert (first.from_memory, first.units) == (1, 2)
    second = dragoman.translate_documents(translator, document, tmp_path / "k2.txt", memory=tmp_path / "other.tsv")
    assert (second.from_memory, (tmp_path / "k2.txt").read_text(encoding="utf-8").split("\n")[1]) == (1, "여보세요")


@pytest.mark.parametrize(
    ("name", "content", "error", "cause"),
    [
        ("m.tmx", "<tmx><body>", DataError, r"m\.tmx:1:\d+: not well-formed XML"),
        ("m.tmx", '<!DOCTYPE a [<!ENTITY b "c">]><tmx/>', DataError, "declares the entity 'b', which is refused"),
        ("m.tmx", "<tmx><body/></tmx>", DataError, r"m\.tmx: nothing from en into ko; .*give a.* file"),
        (
            "m.tmx",
            '<tmx><body><tu><tuv xml:lang="fr-CA"/><tuv xml:lang="en"/></tu></body></tmx>',
            DataError,
            r"m\.tmx: nothing from en into ko; it has en, fr-CA",
        ),
        ("m.tsv", "one\n", DataError, r"m\.tsv:1: "),
        ("m.tsv", "a\tb\tc\td\n", DataError, r"m\.tsv:1: "),
        ("m.txt", "one\n", ConfigError, r"m\.txt: not a memory; give a \.db, \.tmx"),
        ("m.db", "one\n" * 99, DataError, r"m\.db: not a translation memory, or damaged"),
        ("m.tsv", None, ConfigError, r"m\.tsv: no such file; give a memory"),
    ],
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: str | None, error: type[Exception], cause: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(error, match=cause):
        dragoman.open_memory(tmp_path / name, "en", "ko")
    if name != "m.db" and content is not None:
        with pytest.raises(error, match=cause):
            dragoman.add_to_memory(tmp_path / "new.db", [tmp_path / name], source="en", target="ko")
        assert not (tmp_path / "new.db").exists()


def test_a_failed_addition_leaves_the_units_that_another_program_added(tmp_path: Path, table: Path) -> None:
    (tmp_path / "bad.tsv").write_text("one\n")
    path = tmp_path / "m.db"
    for _ in range(2):
        with pytest.raises(DataError, match=r"bad\.tsv:1: "):
            dragoman.add_to_memory(path, [table, tmp_path / "bad.tsv"], source="en", target="ko")
        assert not path.exists() or [one.units for one in contents(path)] == [len(PAIRS)]
        dragoman.add_to_memory(path, [table], source="en", target="ko")


def test_wrong_requests_are_named(tmp_path: Path, database: Path, translator: Translator) -> None:
    with pytest.raises(ConfigError, match=r"\(--from, --to\): both are en; a memory has two"):
        dragoman.add_to_memory(database, [tmp_path / "m.tsv"], source="en", target="en-GB")
    with pytest.raises(ConfigError, match=r"\(--from\) 'english': not a BCP-47 tag"):
        dragoman.add_to_memory(database, [tmp_path / "m.tsv"], source="english", target="ko")
    with pytest.raises(DataError, match=r"m\.db: nothing from en into de; it has en → ko"):
        dragoman.open_memory(database, "en", "de")
    with pytest.raises(ConfigError, match=r"m\.tmx: a memory that is kept is a \.db"):
        dragoman.add_to_memory(tmp_path / "m.tmx", [], source="en", target="ko")
    with pytest.raises(ConfigError, match=r"m\.txt: units are written as \.tmx or \.tsv"):
        dragoman.export_memory(database, tmp_path / "m.txt")
    with pytest.raises(ConfigError, match=r"m\.tsv: already exists; --force replaces it"):
        dragoman.export_memory(database, tmp_path / "m.tsv")
    (tmp_path / "a.txt").write_text("Hello\n")
    for threshold in (20, 100, 75.5):
        with pytest.raises(ConfigError, match=r"\(--memory-threshold\) .*: give percent, a whole number from 50 to 99"):
            dragoman.translate_documents(translator, tmp_path / "a.txt", memory=database, memory_threshold=threshold)  # type: ignore[arg-type]
    dragoman.add_to_memory(database, [tmp_path / "m.tsv"], source="en", target="de")
    with pytest.raises(ConfigError, match=r"m\.db: has en-de, en-ko; choose a pair with --from and --to"):
        dragoman.export_memory(database, tmp_path / "all.tmx")


def test_a_text_whose_sentences_are_all_in_the_memory_takes_them(tmp_path: Path, translator: Translator) -> None:
    (tmp_path / "m.tsv").write_text(
        "Open the file.\t파일을 여세요!\nClose the window.\t창을 닫으세요!\n", encoding="utf-8"
    )
    (tmp_path / "a.txt").write_text("Open the file. Close the window.\n")
    result = dragoman.translate_documents(translator, tmp_path / "a.txt", tmp_path / "b.txt", memory=tmp_path / "m.tsv")
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == "파일을 여세요! 창을 닫으세요!\n"
    assert result.from_memory == 1


def test_a_review_that_excel_saved_gives_the_rows_that_were_translated(tmp_path: Path) -> None:
    rows = ["file\tlocation\tsource\ttranslation\twhy", "a\t1\tStill English\tStill English\tformat"]
    rows += ['a\t2\t"Yes, it is"\t"네, 그래요"\tnumber', ""]
    (tmp_path / "o.review.tsv").write_bytes("\r\n".join(rows).encode("utf-16"))
    dragoman.add_to_memory(tmp_path / "m.db", [tmp_path / "o.review.tsv"], source="en", target="ko")
    units = dragoman.open_memory(tmp_path / "m.db", "en", "ko").units()
    assert [(unit.source, unit.target) for unit in units] == [("Yes, it is", "네, 그래요")]


@pytest.mark.parametrize("name", ["M.TSV", "a.sdlxliff", "a.mqxliff", "a.mxliff"])
def test_a_memory_has_any_name_of_its_format(tmp_path: Path, name: str) -> None:
    unit = '<trans-unit id="1"><source>Hi there</source><target>안녕</target></trans-unit>'
    files = '<file original="a" datatype="x" source-language="en" target-language="ko">'
    xliff = f'<xliff version="1.2">{files}<body>{unit}</body></file></xliff>'
    (tmp_path / name).write_text("Hi there\t안녕\n" if name == "M.TSV" else xliff, encoding="utf-8")
    units = dragoman.open_memory(tmp_path / name, "en", "ko").units()
    assert [(unit.source, unit.target) for unit in units] == [("Hi there", "안녕")]


def test_one_language_chooses_the_pair_that_is_exported(tmp_path: Path, database: Path) -> None:
    dragoman.add_to_memory(database, [tmp_path / "m.tsv"], source="en", target="de")
    dragoman.export_memory(database, tmp_path / "o.tmx", target="de-DE")
    assert 'xml:lang="de"' in (tmp_path / "o.tmx").read_text("utf-8")
    for wrong in ({"source": "ko"}, {"target": "fr"}, {"source": "en"}):
        with pytest.raises(ConfigError, match="has en-de, en-ko; choose a pair with --from and --to"):
            dragoman.export_memory(database, tmp_path / "p.tmx", **wrong)  # type: ignore[arg-type]
