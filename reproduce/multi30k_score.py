"""Score a Multi30k run on its three test sets: sacreBLEU of the raw text, and the paper's own measure.

    python reproduce/multi30k_score.py [--moses FOLDER] DATA SOURCE TARGET RUN [RUN ...]

With several runs, the scores of each and then of their ensemble. The paper (Wu et al. 2021) lower-cases, normalises
and tokenises with Moses; here sacremoses does this to both sides, and BLEU is computed on these tokens. --moses is
the folder of such text (`multi30k_text.py`) if the runs were trained on it: then translations are Moses tokens
already, and for the raw text they are detokenised and compared without case. Prints training curves, scores, and one
JSON object after each.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import torch
from multi30k_text import TESTS, moses, plain
from sacrebleu.metrics import BLEU, CHRF

from dragoman import Translator
from dragoman.config import CorpusConfig
from dragoman.data.corpus.corpus import read_pairs
from dragoman.evaluation import bleu


def curve(run: Path) -> list[dict[str, float]]:
    """The validations of a run."""
    events = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [event for event in events if event["event"] == "validation"]


def show_curve(run: Path) -> None:
    """Some twenty of its validations, with the last."""
    validations = curve(run)
    for event in validations[:: -max(1, len(validations) // 20)][::-1]:
        shown = event["translations"] or {"bleu": float("nan")}
        minutes, greedy = event["seconds"] / 60, shown["bleu"]
        print(f"step {event['step']:>6,}  {minutes:6.1f} min  valid loss {event['loss']:.3f}  greedy BLEU {greedy:.1f}")


def score(runs: Sequence[Path], data: Path, source: str, target: str, words: Path | None) -> None:
    """Print what the models of `runs`, together, are worth."""
    translator = Translator.load([run / "model" for run in runs])
    names = " + ".join(run.name for run in runs)
    print(names)
    result: dict[str, object] = {"run": names, "threads": torch.get_num_threads(), "tests": {}}
    for name in TESTS:
        corpus = CorpusConfig(source=(words or data) / f"{name}.{source}.gz", target=data / f"{name}.{target}.gz")
        pairs = list(read_pairs(corpus))
        references = [pair.target for pair in pairs]
        found = [translation.text for translation in translator.translate([pair.source for pair in pairs])]
        text, tokens = (plain(found, target), found) if words else (found, moses(found, target))
        metrics = BLEU(lowercase=words is not None), CHRF(lowercase=words is not None)
        raw, characters = (metric.corpus_score(text, [references]) for metric in metrics)
        signatures = [str(metric.get_signature()) for metric in metrics]
        paper = bleu(tokens, moses(references, target), tokenize="none")
        print(f"{name}: BLEU {raw.score:.2f} ({signatures[0]}), chrF {characters.score:.2f}")
        print(f"{name}: lower-cased, Moses-tokenised BLEU {paper.value:.2f}")
        result["tests"][name] = {  # type: ignore[index]
            "bleu": round(raw.score, 2),
            "bleu_signature": signatures[0],
            "chrf": round(characters.score, 2),
            "chrf_signature": signatures[1],
            "bleu_lowercased_moses": round(paper.value, 2),
            "bleu_lowercased_moses_signature": paper.signature,
        }
    for run in runs:
        training = json.loads((run / "model" / "bundle.json").read_text(encoding="utf-8"))["training"]
        for key in ("step", "seconds", "target_tokens", "averaged"):
            result.setdefault(key, []).append(training[key])  # type: ignore[attr-defined]
    print(json.dumps(result))


def main() -> None:
    """Each run, and then all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moses", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("runs", type=Path, nargs="+", metavar="run")
    given = parser.parse_args()
    for run in given.runs:
        show_curve(run)
        score([run], given.data, given.source, given.target, given.moses)
    if len(given.runs) > 1:
        score(given.runs, given.data, given.source, given.target, given.moses)


if __name__ == "__main__":
    main()
