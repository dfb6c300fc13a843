"""Documents: all that is no text stays; duplicates once; no half files; what is interrupted continues."""

import os
import re
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.control.languages import LanguagePair
from dragoman.documents.plain import plain
from dragoman.errors import ConfigError, DataError, DragomanError, Interrupted
from dragoman.text.words.inline import InlineText
from dragoman.workflows.documents import work as document_work
from dragoman.workflows.documents.documents import DocumentsResult, DocumentTask, run_documents
from dragoman.workflows.listener import Listener, Progress
from workflows.document_stand_in import Capitals, chosen


class Recorder(Listener):
    """What a workflow reports."""

    def __init__(self) -> None:
        self.progress: list[Progress] = []

    def on_progress(self, progress: Progress) -> None:
        self.progress.append(progress)


def run(files: list[Path], output: Path | None = None, by: Capitals | None = None, **asked: Any) -> DocumentsResult:
    return run_documents(DocumentTask(tuple(files), output, **asked), chosen(by or Capitals()))


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two documents below each other, one empty, one of another type, and one of unknown format."""
    home = tmp_path / "in"
    (home / "deep").mkdir(parents=True)
    (home / "a.txt").write_text("one\n\n  two\nthree\n", encoding="utf-8")
    (home / "deep/b.txt").write_text("two\r\nfour odd\r\n", encoding="utf-8")
    (home / ".hidden.txt").write_text("hidden\n", encoding="utf-8")
    return home


def test_a_folder_keeps_its_names_and_a_text_is_translated_once(folder: Path, tmp_path: Path) -> None:
    by, recorder = Capitals(), Recorder()
    result = run_documents(DocumentTask((folder,), tmp_path / "out"), chosen(by), [recorder])
    assert names(tmp_path / "out") == ["a.txt", "deep/b.txt"]
    assert (tmp_path / "out/a.txt").read_bytes() == b"ONE\n\n  TWO\nTHREE\n"
    assert (tmp_path / "out/deep/b.txt").read_bytes() == b"TWO\r\nFOUR ODD\r\n"
    assert by.asked == [["one", "two", "three", "four odd"]]  # all files together
    assert (result.units, result.flagged, result.failures) == (5, 1, ())
    assert [(one.source.name, one.units, one.flagged) for one in result.files] == [("a.txt", 3, 0), ("b.txt", 2, 1)]
    last = recorder.progress[-1]
    assert (last.task, last.done, last.total, last.unit) == ("translating", 5, 5, "texts")
    assert names(tmp_path) == [
        "in/.hidden.txt",
        "in/a.txt",
        "in/deep/b.txt",
        "out.review.html",
        "out.review.tsv",
        "out/a.txt",
        "out/deep/b.txt",
    ]


def test_the_files_by_which_office_marks_an_open_document_are_no_documents(folder: Path, tmp_path: Path) -> None:
    (folder / "~$port.docx").write_bytes(b"\x05Hanna" + bytes(156))
    result = run([folder], tmp_path / "out")
    assert names(tmp_path / "out") == ["a.txt", "deep/b.txt"]
    assert result.failures == ()


def test_an_output_without_a_name_of_its_own_is_the_folder_it_is(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here/below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here/below")
    for output in (Path(), Path("..")):
        assert run([folder / "a.txt"], output).files[0].target.resolve() == (output / "a.txt").resolve()
    assert names(tmp_path / "here") == ["a.txt", "below/a.txt"]
    with pytest.raises(ConfigError, match=r"^/: no folder for translations; give another -o"):
        run([folder], Path("/"))


def test_unreadable_files_are_named_and_the_others_translated(folder: Path, tmp_path: Path) -> None:
    (folder / "c.bin").write_bytes(b"?")
    (folder / "d.txt").write_bytes(b"\xff\xfe\xff")
    (folder / "e.txt").write_bytes(b" \n--- 12\n")
    (folder / "f.txt").symlink_to(folder / "nowhere")
    result = run([folder], tmp_path / "out")
    assert names(tmp_path / "out") == ["a.txt", "deep/b.txt"]
    faults = {failure.path.name: str(failure.error) for failure in result.failures}
    assert sorted(faults) == ["d.txt", "e.txt", "f.txt"]
    assert result.left_out == (folder / "c.bin",)
    assert "is not UTF-16" in faults["d.txt"]
    assert "there is nothing to translate in it" in faults["e.txt"]
    assert faults["f.txt"] == f"{folder}/f.txt: No such file or directory"


def test_one_file_that_cannot_be_translated_is_an_error(tmp_path: Path) -> None:
    for name, content, message in (
        ("a.txt", b"12\n34\n", "there is nothing to translate"),
        ("b.txt", b"\x80", "byte 0 is not UTF-8"),
        ("c.xyz", b"text", "not a document"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=message):
            run([tmp_path / name], tmp_path / "out.txt")
    with pytest.raises(ConfigError, match="no such file"):
        run([tmp_path / "none.txt"], tmp_path / "out.txt")
    assert names(tmp_path) == ["a.txt", "b.txt", "c.xyz"]


def test_a_target_that_exists_is_refused_and_a_source_is_never_one(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"out/a.txt: already exists; --force replaces it"):
        run([folder], tmp_path / "out")
    assert names(tmp_path / "out") == ["a.txt"]
    assert (tmp_path / "out/a.txt").read_text() == "mine"
    run([folder], tmp_path / "out", force=True)
    assert (tmp_path / "out/a.txt").read_bytes() == b"ONE\n\n  TWO\nTHREE\n"
    before = (folder / "a.txt").read_bytes()
    (tmp_path / "link.txt").symlink_to(folder / "a.txt")
    for source, target in (("in/a.txt", "in/a.txt"), ("in/a.txt", "link.txt"), ("link.txt", "in/a.txt"), ("in", "in")):
        with pytest.raises(ConfigError, match="is read too, and its text would be lost"):
            run([tmp_path / source], tmp_path / target, force=True)
    assert (folder / "a.txt").read_bytes() == before


def test_two_documents_with_one_name_are_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "deep/a.txt").write_text("other\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"would be written for .*; rename one of them"):
        run([folder / "a.txt", folder / "deep/a.txt"], tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("report.txt", "report.de.txt"),
        ("app_en.txt", "app_de.txt"),
        ("app.EN.txt", "app.de.txt"),
        ("open.txt", "open.de.txt"),
    ],
)
def test_without_an_output_the_name_has_the_language(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / name).write_text("one\n", encoding="utf-8")
    result = run([tmp_path / name])
    assert [one.target for one in result.files] == [tmp_path / expected]
    assert names(tmp_path) == sorted([name, expected])


def test_an_output_of_another_format_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"out.pdf: a.txt stays plain text; give the output a name with .txt"):
        run([folder / "a.txt"], tmp_path / "out.pdf")


@pytest.mark.parametrize("count", [64, 100])
def test_what_was_interrupted_continues(tmp_path: Path, count: int) -> None:
    source, out = tmp_path / "a.txt", tmp_path / "b.txt"
    source.write_text("".join(f"line {'x' * n}\n" for n in range(300)), encoding="utf-8")
    with pytest.raises(Interrupted, match=r"stopped; \d+ texts saved, continue with --resume"):
        run([source], out, Capitals(stop_after=count))
    assert names(tmp_path) == ["a.txt", "b.txt.partial"]
    with pytest.raises(ConfigError, match=r"an interrupted translation has .* continue with --resume, or start"):
        run([source], out)
    with pytest.raises(ConfigError, match="was started with another language; give the same"):
        run([source], out, Capitals(pair=LanguagePair("en", "fr")), resume=True)
    again = Capitals()
    result = run([source], out, again, resume=True)
    assert result.units == 300
    assert sum(map(len, again.asked)) == (300 - 64 if count == 64 else 300 - 192)
    assert out.read_text() == source.read_text().upper()
    assert names(tmp_path) == ["a.txt", "b.txt"]


def test_files_that_were_written_before_the_interruption_may_be_written_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_work, "FIRST_WINDOW", 1)
    monkeypatch.setattr(document_work, "KEPT_BYTES", 0)  # each file is written as soon as it is translated
    with pytest.raises(Interrupted):
        run([folder], tmp_path / "out", Capitals(stop_after=3))
    assert names(tmp_path / "out") == ["a.txt"]
    result = run([folder], tmp_path / "out", resume=True)
    assert names(tmp_path / "out") == ["a.txt", "deep/b.txt"]
    assert (result.units, result.flagged) == (5, 1)


def test_what_is_not_of_an_interrupted_translation_is_not_touched(folder: Path, tmp_path: Path) -> None:
    for content in (b"mine", b"SQLite format 3\0 but not quite"):
        (tmp_path / "out.partial").write_bytes(content)
        for flags in ({}, {"force": True}, {"resume": True}):
            with pytest.raises(ConfigError, match="is not of an interrupted translation; move it elsewhere"):
                run([folder], tmp_path / "out", **flags)
        assert (tmp_path / "out.partial").read_bytes() == content


def test_work_that_was_killed_before_its_journal_had_tables_starts_again(folder: Path, tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "out.partial")
    database.execute("create table one (a)")
    database.execute("drop table one")
    database.close()
    assert (tmp_path / "out.partial").stat().st_size
    assert run([folder], tmp_path / "out").failures == ()
    assert not (tmp_path / "out.partial").exists()


def test_a_second_process_is_refused(folder: Path, tmp_path: Path) -> None:
    class Impatient(Capitals):
        def translate_inline(self, texts: Any, **options: Any) -> Any:
            found = super().translate_inline(texts, **options)
            with pytest.raises(ConfigError, match="another process is writing it"):
                run([folder], tmp_path / "out", resume=True)
            return found

    run([folder], tmp_path / "out", Impatient())


def broken_write(spoil: Callable[[bytes], bytes]) -> Any:
    write = plain.write

    def broken(document: Any, translations: Any, request: Any, file: Any) -> None:
        write(document, translations, request, file)
        file.flush()
        content = spoil(Path(file.name).read_bytes())
        file.seek(0)
        file.truncate()
        file.write(content)

    return broken


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda content: content + b"more", r"adds 'more'"),
        (lambda content: content + b"\xff", r"\(line 5: byte 17 is not UTF-8"),
    ],
)
def test_a_mistake_in_writing_is_found_and_nothing_is_left(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Any, message: str
) -> None:
    monkeypatch.setattr(plain, "write", broken_write(spoil))
    before = names(tmp_path)
    with pytest.raises(DataError, match=message) as error:
        run([folder / "a.txt"], tmp_path / "out.txt")
    assert re.match(rf"{folder}/a.txt: its translation could not be read again", str(error.value))
    assert names(tmp_path) == before


def test_a_source_that_changes_meanwhile_is_named(folder: Path, tmp_path: Path) -> None:
    class Editor(Capitals):
        def translate_inline(self, texts: Any, **options: Any) -> Any:
            (folder / "a.txt").write_text("one\n\n  two\nthree!\n", encoding="utf-8")
            return super().translate_inline(texts, **options)

    with pytest.raises(DragomanError, match="changed while it was translated"):
        run([folder / "a.txt"], tmp_path / "out.txt", Editor())


def test_what_has_no_letters_of_the_source_language_stays(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("안녕\nREADME\n12 %\n둘 two\n", encoding="utf-8")
    by = Capitals(pair=LanguagePair("ko", "en"))
    run([tmp_path / "a.txt"], tmp_path / "b.txt", by)
    assert by.asked == [["안녕", "둘 two"]]
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == "안녕\nREADME\n12 %\n둘 TWO\n"


def test_a_limit_of_length_is_asked_for(folder: Path, tmp_path: Path) -> None:
    by = Capitals()
    run([folder], tmp_path / "out", by, max_chars=5)
    assert by.limits == [5] * 4


def test_the_table_has_what_is_flagged_and_runs_in_no_spreadsheet(tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("=odd(1)\n  odd\tand <x\nfine\n", encoding="utf-8")
    result = run([source], tmp_path / "b.txt")
    assert result.review == tmp_path / "b.txt.review.tsv"
    assert result.review.read_text(encoding="utf-8").split("\n") == [
        "file\tlocation\tsource\ttranslation\twhy",
        "a.txt\tline 1\t'=odd(1)\t'=ODD(1)\tis odd",
        "a.txt\tline 2\todd and <x\tODD AND <X\tis odd",
        "",
    ]
    page = (tmp_path / "b.txt.review.html").read_text(encoding="utf-8")
    assert "&lt;X" in page
    assert "<X" not in page
    assert "{{" not in page
    source.write_text("fine\n", encoding="utf-8")
    assert run([source], tmp_path / "b.txt", force=True).review is None
    assert names(tmp_path) == ["a.txt", "b.txt"]  # those of the translation before are gone


@pytest.mark.parametrize("inside", ["out", "deep/out"])
def test_an_output_inside_the_source_folder_is_not_translated_again(folder: Path, inside: str) -> None:
    before = names(folder)
    run([folder], folder / inside)
    written = names(folder)
    assert written == sorted([*before, *(f"{inside}/{one}" for one in ("a.txt", "deep/b.txt")), *reviews(inside)])
    by = Capitals()
    assert [one.source.name for one in run([folder], folder / inside, by, force=True).files] == ["a.txt", "b.txt"]
    assert names(folder) == written
    assert by.asked == [["one", "two", "three", "four odd"]]


def reviews(output: str) -> list[str]:
    return [f"{output}.review.html", f"{output}.review.tsv"]


def test_an_update_keeps_what_an_earlier_translation_has(tmp_path: Path) -> None:
    source, out = tmp_path / "en.json", tmp_path / "de.json"
    source.write_text('{"a": "one", "b": {"c": "two", "d": "new"}}', encoding="utf-8")
    out.write_text('{"a": "eins", "b": {"c": "two"}, "gone": "weg"}', encoding="utf-8")
    by = Capitals()
    with pytest.raises(ConfigError, match="already exists"):
        run([source], out, by)
    result = run([source], out, by, update=True)
    assert by.asked == [["two", "new"]]
    assert (result.units, result.units_kept, result.files[0].units_kept) == (3, 1, 1)
    assert out.read_text(encoding="utf-8") == '{"a": "eins", "b": {"c": "TWO", "d": "NEW"}}'
    again = Capitals()
    run([source], out, again, update=True)
    assert again.asked == []
    assert out.read_text(encoding="utf-8") == '{"a": "eins", "b": {"c": "TWO", "d": "NEW"}}'


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("a.properties", "# ü\np={print}\no={open}\n"),
        (
            "a.resx",
            '<root><data name="p"><value>{print}</value></data><data name="o"><value>{open}</value></data></root>',
        ),
    ],
)
def test_an_update_keeps_the_keys_that_a_person_chose(tmp_path: Path, name: str, page: str) -> None:
    mark = "&amp;" if name == "a.resx" else "&"
    source, out = tmp_path / name, tmp_path / f"ko.{name}"
    source.write_text(page.format(print=f"{mark}Print page", open=f"{mark}Open"), encoding="utf-8")
    out.write_text(page.format(print=f"인쇄({mark}R)", open=f"{mark}Open"), encoding="utf-8")
    run([source], out, by := Capitals(), update=True)
    assert by.asked == [["Open"]]
    assert out.read_text(encoding="utf-8") == page.format(print=f"인쇄({mark}R)", open=f"{mark}OPEN")


def test_remarks_of_a_writer_are_to_be_looked_at(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = plain.write

    def remarking(document: Any, translations: Any, request: Any, file: Any) -> None:
        write(document, translations, request, file)
        document.remarks.extend(["line 3: too fast to read", "line 99: gone"])

    monkeypatch.setattr(plain, "write", remarking)
    result = run([folder / "a.txt"], tmp_path / "out.txt")
    assert (result.flagged, result.files[0].flagged) == (2, 2)
    assert result.review is not None
    assert result.review.read_text(encoding="utf-8").splitlines()[1:] == [
        "a.txt\tline 3\ttwo\tTWO\ttoo fast to read",
        "a.txt\tline 99\t\t\tgone",
    ]


def test_columns_are_for_tables(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"columns \(--columns\): none of the documents is a table"):
        run([folder / "a.txt"], tmp_path / "out.txt", columns=("title",))
    assert not (tmp_path / "out.txt").exists()


def test_a_text_with_which_the_file_would_be_wrong_stays_and_is_a_row(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One text costs one text, not the file."""
    (folder / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\n", encoding="utf-8")
    monkeypatch.setattr(
        plain, "write", broken_write(lambda content: content.replace(b"FOUR", b"4").replace(b"ONE", b""))
    )
    result = run([folder / "a.txt"], tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == "one\nTWO\nTHREE\nfour\nFIVE\n"
    assert result.flagged == 2
    rows = (tmp_path / "out.txt.review.tsv").read_text().splitlines()
    assert [row.split("\t")[1] for row in rows[1:]] == ["line 1", "line 4"]
    assert "not translated" in rows[1]


def test_a_translation_that_is_only_what_is_copied_is_flagged_and_does_not_cost_the_file(tmp_path: Path) -> None:
    class Mute(Capitals):
        def _found(self, text: Any, patterns: Any) -> Any:
            found = super()._found(text, patterns)
            if not text.protected:
                return found
            words = text.text[slice(*text.protected[0])]
            return found._replace(inline=InlineText(words, (), ((0, len(words)),)))

    page = tmp_path / "a.tex"
    page.write_text("\\begin{document}\nOpen the file.\n\nat $x$.\n\\end{document}\n")
    result = run([page], tmp_path / "b.tex", Mute())
    assert (tmp_path / "b.tex").read_text() == "\\begin{document}\nOPEN THE FILE.\n\nat $x$.\n\\end{document}\n"
    assert result.flagged == 1


ARABIC = "افتح الملف\nأغلق النافذة\nملف HTML\n"
FRENCH = "Ouvrez le fichier et fermez la fenêtre, puis enregistrez le document dans le dossier. " * 8


@pytest.mark.parametrize(
    ("text", "pair", "named"),
    [
        (ARABIC, LanguagePair("en", "ko"), "the texts are in Arabic letters, the model reads en"),
        ("افتح الملف", LanguagePair("en", "ko"), "nothing to translate in it: the texts are in Arabic letters"),
        (FRENCH, LanguagePair("en", "ko"), "the texts are in fr, the model reads en"),
        ("Open the file.", LanguagePair("ko", "en"), "the texts are in Latin letters, the model reads ko"),
    ],
)
def test_a_document_in_another_language_is_refused_before_the_work(
    tmp_path: Path, text: str, pair: LanguagePair, named: str
) -> None:
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    by = Capitals(pair=pair)
    with pytest.raises(DataError, match=named):
        run([tmp_path / "a.txt"], tmp_path / "b.txt", by)
    assert by.asked == []


def test_what_is_in_the_target_language_already_and_other_letters_are_no_other_language(tmp_path: Path) -> None:
    text = "파일을 엽니다. 창을 닫습니다. 문서를 저장합니다.\nOpen the file\nРусский\nA\nB\n"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    by = Capitals(pair=LanguagePair("en", "ko"))
    run([tmp_path / "a.txt"], tmp_path / "b.txt", by)
    assert by.asked == [["Open the file"]]
    (tmp_path / "c.txt").write_text(FRENCH, encoding="utf-8")
    run([tmp_path / "c.txt"], tmp_path / "d.txt", by, force=True)
    assert (tmp_path / "d.txt").exists()


XLIFF = (
    '<xliff version="1.2"><file original="a" source-language="en" target-language="de" datatype="x"><body>'
    "<trans-unit id='1'><source>{}</source></trans-unit></body></file></xliff>"
)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.po", 'msgid ""\nmsgstr ""\n\nmsgid "You have {n, plural, one {# file} other {# files}}."\nmsgstr ""\n',
         "YOU HAVE {n, plural, one {# FILE} other {# FILES}}."),
        ("a.po", 'msgid ""\nmsgstr ""\n\n#, python-brace-format\nmsgid "{n, plural, one {# file} other {# files}}"\n'
         'msgstr ""\n', "{n, plural, one {# FILE} other {# FILES}}"),
        ("a.xlf", XLIFF.format('{N, plural, =1 {one <x id="a"/> file} other {<g id="b">many</g> files}}'),
         '{N, plural, =1 {ONE <x id="a"/> FILE} other {<g id="b">MANY</g> FILES}}</target>'),
        ("strings.xml", '<resources><string name="a">{g, select, male {his} other {their}}</string></resources>',
         "{g, select, male {HIS} other {THEIR}}"),
        ("a.csv", 'key,en\na,"{n,choice,0#no files|1#one file}"\n', "{n,choice,0#NO FILES|1#ONE FILE}"),
        ("a.strings", '"a" = "{n, plural, other {# files}}";', "{n, plural, other {# FILES}}"),
        ("a.yml", 'a: "{n, plural, other {# files}}"\n', "{n, plural, other {# FILES}}"),
        ("a.properties", "a={0,choice,0#no files|1#one file|1<{0} files}\n",
         "{0,choice,0#NO FILES|1#ONE FILE|1<{0} FILES}"),
    ],
)  # fmt: skip
def test_messages_are_alike_in_every_format(tmp_path: Path, name: str, content: str, expected: str) -> None:
    (tmp_path / name).write_text(content)
    (tmp_path / "out").mkdir()
    result = run([tmp_path / name], tmp_path / "out" / name)
    assert expected in (tmp_path / "out" / name).read_text()
    assert not result.flagged


def test_a_message_that_cannot_be_read_stays_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("{n, plural, one {a file} other {files}\nOpen it\n")
    result = run([tmp_path / "a.txt"], tmp_path / "b.txt")
    assert (tmp_path / "b.txt").read_text() == "{n, plural, one {a file} other {files}\nOPEN IT\n"
    assert result.flagged == 1


@pytest.mark.skipif(sys.platform != "linux", reason="a name that is not UTF-8")
def test_a_name_that_is_not_utf_8_is_a_name(tmp_path: Path) -> None:
    source = tmp_path / os.fsdecode("한글.txt".encode("cp949"))
    source.write_text("one odd\ntwo\n", encoding="utf-8")
    result = run([source], tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").splitlines()[1] == "TWO"
    assert result.review is not None
    assert "\\udcc7" in result.review.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "source", "earlier", "title"),
    [
        ("a.json", '{"a": ["new", "one"], "b": ["two"]}', '{"a": ["eins"], "b": ["zwei"]}', "'a'"),
        ("a.json", '["new", "one"]', '["eins"]', "of the file"),
        ("a.yaml", "a:\n  - new\n  - one\n", "a:\n  - eins\n", "'a'"),
        (
            "strings.xml",
            '<resources><string-array name="a"><item>new</item><item>one</item></string-array></resources>',
            '<resources><string-array name="a"><item>eins</item></string-array></resources>',
            "'a'",
        ),
    ],
)
def test_an_update_warns_of_a_list_whose_entries_may_have_moved(
    tmp_path: Path, name: str, source: str, earlier: str, title: str
) -> None:
    class Warnings(Listener):
        def __init__(self) -> None:
            self.texts = list[str]()

        def on_warning(self, text: str) -> None:
            self.texts.append(text)

    (tmp_path / "out").mkdir()
    for path, text in ((tmp_path / name, source), (tmp_path / "out" / name, earlier)):
        path.write_text(text, encoding="utf-8")
    task = DocumentTask((tmp_path / name,), tmp_path / "out" / name, update=True)
    warnings = [Warnings(), Warnings()]
    for listener in warnings:
        run_documents(task, chosen(Capitals()), [listener])
    assert [
        f"the list {title} has 2 entries, and 1 in the earlier translation" in text for text in warnings[0].texts
    ] == [True]
    assert not warnings[1].texts  # what was written has as many
