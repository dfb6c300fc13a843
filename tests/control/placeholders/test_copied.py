"""What the model sees of a line, and what of it is copied, on the way of every line."""

import unicodedata

import pytest

from dragoman.config import DecodeConfig, TokenizerConfig
from dragoman.control.placeholders import copied
from dragoman.control.placeholders.copied import Reader
from dragoman.control.search.sentences import Line
from dragoman.errors import ConfigError
from dragoman.text.terms.protect import Placeholder
from dragoman.text.tokens.tokenizer import Tokenizer, learn
from dragoman.text.words.inline import InlineText
from dragoman.text.words.script import scripts_of_language
from dragoman.translation import Translation
from dragoman.translator import Translator
from stand_ins import FakeEngine

# The vocabulary knows these words, and ASCII, but no sign or letter besides.
PAIRS = [
    ("open the file and save it please", "Please close all windows USB drive NO no X1 X2 X3"),
    ("it costs", "a b"),
] * 20
CHECKSUM = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    ascii_ = "".join(map(chr, range(33, 127)))
    return learn([*PAIRS, (ascii_, ascii_)] * 4, TokenizerConfig(vocab_size=360))


def echo(tokenizer: Tokenizer, target: str | None = None, **options: object) -> Translator:
    changed = DecodeConfig.model_validate(options)
    return Translator(tokenizer, FakeEngine(), changed, max_source_tokens=400, language="en", target_language=target)


def seen(translator: Translator, line: str) -> list[str]:
    """What the engine is asked for a line whose translation is the line."""
    translator.engine.searched.clear()  # type: ignore[attr-defined]
    translator.translate(line)
    return translator.tokenizer.decode([query.source for query, _ in translator.engine.searched], "source")  # type: ignore[attr-defined]


def kinds(translation: Translation) -> set[str]:
    """The kinds of its warnings, but for that it is a copy."""
    return {flag.kind for flag in translation.warnings} - {"copy"}


@pytest.mark.parametrize(
    "line",
    ["----------", "***", "=====", "-", "!!!", "•", "| 1 | 2 |", "v2.3.1", "$19.99", "12:30",
     "00:00:06,174 --> 00:12,305",
     "A", "b", "1) 2) 3)", "العربية", "https://example.org/a", "COVID-19", "  --  ", "1\t2\t", "５％", "QZXW"],
)  # fmt: skip
def test_a_line_without_a_word_is_copied_and_no_engine_is_asked(tokenizer: Tokenizer, line: str) -> None:
    translator = echo(tokenizer)
    assert translator.translate(line).text == line
    assert not translator.engine.searched  # type: ignore[attr-defined]
    [found] = translator.translate_inline([InlineText(line)])
    assert found.inline.text == line


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("   open the file   ", ["open the file"]),
        ("open\tthe file\t12\tsave", ["open", "the file", "save"]),
        ("- open the file", ["open the file"]),
        ("12) open the file", ["open the file"]),
        ("a) open the file", ["open the file"]),
        ("• open the file", ["open the file"]),
        ("※ open the file", ["open the file"]),
        ("① open the file", ["open the file"]),
        ("— open the file", ["open the file"]),
        ("✓ open the file 🎉", ["open the file"]),
        (f"open {CHECKSUM} please", ["open X1 please"]),
        (f"open {CHECKSUM} and {CHECKSUM}", ["open X1 and X1"]),
        (f"X1 and {CHECKSUM} please", ["X1 and X2 please"]),
        ("it costs €5 please", ["it costs X1 please"]),
        ("it costs 5 € please", ["it costs X1 please"]),
        ("open H₂O and m² please", ["open X1 and X2 please"]),
        ("open the 김치 and مرحبا بك please", ["open the X1 and X2 please"]),
        ("open São Paulo and crème brûlée please", ["open X1 Paulo and crème brûlée please"]),
        ("- [x] open the file", ["open the file"]),
        ("· open the file", ["open the file"]),
        ("·open the file", ["open the file"]),
        ("b. open the file", ["open the file"]),
        ("iv. open the file", ["open the file"]),
        ("[x] marks the spot", ["[x] marks the spot"]),
        ("e. g. the file", ["e. g. the file"]),
        ("v. 3 is here", ["v. 3 is here"]),
        ("B. open the file", ["B. open the file"]),
        ("copy kim@host:/var/www to images/*.{png,jpg} please", ["copy X1 to X2 please"]),
        ("open C:\\Users\\New Folder\\notes.txt please", ["open X1 please"]),
        ("open :count and :name please", ["open X1 and X2 please"]),
        ("open :smile: and std::vector please", ["open X1 and X2 please"]),
        ("it costs: open the file :D", ["it costs: open the file :D"]),
        ('open git commit -m "a b" please', ["open X1 please"]),
        ("open {n, plural, one {a file} other {# files}} please", ["open X1 please"]),
        ("open \U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f please", ["open X1 please"]),
        ("\x1b[1;31mopen the file\x1b[0m", ["open the file"]),
        ("open ###T01### and __SLOT_1__ please", ["open X1 and X2 please"]),
        ("it costs $5 please", ["it costs $5 please"]),
        ("open 500, 792, 466, 698 please", ["open X1 please"]),
        ("open 1 2 3 and 12 / 7 / 9 please", ["open X1 and X2 please"]),
        ("open 12, 7 please", ["open 12, 7 please"]),
        ("open 5, 6, 7 May please", ["open 5, 6, 7 May please"]),
        ("open 5, 6, 7월 please", ["open 5, 6, 7월 please"]),
        ("open 100, 200, 300 million please", ["open 100, 200, 300 million please"]),
        ("open 1, 2, 3, please", ["open 1, 2, 3, please"]),
        ("open 12%, 7%, 5% please", ["open 12%, 7%, 5% please"]),
        ("May 5, 2024, 300 please", ["May 5, 2024, 300 please"]),
    ],
)
def test_the_model_sees_neither_what_is_around_a_text_nor_what_it_cannot_write(
    tokenizer: Tokenizer, line: str, shown: list[str]
) -> None:
    translator = echo(tokenizer)
    assert seen(translator, line) == shown
    translation = translator.translate(line)
    assert (translation.source, translation.text, kinds(translation)) == (line, line, set())


def test_colours_within_a_line_are_left_out_with_a_warning(tokenizer: Tokenizer) -> None:
    translation = echo(tokenizer).translate("\x1b[1;31mopen\x1b[0m the file")
    assert (translation.text, kinds(translation)) == ("open the file", {"sign"})


@pytest.mark.parametrize("line", ["{n, plural, one {a file} other {# files}} open", "{n, select, a {b} other {c}}"])
def test_a_message_that_is_no_file_is_copied_and_named(tokenizer: Tokenizer, line: str) -> None:
    translation = echo(tokenizer, "ko").translate(line)
    assert translation.text == line
    assert any("ICU" in flag.text for flag in translation.warnings)


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("open\u00ad the \u2068file\u2069 \u2060please", "open the file please"),
        ("op\u200den the file", "open the file"),
        ("ｏｐｅｎ　ｔｈｅ　ｆｉｌｅ！", "open the file!"),
        ("open &amp; save &#39;it&#39;&nbsp;please", "open & save 'it' please"),
        ("open &lt;the&gt; file", "open &lt;the&gt; file"),
        ("<b>open</b> &amp; save", "<b>open</b> &amp; save"),
        ("open the file。", "open the file."),
        ("open the file(s) and print(s)", "open the files and print(s)"),
        ("open the time(s) and json.file(s) please", "open the time(s) and json.file(s) please"),
        ("𝐨𝐩𝐞𝐧 𝘁𝗵𝗲 ﬁle", "open the file"),
        ("open\u2800the f\U000e0041ile\ufffc", "open the file"),
    ],
)
def test_a_line_is_read_in_usual_characters(tokenizer: Tokenizer, line: str, read: str) -> None:
    translation = echo(tokenizer).translate(line)
    assert (translation.text, kinds(translation)) == (read, set())


def test_a_long_list_whose_last_number_is_a_month_takes_linear_time() -> None:
    """60,000 numbers: were each shorter list looked at, this would take minutes."""
    assert not list(copied._lists_of_numbers("1, " * 60_000 + "9월"))
    [numbers] = copied._lists_of_numbers("1, " * 60_000 + "9")
    assert numbers.end == 3 * 60_000 + 1


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("「open」 the 『file』", '"open" the "file"'),
    ],
)
def test_quotation_marks_are_usual_ones_for_the_model(tokenizer: Tokenizer, line: str, shown: str) -> None:
    translator = echo(tokenizer, "ko")
    assert seen(translator, line) == [shown]
    assert kinds(translator.translate(line)) == set()


def test_an_identifier_in_full_width_letters_is_read_without_a_warning(tokenizer: Tokenizer) -> None:
    translation = echo(tokenizer).translate("open ０１０-１２３４-５６７８ please")
    assert (translation.text, kinds(translation)) == ("open 010-1234-5678 please", set())


def test_entities_of_a_document_stay(tokenizer: Tokenizer) -> None:
    [found] = echo(tokenizer).translate_inline([InlineText("open &amp; save")])
    assert found.inline.text == "open &amp; save"


def test_capitals_are_shown_in_small_letters_and_written_where_the_target_has_capitals(tokenizer: Tokenizer) -> None:
    translator = echo(tokenizer, "de")
    assert seen(translator, "PLEASE OPEN WINDOWS AND CLOSE FILE.") == ["Please open windows and close file."]
    assert translator.translate("PLEASE OPEN WINDOWS, {name}.").text == "PLEASE OPEN WINDOWS, {name}."
    assert "".join(seen(translator, "SAVE FILE WINDOWS. It costs.")).startswith("Save file windows.")
    assert seen(translator, "PLEASE SAVE {NAME}") == ["Please save {NAME}"]
    assert echo(tokenizer, "ko").translate("PLEASE OPEN FILE").text == "Please open file"


def test_what_the_user_keeps_is_copied(tokenizer: Tokenizer) -> None:
    translator = echo(tokenizer)
    line = "open the file and save it"
    assert translator.translate(line, keep=["the file", "/s.ve/"]).text == line
    assert seen(echo(tokenizer, keep=["the file", "/s.ve/"]), line) == ["open X1 and X2 it"]
    assert seen(translator, line) == [line]
    with pytest.raises(ConfigError, match=r"keep: .*correct"):
        translator.translate(line, keep=["/(/"])
    with pytest.raises(ConfigError, match=r"keep: .*list"):
        translator.translate(line, keep="file")


def test_a_name_that_is_lost_is_searched_for_or_flagged(tokenizer: Tokenizer) -> None:
    def forget(query, options):  # type: ignore[no-untyped-def]
        return FakeEngine().translate([query], options)[0]

    translator = echo(tokenizer)
    text = tokenizer.encode(["open please"], "target")[0]
    translator.engine.answer = lambda query, options: [  # type: ignore[attr-defined]
        hypothesis.__class__(tuple(text), -1.0, -1.0) for hypothesis in forget(query, options)
    ]
    translation = translator.translate(f"open {CHECKSUM} please")
    assert CHECKSUM in translation.text or translation.warnings


def test_alone_is_as_in_any_batch_and_alternatives_and_alignment_are_of_the_written_text(tokenizer: Tokenizer) -> None:
    translator = echo(tokenizer)
    lines = ["- open €5", "A", "open\tthe file", "  save it ", "", "OPEN THE FILE", "open the file"]
    assert [t.text for t in translator.translate(lines)] == [translator.translate(line).text for line in lines]
    assert [candidate.text for candidate in translator.alternatives("---", count=2)] == ["---"]
    assert translator.alternatives("- open the file", count=1)[0].text == "- open the file"
    found = translator.translate("- open €5 and\tsave it", alignment=True)
    words = [(found.source[a.begin : a.end], found.text[b.begin : b.end]) for a, b in found.alignment]
    assert all(source.strip() == target.strip() or not source for source, target in words), words


def test_private_tags_name_no_script_and_without_patterns_nothing_is_copied(tokenizer: Tokenizer) -> None:
    assert scripts_of_language("zxx-x-past") == scripts_of_language("de-Abcd") == frozenset()
    assert scripts_of_language("de-x-klar") == {"Latn"}
    options = DecodeConfig(placeholders=())
    dates = Translator(tokenizer, FakeEngine(), options, max_source_tokens=400, language="zxx-x-past")
    assert seen(dates, "1999/02/16") == ["1999/02/16"]


def test_an_ordinal_is_no_mark_of_a_list_and_a_word_keeps_its_marks(tokenizer: Tokenizer) -> None:
    assert not Reader.of(tokenizer, "de", "en", True).numbered
    assert Reader.of(tokenizer, "en", "ko", True).numbered
    reader = Reader.of(tokenizer, "en", "ko", True)
    assert [span.text for span in reader._foreign("He gave नमस्ते to me.")] == ["नमस्ते"]


@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        ("그는 спасибо라고 말했다.", ["спасибо"]),
        ("간판에 مرحبا라고 쓰여 있다.", ["مرحبا"]),
        ("これは日本語です와 中國을 배웠다.", ["これは日本語です", "中國"]),
        ("美 연준이 Łódź에서 말했다.", ["Łódź"]),
        ("PC방에 갔다.", []),
    ],
)
def test_a_korean_particle_is_no_part_of_a_foreign_word(tokenizer: Tokenizer, line: str, hidden: list[str]) -> None:
    reader = Reader.of(tokenizer, "ko", "en", True)
    assert [span.text for span in reader._foreign(line)] == hidden


def test_letters_with_marks_are_those_of_other_languages(tokenizer: Tokenizer) -> None:
    assert not list(Reader.of(tokenizer, "fr", "en", True)._foreign("La crème est brûlée."))
    assert not list(Reader.of(tokenizer, "ja", "en", True)._foreign("これは日本語です。"))


def test_long_lines_take_linear_time() -> None:
    """Thousands of spaces, and of identifiers beyond the names that there are."""
    assert len(copied._GAP.split("a" + " " * 50_000 + "b")) == 1
    text = " ".join(f"AB{n:06}CD" for n in range(4000))
    spans = [Placeholder(11 * n, 11 * n + 10, "identifier", text[11 * n : 11 * n + 10]) for n in range(4000)]
    names = copied._Names(text)
    assert names.in_place(text, spans).startswith("X1 X2 ")
    assert len(names.names) == copied.MOST_NAMES


def test_a_text_is_in_capitals_only_where_its_language_has_them(tokenizer: Tokenizer) -> None:
    translator = Translator(tokenizer, FakeEngine(), DecodeConfig(), language="ko", target_language="en")
    line = Line("EU는 NATO에 12를 냈다")
    translator._reader.prepare(line, translator.options)
    assert line.text == "EU는 NATO에 12를 냈다"
    assert not line.in_capitals


def test_more_names_than_fit_and_names_with_a_prefix_have_to_come_back(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copied, "MOST_NAMES", 2)
    line = Line("open Ada and Bob and Cid and Dan")
    echo(tokenizer)._reader.prepare(line, DecodeConfig(keep=("Ada", "Bob", "Cid", "Dan")))
    assert line.text == "open X1 and X2 and Cid and Dan"
    assert {"Cid", "Dan"} <= set(line.literals)
    line = Line("open Ada", target_prefix="save")
    echo(tokenizer)._reader.prepare(line, DecodeConfig(keep=("Ada",)))
    assert (line.text, line.literals) == ("open Ada", ("Ada",))


def test_a_long_list_of_names_is_one_name(tokenizer: Tokenizer) -> None:
    names = [f"Zor{letter}" for letter in "ABCDEF"]
    assert seen(echo(tokenizer, keep=names), f"open {', '.join(names)} please") == ["open X1 please"]
    assert seen(echo(tokenizer, keep=names), f"open {names[0]}, {names[1]} please") == ["open X1, X2 please"]
    assert echo(tokenizer, keep=names).translate(f"open {', '.join(names)} please").text.count(", ") == len(names) - 1


def test_names_are_the_same_in_letters_and_in_composed_characters(tokenizer: Tokenizer) -> None:
    for form, other in ("NFC", "NFD"), ("NFD", "NFC"):
        line = f"open {unicodedata.normalize(form, 'Café 홍길동')} please"
        translator = echo(tokenizer, keep=[unicodedata.normalize(other, "Café"), unicodedata.normalize(other, "/홍./")])
        [text] = seen(translator, line)
        assert text.startswith("open X1 X2"), text


@pytest.mark.parametrize("text", ["파일을 열고 저장합니다", "3년 파일을 열고 저장합니다", "(파일)을 열고 저장합니다"])
@pytest.mark.parametrize("sign", "·ㆍ•")
def test_a_bullet_right_before_korean_is_copied(sign: str, text: str) -> None:
    letters = "".join(map(chr, range(33, 127)))
    reader = Reader.of(
        learn([("파일을 열고 저장합니다", "a b")] * 20 + [(letters, letters)] * 4, TokenizerConfig(vocab_size=None)),
        "ko",
        "en",
        True,
    )
    line = Line(f"{sign}{text}")
    reader.prepare(line, DecodeConfig())
    assert line.frame is not None
    assert (line.frame.before, line.frame.columns) == (sign, ((text, ""),))
