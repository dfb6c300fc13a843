"""Scores, card and place of a bundled model, after `bundled_models.sh` has trained it.

    DRAGOMAN_DATA=/path/to/data python reproduce/bundled_models.py finish RUN TEXT SOURCE TARGET
    DRAGOMAN_DATA=/path/to/data python reproduce/bundled_models.py score MODEL TEXT SOURCE TARGET [REVERSE]
    python reproduce/bundled_models.py everyday MODEL SOURCE TARGET [REVERSE]
    python reproduce/bundled_models.py judged SOURCE TARGET
    python reproduce/bundled_models.py choice TEXT
    python reproduce/bundled_models.py status RUNS
    python reproduce/bundled_models.py speed BEFORE

`finish` runs when the bundle is in RUN/bundle. It scores the bundle by domain, on `korean_news` and on the hundred
sentences of `everyday_sentences.tsv`, writes its card, and copies it to `src/dragoman/bundled`. What a reader thought
of its hundred translations, `everyday_judged.tsv`, becomes part of the card if it is about these very translations.

`score` prints the same scores of any model, for before and after. `everyday` prints the three hundred sentences of a
model, to be judged: kind, source, translation, separated by tabs. Both translate with a REVERSE model, if it is given.
Once the translations of both models together are in `everyday_judged.tsv`, `judged` lets the bundled model learn from
them how sure it is and what it calls doubtful. `choice` counts for how many validation and test sentences that a
bundled model reads the wrong one is chosen. `status` says how far the runs in RUNS are. `speed` compares sentences/s
with the bundled models of folder BEFORE, `src/dragoman/bundled` of an earlier commit: this code, one thread, the
three hundred sentences, in turn within every round. The last line of all but `everyday` is one JSON object.
"""

import json
import os
import re
import shutil
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bundled_text import SIDES, lines

from dragoman.bundle import Bundle, add_files, open_bundle
from dragoman.bundled import HOME, bundled_model_for, readable, scripts
from dragoman.evaluation import Score, bleu, chrf
from dragoman.system.files import atomic_folder
from dragoman.translator import Translator
from dragoman.workflows.evaluate.confidence import confidence_facts, learn_judged_confidence

HERE = Path(__file__).parent
VERDICTS = ("usable", "partly", "wrong")
# Everyday sentences on the card: this many of each kind.
SHOWN = 3
# Lines of korean_news that are translated.
NEWS = 500
# Rounds in which the models before and now take turns.
ROUNDS = 7
# What the card says first of the training.
TRAININGS = """\
Several trainings made these weights, one after the other; the figures are those of the last. `docs/benchmarks.md` has
all of them.

"""
Scores = dict[str, dict[str, float | int]]
HUNDREDS = ("everyday_sentences", "everyday_sentences_hard", "everyday_sentences_fresh")
Everyday = list[tuple[str, str, str]]
"""Kind, source and reference of a hundred sentences."""


def everyday_sentences(source: str, hundred: str = HUNDREDS[0]) -> Everyday:
    """A hundred sentences, in the direction from `source`."""
    rows = [row.split("\t") for row in (HERE / f"{hundred}.tsv").read_text(encoding="utf-8").splitlines()]
    first = 1 + SIDES.index(source)
    return [(row[0], row[first], row[3 - first]) for row in rows]


def finish(data: Path, run: Path, folder: Path, source: str, target: str) -> None:
    """Score the bundle, write its card, and install it as a bundled model."""
    translator = Translator.load(run / "bundle")
    scores, signatures = measure(translator, data, folder, source, target)
    everyday = translate_everyday(translator, source)
    bundle = open_bundle(run / "bundle")
    facts = {
        "scripts": shares("".join(path.read_text(encoding="utf-8") for path in folder.glob(f"*.train.{source}"))),
        "limits": "a small model: everyday sentences are mostly understood, news and long sentences often not; check "
        "what matters.",
        "domains": scores,
    }
    add_files(bundle, {"README.md": card(run, scores, signatures, everyday)}, facts)
    show(scores)
    size = sum(path.stat().st_size for path in (run / "bundle").rglob("*") if path.is_file())
    install(open_bundle(run / "bundle"), f"{source}-{target}")
    result = {"pair": f"{source}-{target}", "step": bundle.manifest["training"]["step"]}
    print(json.dumps({**result, "megabytes": round(size / 1e6, 2), "scores": scores}))


def load(model: str, reverse: Sequence[str]) -> Translator:
    """The translator, with a reverse model or without."""
    translator = Translator.load(model)
    return translator.with_reverse(Translator.load(*reverse)) if reverse else translator


def score(data: Path, model: str, folder: Path, source: str, target: str, *reverse: str) -> None:
    """The scores of a model, without installing it."""
    scores, signatures = measure(load(model, reverse), data, folder, source, target)
    show(scores)
    facts = {"model": model, "reverse": reverse, "pair": f"{source}-{target}"}
    print(json.dumps({**facts, "signatures": signatures, "scores": scores}))


def show(scores: Scores) -> None:
    """One line per test set."""
    for name, found in scores.items():
        print(f"{name:20} {found['lines']:6,} lines  BLEU {found['bleu']:5.2f}  chrF {found['chrf']:5.2f}")


def measure(translator: Translator, data: Path, folder: Path, source: str, target: str) -> tuple[Scores, list[str]]:
    """BLEU and chrF of the test set, of each domain, of korean_news and of the hundreds; the two signatures."""
    sources, references, domains = (
        (folder / f"test.{kind}").read_text(encoding="utf-8").splitlines() for kind in (source, target, "domain")
    )
    translations = [found.text for found in translator.stream(sources)]
    rows = list(zip(translations, references, domains, strict=True))
    parts = {"all domains": rows} | {name: [row for row in rows if row[2] == name] for name in dict.fromkeys(domains)}
    news, human = (lines(data / "korean_news" / f"test.{side}.gz")[:NEWS] for side in (source, target))
    more = {"korean_news": (news, human)}
    for name in HUNDREDS:
        _, texts, references = zip(*everyday_sentences(source, name), strict=True)
        more[name] = ([*texts], [*references])
    for name, (texts, references) in more.items():
        translations = [translation.text for translation in translator.stream(texts)]
        parts[name] = list(zip(translations, references, [name] * len(references), strict=True))
    both: dict[str, tuple[Score, Score]] = {
        name: tuple(metric([row[0] for row in part], [row[1] for row in part]) for metric in (bleu, chrf))
        for name, part in parts.items()
    }
    table: Scores = {
        name: {"lines": len(parts[name]), "bleu": round(b.value, 2), "chrf": round(c.value, 2)}
        for name, (b, c) in both.items()
    }
    return table, [one.signature for one in both["all domains"]]


def translate_everyday(translator: Translator, source: str, hundred: str = HUNDREDS[0]) -> Everyday:
    """Kind, source and translation of a hundred sentences."""
    rows = everyday_sentences(source, hundred)
    found = translator.translate([row[1] for row in rows])
    return [(kind, text, one.text) for (kind, text, _), one in zip(rows, found, strict=True)]


def judgement(everyday: Everyday) -> dict[str, Counter[str]]:
    """How many translations of each kind a reader found usable, partly right or wrong; none of other translations."""
    path = HERE / "everyday_judged.tsv"
    rows = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    verdicts = {tuple(row.split("\t")[1:3]): row.split("\t")[3] for row in rows}
    if not all((text, translation) in verdicts for _, text, translation in everyday):
        return {}
    counts: dict[str, Counter[str]] = {}
    for kind, text, translation in everyday:
        counts.setdefault(kind, Counter())[verdicts[text, translation]] += 1
    return counts


def shares(everything: str) -> dict[str, float]:
    """Share of each script among the letters, but for the rarest."""
    counts: Counter[str] = scripts(everything)
    return {name: round(n / counts.total(), 5) for name, n in counts.most_common() if n >= 1e-4 * counts.total()}


def card(run: Path, scores: Scores, signatures: list[str], everyday: Everyday) -> str:
    """The trainer's card with its last sections replaced by those of a bundled model."""
    trained = (run / "model" / "README.md").read_text(encoding="utf-8").partition("## Limits")[0]
    trained = by_corpus(trained).replace("## Training\n\n", f"## Training\n\n{TRAININGS}", 1)
    notice = (HOME / "NOTICE.md").read_text(encoding="utf-8").partition("\n\n")[2]
    table = "\n".join(f"| {name} | {s['lines']:,} | {s['bleu']} | {s['chrf']} |" for name, s in scores.items())
    counts = judgement(everyday)
    total = sum(counts.values(), Counter())
    judged = ""
    if counts:
        judged = (
            f"Language models that judged these translations without knowing whose they are found {total['usable']} "
            f"of the hundred usable, {total['partly']} partly right and {total['wrong']} wrong. They are of this model "
            "alone, without the model of the other direction:\n\n"
            "| kind | usable | partly | wrong |\n| --- | --- | --- | --- |\n"
        )
        for kind, found in counts.items():
            judged += f"| {kind} | {' | '.join(str(found[verdict]) for verdict in VERDICTS)} |\n"
        judged += "\n"
    shown = [row for kind in dict.fromkeys(row[0] for row in everyday) for row in of_kind(everyday, kind)[:SHOWN]]
    sentences = "\n".join(f"| {text} | {translation} |" for _, text, translation in shown)
    return f"""{trained}## Scores of the int8 export by domain

Scores of this model alone by `dragoman evaluate`. It has seen no text of `tldr`, of `jhe` (textbook sentences of
everyday life), of `korean_news` (newspapers; Park et al., CC BY-SA 3.0) or of the everyday sentences. The references of
domains that end in `_mt`, of `fcc_*` and `stylekqc` are machine translations in part: these scores say less. "All
domains" are those below it up to the everyday sentences, without `korean_news`. `{signatures[0]}`, `{signatures[1]}`.

| test set | lines | BLEU | chrF |
| --- | --- | --- | --- |
{table}

## Everyday sentences

A hundred sentences, greetings, travel, e-mail and news, were written before training
(`reproduce/everyday_sentences.tsv`). {judged}The first of each kind, unedited:

| source | translation |
| --- | --- |
{sentences}

## Limits

A small model, made so that Dragoman answers at once. It knows everyday sentences, manuals and program help best. It
leaves out, adds and mistakes words, names and numbers, above all in newspapers, in idioms, in long sentences and
where the subject is not said. Formal and casual speech are mixed. Use it to see that Dragoman works and for a first
idea of a text, not for text that matters: `dragoman train` makes a model of your own, and `dragoman init --from` with
the name of this one fine-tunes it on your text.

## Licence and attributions

{notice}"""


def by_corpus(trained: str) -> str:
    """The card with its corpora in order of size, by the names of their files, and their sum."""
    row = re.compile(r"^\| train\[\d+\] \| ([\d,]+) \| (\S+)\.train\..*\n", re.MULTILINE)
    corpora = [(int(pairs.replace(",", "")), name) for pairs, name in row.findall(trained)]
    rows = [(f"`{name.replace('game_', 'game:')}`", pairs) for pairs, name in sorted(corpora, reverse=True)]
    table = "".join(f"| {name} | {pairs:,} |\n" for name, pairs in [*rows, ("all", sum(pairs for _, pairs in rows))])
    valid = re.compile(r"^\| valid \| ([\d,]+) \|.*\n", re.MULTILINE).sub(r"| validation | \1 |\n", trained)
    head = valid.replace(
        "| corpus | pairs | files |\n| --- | --- | --- |\n", f"| corpus | pairs |\n| --- | --- |\n{table}"
    )
    return row.sub("", head)


def of_kind(everyday: Everyday, kind: str) -> Everyday:
    """The rows of one kind."""
    return [row for row in everyday if row[0] == kind]


def install(bundle: Bundle, pair: str) -> None:
    """Copy the bundle into the package."""
    with atomic_folder(HOME / pair) as partial:
        shutil.copytree(bundle.folder, partial, dirs_exist_ok=True)


def learn_from_judged(source: str, target: str) -> None:
    """Let the bundled model learn its confidence from the judged sentences, and print how well they divide.

    Their translations are those of both models together, as the command line and the service show them.
    """
    pair = f"{source}-{target}"
    sentences = {text for hundred in HUNDREDS for _, text, _ in everyday_sentences(source, hundred)}
    rows = [row.split("\t") for row in (HERE / "everyday_judged.tsv").read_text(encoding="utf-8").splitlines()]
    with TemporaryDirectory() as folder:
        judged, model = Path(folder) / "judged.tsv", Path(shutil.copytree(HOME / pair, Path(folder) / pair))
        chosen = ["\t".join(row[1:]) + "\n" for row in rows if row[1] in sentences]
        judged.write_text("".join(chosen), encoding="utf-8")
        learned = learn_judged_confidence(model, judged, reverse=f"{target}-{source}").confidence
        install(open_bundle(model), pair)
    print(json.dumps(confidence_facts(learned)))


def choice(folder: Path) -> None:
    """Let every sentence find its model."""
    if not (folder / "test.domain").exists():
        sys.exit(f"{folder}: no text of the bundled models; write it with bundled_text.py write {folder}")
    wrong, sentences = [], 0
    for side in SIDES:
        for split in ("valid", "test"):
            texts = (folder / f"{split}.{side}").read_text(encoding="utf-8").splitlines()
            read = [text for text in texts if readable(text)]
            sentences += len(read)
            wrong += [text for text in read if not bundled_model_for(text).name.startswith(side)]
    for text in wrong:
        print(text)
    print(json.dumps({"sentences": sentences, "wrong": len(wrong)}))


def speed(before: Path) -> None:
    """Sentences/s of the models in `before` and of the bundled ones: medians of ROUNDS, and of their ratios."""
    result = {}
    for source, target in (SIDES, SIDES[::-1]):
        texts = [text for hundred in HUNDREDS for _, text, _ in everyday_sentences(source, hundred)]
        models = [Translator.load(home / f"{source}-{target}", threads=1) for home in (before, HOME)]
        rates: list[list[float]] = [[], []]
        for number in range(1 + ROUNDS):
            for model, rate in zip(models, rates, strict=True):
                started = time.perf_counter()
                model.translate(texts)
                if number:  # the first warms up
                    rate.append(len(texts) / (time.perf_counter() - started))
        ratios = [now / then for then, now in zip(*rates, strict=True)]
        then, now = (round(statistics.median(rate), 1) for rate in rates)
        spread = [round(min(ratios), 3), round(max(ratios), 3)]
        result[f"{source}-{target}"] = {
            "before": then,
            "now": now,
            "ratio": round(statistics.median(ratios), 3),
            "spread": spread,
        }
    print(json.dumps(result))


def status(runs: Path) -> None:
    """How far each run is: steps, hours of training, target tokens, and its validation losses."""
    stands = {}
    for path in sorted(runs.glob("bundled-*/metrics.jsonl")):
        events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        steps = [event for event in events if event["event"] == "step"]
        losses = {event["step"]: event["loss"] for event in events if event["event"] == "validation"}
        name = path.parent.name
        if steps:
            stands[name] = {
                "step": steps[-1]["step"],
                "hours": round(steps[-1]["seconds"] / 3600, 2),
                "million_target_tokens": round(steps[-1]["target_tokens"] / 1e6, 2),
                "validation_losses": dict([*losses.items()][-3:]),
            }
            print(name, *(f"{key} {value}" for key, value in stands[name].items()), sep="  ")
    print(json.dumps(stands))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["choice", folder]:
            choice(Path(folder))
        case ["everyday", model, source, target, *reverse]:
            translator = load(model, reverse)
            for hundred in HUNDREDS:
                for row in translate_everyday(translator, source, hundred):
                    print(*row, sep="\t")
        case ["finish", run, folder, source, target]:
            finish(Path(os.environ["DRAGOMAN_DATA"]), Path(run), Path(folder), source, target)
        case ["judged", source, target]:
            learn_from_judged(source, target)
        case ["score", model, folder, source, target, *reverse]:
            score(Path(os.environ["DRAGOMAN_DATA"]), model, Path(folder), source, target, *reverse)
        case ["status", runs]:
            status(Path(runs))
        case ["speed", before]:
            speed(Path(before))
        case _:
            sys.exit(__doc__)
