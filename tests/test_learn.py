"""The course of `docs/learn`: what its pages show is what their code prints; the site they are in needs no network."""

import contextlib
import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from bs4 import BeautifulSoup

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path.name for path in (DOCS / "learn").glob("[0-9]*.md"))
# A block of code and, if one follows, the box that shows what it prints.
SNIPPET = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
# What is trained ends in other last digits on other machines.
NEAR = {"07-post-and-pre.md": 0.05, "09-training.md": 0.05}
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def snippets(page: Path) -> list[tuple[str, str]]:
    """(code, what the page says it prints) of each block."""
    return [(code, shown) for code, shown in SNIPPET.findall(page.read_text(encoding="utf-8"))]


def without_examples(page: Path) -> str:
    return SNIPPET.sub("", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_prints_what_it_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    page: dict[str, object] = {"__name__": "page"}
    with torch.random.fork_rng():
        for code, shown in snippets(DOCS / "learn" / name):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, name, "exec"), page)
            found = printed.getvalue()
            if name in NEAR:
                numbers = [float(number) for number in NUMBER.findall(shown)]
                assert [float(number) for number in NUMBER.findall(found)] == pytest.approx(numbers, NEAR[name], 0.1)
                found, shown = NUMBER.sub("#", found), NUMBER.sub("#", shown)
            assert found == shown


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
    """The built site; a warning, as of a link that leads nowhere, fails it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(folder / "cache"), str(DOCS)]
    done = subprocess.run([*command, str(folder / "html")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


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
