"""The sample page of the site, `dragoman look` for two sentences, and the links between it and the course.

An address names a view and, in the walk, a step of it: `look.html#en/walk//2///cross-weights` is the step
`step-cross-weights` of the second sentence. `sample.js` opens it and writes the links back; the page itself is as
`dragoman look` writes it.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parent
NAME = "look.html"
MODEL = "en-ko"
SENTENCES = "I am a student. The animal didn't cross the street because it was too tired."
ANIMAL = 2


@dataclass(frozen=True)
class Step:
    """What a page of the course shows in the sample page."""

    page: str
    """The beginning of the page's name."""
    view: str
    english: str
    korean: str
    step: str = ""
    """Of the walk."""
    sentence: int = 1
    choice: str = ""

    def address(self, language: str) -> str:
        """The part of the sample page's address after #."""
        number = str(self.sentence) if self.sentence > 1 else ""
        return "/".join((language, self.view, "", number, self.choice, "", self.step)).rstrip("/")


STEPS = (
    Step("01", "walk", "encoder-decoder attention", "인코더-디코더 어텐션", "cross-weights"),
    Step("02", "walk", "the products of Q and K", "Q와 K의 곱", "self-products"),
    Step("02", "walk", "divided by √d<sub>k</sub>", "√d<sub>k</sub>로 나누기", "self-scaled"),
    Step("02", "walk", "the weights", "가중치", "self-weights"),
    Step("03", "masks", "masks, before and after", "마스크의 전과 후"),
    Step("03", "walk", "the look-ahead mask", "룩어헤드 마스크", "masked-masked"),
    Step("04", "heads", "every head", "모든 헤드"),
    Step("04", "walk", "queries, keys and values of a head", "한 헤드의 쿼리, 키, 밸류", "self-qkv"),
    Step("04", "walk", "the heads joined", "이어 붙인 헤드", "self-output"),
    Step("05", "positions", "positions", "위치 인코딩"),
    Step("06", "walk", "the feed-forward network", "피드 포워드 신경망", "encoder-ffn-ffn"),
    Step("07", "stream", "the residual stream", "잔차 스트림"),
    Step("08", "walk", "the decoder's masked attention", "디코더의 마스크드 어텐션", "masked-weights"),
    Step("08", "walk", "the encoder's output", "인코더의 출력", "memory"),
    Step("08", "walk", "logits", "로짓", "logits"),
    Step("09", "walk", "log-probabilities of the next piece", "다음 조각의 확률", "softmax"),
    Step("10", "beam", "the search tree", "빔 서치 트리"),
    Step("11", "masks", "masks, before and after", "마스크의 전과 후"),
    Step("12", "heads", "heads of the animal sentence", "동물 문장의 헤드", sentence=ANIMAL),
    Step("13", "heads", "attention as pictures", "그림으로 보는 어텐션"),
    Step("14", "beam", "the search tree", "빔 서치 트리"),
    Step("15", "walk", "pieces become vectors", "조각이 벡터로", "source-embedding"),
    Step("16", "attribution", "why this word", "왜 이 단어인지", sentence=ANIMAL),
)


WALK = {"en/walk": "the paper, step by step", "ko/walk": "논문을 한 단계씩"}


def label(address: str) -> str:
    """What an address shows, in its language; the address itself if no page of the course has it."""
    language, _, _ = address.partition("/")
    names = {step.address(language): step.korean if language == "ko" else step.english for step in reversed(STEPS)}
    return (WALK | names).get(address, f"{NAME}#{address}")


def links(page: str) -> str:
    """HTML for a page of the site, `learn/02-…` or `ko/learn/02-…`: its notebook, and its steps in the sample page."""
    korean, stem = page.startswith("ko/"), Path(page).name
    language, up = ("ko", "../../") if korean else ("en", "../")
    steps = [step for step in STEPS if stem.startswith(step.page)]
    opened = " · ".join(
        f'<a class="step" href="{up}{NAME}#{step.address(language)}">{step.korean if korean else step.english}</a>'
        for step in steps
    )
    download, label = ("이 글의 노트북", "열어 보기") if korean else ("this page as a notebook", "open this step")
    book = f'<a class="notebook" href="{stem}.ipynb" download>{download}</a>'
    return f'<p class="course-links"><span>{label}: {opened}</span> <span>{book}</span></p>'


def courses(folder: str) -> dict[str, str]:
    """The pages of the course in a folder and their titles, by the beginning of their names."""
    pages = sorted((DOCS / folder).glob("[0-9]*.md"))
    return {path.stem: path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for path in pages}


def back() -> dict[str, list[dict[str, str]]]:
    """For `sample.js`: by language, the pages of the course with the view and the step that each belongs to."""
    rows: dict[str, list[dict[str, str]]] = {}
    for language, folder in (("en", "learn"), ("ko", "ko/learn")):
        titles = courses(folder)
        rows[language] = [
            {"view": step.view, "step": step.step, "href": f"{folder}/{stem}.html", "title": title}
            for step in STEPS
            for stem, title in titles.items()
            if stem.startswith(step.page)
        ]
    return rows


def write(folder: Path, live: bool) -> None:
    """The sample page, unless one of the same `sample.js` and steps is there. Raises CalledProcessError.

    A `live` one runs the model, so that a reader may type other sentences; it has as many bytes as the model.
    """
    script = (
        (DOCS / "sample.js")
        .read_text(encoding="utf-8")
        .replace("{{links}}", json.dumps(back()).replace("<", "\\u003c"))
    )
    addition, path = f'<script data-live="{live}">\n{script}</script>\n</body>', folder / NAME
    if path.exists() and addition in path.read_text(encoding="utf-8"):
        return
    command = [sys.executable, "-m", "dragoman", "look", SENTENCES, "-m", MODEL, "--html", str(path), "--force"]
    subprocess.run([*command, *([] if live else ["--static"])], check=True, capture_output=True, text=True)
    page = path.read_text(encoding="utf-8")
    path.write_text(page.replace("</body>", addition), encoding="utf-8")
