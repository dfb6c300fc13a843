"""Signs, identifiers, amounts, lists, capitals, entities and markers: kept, flagged, or wrong in silence; false alarms.

    DRAGOMAN_DATA=FOLDER python benchmarks/control/kept.py
                                [--lines 3000] [--ordinary 2000] [--quick] [--show 10] [--seed 1]

Lines are made of everyday sentences with something in them that a translation has to keep, half from English and half
from Korean, by a seeded generator, and are translated one by one by the bundled models. What is right is decided here,
by strings and expressions of this file: an identifier or a marker as it is and once, an amount in one of the forms of
its value, a list in its order, a sign or one of its words, capitals much like the same words in lower case.

`right`: nothing is lost. `flagged`: something is, and a warning says so. `silent`: something is, without a warning.

False alarms: the references of ordinary lines (koen_open, koen_general, both directions) are compared with their
sources as translations are; people wrote them, so that a warning is one too many (or the corpus is wrong). FOLDER has
these corpora; without it, the sentences of `reproduce/everyday` are taken.

Time is that of the processor for each line, divided by the median of ordinary lines of its length; the largest ratio
is printed with its line. --quick takes 300 lines and 300 ordinary ones. The last line is one JSON object.
"""

import argparse
import gzip
import json
import os
import random
import re
import statistics
import time
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

from dragoman import Translator
from dragoman.config import DecodeConfig
from dragoman.control.faults.faults import Requirements

HERE = Path(__file__).resolve()
EVERYDAY = HERE.parents[2] / "reproduce" / "everyday"
MODELS = {"en": "en-ko", "ko": "ko-en"}
CORPORA = ("koen_open", "koen_general")
QUICK = 300
# Lines of this many characters more or less have the same length.
NEAR = 0.2
# A line that takes so many times as long is measured twice.
AGAIN = 4
ALIKE = 0.6  # of two translations


class Case(NamedTuple):
    """A line to translate, its kind, and whether a translation is right."""

    kind: str
    language: str
    text: str
    is_right: Callable[[str], bool]


def main() -> None:
    """Measure, print, end with one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lines", type=int, default=3000)
    parser.add_argument("--ordinary", type=int, default=2000)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--show", type=int, default=10, help="print this many lines that are wrong in silence")
    parser.add_argument("--seed", type=int, default=1)
    request = parser.parse_args()
    lines, ordinary = (QUICK, QUICK) if request.quick else (request.lines, request.ordinary)
    chance = random.Random(request.seed)
    pairs = ordinary_pairs(ordinary, chance)
    translators = {language: Translator.load(model, threads=1) for language, model in MODELS.items()}
    alarms = false_alarms(pairs)
    usual = {
        language: [
            (len(text), timed(translators[language], text)[1]) for text, _ in pairs[language][: max(lines // 6, 60)]
        ]
        for language in MODELS
    }
    result = measure(list(cases(lines, chance, translators)), translators, usual, request.show)
    for language, share in alarms.items():
        print(f"{language}: warnings about references of {len(pairs[language]):,} ordinary lines: {100 * share:.2f} %")
    print(json.dumps(result | {"false_alarms": alarms}, ensure_ascii=False))


def timed(translator: Translator, text: str) -> tuple[Any, float]:
    """The translation of a line, and the processor's seconds."""
    began = time.process_time()
    translation = translator.translate(text)
    return translation, time.process_time() - began


def measure(
    lines: list[Case], translators: dict[str, Translator], usual: dict[str, list[tuple[int, float]]], show: int
) -> dict[str, Any]:
    """Translate the lines and print a row for each kind."""
    counts: dict[str, list[int]] = {}
    silent, dearest = [], (0.0, "")
    for case in lines:
        translation, seconds = timed(translators[case.language], case.text)
        is_right = case.is_right(translation.text)
        is_flagged = any(flag.kind != "segmented" for flag in translation.warnings)
        row = counts.setdefault(case.kind, [0, 0, 0, 0])
        row[0 if is_right else 1 if is_flagged else 2] += 1
        row[3] += is_right and any(flag.kind not in ("segmented", "doubtful") for flag in translation.warnings)
        if not (is_right or is_flagged):
            silent.append((case, translation.text))
        ordinary = of_length(usual[case.language], len(case.text))
        if seconds > AGAIN * ordinary:  # the first line of a kind also loads what it needs
            seconds = min(seconds, timed(translators[case.language], case.text)[1])
        dearest = max(dearest, (seconds / ordinary, case.text))
    print(f"{'kind':12} {'lines':>6} {'right':>7} {'flagged':>8} {'silent':>7}   right and flagged")
    for kind, (right, flagged, wrong, both) in counts.items():
        total = right + flagged + wrong
        print(
            f"{kind:12} {total:6} {100 * right / total:6.1f}% {100 * flagged / total:7.1f}% "
            f"{100 * wrong / total:6.1f}%   {100 * both / total:.1f}%"
        )
    for case, text in silent[:show]:
        print(f"  silent, {case.kind}: {case.text}\n      {text}")
    print(f"dearest line, {dearest[0]:.1f} × a line of its length: {dearest[1][:100]}")
    total = max(len(lines), 1)
    sums = [sum(row[column] for row in counts.values()) / total for column in range(4)]
    names = ("right", "flagged", "silent", "right_and_flagged")
    return dict(zip(names, sums, strict=True)) | {"lines": len(lines), "largest_ratio": dearest[0]}


def of_length(usual: list[tuple[int, float]], length: int) -> float:
    """The median seconds of ordinary lines of about this length; of the nearest ones if there are few."""
    near = sorted(usual, key=lambda line: abs(line[0] - length))[:7]
    near += [line for line in usual if abs(line[0] - length) <= NEAR * length]
    return statistics.median(seconds for _, seconds in near)


def ordinary_pairs(count: int, chance: random.Random) -> dict[str, list[tuple[str, str]]]:
    """Lines and their references, by the language of the lines; half of them each way."""
    pairs = []
    if folder := os.environ.get("DRAGOMAN_DATA"):
        for corpus in CORPORA:
            sides = [
                gzip.decompress((Path(folder) / corpus / f"test.{side}.gz").read_bytes()).decode("utf-8").split("\n")
                for side in ("en", "ko")
            ]
            pairs += [pair for pair in zip(*sides, strict=True) if all(pair)]
    else:
        for path in sorted(EVERYDAY.glob("*.tsv")):
            pairs += [tuple(line.split("\t")) for line in path.read_text(encoding="utf-8").split("\n") if "\t" in line]
    chance.shuffle(pairs)
    half = pairs[: count // 2]
    return {"en": half, "ko": [(korean, english) for english, korean in half]}


def false_alarms(pairs: dict[str, list[tuple[str, str]]]) -> dict[str, float]:
    """The share of references with a warning, by the language of their sources."""
    options = DecodeConfig()
    shares = {}
    for language, target in (("en", "ko"), ("ko", "en")):
        flagged = 0
        for source, reference in pairs[language]:
            flagged += bool(Requirements.of(source, options, languages=(language, target)).faults(reference).flags)
        shares[language] = flagged / max(len(pairs[language]), 1)
    return shares


def cases(count: int, chance: random.Random, translators: dict[str, Translator]) -> Iterator[Case]:
    """`count` lines, the kinds and the languages in turn."""
    makers = (signs, identifiers, amounts, lists, capitals, entities, markers)
    for number in range(count):
        language = ("en", "ko")[number % 2]
        maker = makers[(number // 2) % len(makers)]
        text, is_right = maker(language, chance, translators)
        yield Case(maker.__name__, language, text, is_right)


WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
Made = tuple[str, Callable[[str], bool]]
FRAMES = {
    "en": ("Please check {} before you leave.", "The price is {} today.", "I wrote down {} on the form.",
           "She asked me about {} yesterday.", "We found {} in the report.", "Do you remember {}?"),
    "ko": ("나가기 전에 {} 확인해 주세요.", "보고서에 {} 있습니다.", "어제 {} 적어 두었어요.", "양식에 {} 써 주세요.",
           "{} 기억하세요?", "화면에 {} 표시됩니다."),
}  # fmt: skip
# What stands for a sign in a translation.
SIGNS = {
    "€{}": "€|euro|유로", "£{}": "£|pound|파운드", "${}": r"\$|dollar|달러|불", "¥{}": "[¥￥]|yen|yuan|엔|위안",
    "{}%": "%|％|percent|퍼센트|프로", "{}℃": "℃|°|degree|celsius|도|섭씨", "§ {}": "§|section|절|조|섹션",
    "№ {}": "№|no\\.|number|#|번|호", "✓ {}": "[✓✔√]", "★ {}": "★", "± {}": r"±|\+/-", "→ {}": "→|->|to|에서",
    "{} ㎏": "㎏|kg|kilo|킬로", "{}％": "%|％|percent|퍼센트|프로", "• {}": "[•·*]", "½ {}": "½|half|1/2|0.5|반",
}  # fmt: skip


def frame(language: str, chance: random.Random, what: str) -> str:
    """A sentence with something in it."""
    return chance.choice(FRAMES[language]).format(what)


def signs(language: str, chance: random.Random, _: object) -> Made:
    """A sign next to a number."""
    pattern, words = chance.choice(list(SIGNS.items()))
    number = str(chance.randint(13, 990))
    text = frame(language, chance, pattern.format(number))
    return text, lambda said: bool(re.search(words, said, re.IGNORECASE)) and number in said and "\ufffd" not in said


def identifiers(language: str, chance: random.Random, _: object) -> Made:
    """A name of letters, digits and signs, which is copied."""
    hexadecimal = "".join(chance.choice("0123456789abcdef") for _ in range(32))
    name = chance.choice((
        f"{hexadecimal[:8]}-{hexadecimal[8:12]}-{hexadecimal[12:16]}-{hexadecimal[16:20]}-{hexadecimal[20:]}",
        hexadecimal, hexadecimal[:12], f"v{chance.randint(1, 9)}.{chance.randint(0, 20)}.{chance.randint(0, 99)}",
        f"+82-2-{chance.randint(1000, 9999)}-{chance.randint(1000, 9999)}", f"02-{chance.randint(100, 999)}-4567",
        ":".join(hexadecimal[at : at + 2] for at in range(0, 12, 2)),
        ".".join(str(chance.randint(1, 254)) for _ in range(4)), f"COVID-{chance.randint(10, 99)}",
        f"INV-2024-{chance.randint(100, 9999)}", f"SM-G{chance.randint(100, 999)}N",
        f"ISO {chance.randint(1000, 30000)}",
        f"KE{chance.randint(100, 999)}", f"A{chance.randint(10, 99)}-{chance.randint(10, 99)}B",
    ))  # fmt: skip
    return frame(language, chance, name), lambda said: said.count(name) == 1


def amounts(language: str, chance: random.Random, _: object) -> Made:
    """A number with a power of ten, a sign, a currency or a percent sign."""
    number = chance.randint(2, 95)
    value, written = chance.choice((
        (number * 10**6, {"en": f"{number} million people", "ko": f"{number * 100}만 명을"}),
        (number * 10**9, {"en": f"{number} billion won", "ko": f"{number * 10}억 원을"}),
        (number * 10**3, {"en": f"{number} thousand people", "ko": f"{number}000명을"}),
        (number * 10**4, {"en": f"{number}0,000 people", "ko": f"{number}만 명을"}),
        (-number, {"en": f"-{number} degrees", "ko": f"-{number}도를"}),
        (number * 137 + 1000, {"en": f"{number * 137 + 1000:,} dollars", "ko": f"{number * 137 + 1000:,}달러를"}),
        (number + 12, {"en": f"{number + 12}%", "ko": f"{number + 12}%를"}),
    ))  # fmt: skip
    return frame(language, chance, written[language]), lambda said: value in values(said)


def values(text: str) -> set[int]:
    """The amounts of a text, with the few forms that these lines can have."""
    for number, word in enumerate(WORDS, 2):
        text = re.sub(rf"\b{word}\b", str(number), text, flags=re.IGNORECASE)
    amounts_of = set()
    scales = {"million": 10**6, "billion": 10**9, "thousand": 10**3, "": 1, "천": 10**3, "만": 10**4, "십만": 10**5}
    scales |= {"백만": 10**6, "천만": 10**7, "억": 10**8, "십억": 10**9, "백억": 10**10, "천억": 10**11}
    powers = "million|billion|thousand|백만|천만|십억|백억|천억|십만|천|만|억|"
    pattern = rf"(영하 |minus |[-−])?(\d[\d,]*(?:\.\d+)?)\s?({powers})"
    for sign, digits, scale in re.findall(pattern, text):
        amounts_of.add(round(float(digits.replace(",", "")) * scales[scale]) * (-1 if sign else 1))
    return amounts_of


def lists(language: str, chance: random.Random, _: object) -> Made:
    """Numbers in an order."""
    numbers = [str(number) for number in chance.sample(range(13, 999), chance.randint(3, 7))]
    text = frame(language, chance, ", ".join(numbers))
    return text, lambda said: re.findall(r"\d+", said) == numbers


def capitals(language: str, chance: random.Random, translators: dict[str, Translator]) -> Made:
    """A line in capitals (English), which says what the same words in lower case say."""
    line = chance.choice(FRAMES["en"]).format(chance.choice(("the door", "this file", "the weather", "my number")))
    if language == "ko":
        return identifiers(language, chance, translators)
    plain = translators["en"].translate(line).text
    return line.upper(), lambda said: SequenceMatcher(None, plain, said).ratio() >= ALIKE


def entities(language: str, chance: random.Random, _: object) -> Made:
    """Character references in plain text."""
    name = chance.choice(("Kim &amp; Lee", "Q&amp;A", "&lt;b&gt;", "R&#38;D", "5 &gt; 3"))
    characters = name.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">").replace("&#38;", "&")
    signs_of = re.findall(r"&[a-z#0-9]+;|[<>&]", name)

    def is_right(said: str) -> bool:
        return name in said or characters in said or all(
            said.count(sign) == name.count(sign) or sign in ("&amp;", "&#38;") for sign in signs_of
        )  # fmt: skip

    return frame(language, chance, name), is_right


def markers(language: str, chance: random.Random, _: object) -> Made:
    """Markers that a program put in."""
    number = chance.randint(1, 99)
    name = chance.choice((
        f"###T{number:02}###", f"__PLACEHOLDER_{number}__", f"[[{number}]]", f"{{{{name{number}}}}}",
        f"%{number % 9 + 1}$s",
        f"<x{number}/>", f"@@{number}@@", f"$VAR_{number}", f"XXPH{number}XX", f"#{{id{number}}}",
    ))  # fmt: skip
    return frame(language, chance, name), lambda said: said.count(name) == 1


if __name__ == "__main__":
    main()
