"""The reference pages are what the source says, and the README's links lead somewhere."""

import ast
import importlib.util
import json
import re
import shlex
import subprocess
import sys
import tomllib
from itertools import takewhile
from pathlib import Path
from types import ModuleType

import pytest
from markdown_it import MarkdownIt
from typer.core import TyperCommand

import dragoman
from dragoman.cli.main import main
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


# --- what pages name exists ------------------------------------------------------------------------------------------

CURRENT = [page for page in PROSE if not {"log", "decisions"} & {*page.parts} and page.name != "CHANGELOG.md"]
FENCE = re.compile(r"^ *(`{3,})(\w*)\n(.*?)^ *\1$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
KEY = re.compile(r"([a-z_]+\.[a-z_.]+)=")
SHELL = re.compile(r"^[|;&<>()]+$")  # ends a command, or begins what belongs to the shell
FOLDERS = ("benchmarks", "configs", "deploy", "docs", "examples", "reproduce", "src", "tests")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def without_fences(text: str) -> str:
    return FENCE.sub("", text)


def commands(text: str) -> list[tuple[str, ...]]:
    """The arguments of each command `dragoman …` that a page shows, in a block or within a sentence."""
    lines = re.findall(r"`(dragoman [^`]+)`", without_fences(text))
    for _, language, block in FENCE.findall(text):
        if language in ("", "bash", "sh", "console"):
            lines += re.findall(r"(?:^|[|(/] ?|-m |\$ )(dragoman .+)$", block.replace("\\\n", " "), re.MULTILINE)
    shown = []
    for line in lines:
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split, words.commenters = True, "#"
        shown.append(tuple(takewhile(lambda word: not SHELL.match(word), words))[1:])
    return shown


COMMANDS = {words: name_of(page) for page in CURRENT for words in commands(page.read_text(encoding="utf-8"))}


def test_commands_of_the_pages_have_verbs_options_and_keys_that_exist(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `--help` a verb parses its arguments and stops."""
    monkeypatch.setattr(TyperCommand, "get_help", lambda command, context: "")  # costs more than all else
    assert len(COMMANDS) > 150
    refused = {}
    for words, page in COMMANDS.items():
        value = ["VALUE"] if words[-1].startswith("-") else []  # or the option would take `--help` for it, and run
        if main([*words, *value, "--help"]):
            refused[page, " ".join(words)] = capsys.readouterr().err
    assert refused == {}
    known = {key.name for key in keys()}
    named = {(page, match[1]) for words, page in COMMANDS.items() for word in words if (match := KEY.match(word))}
    assert {(page, key) for page, key in named if key not in known} == set()


def test_a_command_that_is_wrong_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["translat"], ["translate", "--ingut"], ["model", "shown"], ["model", "show", "--modle"]):
        assert main([*words, "--help"]) == 2, words


# A command and the line below it that a page shows: where.
SHOWN = {
    found: name_of(page)
    for page in CURRENT
    for _, _, block in FENCE.findall(page.read_text(encoding="utf-8"))
    for found in re.findall(r"^\$ dragoman (translate .+)\n(.+)$", block, re.MULTILINE)
}


def test_a_translation_that_a_page_shows_is_what_the_bundled_models_write(capsys: pytest.CaptureFixture[str]) -> None:
    assert SHOWN
    for (command, shown), page in SHOWN.items():
        assert main([*shlex.split(command), "decode.exact=true"]) == 0
        assert capsys.readouterr().out == f"{shown}\n", page


def test_files_and_folders_that_a_page_names_exist() -> None:
    named = {
        (name_of(page), code)
        for page in CURRENT
        for code in INLINE.findall(without_fences(page.read_text(encoding="utf-8")))
        if re.fullmatch(rf"(?:{'|'.join(FOLDERS)})/[\w./-]+", code)
    }
    assert len(named) > 80
    assert {(page, path) for page, path in named if not (ROOT / path).exists()} == set()


def anchors(page: Path) -> set[str]:
    """The addresses of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#{1,6} (.+)$", without_fences(page.read_text(encoding="utf-8")), re.MULTILINE)
    texts = (re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", heading)) for heading in headings)
    return {text.lower().replace(" ", "-") for text in texts}


def test_links_of_the_pages_lead_to_files_and_headings() -> None:
    broken = []
    for page in CURRENT:
        for link in re.findall(r"\]\(([^)\s]+)\)", without_fences(page.read_text(encoding="utf-8"))):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if "://" in link or "look.html" in path:
                continue
            if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
                broken.append((name_of(page), link))
    assert broken == []


def test_names_of_the_vocabulary_are_in_the_source() -> None:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    words = {word for source in sources for word in re.findall(r"\w+", source)}
    names = re.findall(r"`([A-Za-z_.]+)`", (DOCS / "vocabulary.md").read_text(encoding="utf-8"))
    assert len(names) > 40
    assert {part for name in names for part in name.split(".")} - words == set()


@pytest.mark.parametrize("page", ["checking.md", "ko/checking.md"])
def test_the_page_of_the_check_has_a_row_for_each_kind_of_fault(page: str) -> None:
    texts = ROOT / "src/dragoman/workflows/data/check_page/texts.en.json"
    rows = re.findall(r"^\| (`.*?`) \|", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)
    kinds = [kind for row in rows for kind in INLINE.findall(row)]
    assert sorted(kinds) == sorted(json.loads(texts.read_text(encoding="utf-8"))["kinds"])


def test_values_of_keys_are_in_korean_on_the_korean_page() -> None:
    """English is left in quotes and in code alone."""
    page = (DOCS / "ko/configuration.md").read_text(encoding="utf-8").replace(r"\|", "")
    cells = re.findall(r"^\| `\w+` \| (.*?) \| (.*?) \|", page, re.MULTILINE)
    assert len(cells) > 100
    values = [re.sub(r'"[^"]*"|`[^`]*`|true|false', "", " ".join(cell)) for cell in cells]
    assert [value for value in values if re.search("[A-Za-z]", value)] == []


def options(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


def translation_of(page: Path) -> Path:
    """The Korean page of an English one."""
    return ROOT / "README.ko.md" if page == ROOT / "README.md" else DOCS / "ko" / page.relative_to(DOCS)


ENGLISH = [
    page
    for page in CURRENT
    if page == ROOT / "README.md" or (page.is_relative_to(DOCS) and translation_of(page).exists())
]


@pytest.mark.parametrize("page", ENGLISH, ids=name_of)
def test_both_languages_name_the_same_options_and_show_the_same_commands(page: Path) -> None:
    """Verbs, options and keys; texts and the names of files may be of the language."""
    texts = [path.read_text(encoding="utf-8") for path in (page, translation_of(page))]
    assert options(texts[0]) == options(texts[1])
    blocks = ["\n".join(block for _, _, block in FENCE.findall(text)) for text in texts]
    forms = [
        [[word for word in words if re.match(r"[a-z]+$|--?[a-z]|[a-z_]+\.[a-z_.]+=", word)] for words in shown]
        for shown in (commands(f"```\n{block}\n```") for block in blocks)
    ]
    assert forms[0] == forms[1]
