"""The reference pages are what the source says, and the README's links lead somewhere."""

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from markdown_it import MarkdownIt

import dragoman
from dragoman.config import DecodeConfig
from dragoman.config.reference import keys

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)#\s]+)\)")
PROSE = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("*/README.md")])
# Pages whose lines are longer until they are next edited as a whole.
WIDE = {
    "docs/api.md",
    "docs/benchmarks.md",
    "docs/decisions/0046-workers.md",
    "docs/decisions/0058-replicas.md",
    "docs/documents.md",
    "docs/ko/documents.md",
    "docs/ko/serving.md",
    "docs/ko/translating.md",
    "docs/serving.md",
    "docs/translating.md",
    "reproduce/README.md",
}
BENCHMARK = re.compile(r"(?<![\w/.])benchmarks/[\w/]+\.py")


def script(name: str) -> ModuleType:
    """A script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    return script("generate")


@pytest.fixture(scope="module")
def architecture() -> ModuleType:
    return script("architecture")


def test_the_picture_of_the_packages_and_their_list_are_those_of_the_code(architecture: ModuleType) -> None:
    remedy = "stale; run `python docs/architecture.py`"
    assert architecture.PICTURE.read_text(encoding="utf-8") == architecture.picture(), remedy
    english, korean = architecture.ENGLISH, architecture.KOREAN
    assert english.read_text(encoding="utf-8") == architecture.page(english, architecture.packages()), remedy
    assert korean.read_text(encoding="utf-8") == architecture.page(korean, architecture.korean()), remedy


def test_every_package_has_a_sentence_in_english_and_in_korean(architecture: ModuleType) -> None:
    english = architecture.packages()
    korean = tomllib.loads(architecture.SENTENCES.read_text(encoding="utf-8"))
    assert len(english) > 70
    assert [path for path, sentence in english.items() if not sentence] == []
    assert [path for path in english if not korean.get(path)] == [], "add them to docs/ko/architecture.toml"
    for path in ("architecture.md", "ko/architecture.md"):
        named = re.findall(r"`((?:[a-z]+\.)?[a-z]+(?:\.[a-z]+)*)`", (DOCS / path).read_text(encoding="utf-8"))
        below = [name.replace(".", "/") for name in named if "." in name and name.split(".")[0] in english]
        package = ROOT / "src/dragoman"
        missing = [name for name in below if not ((package / name).is_dir() or (package / f"{name}.py").is_file())]
        assert not missing, path


def unbroken(text: str) -> list[str]:
    """Lines of prose over 120 characters that a space could break: no code, tables or long addresses."""
    prose = re.sub(r"^( *`{3,}).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in prose.splitlines() if len(line) > 120 and not line.startswith(("|", "    "))]
    return [line for line in lines if max(map(len, line.split())) < 100]


def test_lines_of_prose_have_at_most_120_characters() -> None:
    names = {path.relative_to(ROOT).as_posix(): path for path in PROSE}
    assert names
    wide = {name: unbroken(path.read_text(encoding="utf-8")) for name, path in names.items() if name not in WIDE}
    assert {name: lines for name, lines in wide.items() if lines} == {}


def test_no_page_shows_asterisks_for_emphasis() -> None:
    """CommonMark does not end an emphasis between a closing quote and a Korean particle."""
    shown = [
        f"{path.relative_to(ROOT)}: {text.content}"
        for path in PROSE
        for block in MarkdownIt().parse(path.read_text(encoding="utf-8"))
        for text in block.children or ()
        if text.type == "text" and "**" in text.content
    ]
    assert shown == []


def test_every_benchmark_that_a_page_names_exists() -> None:
    texts = [*PROSE, ROOT / "reproduce/results.md", *(ROOT / "src").rglob("*.py"), *(ROOT / "reproduce").glob("*.*")]
    named = {(path.name, match) for path in texts for match in BENCHMARK.findall(path.read_text(encoding="utf-8"))}
    assert len(named) > 20
    assert [pair for pair in named if not (ROOT / pair[1]).is_file()] == []


SCRIPTS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "benchmarks").rglob("*.py"))
README = (ROOT / "benchmarks/README.md").read_text(encoding="utf-8")
TABLE = set(re.findall(r"^\| `(\w+/\w+\.py)", README, re.MULTILINE))


def test_every_benchmark_is_in_a_folder_and_in_their_table_or_named_as_a_part_below_it() -> None:
    names = [name.removeprefix("benchmarks/") for name in SCRIPTS if "/environment" not in name]
    parts = [name for name in names if name.startswith(("peers/", "shared/")) or name.endswith("worker.py")]
    assert [name for name in names if name.count("/") != 1] == []
    assert [name for name in names if name not in parts and f"`{name}" not in README] == []
    assert {name for name in TABLE if name not in names} == set()


# A process for each, forked from one that has imported what most of them do, and ended without taking that down again.
START_EACH = """
import gc, os, runpy, sys, traceback, ctranslate2, sacrebleu, torch
import dragoman.translator, dragoman.workflows.train.train
gc.freeze()
for script in sys.argv[1:]:
    print(f"\\f{script}", flush=True)
    if not os.fork():
        sys.argv, sys.path[0] = [script, "--help"], os.path.dirname(script)
        os.dup2(1, 2)
        try:
            runpy.run_path(script, run_name="__main__")
        except BaseException:
            traceback.print_exc(file=sys.stdout)
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.wait()
"""


@pytest.mark.slow
def test_every_benchmark_starts() -> None:
    command = [sys.executable, "-c", START_EACH, *(str(ROOT / "benchmarks" / name) for name in sorted(TABLE))]
    done = subprocess.run(command, capture_output=True, text=True)
    printed = done.stdout.split("\f")[1:]
    assert len(printed) == len(TABLE), done.stderr
    assert [text[-1000:] for text in printed if "usage:" not in text] == []


def test_the_benchmark_of_options_has_a_case_for_each() -> None:
    tree = ast.parse((ROOT / "benchmarks/decode/options.py").read_text(encoding="utf-8"))
    tables = {node.target.id: node.value for node in tree.body if isinstance(node, ast.AnnAssign)}
    assert sorted(ast.literal_eval(key) for key in tables["KEYS"].keys) == sorted(DecodeConfig.model_fields)


def test_configuration_pages_are_generated_from_the_docstrings(generate: ModuleType) -> None:
    remedy = "stale; run `python docs/generate.py`"
    assert generate.ENGLISH.read_text(encoding="utf-8") == generate.english(), remedy
    assert generate.KOREAN.read_text(encoding="utf-8") == generate.korean(), remedy


def test_every_configuration_key_has_a_korean_text() -> None:
    texts = tomllib.loads((DOCS / "ko/configuration.toml").read_text(encoding="utf-8"))
    missing = [key.name for key in keys() if not texts.get(key.name)]
    assert not missing, "add them to docs/ko/configuration.toml"


def test_code_in_english_words_is_also_in_the_korean_text() -> None:
    """Values of a choice that the docstring explains one by one are explained in Korean too."""
    texts = tomllib.loads((DOCS / "ko/configuration.toml").read_text(encoding="utf-8"))
    for key in keys():
        for value in re.findall(r"`(\w+)`:", key.doc):
            assert f"`{value}`" in texts[key.name], key.name


@pytest.mark.parametrize("name", ["README.md", "README.ko.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_lead_to_files_of_the_repository(name: str) -> None:
    links = [link for link in LINK.findall((ROOT / name).read_text(encoding="utf-8")) if "://" not in link]
    assert not [link for link in links if not (ROOT / link).exists()]


@pytest.mark.parametrize("name", ["README.md", "README.ko.md"])
def test_a_readme_is_short_and_opens_with_a_picture_and_the_two_commands(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert len(text.splitlines()) < 110
    paragraphs = text.split("\n\n")[2:]
    assert [
        paragraph for paragraph in paragraphs if paragraph[:1] not in "-|" and len(LINK.findall(paragraph)) > 2
    ] == []
    opening = text[: text.index("\n## ")]
    assert opening.index("](docs/images/look.") < opening.index("make demo") < opening.index("make test")


def test_each_decision_has_a_date_a_status_and_the_three_sections() -> None:
    index = (DOCS / "decisions/README.md").read_text(encoding="utf-8")
    for record in sorted((DOCS / "decisions").glob("0*.md")):
        text = record.read_text(encoding="utf-8")
        assert text.startswith(f"# {record.name[:4]}: ")
        dated = re.search(r"^Date: (\d{4}-\d\d-\d\d)\. Status: (.+)\.$", text, re.MULTILINE)
        assert dated, record.name
        assert f"({record.name})" in index
        assert f"| {dated[1]} | {dated[2]} |" in index, record.name
        assert all(f"**{part}.**" in text for part in ("Context", "Choice", "Price")), record.name


@pytest.mark.parametrize("name", ["README.md", "README.ko.md", "docs/quickstart.md", "docs/ko/quickstart.md"])
def test_python_of_the_first_pages_uses_public_names_only(name: str) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        compile(block, name, "exec")
        used = set(re.findall(r"\bdragoman\.(\w+)", block))
        assert used, block
        assert used <= set(dragoman.__all__)
        assert re.findall(r"^(?:import|from) .*", block, re.MULTILINE) == ["import dragoman"]
