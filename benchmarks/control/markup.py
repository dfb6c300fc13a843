"""Inline markup: are the tags of a source on the right words of its translation, and are they nested?

    DRAGOMAN_DATA=FOLDER python benchmarks/control/markup.py [--quick] [--model NAME …]

FOLDER contains koen_open/. Each model translates 1,000 test lines of 5 to 25 words. eflomal (Östling and Tiedemann
2016) aligns the lines with these translations, together with training text, in both directions. Its environment is
made once from `peers/alignment-requirements.txt`; Korean particles are words of their own for it.

Tags        Up to two spans of one to four words of a line, drawn at random from those whose words are aligned with one
            run of target words, by links of either direction, and that with no other word; each word has a link of both
            directions. That run is where the tag belongs.
Measure     Of the words (between spaces) that a tag encloses, the share that it should enclose (precision); of those,
            the share that it encloses (recall); the share of tags that enclose exactly these; of sentences with all
            tags exact; of tags that are written more than once; of sentences whose tags are nested. A word is enclosed
            if half of its letters are.
Rules       `translate_inline`, by the model's attention. bergamot's rule, by the same attention: each target unit takes
            the tags of the source unit that it comes from most; within a word, which ends at a space or at one of
            , . ( ) { } [ ], the tags of the later unit if they extend those of the one before or its weight is not
            lower (browsermt/bergamot-translator, html.cpp; written from its description). Both rules by erasing each
            word of the source, one scoring for each (`control.glossary.erasure`).

--quick uses 150 lines and 30,000 pairs of training text. The last line is one JSON object.
"""

import argparse
import gzip
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(1, str(Path(__file__).parents[2] / "tests"))
from control.alignment import Links, align_words

from dragoman import Translator
from dragoman.control.inline.evidence import SentencePair, by_attention, by_erasure
from dragoman.control.inline.placement import AlignedUnits, Placement, Weights
from dragoman.control.inline.units import UnitText, units
from dragoman.text.words.inline import Code, InlineText
from dragoman.text.words.normalise import normalise
from dragoman.translation import Span
from nesting import is_nested

LINES, TEXT = {False: 1000, True: 150}, {False: 110_000, True: 30_000}
MODELS = ("en-ko", "ko-en")
LONGEST = 4
TAGS = 2
DELIMITERS = "\n ,.(){}[]"
SHOWN = ("precision", "recall", "exact", "sentences", "repeated", "nested")


@dataclass(frozen=True)
class Case:
    """A line, its translation, the units of both, and the tags: units of the source, units of the target."""

    source: str
    target: str
    sources: list[Span]
    targets: list[Span]
    tags: list[tuple[range, range]]

    @property
    def inline(self) -> InlineText:
        """The line with its tags."""
        codes = [
            Code(self.sources[own[index]].begin if kind == "open" else self.sources[own[index]].end, kind, str(number))
            for number, (own, _) in enumerate(self.tags)
            for kind, index in (("open", 0), ("close", -1))
        ]
        return InlineText(self.source, tuple(codes))


def read_lines(path: Path) -> list[str]:
    """The normalised lines of a compressed file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [normalise(line) for line in file.read().split("\n")[:-1]]


def words_of(text: str) -> list[str]:
    """What eflomal sees of a line."""
    return [text[slice(*span)].lower() for span in units(text, particles=True)] or ["-"]


def plant(source: str, target: str, links: tuple[Links, Links], rng: random.Random) -> Case:
    """A line with tags at random, as far as there are spans that are aligned with one run."""
    own, others = units(source), units(target, particles=True)
    unit_of = [next(n for n, span in enumerate(own) if span.begin <= one.begin < span.end)
               for one in units(source, particles=True)]  # fmt: skip
    forward, reverse = ({(unit_of[a], b) for a, b in each} for each in links)
    spans = [(a, b) for a in range(len(own)) for b in range(a + 1, min(a + LONGEST, len(own)) + 1)]
    rng.shuffle(spans)
    tags: list[tuple[range, range]] = []
    for a, b in spans:
        is_word = source[own[a].begin].isalnum() and source[own[b - 1].begin].isalnum()
        run = run_of(range(a, b), forward, reverse)
        if is_word and run and b - a < len(own) and not any(set(run) & set(taken) for _, taken in tags):
            tags.append((range(a, b), run))
        if len(tags) == TAGS:
            break
    return Case(source, target, own, others, sorted(tags, key=lambda tag: tag[0].start))


def run_of(span: range, forward: Links, reverse: Links) -> range | None:
    """The run of target units that these source units, and no others, are aligned with; None if there is none."""
    either = forward | reverse
    linked = {b for a, b in either if a in span}
    if not linked or any(b in linked and a not in span for a, b in either):
        return None
    run = range(min(linked), max(linked) + 1)
    has_both = {a for a, _ in forward & reverse}
    if any(b in run and b not in linked for _, b in either) or not has_both.issuperset(span):
        return None
    return run


def bergamot(case: Case, weights: Weights) -> list[list[Span]]:
    """The characters that each tag encloses by bergamot's rule, once for each time that it is written."""
    tags_of = [frozenset(n for n, (own, _) in enumerate(case.tags) if unit in own) for unit in range(len(case.sources))]
    words: list[list[int]] = []
    for number, span in enumerate(case.targets):
        before = case.target[span.begin - 1 : span.begin]
        continues = number and before not in DELIMITERS and case.target[span.begin] not in DELIMITERS
        if continues and words:
            words[-1].append(number)
        else:
            words.append([number])
    found: list[list[Span]] = [[] for _ in case.tags]
    enclosed: frozenset[int] = frozenset()
    for word in words:
        chosen = int(weights[word[0]].argmax())
        score = weights[word[0]][chosen]
        for unit in word[1:]:
            own = int(weights[unit].argmax())
            if tags_of[own] > tags_of[chosen] or weights[unit][own] >= score:
                chosen, score = own, weights[unit][own]
        span = Span(case.targets[word[0]].begin, case.targets[word[-1]].end)
        for tag in tags_of[chosen]:
            if tag in enclosed:
                found[tag][-1] = Span(found[tag][-1].begin, span.end)
            else:
                found[tag].append(span)
        enclosed = tags_of[chosen]
    return found


def by_word(case: Case, weights: Weights) -> list[list[Span]]:
    """The characters that each tag encloses by the rule for whole spans."""
    sides = UnitText(case.source, case.sources), UnitText(case.target, case.targets)
    placed = Placement(*sides, [AlignedUnits(0, 0, weights)], case.inline.codes).place()
    gaps = {(one.code.name, one.code.kind): one.gap for one in placed}
    runs = [(gaps[str(n), "open"], gaps[str(n), "close"]) for n in range(len(case.tags))]
    return [[Span(case.targets[a].begin, case.targets[b - 1].end)] for a, b in runs]


def of_inline(inline: InlineText, tags: int) -> list[list[Span]]:
    """The characters that each tag encloses."""
    at = {(code.name, code.kind): code.position for code in inline.codes}
    return [[Span(at[str(tag), "open"], at[str(tag), "close"])] for tag in range(tags)]


def words_in(text: str, spans: Sequence[Span]) -> set[int]:
    """The words, by number, of which at least half of the letters are in the spans."""
    found, at = set(), 0
    for number, word in enumerate(text.split(" ")):
        letters = [at + n for n, letter in enumerate(word) if letter.isalnum()]
        inside = sum(any(span.begin <= letter < span.end for span in spans) for letter in letters)
        if letters and 2 * inside >= len(letters):
            found.add(number)
        at += len(word) + 1
    return found


class Tally:
    """Sums over tags and sentences."""

    def __init__(self) -> None:
        self.sums: Counter[str] = Counter()

    def add(self, case: Case, found: Sequence[Sequence[Span]], nested: bool) -> None:
        """Count a sentence."""
        exact = []
        for (_, run), spans in zip(case.tags, found, strict=True):
            right = words_in(case.target, [Span(case.targets[run[0]].begin, case.targets[run[-1]].end)])
            ours = words_in(case.target, spans)
            both = len(right & ours)
            exact.append(right == ours)
            self.sums.update(tags=1, repeated=len(spans) > 1, exact=exact[-1])
            self.sums.update(precision=both / len(ours) if ours else 0.0, recall=both / len(right) if right else 1.0)
        self.sums.update(cases=1, nested=nested, sentences=all(exact))

    def shares(self) -> dict[str, float]:
        """The measures, in percent."""
        total = {name: self.sums["cases" if name in ("sentences", "nested") else "tags"] for name in SHOWN}
        return {name: round(100 * self.sums[name] / max(total[name], 1), 1) for name in SHOWN}


def measure(name: str, quick: bool, data: Path) -> dict[str, dict[str, float]]:
    """Translate with one model, plant, place and compare."""
    translator = Translator.load(name)
    source, target = translator.language, "ko" if translator.language == "en" else "en"
    lines = [line for line in read_lines(data / f"test.{source}.gz") if 5 <= len(line.split()) <= 25]
    rng = random.Random(1)
    lines = rng.sample(lines, min(LINES[quick], len(lines)))
    translated = [(line, found.text) for line, found in zip(lines, translator.translate(lines), strict=True)]
    text = zip(*(read_lines(data / f"train.{side}.gz") for side in (source, target)), strict=True)
    known = [pair for pair in text if all(0 < len(side.split()) < 40 for side in pair)]
    known = rng.sample(known, min(TEXT[quick], len(known)))
    links = align_words([(words_of(one), words_of(other)) for one, other in (*translated, *known)])
    cases = [plant(*pair, both, rng) for pair, *both in zip(translated, *links, strict=False) if pair[1]]
    cases = [case for case in cases if case.tags]
    begin = time.process_time()
    placed = translator.translate_inline([case.inline for case in cases])
    seconds = time.process_time() - begin
    begin = time.process_time()
    plain = translator.translate([case.source for case in cases])
    seconds_plain = time.process_time() - begin
    pairs = [SentencePair(case.source, case.sources, case.target, case.targets) for case in cases]
    attended, erased = (
        weigh(translator.engine, translator.tokenizer, pairs, translator.marks) for weigh in (by_attention, by_erasure)
    )
    tallies = {"translate_inline": Tally(), "bergamot's rule": Tally()}
    tallies |= {f"{name}, by erasure": Tally() for name in ("whole spans", "bergamot's rule")}
    differing = 0
    for case, ours, one, *weights in zip(cases, placed, plain, attended, erased, strict=True):
        if (
            not ours.inline.text == one.text == case.target
        ):  # another batch, another rounding: where they belong is lost
            differing += 1
            continue
        tallies["translate_inline"].add(case, of_inline(ours.inline, len(case.tags)), is_nested(ours.inline))
        tallies["bergamot's rule"].add(case, bergamot(case, weights[0]), True)
        tallies["whole spans, by erasure"].add(case, by_word(case, weights[1]), True)
        tallies["bergamot's rule, by erasure"].add(case, bergamot(case, weights[1]), True)
    print(f"\n{name}: {len(cases)} lines, {tallies['translate_inline'].sums['tags']:.0f} tags; translate_inline took "
          f"{seconds / seconds_plain:.2f} times the CPU time of translate")  # fmt: skip
    print(f"{'':28}" + "".join(f"{column:>11}" for column in SHOWN))
    found = {rule: tally.shares() for rule, tally in tallies.items()}
    for rule, shares in found.items():
        print(f"{rule:28}" + "".join(f"{shares[column]:11.1f}" for column in SHOWN))
    return found | {
        "facts": {"lines": len(cases) - differing, "other_text": differing, "times": round(seconds / seconds_plain, 2)}
    }


def main() -> None:
    """Measure each model and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="finish within 5 minutes")
    parser.add_argument("--model", nargs="+", default=MODELS, help="bundled models, or folders of bundles")
    args = parser.parse_args()
    if "DRAGOMAN_DATA" not in os.environ:
        parser.error("set DRAGOMAN_DATA to the folder that holds koen_open/")
    data = Path(os.environ["DRAGOMAN_DATA"]) / "koen_open"
    result = {str(name): measure(name, args.quick, data) for name in args.model}
    print(json.dumps({"benchmark": "markup", "python": sys.version.split()[0], "aligner": "eflomal 2.0.0"} | result))


if __name__ == "__main__":
    main()
