"""Whether a bundled model translates alike with the kernels of different processors.

    python benchmarks/decode/processors.py [--model en-ko|ko-en] [--quick]

CTranslate2 multiplies by Intel's MKL on processors of Intel and by oneDNN on others, and each library has kernels for
each level of instructions. Sums in another order differ in their last bits, and a value on the border of two int8 steps
then goes to either. Validation lines of the embedded corpus are translated by one thread in a process of its own for
each of `WAYS`. Printed are the lines whose text, and whose log P, differ from the first way; chrF and the mean log P,
which should hardly differ; and a hash of all texts and log P, by which a way can be compared between two machines.

--quick translates 200 lines. The last line is one JSON object.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from shared.levels import machine

from dragoman import Translator
from dragoman.config import CorpusConfig
from dragoman.data.corpus.corpus import read_pairs
from dragoman.evaluation import chrf

TEXT = Path(__file__).parents[2] / "src/dragoman/data/embedded/valid.tsv.gz"
LINES = 200
WAYS: dict[str, dict[str, str]] = {
    "as it is": {},
    "MKL": {"CT2_USE_MKL": "1"},
    "oneDNN": {"CT2_USE_MKL": "0"},
    "MKL, AVX2": {"CT2_USE_MKL": "1", "CT2_FORCE_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    "oneDNN, AVX2": {"CT2_USE_MKL": "0", "CT2_FORCE_CPU_ISA": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
    "oneDNN, SSE4.1": {"CT2_USE_MKL": "0", "CT2_FORCE_CPU_ISA": "GENERIC", "ONEDNN_MAX_CPU_ISA": "SSE41"},
}


def translated(model: str, lines: int | None) -> dict[str, Any]:
    """The texts of the lines and their log P, and chrF."""
    pairs = list(read_pairs(CorpusConfig(source=TEXT)))[:lines]
    sides = [(pair.source, pair.target) if model == "en-ko" else (pair.target, pair.source) for pair in pairs]
    found = Translator.load(model, threads=1).translate([source for source, _ in sides])
    texts = [one.text for one in found]
    return {
        "texts": texts,
        "log_probs": [one.candidates[0].log_prob for one in found],
        "chrf": chrf(texts, [target for _, target in sides]).value,
    }


def compared(first: dict[str, Any], this: dict[str, Any]) -> dict[str, Any]:
    """How many lines differ from the first way, and what both are worth."""
    rows = json.dumps([this["texts"], this["log_probs"]], ensure_ascii=False)
    return {
        "other_texts": sum(a != b for a, b in zip(first["texts"], this["texts"], strict=True)),
        "other_log_p": sum(a != b for a, b in zip(first["log_probs"], this["log_probs"], strict=True)),
        "chrf": round(this["chrf"], 2),
        "log_p": round(sum(this["log_probs"]) / len(this["log_probs"]), 4),
        "hash": hashlib.sha256(rows.encode()).hexdigest()[:12],
    }


def main() -> None:
    """Translate each way, print the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=("en-ko", "ko-en"), default="en-ko")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(translated(options.model, LINES if options.quick else None)))
        return
    report: dict[str, Any] = {}
    first: dict[str, Any] = {}
    for name, variables in WAYS.items():
        command = [sys.executable, __file__, *sys.argv[1:], "--worker"]
        this = json.loads(
            subprocess.run(command, env=os.environ | variables, check=True, stdout=subprocess.PIPE).stdout
        )
        first = first or this
        report[name] = compared(first, this)
        print(f"{name:16}", *(f"{key} {value}  " for key, value in report[name].items()), flush=True)
    print(json.dumps({"model": options.model, "lines": len(first["texts"]), **machine(), "ways": report}))


if __name__ == "__main__":
    main()
