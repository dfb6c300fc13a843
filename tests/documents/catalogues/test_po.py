"""PO files: only the translations that change are written, and gettext accepts the result."""

import shutil
import subprocess
from io import BytesIO
from pathlib import Path

import polib
import pytest

from documents.real import needs_data, real
from dragoman.documents.catalogues import po
from dragoman.documents.catalogues.po_header import plurals, rule_of
from dragoman.documents.core.document import Document, DocumentOptions
from dragoman.documents.core.labels import length_limit
from dragoman.errors import DataError
from dragoman.memory import MemoryMatch
from dragoman.text.words.inline import InlineText

SAMPLE = r"""# Own sample.
#, fuzzy
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Language: \n"
"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\n"

#. Max length: 20
#: menu.c:3
#, c-format
msgctxt "menu"
msgid "Open \"%s\"\n"
msgstr ""

#, fuzzy, c-format
#| msgid "%d files"
msgid "%d file"
msgid_plural "%d files found in a folder whose name is long enough for a second line of the file"
msgstr[0] "파일 %d개"
msgstr[1] ""

msgid ""
"  Two\n"
"lines"
msgstr ""
"  두\n"
"줄"

#~ msgid "old"
#~ msgstr "옛것"
"""
EN_KO = DocumentOptions("en", "ko")
HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: ko\\n"\n\n'


def opened(tmp_path: Path, content: str | bytes, request: DocumentOptions = EN_KO) -> Document:
    path = tmp_path / "a.po"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return po.read(path, request)


def written(document: Document, texts: list[InlineText | None], request: DocumentOptions = EN_KO) -> str:
    file = BytesIO()
    po.write(document, texts, request, file)
    return file.getvalue().decode()


def accepted(content: str, tmp_path: Path) -> None:
    """Check with gettext's own compiler, where it is installed."""
    if shutil.which("msgfmt"):
        path = tmp_path / "checked.po"
        path.write_text(content, encoding="utf-8", newline="")
        command = ["msgfmt", "-c", "-o", "/dev/null", str(path)]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stderr


def test_units_carry_what_the_file_says(tmp_path: Path) -> None:
    units = list(opened(tmp_path, SAMPLE).units)
    assert [unit.source.text for unit in units] == [
        'Open "%s"',
        "%d files found in a folder whose name is long enough for a second line of the file",
        "Two\nlines",
    ]
    assert (units[0].location, units[0].context, units[0].max_length) == ("line 13", "menu; Max length: 20", 20)
    assert [unit.existing and unit.existing.text for unit in units] == [None, "파일 %d개", "두\n줄"]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_nothing_changes_without_translations_or_with_those_it_has(tmp_path: Path, newline: str) -> None:
    content = SAMPLE.replace("\n", newline)
    document = opened(tmp_path, content)
    units = list(document.units)
    assert written(document, [None] * len(units)) == content
    assert written(document, [unit.existing for unit in units]).count("파일 %d개") == 1


def test_a_translation_changes_its_own_lines_alone(tmp_path: Path) -> None:
    texts = [InlineText('"%s" 열기'), InlineText("%d개의 파일"), InlineText("둘\n\t줄")]
    result = written(opened(tmp_path, SAMPLE), texts)
    before, after = SAMPLE.splitlines(), result.splitlines()
    lost = [line for line in before if line not in after]
    assert lost == [
        "#, fuzzy",  # of the header
        r'"Language: \n"',
        r'"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\n"',
        "#, fuzzy, c-format",
        '#| msgid "%d files"',
        'msgstr[0] "파일 %d개"',
        'msgstr[1] ""',
        r'"  두\n"',
        '"줄"',
    ]
    entries = list(polib.pofile(result))
    assert entries[0].msgstr == '"%s" 열기\n'
    assert entries[1].msgstr_plural == {0: "%d개의 파일"}
    assert entries[2].msgstr == "  둘\n\t줄"
    assert "fuzzy" not in entries[1].flags  # its translation is new
    assert polib.pofile(result).metadata["Language"] == "ko"
    accepted(result, tmp_path)
    again = list(opened(tmp_path, result).units)
    assert [unit.existing for unit in again] == texts


def test_the_forms_of_the_target_not_those_of_the_file(tmp_path: Path) -> None:
    for target, forms in (("ru", 3), ("en", 2), ("ar", 6), ("ja", 1), ("fr", 2), ("x-own", 2)):
        request = DocumentOptions("en", target)
        document = opened(tmp_path, SAMPLE, request)
        result = written(document, [unit.source for unit in document.units], request)
        entry = polib.pofile(result)[1]
        assert sorted(entry.msgstr_plural) == list(range(forms))
        assert all(entry.msgstr_plural.values())
        accepted(result, tmp_path)


def test_a_singular_without_the_number_is_not_used_for_several_numbers(tmp_path: Path) -> None:
    content = 'msgid "one file"\nmsgid_plural "%d files"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    sources = {
        target: [unit.source.text for unit in opened(tmp_path, content, DocumentOptions("de", target)).units]
        for target in ("en", "ru", "ko")
    }
    assert sources == {"en": ["one file", "%d files"], "ru": ["%d files"], "ko": ["%d files"]}


def test_update_reads_what_is_empty_or_fuzzy_and_clears_the_flag(tmp_path: Path) -> None:
    request = DocumentOptions("en", "ko", update=True)
    document = opened(tmp_path, SAMPLE, request)
    assert [unit.source.text[:4] for unit in document.units] == ["Open", "%d f"]
    result = written(document, [InlineText('"%s" 열기'), InlineText("%d개")], request)
    assert '"  두\\n"\n"줄"' in result
    assert "#, c-format\nmsgid" in result
    assert "#|" not in result
    assert list(opened(tmp_path, result, request).units) == []
    accepted(result, tmp_path)


def test_marked_translations_are_fuzzy(tmp_path: Path) -> None:
    request = DocumentOptions("en", "ko", mark=True)
    document = opened(tmp_path, SAMPLE, request)
    result = written(document, [InlineText("하나 %s"), None, InlineText("셋\n넷")], request)
    assert [entry.flags for entry in polib.pofile(result)] == [
        ["fuzzy", "c-format"],
        ["fuzzy", "c-format"],
        ["fuzzy"],
        [],
    ]
    accepted(result, tmp_path)


def test_long_lines_wrap_as_in_the_file(tmp_path: Path) -> None:
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid ""\n'
    long = '"a line that ends here because a tool divided it at \\"79\\", and \\\\\\\\ "'
    wrapped = f'{head}{long}\n"goes on."\nmsgstr ""\n'
    text = "가나다라 마바사 " * 20 + 'C:\\\\new\\n "x"'
    result = written(opened(tmp_path, wrapped), [InlineText(text)])
    assert max(sum(2 if ord(each) > 0x1100 else 1 for each in line) for line in result.splitlines()) <= 80
    assert polib.pofile(result)[0].msgstr == text
    unwrapped = head + f'"{"word " * 30}"\nmsgstr ""\n'
    assert f'msgstr "{"가나 " * 60}끝 "' in written(opened(tmp_path, unwrapped), [InlineText("가나 " * 60 + "끝")])


def test_a_charset_that_cannot_write_the_translation_becomes_utf_8(tmp_path: Path) -> None:
    content = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n# é\nmsgid "a"\nmsgstr ""\n'
    document = opened(tmp_path, content.encode("latin-1"))
    result = written(document, [InlineText("가")])
    assert "charset=UTF-8" in result
    assert "# é" in result
    accepted(result, tmp_path)


def test_without_a_header_one_is_added(tmp_path: Path) -> None:
    document = opened(tmp_path, 'msgid "Hello, %s"\nmsgstr ""\n')
    result = written(document, [InlineText("안녕, %s")])
    assert polib.pofile(result).metadata["Content-Type"] == "text/plain; charset=UTF-8"
    accepted(result, tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('msgid "a\nmsgstr ""\n', "a.po:1: not a line of a PO file"),
        ('msgid "a" b\nmsgstr ""\n', "a.po:1: not a line of a PO file"),
        ('msgid "a"\n\nmsgid "b"\nmsgstr ""\n', "a.po:3: a second msgid"),
        ('msgid "a"\n', "a.po:1: a message needs msgid and msgstr"),
        ('"a"\n', "a.po:1: a quoted line that continues nothing"),
        ('msgid ""\nmsgstr "charset=NO-SUCH\\n"\n', "a.po:2: charset NO-SUCH is unknown"),
        ('msgid ""\nmsgstr "charset=rot13\\n"\n', "a.po:2: charset rot13 is unknown"),
        ('msgid ""\nmsgstr ""\n"Language: en"\n"Plural-Forms: x\\n"\n', "a.po:3: a line of the header has no"),
        ("msgid ä\n".encode("latin-1"), "a.po:1: byte 6 is not UTF-8"),
        ('msgid ""\nmsgstr "charset=UTF-8\\n"\n\nmsgid "Hello"\nmsgstr "안녕"\n'.encode("cp949"), "a.po:5: byte"),
    ],
)
def test_what_is_damaged_is_refused_with_its_line(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError) as error:
        opened(tmp_path, content)
    assert message in str(error.value)


def test_duplicates_and_false_rules_are_reported(tmp_path: Path) -> None:
    content = 'msgid "a"\nmsgstr "b"\n\nmsgid "a"\nmsgstr "c"\n'
    document = opened(tmp_path, content)
    assert len(list(document.units)) == 2
    assert "line 4: the same msgid as in line 1" in document.notices[0]
    header = 'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=__import__(\'os\').getcwd();\\n"\n\n'
    document = opened(tmp_path, header + 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n')
    assert "no valid Plural-Forms" in document.notices[0]
    assert "nplurals=1; plural=0;" in written(document, [InlineText("가")])


def test_limits_in_comments() -> None:
    for comment in (
        "Max length: 20",
        "max. 20 characters",
        "at most 20 characters",
        "Maximum length is 20",
        "최대 20자",
    ):
        assert length_limit(comment) == 20, comment
    for comment in ("maximum of files", "20 characters were read", "length of the maximum", ""):
        assert length_limit(comment) is None, comment


FORMATS = """msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

#, c-format
msgid "%d%% of %s, %*d"
msgstr ""

#, c-format
msgid "%d files in %-10s"
msgstr ""

#, python-format
msgid "%(n)d of %r"
msgstr ""

#, python-brace-format
msgid "{a.b:>{width}} {{x}}"
msgstr ""

#, no-c-format
msgid "50% done"
msgstr ""
"""


def test_flags_say_what_a_directive_is(tmp_path: Path) -> None:
    units = list(opened(tmp_path, FORMATS).units)
    found = [[unit.source.text[begin:end] for begin, end in unit.source.protected] for unit in units]
    assert found == [
        ["%d", "%%", "%s", "%*d"],
        ["%1$d", "%2$-10s"],
        ["%(n)d", "%r"],
        ["{a.b:>{width}}", "{{", "}}"],
        [],
    ]
    assert [unit.patterns is None for unit in units] == [True, True, True, True, False]
    assert units[4].patterns is not None
    assert "printf" not in units[4].patterns


def test_a_format_string_that_lost_a_directive_is_fuzzy(tmp_path: Path) -> None:
    document = opened(tmp_path, FORMATS)
    texts = ["%d%% %s, %*d", "%1$d개의 파일", "%(n)d와 %r, 그리고 100%", "{a.b:>{width}} {{x}", "50% 됨"]
    result = written(document, [InlineText(text) for text in texts])
    assert ["fuzzy" in entry.flags for entry in polib.pofile(result)] == [False, True, True, True, False]
    assert [remark.partition(":")[0] for remark in document.remarks] == ["line 9", "line 13", "line 17"]
    accepted(result, tmp_path)


def test_arguments_without_names_keep_their_order(tmp_path: Path) -> None:
    content = FORMATS.replace("%(n)d of %r", "%d of %s")
    result = written(opened(tmp_path, content), [None, None, InlineText("%s의 %d"), None, None])
    assert polib.pofile(result)[2].flags == ["fuzzy", "python-format"]


def test_directives_of_c_may_change_places(tmp_path: Path) -> None:
    document = opened(tmp_path, FORMATS)
    for text, expected in (
        ("%1$d개의 파일: %2$-10s", "%d개의 파일: %-10s"),
        ("%2$-10s의 파일 %1$d개", "%2$-10s의 파일 %1$d개"),
    ):
        result = written(document, [None, InlineText(text), None, None, None])
        assert f'msgstr "{expected}"' in result
        accepted(result, tmp_path)
        again = list(opened(tmp_path, result).units)[1]
        assert again.existing == InlineText(text)


@needs_data
@pytest.mark.parametrize("path", real("po"), ids=lambda path: path.name)
def test_real_files(path: Path, tmp_path: Path) -> None:
    name = path.name.split(".")
    request = DocumentOptions("en", name[1] if len(name) == 3 else "ko")
    document = po.read(path, request)
    units = list(document.units)
    content = path.read_text(encoding="utf-8", newline="") if b"\r" in path.read_bytes() else path.read_text("utf-8")
    assert written(document, [None] * len(units), request) == content
    assert written(document, [unit.existing for unit in units], request) == content
    result = written(document, [unit.source for unit in units], request)
    accepted(result, tmp_path)
    again = po.read(tmp_path / "checked.po", request) if shutil.which("msgfmt") else document
    assert [unit.source for unit in again.units] == [unit.source for unit in units]


def test_accelerator_keys_are_not_translated_but_set_again(tmp_path: Path) -> None:
    path = tmp_path / "a.po"
    path.write_text(
        'msgid ""\nmsgstr ""\n\nmsgid "_File"\nmsgstr "서류(_F)"\n\nmsgid "Save &as..."\nmsgstr ""\n', "utf-8"
    )
    document = po.read(path, DocumentOptions("en", "ko"))
    assert [unit.source.text for unit in document.units] == ["File", "Save as..."]
    assert [unit.existing and unit.existing.text for unit in document.units] == ["서류", None]
    with (tmp_path / "ko.po").open("wb") as file:
        po.write(document, [InlineText("파일"), InlineText("다른 이름으로 저장...")], DocumentOptions("en", "ko"), file)
    written = (tmp_path / "ko.po").read_text("utf-8")
    assert 'msgstr "파일(_F)"' in written
    assert 'msgstr "다른 이름으로 저장(&A)..."' in written


@pytest.mark.parametrize(
    ("language", "target", "header"),
    [
        ("nb", "no", "nb"), ("no", "nb", "no"), ("nn_NO", "no", "nn_NO"), ("zh_TW", "zh-Hant", "zh_TW"),
        ("sr@latin", "sr-Latn", "sr@latin"), ("pt_BR", "pt", "pt_BR"), ("iw", "he", "iw"), ("in_ID", "id", "in_ID"),
    ],
)  # fmt: skip
def test_the_language_of_the_header_stays_if_it_is_the_one_asked_for(
    language: str, target: str, header: str, tmp_path: Path
) -> None:
    request = DocumentOptions("en", target, update=True)
    document = opened(tmp_path, SAMPLE.replace('"Language: ', f'"Language: {language}'), request)
    result = written(document, [InlineText("x") for _ in document.units], request)
    assert polib.pofile(result).metadata["Language"] == header
    assert not [notice for notice in document.notices if "names the language" in notice or "not known" in notice]


@pytest.mark.parametrize(
    ("language", "target", "header"),
    [("zh_CN", "zh-TW", "zh_TW"), ("sr_RS", "sr-Latn", "sr@latin"), ("da", "no", "no")],
)
def test_another_language_or_script_of_the_header_is_replaced(
    language: str, target: str, header: str, tmp_path: Path
) -> None:
    request = DocumentOptions("en", target, update=True)
    document = opened(tmp_path, SAMPLE.replace('"Language: ', f'"Language: {language}'), request)
    assert any(f"names the language {language}" in notice for notice in document.notices)
    result = written(document, [InlineText("x") for _ in document.units], request)
    assert polib.pofile(result).metadata["Language"] == header


@pytest.mark.parametrize(
    ("target", "other"), [("nb", "no"), ("iw", "he"), ("in", "id"), ("tl", "fil"), ("sr-Latn", "sr")]
)
def test_a_plural_rule_is_known_by_each_tag_of_its_language(target: str, other: str) -> None:
    assert plurals("", "", target) == plurals("", other, other)
    assert rule_of(target) is not None


def test_a_new_translation_of_a_guess_is_no_guess(tmp_path: Path) -> None:
    """Without `update` too: a program uses it, and the message that was guessed from is no longer named."""
    content = HEADER + '#, fuzzy\n#| msgid "Open folder"\nmsgid "Close"\nmsgstr "열기"\n'
    result = written(opened(tmp_path, content), [InlineText("닫기")])
    assert "#" not in result.removeprefix(HEADER)
    assert "#, fuzzy" in written(opened(tmp_path, content), [None])


@pytest.mark.parametrize("label", ["&Use ~/.netrc", "_Open ~/a_b", "&Save as a_b"])
@pytest.mark.parametrize("new", ["~/.netrc 사용", "~/.netrc verwenden", "a_b & c", "~ 1 & 2"])
def test_a_key_is_set_only_where_it_is_found_again(tmp_path: Path, label: str, new: str) -> None:
    content = HEADER + f'msgid "{label}"\nmsgstr ""\n'
    result = written(opened(tmp_path, content), [InlineText(new)])
    (unit,) = opened(tmp_path, result).units
    assert unit.existing is not None
    assert unit.existing.text == new


def test_a_similar_translation_is_named_once(tmp_path: Path) -> None:
    content = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n# ours\nmsgid "One"\nmsgstr ""\n'
    for score, text in ((80, "하나"), (81, "일")):
        (tmp_path / "a.po").write_text(content, encoding="utf-8")
        match = MemoryMatch(score, 'One "1"\n', "하나 ", "m.db")
        options = DocumentOptions("en", "ko", similar=lambda _, match=match: [match])
        file = BytesIO()
        po.write(po.read(tmp_path / "a.po", options), [InlineText(text)], options, file)
        content = file.getvalue().decode()
    assert '# 80 %: One \\"1\\"\\n → 하나 \n# ours\nmsgid "One"\nmsgstr "일"\n' in content
    assert content.count("%:") == 1
