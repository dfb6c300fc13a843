"""Placeholders: what every pattern finds, what it leaves alone, and that none takes more than linear time."""

import time
from itertools import pairwise, product

import pytest

from costs import slowness
from dragoman.errors import ConfigError
from dragoman.text.terms.protect import LEARNED, PATTERNS, find_placeholders

FOUND = {
    "printf": ["%s", "%1$d", "%(name)s", "%5.2f", "%-10s", "%lu",
               "%@", "%%", "%*d", "%.*s", "%m", "%'d", "%1$@", "%v", "%+v", "%q", "%w", "%T",
               "%[1]s", "%<name>s", "%<price>.2f", "%#@files@", "%1$#@files@"],
    "percent": ["%1", "%L2", "%NAME%", "%name%", "%PRODUCTNAME"],
    "brace": ["{name}", "{0}", "{}", "{x:>5}", "{d:%Y-%m-%d}", "{x!r}", "{0,-5:N2}", "{a.b[0]}",
              "%{x}", "#{x}", "{이름}",
              "{n, number}", "{$name}", "{ $name }", "{$user->name}", "{$a.b[0]}"],
    "template": ["{{var}}", "{{ a.b }}", "{% if x %}", "<%= x %>", "<?php echo 1 ?>"],
    "shell": ["${x}", "${x:-y}", "${ name }", "${count + 1}", "$(NAME)", "$1", "$MY_NAME", "$HOME", "$name"],
    "i18next": ["$t(key)", "$t(common:a.b)"],
    "vue": ["@:message.hello", "@.lower:name"],
    "laravel": [":name"],
    "tag": ["<b>", "</b>", "<br/>",
            '<a href="https://x/{y}">', "<0>", "</0>", "<x:y z='1'/>", "<input disabled>", "<!-- c -->",
            '<a href="x" target="_blank" download>', '<input type="text" required>', '<input required type="text">',
            "<div hidden>", "<color=red>", "<color=#FF0000>", "<size=12>", '<link="id">', "</color>"],
    "entity": ["&amp;", "&#160;", "&#xA0;"],
    "escape": ["\\n", "\\t", '\\"', "\\u00e9", "\\\\", "\\(name)", "\\(user.name)"],
    "url": ["https://example.com/a_(b)?c=%20#d", "www.example.com", "example.org/x",
            "mailto:a@b.org", "http://localhost:8080/{id}"],
    "email": ["a.b+c@example.co.kr"],
    "path": ["/etc/hosts", "/dev", "~/.config/x", "../a/b",
             "C:\\Users\\me\\a.txt", "C:\\Users\\New Folder\\notes.txt",
             "C:\\Program Files (x86)\\App\\My Report.docx", "/Users/me/My Documents/a.txt", "README.md",
             "src/main.py", "\\\\server\\share"],
    "code": ["`x + y`", "``a b``"],
    "emoji": ["👍🏽", "☕", "🇰🇷", "👨‍👩‍👧", "1️⃣",
              "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"],
    "number": ["-1,234.5", "10GB", "25°C", "50%"],
    "date": ["2026-11-23", "2026-11-23T10:00:00Z", "23.11.2026", "3/5/26"],
    "time": ["00:00:06,174", "12:30:05", "1:02:03.5"],
    "phone": ["(02) 1234-5678", "+82-2-1234-5678", "+82 10 1234 5678", "+1 (415) 555-2671", "010-1234-5678",
              "1-800-555-0199", "1588-1234", "555-0199", "978-3-16-148410-0", "900101-1234567", "4111 1111 1111 1111",
              "12가 3456", "123하4567"],
    "identifier": ["123e4567-e89b-12d3-a456-426614174000", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "COVID-19",
                   "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgN", "v2.3.1", "1.2.3", "MP3", "H2O", "F-16",
                   "UTF-8", "x86_64", "CVE-2024-12345", "SN-48291-A", "00:1B:44:11:3A:B7", "aa:bb:cc:dd:ee:ff",
                   "192.168.0.1", "10.0.0.0/24", "2001:db8::1", "sha256:9f86d081", "retries=5", "C++17", "QUJD+y8x=="],
    "marker": ["##T01##", "####T01####", "__PLACEHOLDER_1__", "@@1@@", "[[T1]]", "<<T1>>", "[NAME1]", "#T1#",
               "%%T1%%", "{0,number,#.##}", "kim@host:/var/www", "~kim/docs/a.txt", "images/*.{png,jpg}", "--dry-run",
               "--width=50", "%APPDATA%\\Code\\User", ":count", ":total_count", ":smile:", ":+1:", "std::vector",
               "_____", "x ≥ 5", "MyClass::method", "[/b]", "{n, plural, one {# file} other {{n} files}}",
               "{g, select, male {He} other {{n, plural, one {x} other {y {z}}}}}", 'git commit -m "fix typo"',
               "ls -la", "sudo apt-get install -y", "docker run --rm -it", "rm -rf build/a",
               "python -m pip install requests"],
}  # fmt: skip

TEXT = [
    "100 % sure, 50% discount",
    "It is 10:30, and the ratio is 3:1 or 16:9.",
    "he/she/it, and/or, km/h, input/output, 2026/27",
    "a < b and c > d, a<b, <Replacement Suggestions>",
    "$5.00, $10, US$100, $5 million, $5million, $3billion, $9k",
    "`foo' and `bar'",
    "AT&T; R&D, snake_case, _emphasis_",
    "{a, b} and { a: b }",
    "100 %valid, 5 %what, %very good, ~%Try, <a valid name>, <p value>, <b and c>, $(5), [i] and [url], \\(x\\) {$5}",
    "hello%20dear%2C you",
    "e.g. this, i.e. that, 3.14, Mr. Kim, U.S. Go.",
    "a → b © ™",
    "C# and F#, C++, .NET",
    "He said--and meant it -- that I --he-- should go",
    "top-10, mid-1990s, 5-year-old, 3rd, 10kg, 100Mbps, 9am-5pm, 24/7, Fig.3, p.12, 2020-2024, 1592-1598, A4",
    "It costs $5, or $7 with $ 2 more",
    'Topic :global warming, warning :high voltage, je pense que :oui, "stop":nobody',
    "The cargo -all of it-, yarn -red and blue-, the tar -on the road-, el cargo -que no existe-, git -- a fool",
    "Really::yes, Question::answer, il y a ≈ 20 personnes, vitamin C ≥ 500 mg",
    "하루에 10보 1000보씩, 도서 100부 2000부, 소 10두 2500마리",
    "",
]


@pytest.mark.parametrize("pattern", FOUND)
def test_each_pattern_finds_its_placeholders_inside_of_a_sentence(pattern: str) -> None:
    for placeholder, (before, after) in product(
        FOUND[pattern], [("See ", " now."), ("", ""), ("(", ")."), ("", "을 보세요")]
    ):
        text = before + placeholder + after
        spans = [(span.begin, span.end, span.text) for span in find_placeholders(text, [pattern])]
        assert spans == [(len(before), len(before) + len(placeholder), placeholder)], text


def test_a_placeholder_in_a_text_is_found_by_default_unless_only_its_format_can_know() -> None:
    assert {name for name in PATTERNS if find_placeholders(FOUND.get(name, ["_F"])[0])} == set(PATTERNS) - {
        "accelerator", "number",
    }  # fmt: skip


@pytest.mark.parametrize("text", TEXT)
def test_plain_text_has_no_placeholders(text: str) -> None:
    assert find_placeholders(text) == []


@pytest.mark.parametrize(
    "text", ["a sailor;--well-known here", "left --twenty-two years", "He/*she* is", "and/* or", "it costs ~ten/month"]
)
def test_dashes_stars_and_slashes_of_prose_are_no_commands(text: str) -> None:
    assert find_placeholders(text, ("marker",)) == []


@pytest.mark.parametrize(
    "text",
    ["The ratio is 3:2 at 12:30.", "note:this is important", "I am happy :D and you :p :-)", "The answer is:yes",
     'He said :"no".', "Name :this, or :John", "시간:오후 3시", "at 5 :thirty", "a tar -like substance",
     "git and pass it", "Use git -", "C:: and ::", "{count, number of files}"],
)  # fmt: skip
def test_colons_of_prose_and_words_that_are_tools_too_are_none(text: str) -> None:
    assert find_placeholders(text, ("marker",)) == []


@pytest.mark.parametrize("text", ["12월 2024년", "10만 1234명", "15도 1000", "12고 2024년에", "3조 5000억"])
def test_a_number_with_its_noun_is_no_number_plate(text: str) -> None:
    assert find_placeholders(text, ("phone",)) == []


def test_placeholders_are_ordered_and_do_not_overlap_and_the_longest_is_found() -> None:
    text = 'Go to <a href="https://example.com/{id}">%s</a>, `%d` or https://example.com/%s/x.'
    found = find_placeholders(text)
    assert [one.text for one in found] == [
        '<a href="https://example.com/{id}">', "%s", "</a>", "`%d`", "https://example.com/%s/x",
    ]  # fmt: skip
    assert all(one.end <= other.begin for one, other in pairwise(found))
    assert all(text[one.begin : one.end] == one.text for one in found)


def test_a_number_before_and_letters_after_do_not_hide_a_placeholder() -> None:
    found = [one.text for one in find_placeholders("80%s of it, the $1text parameter, 5%smart")]
    assert found == ["%s", "$1"]


def test_a_particle_after_an_address_is_no_part_of_it() -> None:
    assert [one.text for one in find_placeholders("https://example.com/에서 /usr/lib에 있는 www.example.com은")] == [
        "https://example.com/", "/usr/lib", "www.example.com",
    ]  # fmt: skip


def test_letters_of_other_scripts_are_part_of_an_address_after_its_signs_only() -> None:
    found = find_placeholders("https://ko.wikipedia.org/wiki/대한민국_헌법 https://example.com가 아니다")
    assert [one.text for one in found] == ["https://ko.wikipedia.org/wiki/대한민국_헌법", "https://example.com"]


def test_an_address_behind_a_bracket_is_another_one() -> None:
    for text in ("[https://a.org](https://b.org)", "[url=https://a.org]https://b.org[/url]"):
        assert [one.text for one in find_placeholders(text, ["url"])] == ["https://a.org", "https://b.org"]


def test_accelerators_are_found_on_request() -> None:
    assert [find_placeholders(text, ["accelerator"])[0].begin for text in ("_File", "&File", "E~xit")] == [0, 0, 1]


def test_an_unknown_pattern_is_refused() -> None:
    with pytest.raises(ConfigError, match="no pattern 'print'"):
        find_placeholders("%s", ["print"])


@pytest.mark.parametrize("name", PATTERNS)
def test_no_pattern_takes_more_than_linear_time(name: str) -> None:
    """50 kB of the sign that its placeholders begin with, 10 kB of their parts: quadratic time would be far longer."""
    ones = FOUND.get(name, ["_F"])
    started = time.process_time()
    for text in {one[0] * 50_000 for one in ones}:
        find_placeholders(text, [name])
    for one in ones:
        for text in (one * (10_000 // len(one)), one[:2] * 5_000, one[:-1] + "a" * 10_000, one[:2] + " " * 10_000):
            find_placeholders(text, [name])
    assert time.process_time() - started < 5 * slowness()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("MP3s, B-52s and SHA256s of 1990s", ["MP3", "B-52", "SHA256"]),
        ("a COVID-19-related GPT-4-based b4-prep-managed thing", ["COVID-19", "GPT-4", "b4-prep"]),
        ("9billion people, 20minutes, 0=off, a 3-D film", []),
        ("9f86d081884c7d65s dGhpcw9s", ["9f86d081884c7d65s", "dGhpcw9s"]),
    ],
)
def test_an_identifier_has_neither_the_end_of_a_plural_nor_that_of_an_adjective(text: str, names: list[str]) -> None:
    assert [placeholder.text for placeholder in find_placeholders(text)] == names


@pytest.mark.parametrize(
    ("text", "is_variable"),
    [
        ("The page $1 was deleted.", True),
        ("$1 페이지를 삭제했습니다.", True),
        ("사용 가능한 값: $1", True),
        ("Copy $1 and pay for $2.", True),
        ("Ticket $1 was closed.", True),
        ("The coin $1 is not in your wallet.", True),
        ("Payment $1 was refunded.", True),
        ("Close ticket $1 and bill $1.", True),
        ("티켓 $1을(를) 환불했습니다.", True),
        ("The payment of $1 was refunded.", False),
        ("Tickets only $1", False),
        ("It costs $1.", False),
        ("A ticket for $1", False),
        ("Coffee for $1", False),
        ("$1 or $20", False),
        ("$1짜리 커피", False),
    ],
)
def test_the_first_variable_alone_is_a_price_where_money_is_spoken_of(text: str, is_variable: bool) -> None:
    assert ("$1" in [placeholder.text for placeholder in find_placeholders(text)]) == is_variable
    learned = [placeholder.text for placeholder in find_placeholders(text, LEARNED)]
    assert "$1" in learned  # what models learn from stays


def test_many_literals_cost_a_look_where_a_text_has_none_of_them() -> None:
    names = [f"Name{number}" for number in range(400)]
    assert [placeholder.text for placeholder in find_placeholders("a Name7 and Name70", (), names)] == [
        "Name7",
        "Name70",
    ]


def test_a_standard_an_escaped_tag_and_a_comparison_are_copied_whole() -> None:
    text = "ISO 12904 and RFC 2119 have &lt;b&gt; and 5 &gt; 3, not the ISO."
    names = ["ISO 12904", "RFC 2119", "&lt;b&gt;", "5 &gt; 3"]
    assert [placeholder.text for placeholder in find_placeholders(text)] == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[b]bold[/b] and [url=http://x.com/a]here[/url]", ["[b]", "[/b]", "[url=http://x.com/a]", "[/url]"]),
        ("[color=red]r[/color] of item [i], [code", ["[color=red]", "[/color]"]),
    ],
)
def test_a_tag_in_brackets_is_one_where_it_is_closed(text: str, names: list[str]) -> None:
    assert [placeholder.text for placeholder in find_placeholders(text)] == names


def test_pairs_of_tags_of_phrase_are_copied() -> None:
    text = "Save {1>the<1} file {b>now<b} or {biu>later<biu}, if a{2}b<3 and {x>y}"
    found = [placeholder.text for placeholder in find_placeholders(text)]
    assert found == ["{1>", "<1}", "{b>", "<b}", "{biu>", "<biu}", "{2}"]
