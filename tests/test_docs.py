"""The reference pages are what the source says, and the README's links lead somewhere."""

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import dragoman
from dragoman.config.reference import keys

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)#\s]+)\)")


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    assert len(text.splitlines()) < 130
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
