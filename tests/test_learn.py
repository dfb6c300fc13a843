"""The course of `docs/learn`: what its pages show is what their code prints; the site they are in needs no network."""

import ast
import contextlib
import importlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import torch
from bs4 import BeautifulSoup
from lxml.html import HtmlElement, document_fromstring

from headless import chromium
from suites import cases

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path.name for path in (DOCS / "learn").glob("[0-9]*.md"))
# A block of code and, if one follows, the box that shows what it prints.
TRAINING = ("07", "09", "10", "12", "13", "16")  # pages that train
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


def unseen_sentences_are_right(sentences: list[float]) -> None:
    """New combinations of known words are translated, most of them."""
    right, count = sentences
    assert right >= 0.7 * count


def misreadings_fail(sines: list[float], moved: list[float], learned: list[float], *depths: list[float]) -> None:
    """Of lengths 8, 12 and 16 only the first was in training; a shift by five positions ruins what was right. With
    more plain layers the loss is higher, although the gradient is always larger than with residual connections.
    """
    for _, _, _, known, longer, longest in (sines, learned):
        assert known > 90
        assert longer < known - 30
        assert longest < known - 50
    assert moved[-3] > 90
    assert moved[-1] < 60
    plain, deeper, residual = depths
    assert residual[1] < plain[1] < 0.8 * deeper[1]
    assert residual[3] < 0.5 * deeper[2]


def the_comparison_holds(*lines: list[float]) -> None:
    """Long sentences are lost without attention, and everyone is worse alone; residual connections make depth learn;
    budgets are equal; what a head looks at is a part of 1; most brackets of new sentences are right.
    """
    [parsed] = [numbers for numbers in lines if len(numbers) == 3 and numbers[1] == 1]
    assert parsed[-1] > 0.3
    lines = tuple(numbers for numbers in lines if numbers is not parsed)
    heads = [numbers for numbers in lines if len(numbers) == 5 and numbers[1] <= 1]
    assert len(heads) == 8
    assert all(-0.001 < sum(weights) < 1.05 for _, *weights in heads)
    lines = tuple(numbers for numbers in lines if numbers not in heads)
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
    "12-the-comparison.md": (
        r"attention \w|\d \+ \d layers|\S+ +\d+,\d+ parameters|   head \d: animal|parsed, ",
        the_comparison_holds,
    ),
    "13-from-tensorflow.md": ("unseen sentences", unseen_sentences_are_right),
    "16-misreadings.md": (r"sinusoidal|learned | *\d+ layers, residual", misreadings_fail),
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


def without_comments(code: str) -> str:
    """The code without comments and docstrings, which are in the language of the page."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Expr(ast.Constant("docstring"))
    return ast.dump(tree)


def comments(code: str) -> list[str]:
    """The comments and docstrings of `code`."""
    functions = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.FunctionDef)]
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT] + [
        docstring for node in functions if (docstring := ast.get_docstring(node))
    ]


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
    pairs = zip(snippets(english), snippets(korean), strict=True)
    for (code, shown), (korean_code, shown_in_korean) in pairs:
        assert without_comments(code) == without_comments(korean_code), code
        assert shown == shown_in_korean
    for code, _ in snippets(korean):
        assert [
            comment
            for comment in comments(code)
            if re.search("[A-Za-z]{3}", comment) and not re.search("[가-힣]", comment)
        ] == []
    assert without_examples(english).count("\n## ") == without_examples(korean).count("\n## ")
    assert without_examples(english).count("```") == without_examples(korean).count("```")


@pytest.mark.parametrize("folder", ["learn", "ko/learn"])
def test_no_line_of_prose_begins_as_a_numbered_list_by_accident(folder: str) -> None:
    """A sentence that ends in "1." at the beginning of a line became a list."""
    for name in PAGES:
        assert re.findall(r"^\S.*\n1\. .*", without_examples(DOCS / folder / name), re.MULTILINE) == [], name


QUESTION = re.compile(
    r"^\*\*(\d+)\.\*\* (★+) (.+?)\n\n<details><summary>(?:Answer|답)</summary>\n\n(.+?)\n\n</details>$",
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_code_and_ends_in_questions_whose_answers_are_folded(name: str) -> None:
    blocks = snippets(DOCS / "learn" / name)
    assert blocks
    assert all(code and shown for code, shown in blocks)
    stars = []
    for page, heading in ((DOCS / "learn" / name, "## Questions"), (DOCS / "ko/learn" / name, "## 연습 문제")):
        _, _, end = page.read_text(encoding="utf-8").partition(f"\n{heading}\n")
        questions = QUESTION.findall(end)
        assert len(questions) >= 3
        assert QUESTION.sub("", end).strip() == "", "a question without a number, stars or a folded answer"
        assert [int(number) for number, *_ in questions] == list(range(1, len(questions) + 1))
        stars.append([len(difficulty) for _, difficulty, *_ in questions])
        assert stars[-1] == sorted(stars[-1]), "from easy to hard"
        assert (stars[-1][0], stars[-1][-1]) == (1, 3)
    assert stars[0] == stars[1]


# What an answer says of code that is changed: page, question, the code, what replaces it, the answer's figures.
CHANGED = [
    ("01-why-attention.md", 5, 'u = vector["ball"]', 'u = vector["milk"]', ["0.01, 0.01, 0.99", "0.27, 0.28, 0.45"]),
    ("02-scaled-dot-product.md", 3, "[0, 0, 10]]\nvalues", "[0, 0, 9]]\nvalues", ["0.997", "0.003"]),
    (
        "07-post-and-pre.md",
        3,
        '("post", 50), ("pre", 1)):\n    losses = train(order, 5e-3, warmup)',
        "):\n    losses = train(order, 2e-3, warmup)",
        ["4.3"],
    ),
]


@pytest.mark.parametrize(("name", "number", "before", "after", "numbers"), cases(CHANGED, quick=CHANGED[:2]))
def test_an_answer_about_changed_code_says_what_that_code_prints(
    name: str, number: int, before: str, after: str, numbers: list[str]
) -> None:
    for folder in ("learn", "ko/learn"):
        text = (DOCS / folder / name).read_text(encoding="utf-8")
        answer = next(answer for question, _, _, answer in QUESTION.findall(text) if int(question) == number)
        flat = re.sub(r"\s+", " ", answer)
        assert [figure for figure in numbers if figure not in flat] == [], folder
    scope: dict[str, object] = {"__name__": name}
    for code, _ in snippets(DOCS / "learn" / name):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code.replace(before, after), name, "exec"), scope)
        if before in code:
            break
    assert before in code
    assert [figure for figure in numbers if figure not in printed.getvalue()] == []


def test_the_seventeen_misreadings_have_an_experiment_each() -> None:
    sections = (DOCS / "learn/16-misreadings.md").read_text(encoding="utf-8").split("\n## ")[1:-1]
    assert [int(section.split(".")[0]) for section in sections] == list(range(1, 18))
    assert [section[:40] for section in sections if len(SNIPPET.findall(section)) != 1] == []


def test_the_views_that_the_course_names_are_those_of_the_look_page() -> None:
    script = (DOCS.parent / "src/dragoman/inspection/web/main.js").read_text(encoding="utf-8")
    views = set(re.findall(r"(\w+)", script.partition("const VIEWS = {")[2].partition("};")[0]))
    for folder, language in (("learn", "en"), ("ko/learn", "ko")):
        text = (DOCS / folder / "index.md").read_text(encoding="utf-8")
        named = re.findall(r"look\.html#(\w+)/(\w+)`", text)
        assert len(named) > 5
        assert {part for part, _ in named} == {language}
        assert {view for _, view in named} <= views


@pytest.fixture
def docs_module(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A script of docs/ as a module."""
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module


def cells_of(notebook: dict[str, list[dict[str, object]]], kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]  # type: ignore[arg-type]


def test_notebooks_have_the_code_of_their_pages_what_it_prints_and_answers_folded(
    docs_module: Callable[[str], ModuleType],
) -> None:
    """Their code is that of the pages, which the tests run."""
    notebooks = docs_module("notebooks")
    assert len(notebooks.pages()) == 2 * len(PAGES)
    for page in notebooks.pages():
        text, notebook = page.read_text(encoding="utf-8"), json.loads(json.dumps(notebooks.notebook(page)))
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert [(f"{''.join(x['source'])}\n", "".join(x["outputs"][0]["text"])) for x in code] == snippets(page)
        words = "\n".join(cells_of(notebook, "markdown"))
        assert words.count("<details>") == text.count("<details>") > 2
        assert words.count("](attachment:") == text.count("images/learn/")
        assert sum(len(cell.get("attachments", ())) for cell in notebook["cells"]) == text.count("images/learn/")
        assert words.count("$$") == 2 * text.count("```math")
        links = re.findall(r"\]\(([^)]+)\)", words)
        assert [x for x in links if not re.match(r"https?:|attachment:|\d\d-[\w-]+\.ipynb$", x)] == [], page
        assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["learn/02-scaled-dot-product.md", "ko/learn/15-any-sequence.md"])
def test_a_notebook_runs_from_the_top(name: str, docs_module: Callable[[str], ModuleType]) -> None:
    notebook = docs_module("notebooks").notebook(DOCS / name)
    code = "\n".join(cells_of(notebook, "code"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert_prints(done.stdout, "".join(shown for _, shown in snippets(DOCS / name)))


def test_every_page_opens_steps_of_the_sample_page(docs_module: Callable[[str], ModuleType]) -> None:
    sample = docs_module("sample")
    for name in PAGES:
        for language, folder in (("en", "learn"), ("ko", "ko/learn")):
            assert f"look.html#{language}/" in sample.links(f"{folder}/{Path(name).stem}")
    assert {row["href"].partition("/")[0] for row in sample.back()["ko"]} == {"ko"}
    named = [
        (page, address)
        for page in ("index.md", "ko/index.md")
        for address in re.findall(r"`look\.html#([^`]+)`", (DOCS / page).read_text(encoding="utf-8"))
    ]
    assert len(named) > 20
    assert [pair for pair in named if sample.label(pair[1]).startswith("look.html")] == [], "a step without a name"


def test_the_map_of_the_concepts_is_what_the_pages_have(docs_module: Callable[[str], ModuleType]) -> None:
    concepts = docs_module("concepts")
    rows, thin = concepts.table()
    assert len(rows) == 55
    assert len(thin) <= 3
    pages = {language: concepts.parts(path.parent) for language, path in concepts.PAGES.items()}
    for names, places in rows:
        for language, sections in pages.items():
            named = [sections[page][index] for page, index in places]
            assert named[0].blocks, f"{names['en']}: no code in {named[0].heading}"
            assert {part.page for part in named} <= set(PAGES), language
    for language, path in concepts.PAGES.items():
        assert path.read_text(encoding="utf-8") == concepts.page(language), "stale; run `python docs/concepts.py`"
        assert re.findall(r"^\| (\d+) \| \[.*\| 1 \|$", concepts.page(language), re.MULTILINE) == list(
            map(str, range(1, 18))
        )


@pytest.fixture(scope="module")
def site(made_once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """The built site without the translator; a warning, as of a broken link, fails it."""

    def build(folder: Path) -> None:
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(folder / "cache"), str(DOCS)]
        done = subprocess.run([*command, str(folder / "html")], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    return made_once("site", build) / "html"


def parsed(page: Path) -> BeautifulSoup:
    """A built page; `lxml` reads it in a third of the time of Python's own parser."""
    return BeautifulSoup(page.read_text(encoding="utf-8"), "lxml")


# Elements of a class, for `lxml` alone, which reads a page in a tenth of the time of BeautifulSoup.
OF_CLASS = "*[contains(concat(' ', normalize-space(@class), ' '), ' {} ')]"


def is_in_its_language(place: Path, html: HtmlElement) -> None:
    korean = place.parts[0] == "ko"
    assert html.get("lang") == ("ko" if korean else "en"), place
    [contents] = html.xpath(f"//{OF_CLASS.format('sidebar-tree')}")
    text = contents.text_content()
    assert ("마스크" in text, "Masks" in text) == (korean, not korean), place
    words = [str(label) for label in html.xpath("//*[@aria-label][not(ancestor::article)]/@aria-label")]
    for name in ("toc-title", "back-to-top", "skip-to-content"):
        words += [tag.text_content() for tag in html.xpath(f"//{OF_CLASS.format(name)}")]
    words += [span.text_content() for span in html.xpath(f"//{OF_CLASS.format('context')}//span")]
    assert words, place
    assert all(bool(re.search("[가-힣]", word)) == korean for word in words), (place, words)
    neighbours = html.xpath(f"//{OF_CLASS.format('related-pages')}//a/@href")
    assert all(os.path.normpath(place.parent / link).startswith("ko/") == korean for link in neighbours), place


def loads_nothing_from_a_network(place: Path, html: HtmlElement) -> None:
    """Links that a reader may follow are no loads."""
    loaded = html.xpath("//@src | //link/@href")
    assert loaded, place
    assert not [url for url in loaded if re.match(r"(https?:)?//", str(url))], place


def shows_no_asterisks_for_emphasis(place: Path, html: HtmlElement) -> None:
    """After the other checks: code is removed."""
    for article in html.xpath("//article"):
        for code in article.xpath(".//pre | .//code | .//math | .//svg | .//dt[contains(@class, 'sig')]"):
            code.drop_tree()
        assert "**" not in article.text_content(), place


@pytest.mark.slow
def test_the_site_holds_every_page_in_its_language_and_loads_nothing_from_a_network(site: Path) -> None:
    """And shows no asterisks for emphasis; each page is read once."""
    sources = {source.relative_to(DOCS).with_suffix(".html") for source in DOCS.rglob("*.md")}
    pages = {page.relative_to(site) for page in site.rglob("*.html")}
    assert sources <= pages
    for place in sorted(pages):
        html = document_fromstring((site / place).read_text(encoding="utf-8"))
        if place in sources:
            is_in_its_language(place, html)
        loads_nothing_from_a_network(place, html)
        shows_no_asterisks_for_emphasis(place, html)
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")), style


@cache
def ids_of(page: Path) -> set[str]:
    """The places of a built page that a link may lead to."""
    return {str(tag["id"]) for tag in parsed(page).select("[id]")}


@pytest.mark.slow
def test_formulas_figures_and_answers_of_the_course_are_on_the_site(site: Path) -> None:
    """No formula is left as text, no emphasis as asterisks, and every link has a target."""
    for folder in ("learn", "ko/learn"):
        counts = {"svg": 0, "math": 0, "details": 0, "a.step": 0}
        for name in PAGES:
            source = (DOCS / folder / name).read_text(encoding="utf-8")
            html = parsed((site / folder / name).with_suffix(".html"))
            article = html.find("article")
            assert article is not None
            assert len(article.select("figure.drawing svg")) == source.count("images/learn/"), name
            assert len(article.select("div.equation math")) == source.count("```math"), name
            assert article.select("math merror") == [], name
            functions = {"sin", "cos", "tanh", "log", "ln"}
            assert [mi for mi in article.select("math mi + mi") if mi.text in functions] == [], "no space, as in iθsin"
            for formula in article.select("math:not([display])"):  # no line ends in its bracket
                assert not str(formula.previous_sibling).endswith(("(", "[")) or formula.find_parent(class_="formula")
            for tag in counts:
                counts[tag] += len(article.select("figure.drawing svg" if tag == "svg" else tag))
            for code in article.select("pre, code, math, svg, h1, h2"):
                code.decompose()
            text = article.get_text()
            assert "**" not in text, name
            assert re.findall(r"\$|\\[a-z]+|\w\^\(|[a-zA-Z]_[a-z{(]+", text) == [], name
            for link in article.select("a[href]"):
                target, _, anchor = str(link["href"]).partition("#")
                if "://" not in target:
                    other = (site / folder / (target or Path(name).with_suffix(".html"))).resolve()
                    assert other.is_file(), (name, target)
                    assert not anchor or "look.html" in target or anchor in ids_of(other), (name, target, anchor)
        assert counts["svg"] >= 35
        assert counts["math"] >= 140
        assert counts["details"] >= 70
        assert counts["a.step"] >= 22


@pytest.mark.slow
def test_the_site_offers_a_translator_where_it_is_built_with_one(tmp_path: Path) -> None:
    """Two of its pages, built as `make docs` builds all, with the page of the bundled models."""
    for name in ("quickstart.md", "ko/quickstart.md"):
        text = "\n".join(re.findall(r"^# .*\n|^<!-- .*\n", (DOCS / name).read_text(encoding="utf-8"), re.MULTILINE))
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_text(f"{text}\n", encoding="utf-8")
    settings = ["-D", "root_doc=quickstart", "-D", "suppress_warnings=toc.not_included"]
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-c", str(DOCS), "-t", "translator", *settings]
    done = subprocess.run([*command, "docs", "site"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name, place in (("quickstart", "translator/index.html"), ("ko/quickstart", "../translator/index.html")):
        html = (tmp_path / "site" / f"{name}.html").read_text(encoding="utf-8")
        assert f'href="{place}"' in html
    assert (tmp_path / "site/translator/worker.js").is_file()
    assert (tmp_path / "site/translator/index.html").stat().st_size < 33_000_000


@pytest.mark.slow
def test_the_site_has_notebooks_and_a_sample_page_whose_steps_open_and_lead_back(
    site: Path, docs_module: Callable[[str], ModuleType]
) -> None:
    for folder in ("learn", "ko/learn"):
        for name in PAGES:
            html = parsed((site / folder / name).with_suffix(".html"))
            links = [str(link["href"]) for link in html.select("p.course-links a")]
            assert links[-1] == f"{Path(name).stem}.ipynb"
            assert all((site / folder / link.partition("#")[0]).resolve().is_file() for link in links)
    sample = docs_module("sample")
    with chromium() as browser:
        tab, errors = browser.new_page(), []
        tab.on("pageerror", lambda error: errors.append(str(error)))
        for language, sentence in (("en", 1), ("ko", sample.ANIMAL)):
            steps = [step for step in sample.STEPS if step.sentence == sentence]
            tab.goto("about:blank")
            tab.goto(f"{(site / sample.NAME).as_uri()}#{steps[0].address(language)}")
            tab.wait_for_selector("html[data-ready]", state="attached")
            for step in steps:
                tab.evaluate(f"location.hash = '{step.address(language)}'")
                place = tab.locator(f"#step-{step.step}" if step.step else f"#view-{step.view}")
                place.wait_for(state="visible")
                if step.step:
                    tab.wait_for_function(f"document.activeElement.id === 'step-{step.step}'")
                links = place.locator(":scope > .course a, :scope > .step-text > .course a")
                links.first.wait_for()
                hrefs = [link.get_attribute("href") for link in links.all()]
                assert [href for href in hrefs if Path(href).name.startswith(step.page)], step
                assert [href for href in hrefs if not (site / href).is_file()] == []
        assert errors == []


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "language"), [("learn", "en"), ("ko/learn", "ko")])
def test_on_a_telephone_a_page_of_the_site_opens_its_step_and_the_step_its_page(
    folder: str, language: str, site: Path, docs_module: Callable[[str], ModuleType]
) -> None:
    """There the walk shows one step at a time: that of the address, not its first."""
    steps = [step for step in docs_module("sample").STEPS if step.step and step.sentence == 1]
    assert len(steps) > 10
    with chromium() as browser:
        tab = browser.new_page(viewport={"width": 390, "height": 844})
        for name in PAGES:
            tab.goto((site / folder / name).with_suffix(".html").as_uri())
            assert tab.evaluate("document.documentElement.scrollWidth") <= 390, name
        for step in (steps[0], steps[3], steps[-1]):
            name = next(page for page in PAGES if page.startswith(step.page))
            tab.goto((site / folder / name).with_suffix(".html").as_uri())
            tab.locator(f'p.course-links a[href$="#{step.address(language)}"]').click()
            place = tab.locator(f"#step-{step.step}")
            place.wait_for(state="visible")
            assert tab.locator("#view-walk .step:visible").count() == 1
            assert tab.evaluate("document.documentElement.scrollWidth") <= 390
            place.locator(f".course a[href*='/{Path(name).stem}']").click()
            tab.wait_for_url(f"**/{folder}/{Path(name).stem}.html")
