"""The course of `docs/learn`: what its pages show is what their code prints; the site they are in needs no network."""

import contextlib
import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from bs4 import BeautifulSoup

from suites import cases

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path.name for path in (DOCS / "learn").glob("[0-9]*.md"))
# A block of code and, if one follows, the box that shows what it prints.
TRAINING = ("07", "09", "10", "12")  # pages that train
SNIPPET = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r" *(-?\d+(?:,\d{3})*(?:\.(\d+))?(?:e([+-]\d+))?)")


def figures(line: str) -> list[float]:
    return [float(number[0].replace(",", "")) for number in NUMBER.findall(line)]


def last_digit(line: str) -> float:
    """What one unit of the finest last digit in `line` is worth; 0 where all numbers are integers."""
    units = [10.0 ** (int(power or 0) - len(digits)) for _, digits, power in NUMBER.findall(line) if digits or power]
    return min(units, default=0.0)


def assert_prints(found: str, shown: str) -> None:
    """The same words, and numbers up to one unit of the last digit: rounding differs from processor to processor."""
    assert [NUMBER.sub("#", line) for line in found.splitlines()] == [NUMBER.sub("#", x) for x in shown.splitlines()]
    for line, expected in zip(found.splitlines(), shown.splitlines(), strict=True):
        assert figures(line) == pytest.approx(figures(expected), rel=1e-9, abs=1.001 * last_digit(expected)), line


def warm_up_decides(frequencies: list[float], *losses: list[float]) -> None:
    """Post-LN learns how frequent pieces are, with warm-up more; Pre-LN learns most."""
    [known], [post, warmed, pre] = frequencies, [numbers[-1] for numbers in losses]
    assert abs(post - known) < 0.25
    assert pre < warmed < post


def is_learned_by_heart(*steps: list[float]) -> None:
    """The loss starts a little above ln V = 6.4 and ends near the entropy of the smoothed target, 1.0."""
    losses, right = [numbers[1] for numbers in steps], [numbers[2] for numbers in steps]
    assert 6.4 < losses[0] < 7.4
    assert losses[0] > losses[1] > max(losses[2:])
    assert losses[3] < 1.2
    assert right[0] < 5
    assert right[3] > 95


def only_what_is_shifted_is_unknown(shifted: list[float], copied: list[float]) -> None:
    """Random words cost ln 26 = 3.3 nats each, and nothing where they are read."""
    assert abs(shifted[0] - 3.3) < 0.2
    assert copied[0] < 0.2


def the_comparison_holds(*lines: list[float]) -> None:
    """Long sentences are lost without attention, and everyone is worse alone; residual connections make depth learn;
    budgets are equal.
    """
    without, attending, plain, budgets = lines[:3], lines[3:6], lines[6:9], lines[9:]
    for _, taught, alone in (*without, *attending):
        assert alone < taught + 1
    assert without[0][1] > without[2][1] + 15
    assert attending[2][1] > without[2][1] + 8
    shallow, deep, residual = (numbers[-1] for numbers in plain)
    assert residual + 0.3 < deep
    assert shallow + 0.3 < deep
    assert all(abs(numbers[-3] - 1) < 0.15 and numbers[-2] < 6.5 for numbers in budgets)


# Training magnifies rounding, so that figures of a trained model differ from processor to processor. On the page and as
# printed they are held to what the page claims: page → (how their lines begin, the claim on the lines' numbers).
TRAINED: dict[str, tuple[str, Callable[..., None]]] = {
    "07-post-and-pre.md": ("loss of knowing|(post|pre) +warm-up", warm_up_decides),
    "09-training.md": (r"step +\d+: loss", is_learned_by_heart),
    "11-mistakes.md": ("shifted ", only_what_is_shifted_is_unknown),
    "12-the-comparison.md": (r"attention \w|\d \+ \d layers|\S+ +\d+,\d+ parameters", the_comparison_holds),
}


def untrained(name: str, text: str, trained: io.StringIO) -> str:
    """`text` with the numbers of trained lines left out; those lines are written to `trained`."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if name in TRAINED and re.match(TRAINED[name][0], line):
            trained.write(f"{line}\n")
            lines[number] = NUMBER.sub("*", line)
    return "\n".join(lines)


def snippets(page: Path) -> list[tuple[str, str]]:
    """(code, what the page says it prints) of each block."""
    return [(code, shown) for code, shown in SNIPPET.findall(page.read_text(encoding="utf-8"))]


def without_examples(page: Path) -> str:
    return SNIPPET.sub("", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", cases(PAGES, quick=[name for name in PAGES if not name.startswith(TRAINING)]))
def test_a_page_prints_what_it_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    page: dict[str, object] = {"__name__": "page"}
    claimed, printed = io.StringIO(), io.StringIO()
    with torch.random.fork_rng():
        for code, shown in snippets(DOCS / "learn" / name):
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(code, name, "exec"), page)
            assert_prints(untrained(name, output.getvalue(), printed), untrained(name, shown, claimed))
    if name in TRAINED:
        for text in (claimed, printed):
            TRAINED[name][1](*map(figures, text.getvalue().splitlines()))


@pytest.mark.parametrize("name", ["index.md", *PAGES])
def test_both_languages_hold_the_same_code(name: str) -> None:
    english, korean = DOCS / "learn" / name, DOCS / "ko/learn" / name
    assert snippets(english) == snippets(korean)
    assert without_examples(english).count("\n## ") == without_examples(korean).count("\n## ")
    assert without_examples(english).count("```") == without_examples(korean).count("```")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_ends_in_code_and_a_question(name: str) -> None:
    blocks = snippets(DOCS / "learn" / name)
    assert blocks
    assert all(code and shown for code, shown in blocks)
    for page, question in ((DOCS / "learn" / name, "**Questions.**"), (DOCS / "ko/learn" / name, "**질문.**")):
        assert page.read_text(encoding="utf-8").split("\n\n")[-1].startswith(question)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning, as of a broken link, fails it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(folder / "cache"), str(DOCS)]
    done = subprocess.run([*command, str(folder / "html")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.mark.slow
def test_the_site_holds_every_page_each_in_its_language(site: Path) -> None:
    for source in DOCS.rglob("*.md"):
        place = source.relative_to(DOCS).with_suffix(".html")
        page = BeautifulSoup((site / place).read_text(encoding="utf-8"), "html.parser")
        korean = place.parts[0] == "ko"
        assert page.html is not None
        assert page.html["lang"] == ("ko" if korean else "en"), place
        contents = page.select_one(".sidebar-tree")
        assert contents is not None
        assert ("마스크" in contents.text, "Masks" in contents.text) == (korean, not korean), place


@pytest.mark.slow
def test_the_site_loads_nothing_from_a_network(site: Path) -> None:
    """Links that a reader may follow are no loads."""
    for page in site.rglob("*.html"):
        html = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
        loaded = [tag.get("src") for tag in html.find_all(src=True)] + [
            tag.get("href") for tag in html.find_all("link", href=True)
        ]
        assert not [url for url in loaded if re.match(r"(https?:)?//", str(url))], page
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")), style
