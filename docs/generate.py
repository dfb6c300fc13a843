"""Write `configuration.md`, in English and Korean, from the docstrings of the configuration's keys.

Run `python docs/generate.py` after a key or its docstring has changed; a test compares the pages with what this writes.
The Korean text of each key is in `ko/configuration.toml`.
"""

import re
import tomllib
from pathlib import Path

from dragoman.config.reference import ConfigKey, keys

DOCS = Path(__file__).parent
ENGLISH, KOREAN = DOCS / "configuration.md", DOCS / "ko/configuration.md"
TITLES = {"data.train": "[[data.train]], data.valid, data.test", "project.pairs": "[[project.pairs]]"}

ENGLISH_HEAD = """\
# Configuration

[한국어](ko/configuration.md)

Every key of a run's configuration, a TOML file as `dragoman init` writes it. Any key can be overridden on the command
line, as in `dragoman train run.toml train.max_steps=1000`; the keys of `[decode]` also when translating, as in
`-O beam=8`. Relative paths start at the folder of the file. An unknown key is an error. `dragoman config KEY` prints
the same text.
"""
KOREAN_HEAD = """\
# 설정

[English](../configuration.md)

실행 하나의 설정에 쓰는 모든 키입니다. 설정은 `dragoman init`이 만드는 것과 같은 TOML 파일입니다. 명령줄에서
`dragoman train run.toml train.max_steps=1000`처럼 어느 키든 바꿀 수 있고, `[decode]`의 키는 번역할 때도 `-O beam=8`처럼
바꿀 수 있습니다. 상대 경로는 설정 파일이 있는 폴더에서 시작합니다. 모르는 키는 오류입니다. `dragoman config KEY`는
같은 내용을 영어로 보여 줍니다.
"""
# The words of `ConfigKey.values` and `ConfigKey.default` in Korean.
WORDS = [
    (r"whole number", "정수"),
    (r"\bnumber", "실수"),
    (r" from (\d[\d.,]*\b)", r" \1 이상"),
    (r" above (\d[\d.,]*\b)", r" \1 초과"),
    (r" to (\d[\d.,]*\b)", r" \1 이하"),
    (r" below (\d[\d.,]*\b)", r" \1 미만"),
    (r"list of corpora", "말뭉치 목록"),
    (r"list of path", "경로 목록"),
    (r"list of text", "문자열 목록"),
    (r"list of pairs", "언어 쌍 목록"),
    (r"corpus", "말뭉치"),
    (r"\bpath", "경로"),
    (r"\btext\b", "문자열"),
    (r"^required$", "필수"),
    (r"^not set$", "없음"),
    (r"^by `preset`$", "`preset`에 따름"),
]


def english() -> str:
    """The English page."""
    rows = {key.name: (key.values, key.default, key.doc) for key in keys()}
    return ENGLISH_HEAD + _tables(rows, ("key", "values", "default", "meaning"), "The file")


def korean() -> str:
    """The Korean page. Raises KeyError for a key without a text."""
    texts = tomllib.loads((DOCS / "ko/configuration.toml").read_text(encoding="utf-8"))
    rows = {key.name: (_in_korean(key.values), _in_korean(key.default), texts[key.name]) for key in keys()}
    return KOREAN_HEAD + _tables(rows, ("키", "값", "기본값", "뜻"), "파일")


def _in_korean(words: str) -> str:
    """Values or a default with their words in Korean; what is in quotes or code stays."""
    if words.startswith('list of "'):
        return f"{words.removeprefix('list of ')} 가운데 고른 것의 목록"
    parts = words.split(" | ")
    for pattern, word in WORDS:
        parts = [part if part.startswith(('"', "`")) else re.sub(pattern, word, part) for part in parts]
    return " | ".join(parts)


def _tables(rows: dict[str, tuple[str, str, str]], head: tuple[str, ...], top: str) -> str:
    """A section of the page for each table of the file."""
    page = ""
    for section in dict.fromkeys(key.section for key in keys()):
        title = TITLES.get(section, f"[{section}]" if section else top)
        page += f"\n## {title}\n\n{_row(head)}{_row(('---',) * 4)}"
        page += "".join(_row((_name(key), *rows[key.name])) for key in keys() if key.section == section)
    return page


def _name(key: ConfigKey) -> str:
    return f"`{key.name.rpartition('.')[2]}`"


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


if __name__ == "__main__":
    ENGLISH.write_text(english(), encoding="utf-8")
    KOREAN.write_text(korean(), encoding="utf-8")
