"""Glossary: what a file may contain, and where a term matches in a sentence."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import DataError
from dragoman.text.terms.glossary import Entry, Glossary, as_tsv
from dragoman.text.words.normalise import normalise


def found(terms: list[str], text: str) -> list[str]:
    return [match.entry.term for match in Glossary.of(dict.fromkeys(terms, "x")).find(text)]


def read(folder: Path, content: str | bytes) -> Glossary:
    path = folder / "terms.tsv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return Glossary.read(path)


def test_rows_and_columns_of_a_term_are_alternatives(tmp_path: Path) -> None:
    content = "\ufeff# our words\n\n서버\tserver\r\n  \t \n깃발\tflag\tpennant\n서버\thost\tserver\n# end\n"
    assert read(tmp_path, content).entries == (
        Entry("서버", ("server", "host")),
        Entry("깃발", ("flag", "pennant")),
    )


def test_terms_and_translations_are_normalised(tmp_path: Path) -> None:
    letters = "\u1109\u1165\u1107\u1165"  # 서버, letter by letter
    assert read(tmp_path, f" {letters}  실\t\u200bserver   room \t\t\n").entries == (
        Entry("서버 실", ("server room",)),
    )


def test_a_term_that_begins_with_the_mark_of_a_comment_is_written_with_a_backslash(tmp_path: Path) -> None:
    terms = ["#tag", "\\#tag", "\\\\#", "\\n", "C#"]
    lines = as_tsv([Entry(term, ("x",)) for term in terms])
    assert lines.startswith("\\#tag\tx\n\\\\#tag\t")
    assert [entry.term for entry in read(tmp_path, f"# a comment\n{lines}").entries] == terms


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        ("서버\tserver\n깃발 flag\n", 2, "no tab"),
        ("# x\n \tserver\n", 2, "empty term"),
        ("\u200b\tserver\n", 1, "empty term"),
        ("a\tb\n서버\t \n", 2, "empty translation"),
        ("서버\t\t\t\n", 1, "empty translation"),
        (b"a\tb\n\nc\t\xb0\xa1\n", 3, "not UTF-8 at byte 3"),
        ("polish\t광택\nx\ty\nPolish\t폴란드어\n", 3, "'polish' of line 1"),
        ("server\ta\nserver\tb\nServer\ta\n", 3, "differ only in case"),
    ],
)
def test_a_bad_row_is_reported_in_one_line_with_its_location(
    tmp_path: Path, content: str | bytes, line: int, says: str
) -> None:
    with pytest.raises(DataError) as raised:
        read(tmp_path, content)
    message = str(raised.value)
    assert message.startswith(f"{tmp_path / 'terms.tsv'}:{line}: ")
    assert says in message
    assert "\n" not in message
    assert re.search("; (write|convert|a line is)", message)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.tsv", tmp_path):
        with pytest.raises(DataError, match=r"the glossary cannot be read.*check the path"):
            Glossary.read(path)


def test_a_request_gives_its_terms_and_its_errors_count_them() -> None:
    assert Glossary.of({"서버": "server", "깃발": ["flag", "pennant"]}).entries == (
        Entry("서버", ("server",)),
        Entry("깃발", ("flag", "pennant")),
    )
    with pytest.raises(DataError, match=r"^request:2: empty translation of '깃발'"):
        Glossary.of({"서버": "server", "깃발": []}, "request")
    with pytest.raises(DataError, match=r"^request:1: .*unpaired surrogate"):
        Glossary.of({"서버": "\ud800"}, "request")


def test_a_tab_within_a_translation_is_refused_because_a_file_would_have_alternatives() -> None:
    for terms in ({"a": "b\tc"}, {"a": ["b\tc"]}, {"a\tb": "c"}):
        with pytest.raises(DataError, match=r"^glossary:1: a tab in .*; give alternatives as a list"):
            Glossary.of(terms)


def test_terms_that_differ_only_in_case_may_share_translations_or_be_abbreviations(tmp_path: Path) -> None:
    assert len(read(tmp_path, "server\ta\tb\nServer\tb\nServer\ta\n").entries) == 2
    assert len(read(tmp_path, "us\t우리\nUS\t미국\n").entries) == 2


def test_a_requests_terms_replace_those_of_the_model() -> None:
    model = Glossary.of({"Server": "host", "flag": "깃발"})
    assert Glossary.of({"server": "server"}).over(model).entries == (
        Entry("server", ("server",)),
        Entry("flag", ("깃발",)),
    )


@pytest.mark.parametrize(
    ("term", "text", "matches"),
    [
        ("server", "the server, please", True),
        ("server", "observer serverless", False),
        ("server", "(server)", True),
        ("server", "client-server", True),
        ("server", "server2", False),
        ("server", "SERVER", True),
        ("Server", "server", True),
        ("서버", "서버를 켜라", True),
        ("서버", "그 서버가", True),
        ("서버", "웹서버가", False),
        ("서버", "AI서버", True),
        ("서버", "서 버", False),
        ("GPU", "GPU를 사라", True),
        ("GPU", "GPUsage gpus", False),
        ("GPU", "これはGPUです", True),
        ("A100", "A100을", True),
        ("A100", "A1000을", False),
        ("IT", "is it good", False),
        ("IT", "the IT department", True),
        ("服务器", "我的服务器很慢", True),
        ("サーバー", "このサーバーは", True),
        ("バー", "サーバー", False),
        ("サーバ", "サーバー", False),
        ("人", "人々", False),
        ("เซิร์ฟเวอร์", "รีสตาร์ทเซิร์ฟเวอร์นี้", True),
        ("सर्वर", "सर्वर धीमा", True),
        ("सर्वर", "सर्वरों", False),
        ("сервер", "сервер", True),
        ("сервер", "сервера", False),
        ("C++", "in C++20", True),
        (".NET", "ASP.NET", True),
        ("café", "cafe\u0301", True),
        ("cafe", "cafe\u0301", False),
        ("new york", "in New   York", True),
        # plural and possessive
        ("server", "all servers", True),
        ("server", "the server's name", True),
        ("server", "Servers", True),
        ("box", "two boxes", True),
        ("box", "a boxer", False),
        ("policy", "Policies of", True),
        ("key", "keys", True),
        ("leaf", "leaves", True),
        ("hero", "heroes", True),
        ("car", "she cares", False),
        ("GPU", "two GPUs", True),
        ("IT", "its", False),
        ("dialog box", "dialog boxes", True),
        ("Datei", "Dateien", False),
        # a stem
        ("Datei*", "alle Dateien", True),
        ("Datei*", "die Datei", True),
        ("Datei*", "Textdatei Date", False),
        ("복사*", "복사합니다", True),
        ("복사*", "재복사", False),
        ("сервер*", "сервера", True),
        ("A\\*", "the A* search", True),
        ("A\\*", "the Ab search", False),
        # particles
        ("표", "표", True),
        ("표", "표를", True),
        ("표", "표들에서는", True),
        ("표", "표시 표준 표현식 문서", False),
        ("표", "표이 표을 표은", False),
        ("셀", "셀은", True),
        ("셀", "셀는 셀가 셀를", False),
        ("셀", "셀로", True),
        ("칸", "칸로", False),
        ("서버", "서버으로", False),
        ("서버", "서버으로(로) 열기", True),
        ("파일", "파일을(를) 엽니다", True),
        ("복사", "복사합니다", False),
        ("함수", "함수여야 합니다", True),
        ("파일", "파일이거나", True),
        ("서버", "서버인 경우", True),
        ("색", "색인", False),
        ("로그", "로그인 로그인을", False),
        ("로그", "로그를", True),
        ("문", "문의 문의를", False),
        ("문", "문을", True),
        ("줄", "줄이고", False),
        ("줄", "줄이", True),
    ],
)
def test_a_term_matches_where_a_word_begins_and_ends(term: str, text: str, matches: bool) -> None:
    assert found([term], text) == [term] * matches


def test_the_longest_term_wins_and_none_overlap() -> None:
    assert found(["server", "server room", "room key", "key"], "server room key server") == [
        "server room",
        "key",
        "server",
    ]
    assert found(["서버", "서버실"], "서버실에서 서버를") == ["서버실", "서버"]


def test_a_term_as_written_comes_before_its_other_case() -> None:
    assert found(["us", "US"], "US us Us") == ["US", "us", "us"]
    assert found(["Server", "server"], "server Server") == ["server", "Server"]


TERMS = st.lists(
    st.sampled_from(["ab", "a", "b c", "ab c", "서버", "서", "GPU", "バー", "中"]), min_size=1, unique=True
)


@given(TERMS, st.text(alphabet="abcGPU 서버를サバー中国.e\u0301\u200b", max_size=25))
def test_matches_are_the_terms_written_in_the_text_one_after_the_other(terms: list[str], text: str) -> None:
    matches, end = Glossary.of(dict.fromkeys(terms, "x")).find(text), 0
    for match in matches:
        assert match.start >= end
        assert normalise(text)[match.start : match.end].casefold() == match.entry.term.casefold()
        end = match.end


@given(
    st.lists(st.sampled_from(["ab", "a", "b c", "ab c", "c"]), min_size=1, unique=True), st.text("abc .", max_size=25)
)
def test_among_words_with_spaces_it_finds_what_a_regular_expression_does(terms: list[str], text: str) -> None:
    longest_first = sorted(terms, key=len, reverse=True)
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)"
    assert found(terms, text) == re.findall(pattern, normalise(text))


def test_a_glossary_is_read_from_a_str_or_a_path(tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("dog\thund\n", encoding="utf-8")
    assert Glossary.read(str(tmp_path / "terms.tsv")).entries == Glossary.read(tmp_path / "terms.tsv").entries


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_is_read_as_excel_saves_it(tmp_path: Path, encoding: str, end: str) -> None:
    rows = ['"server, main"\t"서버, 주"', 'box\t"상자 ""큰"""\t', '"a"\t""', '"""b"""\tㄴ', ""]
    (tmp_path / "g.tsv").write_bytes(end.join(rows).encode(encoding))
    assert Glossary.read(tmp_path / "g.tsv").entries == (
        Entry("server, main", ("서버, 주",)),
        Entry("box", ('상자 "큰"',)),
        Entry('"a"', ('""',)),  # which Excel writes with more of them
        Entry('"b"', ("ㄴ",)),
    )


@pytest.mark.parametrize(
    ("first", "is_header"),
    [
        ("Source\tTarget", True),
        ("term\ttranslation\tnote", True),
        ("English\tKorean", True),
        ("en-US\tko_KR", True),
        ("영어\t한국어", True),
        ("English\t영어", False),
        ("source\t소스", False),
        ("it\t그것", False),
    ],
)
def test_a_first_line_that_names_its_columns_is_no_term(tmp_path: Path, first: str, is_header: bool) -> None:
    terms = [entry.term for entry in read(tmp_path, f"# mine\n{first}\nserver\t서버\n").entries]
    assert terms == ([] if is_header else [first.partition("\t")[0]]) + ["server"]
    assert len(read(tmp_path, f"server\t서버\n{first}\n").entries) == 2  # further down it is a term


@pytest.mark.parametrize(
    "entry", [Entry("English", ("Korean",)), Entry("Source", ("Target", "x")), Entry('"a, b"', ('"""', '"c ""d"" e"'))]
)
def test_what_is_written_is_read_as_the_same_entries(tmp_path: Path, entry: Entry) -> None:
    entries = (entry, Entry("#1", ("일",)), Entry('say "a"', ('"가"', "나, 다")))
    assert read(tmp_path, as_tsv(entries)).entries == entries
