"""Score a Multi30k run on its three test sets: sacreBLEU of the raw text, and the paper's own measure.

    python runs/multi30k_score.py RUN DATA SOURCE TARGET

The paper (Wu et al. 2021) lower-cases, normalises and tokenises with Moses; here sacremoses does so to both sides,
and BLEU is counted on the tokens as they are. Prints the training curve, a table, and last one JSON object.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import torch
from sacremoses import MosesPunctNormalizer, MosesTokenizer

from dragoman import Translator
from dragoman.config import CorpusConfig
from dragoman.data.corpus import read_pairs
from dragoman.evaluation import bleu, chrf

TESTS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")


def moses(lines: Iterable[str], language: str) -> list[str]:
    """Lower-cased, punctuation-normalised, tokenised lines."""
    normalise = MosesPunctNormalizer(language).normalize
    tokenise = MosesTokenizer(language).tokenize
    return [tokenise(normalise(line.lower()), return_str=True) for line in lines]


def curve(run: Path) -> list[dict[str, float]]:
    """The validations of a run."""
    events = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [event for event in events if event["event"] == "validation"]


def main(run: Path, data: Path, source: str, target: str) -> None:
    """Print everything."""
    validations = curve(run)
    for event in validations[:: max(1, len(validations) // 20)] + validations[-1:]:
        shown = event["translations"] or {"bleu": float("nan")}
        minutes, greedy = event["seconds"] / 60, shown["bleu"]
        print(f"step {event['step']:>6,}  {minutes:6.1f} min  valid loss {event['loss']:.3f}  greedy BLEU {greedy:.1f}")

    translator = Translator.load(run / "model")
    result: dict[str, object] = {"run": run.name, "threads": torch.get_num_threads(), "tests": {}}
    for name in TESTS:
        corpus = CorpusConfig(source=data / f"{name}.{source}.gz", target=data / f"{name}.{target}.gz")
        pairs = list(read_pairs(corpus))
        references = [pair.target for pair in pairs]
        translations = [found.text for found in translator.translate([pair.source for pair in pairs])]
        raw, characters = bleu(translations, references), chrf(translations, references)
        paper = bleu(moses(translations, target), moses(references, target), tokenize="none", force=True)
        print(f"{name}: BLEU {raw.value:.2f} ({raw.signature}), chrF {characters.value:.2f}")
        print(f"{name}: lower-cased, Moses-tokenised BLEU {paper.value:.2f}")
        result["tests"][name] = {  # type: ignore[index]
            "bleu": round(raw.value, 2),
            "bleu_signature": raw.signature,
            "chrf": round(characters.value, 2),
            "bleu_lowercased_moses": round(paper.value, 2),
            "bleu_lowercased_moses_signature": paper.signature,
        }
    training = json.loads((run / "model" / "bundle.json").read_text(encoding="utf-8"))["training"]
    result |= {key: training[key] for key in ("step", "seconds", "target_tokens", "averaged")}
    print(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4])
