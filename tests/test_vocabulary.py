"""Words that are not used, coined ones where the field has a noun, are in no source file, test or English page."""

import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# A row: words or phrases | what to write instead | phrases in which they are right. Case matters where a word has a
# capital letter, `…` is up to 200 characters of the same sentence, `_` in an identifier counts as a space.
NOT_USED = """
said | generated, prefix, target
heard | source
told | reported, named, broadcast
tells | reports, prints, shows
anew | again
mend, mends, mended, mending | fix, repair, retry
parted | separated, divided
whoever | anyone who
whatever it would, whatever they would | any
at the most | at most
at the least | at least
be they, be it | even if
begun | started
boxed, in the box, from the box | bundled
a line a, a term a line, a sentence a line | one … per line
a token of | per token
Team, TeamError | ProcessGroup, DistributedError
leads | is_main
meet, meets | barrier, reach, satisfy
goes on, go on, going on, gone on, went on | continues, resumes
Enters … leaves, Enter … leave | Input: … Output: …
stands, as it stands | is, unchanged | stands for
beside | next to, with
room | space, budget, buffer | server room
end mark, begin mark | EOS, BOS
wish, wishes, wished | goal, requested
Sharpness | SamplingParams
strike, struck | mask
unspeakable, UNSPEAKABLE | forbidden
hopeless | unplaceable
share out, shared out, shares out | shard, parallelize
without exchange | no_sync
brought together | gathered
through time | across checkpoints
whole folder, whole file | atomic folder, atomic file
people's | human references
averages two models, several are averaged | ensemble
look after, looks after | check
refuse mix up | check_resumable
half a character | unpaired surrogate
really | enabled, or leave it out | Really?
shall | will
lest, ere, strewn, hence, thus | so that, before, scattered, so
done without, does without, do without | skipped, not needed
vouches, vouch | lists
of a sort | a kind of
fed by hand | called directly
is there already | already exists
remembers, remember | stores, projects
disk refuses, disk refused | writing fails
hears, hear | receives
everyone's | of all processes
for the box | bundled
suffice, suffices, sufficed | is enough
out otherwise | differently
so many | the number's name
to nothing | to 0 | next to nothing
passed over | skipped
for want of | because there is no
nats a, tokens a side, tokens a sentence, tokens a batch, tokens a group | … per …
pieces a sentence, times a step, times a token | … per …
"""
# Identifiers, comments, docstrings, help texts and messages are all in the source; Korean has a glossary of its own.
SOURCES = ("src/**/*.py", "src/**/*.js", "src/**/*.css", "src/**/*.html", "src/**/texts.en.json")
# Of tests, names, comments and docstrings are read: other strings are inputs and outputs, or quote them.
TESTS = ("tests/**/*.py",)
PAGES = ("*.md", "docs/*.md", "docs/log/*.md", "docs/learn/*.md", "docs/decisions/*.md", "*/README.md")
EXEMPT = {"README.ko.md"}
# (file, word): why this word is right there.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("src/dragoman/documents/markup/html.py", "strike"): "the tag of HTML",
    ("src/dragoman/documents/catalogues/yaml.py", "end mark"): "a field of ruamel.yaml",
}
# Words of one phrase may be apart by spaces, a line break, the quotes of two joined strings, a comment sign or `_`.
GAP = r"""(?:[\s"'`#*_/]|\bf(?="))+"""


LETTERS = re.compile("[a-z]+")


def forbidden() -> list[tuple[str, str, list[str]]]:
    """(word or phrase, what to write instead, allowed phrases) of each row of `NOT_USED`."""
    rows = [[cell.strip() for cell in f"{row} | | ".split("|")][:3] for row in NOT_USED.strip().splitlines()]
    return [
        (phrase.strip(), instead, [phrase.strip() for phrase in allowed.split(",") if phrase.strip()])
        for words, instead, allowed in rows
        for phrase in words.split(",")
    ]


def pattern(phrase: str) -> re.Pattern[str]:
    """The phrase in text or in an identifier; a capital in it must be one in the text."""
    parts = [r"[^.]{0,200}?" if part == "…" else re.escape(part) for part in phrase.split()]
    words = GAP.join(parts).replace(GAP + r"[^.]{0,200}?" + GAP, r"\b[^.]{0,200}?\b")
    # A capital after a small letter begins a word of a CamelCase name.
    before = r"(?<![A-Za-z])" if phrase == phrase.lower() else r"(?<![A-Z])"
    after = r"(?![A-Za-z])" if phrase == phrase.lower() else r"(?![a-z])"
    return re.compile(before + words + after, re.IGNORECASE if phrase == phrase.lower() else 0)


def without_literals(source: str) -> str:
    """`source` with a dot for each character of a string that is no docstring; the lines stay."""
    lines = [list(line) for line in source.split("\n")]
    begins_statement = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        if "STRING" in kind and not begins_statement:
            (first, start), (last, end) = token.start, token.end
            for row in range(first - 1, last):
                from_column, to_column = start if row == first - 1 else 0, end if row == last - 1 else len(lines[row])
                lines[row][from_column:to_column] = "·" * (to_column - from_column)
        if kind not in ("COMMENT", "NL", "INDENT", "DEDENT"):
            begins_statement = kind == "NEWLINE"
    return "\n".join("".join(line) for line in lines)


@cache
def letters_of(phrase: str) -> set[str]:
    """Runs of letters that a text with the phrase has; of one with a capital, which may be inside of a run, none."""
    return set(LETTERS.findall(phrase)) if phrase == phrase.lower() else set()


def occurrences(phrase: str, wanted: re.Pattern[str], text: str, lowered: str) -> Iterator[int]:
    """Where the phrase is: a string search for its first word is many times as fast as a pattern without case."""
    first = phrase.lower().split()[0]
    if len(first) < 3 or len(lowered) != len(text):
        yield from (match.start() for match in wanted.finditer(text))
        return
    at = lowered.find(first)
    while at >= 0:
        if wanted.match(text, at):
            yield at
        at = lowered.find(first, at + 1)


Rule = tuple[str, re.Pattern[str], str, list[str]]


def violations(root: Path) -> Iterator[str]:
    """`file:line: "word": write …` for each forbidden word below `root`."""
    rules = [(phrase, pattern(phrase), instead, allowed) for phrase, instead, allowed in forbidden()]
    for path in sorted({path for glob in (*SOURCES, *TESTS, *PAGES) for path in root.glob(glob)}):
        name = path.relative_to(root).as_posix()
        if name in EXEMPT:
            continue
        text = path.read_text(encoding="utf-8")
        places = list(places_in(text, rules, name))
        if places and name.startswith("tests/") and path.suffix == ".py":  # few have one: taking strings out is slow
            places = list(places_in(without_literals(text), rules, name))
        yield from places


def places_in(text: str, rules: list[Rule], name: str) -> Iterator[str]:
    """`file:line: "word": write …` for each forbidden word of a text."""
    lowered = text.lower()
    present = set(LETTERS.findall(lowered))
    for phrase, wanted, instead, allowed in rules:
        if not letters_of(phrase) <= present or (name, phrase) in EXCEPTIONS:
            continue
        clean = text
        for good in allowed:
            clean = re.sub(re.escape(good), lambda match: "·" * len(match[0]), clean, flags=re.IGNORECASE)
        for at in occurrences(phrase, wanted, clean, lowered):
            line = clean.count("\n", 0, at) + 1
            yield f'{name}:{line}: "{phrase}": write {instead}'


def test_no_forbidden_word_is_in_the_source_in_a_test_or_on_an_english_page() -> None:
    found = list(violations(ROOT))
    assert not found, f"{len(found)} words that are not used:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("name", "text", "line", "word"),
    [
        ("src/dragoman/a.py", 'def f():\n    """What a hypothesis said."""\n', 2, "said"),
        ("src/dragoman/cli/verbs/export.py", 'help="Sentences to verify with, at "\n"the most."\n', 1, "at the most"),
        ("src/dragoman/cli/verbs/export.py", 'typer.Option(help="One term, a line a pair.")\n', 1, "a line a"),
        ("src/dragoman/a.py", "said_again = 1\n", 1, "said"),
        ("src/dragoman/a.py", "class _Team:\n    ...\n", 1, "Team"),
        ("src/dragoman/a.py", '"""A batch.\n\nEnters a sentence, leaves\na batch."""\n', 3, "Enters … leaves"),
        ("src/dragoman/inspection/web/a.js", "// computed anew\n", 1, "anew"),
        ("tests/test_a.py", "def test_a_fault_is_told():\n    ...\n", 1, "told"),
        ("tests/a/test_b.py", 'assert f("said", "heard", said=1) == "told"\n', 1, "said"),
        ("tests/a/test_b.py", 'TEXT = """\nhe said\n"""  # as it is told\n', 3, "told"),
        ("tests/conftest.py", '"""What stands in for an engine."""\n', 1, "stands"),
        ("docs/recipes.md", "# Recipes\n\nThe run goes on.\n", 3, "goes on"),
        ("docs/learn/01.md", "The models in\nthe box.\n", 1, "in the box"),
        ("README.md", "It is told.\n", 1, "told"),
    ],
)
def test_a_planted_word_is_found(tmp_path: Path, name: str, text: str, line: int, word: str) -> None:
    page = tmp_path / name
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    [found] = violations(tmp_path)
    assert found.startswith(f'{name}:{line}: "{word}": write ')


def test_words_that_only_contain_a_forbidden_one_are_allowed(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Steam, misleads, question marks, amended.\n", encoding="utf-8")
    assert not list(violations(tmp_path))


def test_strings_of_a_test_that_are_no_docstrings_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    text = 'WORDS = """\nit is told\n"""\ndef f(word):\n    """A source."""\n    return f("said", f"{word} goes on")\n'
    (tmp_path / "tests/test_a.py").write_text(text, encoding="utf-8")
    assert not list(violations(tmp_path))


def test_each_forbidden_word_has_a_replacement_and_each_exception_a_use() -> None:
    rules = forbidden()
    assert len(rules) > 50
    assert all(instead for _, instead, _ in rules)
    for (name, phrase), reason in EXCEPTIONS.items():
        assert reason
        assert pattern(phrase).search((ROOT / name).read_text(encoding="utf-8")), f"{name}: no {phrase!r} any more"
