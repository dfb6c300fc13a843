"""What segmenting a line into sentences gains: several test sentences per line, translated whole and segmented.

    python reproduce/segmentation.py MODEL SOURCE TARGET

MODEL is a bundle trained on single sentences; SOURCE and TARGET are a test set whose lines end in a full stop. Prints
BLEU and chrF for one to four sentences per line and the number of lines with a warning, and one JSON object as the
last line.
"""

import json
import sys
from pathlib import Path

from dragoman import Translator
from dragoman.config import CorpusConfig
from dragoman.data.corpus.corpus import read_pairs
from dragoman.evaluation import bleu, chrf


def main(model: Path, source: Path, target: Path) -> None:
    """Print everything."""
    translator = Translator.load(model)
    whole = Translator(translator.tokenizer, translator.engine, translator.options)
    pairs = list(read_pairs(CorpusConfig(source=source, target=target)))
    rows = []
    for size in (1, 2, 3, 4):
        groups = [pairs[start : start + size] for start in range(0, len(pairs), size)]
        lines = [(" ".join(p.source for p in group), " ".join(p.target for p in group)) for group in groups]
        references = [line[1] for line in lines]
        for name, how in (("whole", whole), ("in parts", translator)):
            found = how.translate([line[0] for line in lines])
            texts = [translation.text for translation in found]
            row = {
                "sentences": size,
                "how": name,
                "bleu": round(bleu(texts, references).value, 1),
                "chrf": round(chrf(texts, references).value, 1),
                "flagged": sum(any(f.kind != "segmented" for f in translation.warnings) for translation in found),
                "lines": len(lines),
            }
            print(
                "{sentences} a line, {how:8}  BLEU {bleu:4}  chrF {chrf:4}  {flagged} of {lines} flagged".format(**row)
            )
            rows.append(row)
    print(json.dumps({"model": model.parent.name, "test": source.name, "rows": rows}))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
