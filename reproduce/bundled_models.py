"""The text of the bundled models, and the scores and card of a trained one.

    DRAGOMAN_DATA=/path/to/data python reproduce/bundled_models.py text TEXT
    DRAGOMAN_DATA=/path/to/data python reproduce/bundled_models.py finish RUN TEXT SOURCE TARGET
    python reproduce/bundled_models.py choice TEXT

`text` writes the redistributable domains of koen_open into folder TEXT: DOMAIN.train, valid and test, each with its .en
and .ko, and test.domain. A training pair is left out if either side is also a side of a validation or test pair. The
first validation pairs are from `libreoffice_help`, because a bundle contains some of them as golden sentences, and only
this domain of the corpus may be copied.

`finish` runs when the bundle is in RUN/bundle. It scores the bundle by domain and on korean_news, writes its card, and
copies it to src/dragoman/bundled unless a better one is there. RUN/reading.md, if newer than the model, is a reader's
judgement of its translations, and becomes part of the card. Prints the scores, some everyday sentences, and one JSON
object as the last line.

`choice` counts for how many validation and test sentences the wrong bundled model is chosen, as JSON.
"""

import gzip
import json
import os
import shutil
import sys
from collections import Counter, defaultdict
from pathlib import Path

from dragoman.bundle import Bundle, add_files, open_bundle
from dragoman.bundled import HOME, bundled_model_for, scripts
from dragoman.evaluation import Score, bleu, chrf
from dragoman.storage import atomic_folder
from dragoman.text.normalise import normalise
from dragoman.translator import Translator

DOMAINS = ("libreoffice_help", "tldr", "webdocs", "python_docs", "tatoeba", "bible")
FIRST = "libreoffice_help"
SIDES = ("en", "ko")
# Written before a model was trained, and never changed to suit one.
EVERYDAY = {
    "en": (
        "Save the document.",
        "Open the file in a new window.",
        "Click the button to continue.",
        "How do I change the password?",
        "The list is empty.",
        "Good morning.",
        "I like coffee.",
        "Where is the station?",
        "It will rain tomorrow.",
        "My sister bought a new car last week.",
    ),
    "ko": (
        "문서를 저장합니다.",
        "새 창에서 파일을 엽니다.",
        "계속하려면 버튼을 클릭하세요.",
        "비밀번호를 어떻게 바꾸나요?",
        "목록이 비어 있습니다.",
        "안녕하세요.",
        "나는 커피를 좋아한다.",
        "역이 어디에 있습니까?",
        "내일은 비가 올 것이다.",
        "내 여동생은 지난주에 새 차를 샀다.",
    ),
}
Scores = dict[str, dict[str, float | int]]


def lines(path: Path) -> list[str]:
    """The lines of a gzip file, normalised."""
    return [normalise(line) for line in gzip.decompress(path.read_bytes()).decode("utf-8").split("\n")[:-1]]


def read(folder: Path, split: str) -> list[tuple[str, str, str]]:
    """Domain, English and Korean of the pairs of a split that are of our domains and have text on both sides."""
    rows = zip(*(lines(folder / f"{split}.{side}.gz") for side in ("domain", *SIDES)), strict=True)
    return [(domain, en, ko) for domain, en, ko in rows if domain in DOMAINS and en and ko]


def write(stem: Path, rows: list[tuple[str, str, str]]) -> None:
    """Both sides of these pairs, one sentence a line."""
    for number, side in enumerate(SIDES, 1):
        stem.with_name(f"{stem.name}.{side}").write_text("".join(row[number] + "\n" for row in rows), encoding="utf-8")


def text(data: Path, out: Path) -> None:
    """Write the text; the same bytes at every run."""
    corpus = data / "koen_open"
    out.mkdir(parents=True, exist_ok=True)
    valid = sorted(read(corpus, "valid"), key=lambda row: row[0] != FIRST)  # stable: only that domain comes forward
    test = sorted(read(corpus, "test"), key=lambda row: DOMAINS.index(row[0]))
    # Forty of FIRST ahead, enough for golden sentences; the rest mixed, as validation translates the first lines only.
    ahead, rest = valid[:40], valid[40:]
    rest = [row for _, row in sorted(enumerate(rest), key=lambda item: (item[0] * 7919) % len(rest))]
    held = {side for row in (*valid, *test) for side in row[1:]}
    train: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for row in read(corpus, "train"):
        if held.isdisjoint(row[1:]):
            train[row[0]].append(row)
    for domain in DOMAINS:
        write(out / f"{domain}.train", train[domain])
    write(out / "valid", ahead + rest)
    write(out / "test", test)
    (out / "test.domain").write_text("".join(row[0] + "\n" for row in test), encoding="utf-8")


def finish(data: Path, run: Path, folder: Path, source: str, target: str) -> None:
    """Score the bundle, write its card, and install it as a bundled model."""
    translator = Translator.load(run / "bundle")
    scores, signatures = measure(translator, data, folder, source, target)
    everyday = [(text, translator.translate(text).text) for text in EVERYDAY[source]]
    bundle = open_bundle(run / "bundle")
    minutes = bundle.manifest["training"]["seconds"] / 60
    facts = {
        "scripts": shares("".join(path.read_text(encoding="utf-8") for path in folder.glob(f"*.train.{source}"))),
        "limits": f"trained for {minutes:.0f} minutes on manuals, program help, some everyday sentences and the Bible; "
        "expect mistakes.",
        "domains": scores,
    }
    add_files(bundle, {"README.md": card(run, scores, signatures, everyday, minutes)}, facts)
    size = sum(path.stat().st_size for path in (run / "bundle").rglob("*") if path.is_file())
    for name, found in scores.items():
        print(f"{name:17} {found['lines']:5,} lines  BLEU {found['bleu']:5.2f}  chrF {found['chrf']:5.2f}")
    for line, translation in everyday:
        print(f"  {line}\n  → {translation}")
    result = {"pair": f"{source}-{target}", "minutes": round(minutes, 1), "step": bundle.manifest["training"]["step"]}
    kept = install(open_bundle(run / "bundle"), f"{source}-{target}")
    print(json.dumps({**result, "megabytes": round(size / 1e6, 2), "scores": scores, "in_the_box": kept}))


def measure(translator: Translator, data: Path, folder: Path, source: str, target: str) -> tuple[Scores, list[str]]:
    """BLEU and chrF of the whole test set, of each domain of it, and of korean_news; the two signatures."""
    sources, references, domains = (
        (folder / f"test.{kind}").read_text(encoding="utf-8").splitlines() for kind in (source, target, "domain")
    )
    translations = [found.text for found in translator.stream(sources)]
    rows = list(zip(translations, references, domains, strict=True))
    parts = {"all domains": rows} | {name: [row for row in rows if row[2] == name] for name in DOMAINS}
    news, human = (lines(data / "korean_news" / f"test.{side}.gz") for side in (source, target))
    answers = [found.text for found in translator.stream(news)]
    parts["korean_news"] = list(zip(answers, human, ["korean_news"] * len(news), strict=True))
    found: dict[str, tuple[Score, Score]] = {
        name: tuple(metric([row[0] for row in part], [row[1] for row in part]) for metric in (bleu, chrf))
        for name, part in parts.items()
    }
    table: Scores = {
        name: {"lines": len(parts[name]), "bleu": round(b.value, 2), "chrf": round(c.value, 2)}
        for name, (b, c) in found.items()
    }
    return table, [score.signature for score in found["all domains"]]


def shares(everything: str) -> dict[str, float]:
    """Share of each script among the letters, but for the rarest."""
    counts: Counter[str] = scripts(everything)
    return {name: round(n / counts.total(), 5) for name, n in counts.most_common() if n >= 1e-4 * counts.total()}


def card(run: Path, scores: Scores, signatures: list[str], everyday: list[tuple[str, str]], minutes: float) -> str:
    """The trainer's card with its last sections replaced by those of a bundled model."""
    trained = (run / "model" / "README.md").read_text(encoding="utf-8").partition("## Limits")[0]
    notice = (HOME / "NOTICE.md").read_text(encoding="utf-8").partition("\n\n")[2]
    reading = run / "reading.md"
    fresh = reading.exists() and reading.stat().st_mtime > (run / "model" / "bundle.json").stat().st_mtime
    read = reading.read_text(encoding="utf-8").strip() + "\n\n" if fresh else ""
    table = "\n".join(f"| {name} | {s['lines']:,} | {s['bleu']} | {s['chrf']} |" for name, s in scores.items())
    sentences = "\n".join(f"| {line} | {translation} |" for line, translation in everyday)
    return f"""{trained}## Scores of the int8 export by domain

As `dragoman evaluate` has them, sentence by sentence; `korean_news` (Park et al., CC BY-SA 3.0) is of a kind that it
never saw. `{signatures[0]}`, `{signatures[1]}`.

| test set | lines | BLEU | chrF |
| --- | --- | --- | --- |
{table}

## Everyday sentences

Sentences chosen before training, with the unedited translations:

| source | translation |
| --- | --- |
{sentences}

{read}## Limits

A small model trained for {minutes:.0f} minutes on a part of one processor core, so that Dragoman answers at once. It
knows manuals and program help best, everyday speech little, news hardly. It leaves out, adds and mistakes words, names
and numbers. Use it to see that Dragoman works, not for text that matters: `dragoman train` makes a model of your own.

## Licence and attributions

{notice}"""


def install(bundle: Bundle, pair: str) -> bool:
    """Copy the bundle into the package unless the one there has a better chrF; whether it was copied."""
    home = HOME / pair
    if home.exists():
        before, now = (found.manifest["domains"]["all domains"]["chrf"] for found in (open_bundle(home), bundle))
        if before > now:
            print(f"{home} has chrF {before}, more than {now}: it stays")
            return False
    with atomic_folder(home) as partial:
        shutil.copytree(bundle.folder, partial, dirs_exist_ok=True)
    return True


def choice(folder: Path) -> None:
    """Let every sentence find its model."""
    wrong, sentences = [], 0
    for side in SIDES:
        for split in ("valid", "test"):
            lines = (folder / f"{split}.{side}").read_text(encoding="utf-8").splitlines()
            sentences += len(lines)
            wrong += [line for line in lines if not bundled_model_for(line).name.startswith(side)]
    for text in wrong:
        print(text)
    print(json.dumps({"sentences": sentences, "wrong": len(wrong)}))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["choice", folder]:
            choice(Path(folder))
        case ["finish", run, folder, source, target]:
            finish(Path(os.environ["DRAGOMAN_DATA"]), Path(run), Path(folder), source, target)
        case ["text", out]:
            text(Path(os.environ["DRAGOMAN_DATA"]), Path(out))
        case _:
            sys.exit(__doc__)
