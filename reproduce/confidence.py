"""Confidence against chrF: calibration, and how well it finds the worst lines.

    python reproduce/confidence.py koen_open:ko-en koen_open:en-ko multi30k:en-de=runs/multi30k/model

Each argument is CORPUS:PAIR=MODEL; without MODEL the bundled model of the pair. What is learned from the validation
text of the corpus is measured on its test text. Three rankings of the test lines, worst first, next to chance and to
the perfect order: log P per token, confidence from log P and lengths, confidence with samples.

    ece       expected calibration error: 15 bins of equal width, against chrF of at least --accept
    area      lines are removed worst first; the mean chrF of those that are left, averaged over the share removed
    gain      area as a share of what the perfect order gains over chance
    worst 10  of the tenth of the lines with the lowest chrF, the share among the tenth with the lowest confidence
"""

import argparse
import gzip
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sacrebleu import sentence_chrf

from dragoman import Translation, Translator
from dragoman.control.confidence.calibration import calibration, fit_logistic, reliability
from dragoman.workflows.evaluate.confidence import calibrate
from dragoman.workflows.listener import Listeners

DATA = Path(os.environ.get("DRAGOMAN_DATA", "data"))
SPLITS = {"multi30k": ("val", "test_2016_flickr"), "koen_open": ("valid", "test")}


def read(corpus: str, split: str, languages: Sequence[str], lines: int) -> list[tuple[str, ...]]:
    """The pairs of one split."""
    sides = []
    for language in languages:
        with gzip.open(DATA / corpus / f"{split}.{language}.gz", "rt", encoding="utf-8", newline="\n") as file:
            sides.append([line.removesuffix("\n") for line in file])
    return list(zip(*sides, strict=True))[:lines]


def per_token(translation: Translation) -> float:
    """Mean log P of the tokens and of EOS."""
    return translation.candidates[0].log_prob / (len(translation.tokens) + 1)


def ranked(scores: Sequence[float], chrf: Sequence[float]) -> dict[str, float]:
    """`area` and `worst 10` of an order."""
    order = sorted(range(len(chrf)), key=lambda index: scores[index])
    left, total, means = len(chrf), sum(chrf), []
    for index in order:
        means.append(total / left)
        left, total = left - 1, total - chrf[index]
    tenth = len(chrf) // 10
    worst = sorted(range(len(chrf)), key=lambda index: chrf[index])[:tenth]
    return {"area": sum(means) / len(means), "worst 10": len(set(worst) & set(order[:tenth])) / tenth}


def chrf_of(translations: Sequence[Translation], pairs: Sequence[tuple[str, ...]]) -> list[float]:
    """chrF of each line."""
    return [sentence_chrf(one.text, [pair[1]]).score for one, pair in zip(translations, pairs, strict=True)]


def measure(task: str, accept: float, samples: int, lines: int) -> dict[str, object]:
    """Learn, measure, print the table of one task."""
    name, _, model = task.partition("=")
    corpus, _, pair = name.partition(":")
    valid, test = (read(corpus, split, pair.split("-"), lines) for split in SPLITS[corpus])
    translator = Translator.load(model or pair)
    listener = Listeners()
    learned = calibrate(translator, valid, accept=accept, samples=samples, listener=listener)  # type: ignore[arg-type]
    translator.confidence = learned
    sources = [source for source, _ in test]
    known = translator.translate([source for source, _ in valid])
    # Platt scaling of log P alone: what a threshold on it would be calibrated to.
    alone = fit_logistic([[per_token(one)] for one in known], [score >= accept for score in chrf_of(known, valid)])
    rankings: dict[str, Callable[[], list[float]]] = {
        "log P per token": lambda: [alone.probability([per_token(one)]) for one in translator.translate(sources)],
        "confidence": lambda: [one.confidence or 0 for one in translator.translate(sources, confidence=True)],
        f"confidence, {samples} samples": lambda: [
            one.confidence or 0 for one in translator.translate(sources, confidence=True, confidence_samples=samples)
        ],
    }
    chrf = chrf_of(translator.translate(sources), test)
    accepted = [score >= accept for score in chrf]
    share, chance, perfect = sum(accepted) / len(test), sum(chrf) / len(test), ranked(chrf, chrf)["area"]
    print(f"\n{name}: {len(test):,} test lines, chrF {chance:.1f}, {100 * share:.1f} % accepted (≥ {accept:g})")
    print(f"{'':24}   ece  brier    auc   area   gain  worst 10  seconds")
    print(f"{'chance':24} {'':5}  {'':5}  0.500  {chance:5.2f}  0.000     0.100")
    found: dict[str, object] = {"lines": len(test), "accepted": share}
    for ranking, probabilities in rankings.items():
        start = time.perf_counter()
        given = probabilities()
        seconds = time.perf_counter() - start
        agreed, order = calibration(given, accepted), ranked(given, chrf)
        gain = (order["area"] - chance) / (perfect - chance)
        numbers = f"{agreed.ece:.3f}  {agreed.brier:.3f}  {agreed.auc:.3f}  {order['area']:5.2f}  {gain:.3f}"
        print(f"{ranking:24} {numbers}     {order['worst 10']:.3f}  {seconds:7.1f}")
        found[ranking] = {"ece": agreed.ece, "brier": agreed.brier, "auc": agreed.auc, "gain": gain, **order}
    print(f"{'perfect order':24} {'':5}  {'':5}  {'':5}  {perfect:5.2f}  1.000     1.000")
    print("reliability of the confidence: lines, mean confidence, share accepted")
    for count, mean, accepted_share in reliability(rankings["confidence"](), accepted):
        print(f"  {count:5,}  {mean:.3f}  {accepted_share:.3f}")
    found["cross-validated ece"] = learned.plain.calibration.ece
    return found


def main() -> None:
    """Measure every task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", metavar="CORPUS:PAIR[=MODEL]")
    parser.add_argument("--accept", type=float, default=50.0)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--lines", type=int, default=100_000)
    given = parser.parse_args()
    found = {task: measure(task, given.accept, given.samples, given.lines) for task in given.tasks}
    print(json.dumps({"accept": given.accept, "samples": given.samples, "tasks": found}, ensure_ascii=False))


if __name__ == "__main__":
    main()
