"""Word links of translations, as `decode.alignment` has them, compared with eflomal, a statistical aligner.

    DRAGOMAN_DATA=FOLDER python benchmarks/control/links.py [--quick] [--model NAME …]

FOLDER contains koen_open/. Each model translates test lines of 5 to 25 words. eflomal (Östling and Tiedemann 2016)
aligns the lines with these translations, together with training text, in both directions, as in `control/markup.py`;
its links, of words without their particles, count for the words between spaces. Links of both directions are sure,
links of either are possible; precision, recall, F1 and the alignment error rate are those of `control/alignment.py`.

Ways    `align_texts` as it is; of an engine that has no attention, so that each word of the source is erased by itself;
        and of an engine whose scores are all the same, so that attention decides alone.
Cost    Scorings per sentence, and processor time as a multiple of that of the translation.

--quick uses 200 lines and 12,000 pairs of training text. The last line is one JSON object.
"""

import argparse
import json
import os
import sys
import time
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(1, str(Path(__file__).parents[2] / "tests"))
from control.alignment import Links, Tally, align_words
from control.markup import MODELS, read_lines, words_of
from shared.levels import machine

from dragoman import Translator
from dragoman.control.alignment import align_texts
from dragoman.control.inline.units import units
from dragoman.engine import Attention, Engine, Ids, Query
from dragoman.text.words.normalise import normalise

LINES, TEXT = {False: 1000, True: 200}, {False: 50_000, True: 12_000}
WAYS = ("usual", "each word", "attention alone")


class Counted:
    """An engine that counts the pairs that it scores, and is one of the `WAYS`."""

    def __init__(self, engine: Engine, way: str) -> None:
        self.engine, self.way, self.scored = engine, way, 0

    def score(self, queries: Sequence[Query], targets: Sequence[Ids], alone: bool = False) -> list[list[float]]:
        """`Engine.score`."""
        if self.way == "attention alone":
            return [[0.0] * (len(target) + 1) for target in targets]
        self.scored += len(queries)
        return self.engine.score(queries, targets, alone)

    def attention(self, queries: Sequence[Query], targets: Sequence[Ids]) -> list[Attention] | None:
        """`Engine.attention`."""
        return None if self.way == "each word" else self.engine.attention(queries, targets)


def word_numbers(text: str) -> list[int]:
    """The number of the word, which ends at a space, of each unit that eflomal sees."""
    begins = [0, *accumulate(len(word) + 1 for word in text.split())]
    return [bisect_right(begins, span.begin) - 1 for span in units(text, particles=True)] or [0]


def in_words(links: Links, source: str, target: str) -> Links:
    """Links between units as links between words."""
    sources, targets = word_numbers(source), word_numbers(target)
    return {(sources[a], targets[b]) for a, b in links}


def measure(name: str, data: Path, lines: int, text: int) -> dict[str, dict[str, float]]:
    """Each way beside eflomal."""
    translator, (source, target) = Translator.load(name), name.split("-")
    chosen = [line for line in read_lines(data / f"test.{source}.gz") if 5 <= len(line.split()) <= 25][:lines]
    begin = time.process_time()
    translations = [normalise(translation.text) for translation in translator.translate(chosen)]
    whole = time.process_time() - begin
    pairs = [pair for pair in zip(chosen, translations, strict=True) if pair[1]]
    train = zip(*(read_lines(data / f"train.{side}.gz")[:text] for side in (source, target)), strict=True)
    forward, reverse = align_words([(words_of(a), words_of(b)) for a, b in (*pairs, *train)])
    print(f"\n{name}: {len(pairs)} lines\n{'':18} precision  recall     F1    AER  scorings   time")
    table = {}
    for way in WAYS:
        engine, tally, begin = Counted(translator.engine, way), Tally(), time.process_time()
        aligned = align_texts(engine, translator.tokenizer, pairs, translator.marks)
        seconds = time.process_time() - begin
        for pair, links, one_way, other in zip(pairs, aligned, forward, reverse, strict=False):
            found = {
                tuple(len(text[: span.begin].split()) for text, span in zip(pair, link, strict=True)) for link in links
            }
            tally.add(found, in_words(one_way & other, *pair), in_words(one_way | other, *pair))
        scores = tally.scores()
        table[way] = scores | {"scorings": round(engine.scored / len(pairs), 1), "time": round(seconds / whole, 2)}
        print(
            f"{way:18} " + " ".join(f"{value:>{9 if key == 'precision' else 6}}" for key, value in table[way].items())
        )
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="finish within 5 minutes")
    parser.add_argument("--model", action="append", choices=MODELS, help="only this; may be repeated")
    args = parser.parse_args()
    if "DRAGOMAN_DATA" not in os.environ:
        parser.error("set DRAGOMAN_DATA to the folder that holds koen_open/")
    data, begin = Path(os.environ["DRAGOMAN_DATA"]) / "koen_open", time.perf_counter()
    size = LINES[args.quick], TEXT[args.quick]
    models = {name: measure(name, data, *size) for name in args.model or MODELS}
    print(f"{time.perf_counter() - begin:.0f} seconds in total")
    print(
        json.dumps(
            {"benchmark": "word links", "lines": size[0], "aligner": "eflomal 2.0.0", "models": models, **machine()}
        )
    )


if __name__ == "__main__":
    main()
