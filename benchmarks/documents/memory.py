"""A text of 200 MB through the whole workflow of documents: peak memory and time without the model.

    python benchmarks/documents/memory.py [--quick] [--megabytes 200]

The script writes a text of paragraphs of about 1,000 characters that all differ, and translates it by
`translate_documents` with the bundled en-ko, whose search is replaced by copying: what is measured is reading,
windows, the journal, writing and reading again. Beside it is the same with a tenth of the text. Each is a process of
its own; memory is the peak of the process (VmHWM), the loaded model included. --quick: 20 MB.

The last line is one JSON object: `peak_mb` of the whole text, of a tenth of it, and the difference in `growth_mb`.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from shared.memory import memory_mb

WORDS = "the door was open and nobody had seen who lived there for years because of a quiet river".split()  # noqa: SIM905
PARAGRAPH = 1000


def write_text(path: Path, megabytes: float) -> None:
    """Paragraphs at random until the file is as large as asked."""
    rng, left, number = random.Random(1), int(megabytes * 1e6), 0
    sentences = [" ".join(rng.choices(WORDS, k=15)) + "." for _ in range(500)]
    with path.open("w", encoding="utf-8") as file:
        while left > 0:
            number += 1
            line = f"Paragraph {number}. "
            while len(line) < PARAGRAPH:
                line += f"{rng.choice(sentences)} "
            left -= file.write(line + "\n\n")


def worker(source: Path, target: Path) -> None:
    """Translate one file by copying; print JSON."""
    from dragoman import Translator
    from dragoman.control.inline.inline import InlineTranslation
    from dragoman.system.files import sha256
    from dragoman.text.words.inline import InlineText
    from dragoman.translation import Candidate, Translation
    from dragoman.workflows.documents.documents import translate_documents

    translator = Translator.load("en-ko", threads=1)

    def copy(texts: Sequence[InlineText], **options: object) -> list[InlineTranslation]:
        return [InlineTranslation(Translation(one.text, (Candidate(one.text, 0.0, 0.0),)), one) for one in texts]

    translator.translate_inline = copy  # type: ignore[assignment, method-assign]
    translator.to = lambda *_: translator  # type: ignore[assignment, method-assign, return-value]
    loaded, cpu = memory_mb("VmHWM"), time.process_time()
    found = translate_documents(translator, source, target)
    used, peak = time.process_time() - cpu, memory_mb("VmHWM")
    assert sha256(source) == sha256(target), "copied, so the same"
    print(
        json.dumps(
            {
                "megabytes": round(source.stat().st_size / 1e6),
                "units": found.units,
                "cpu": round(used, 1),
                "loaded_mb": round(loaded),
                "peak_mb": round(peak),
            }
        )
    )


def main() -> None:
    """Write, translate, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20 MB")
    parser.add_argument("--megabytes", type=float, default=200.0)
    parser.add_argument("--worker", nargs=2, type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        worker(*given.worker)
        return
    whole = 20.0 if given.quick else given.megabytes
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in (whole / 10, whole):
            source = Path(folder, f"{size:.0f}.txt")
            write_text(source, size)
            arguments = ["--worker", str(source), str(source.with_suffix(".ko.txt"))]
            done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
            rows.append(json.loads(done.stdout))
            print(
                f"{rows[-1]['megabytes']:4} MB, {rows[-1]['units']:8,} units: CPU {rows[-1]['cpu']:7.1f} s, "
                f"loaded {rows[-1]['loaded_mb']} MiB, peak {rows[-1]['peak_mb']} MiB",
                flush=True,
            )
    part, all_of_it = rows
    result = {
        "peak_mb": all_of_it["peak_mb"],
        "peak_of_a_tenth_mb": part["peak_mb"],
        "growth_mb": all_of_it["peak_mb"] - part["peak_mb"],
        "rows": rows,
    }
    print(json.dumps({"benchmark": "documents_memory"} | result))


if __name__ == "__main__":
    main()
