"""Which frequent words the everyday text has in at least four sentences. Needs kiwipiepy and simplemma from PyPI.

    DRAGOMAN_DATA=/path/to/data python reproduce/everyday_coverage.py [--words 6000] [--missing FOLDER]

Frequent are the lemmas with the most occurrences in the training parts of the corpora whose domains have at least
three of theirs with the word, names left out. A large domain counts with a sample of its lines, so that manuals of
programs do not decide. A sentence counts once for a lemma. `--missing` writes, for each language,
the lemmas that occur in fewer than four sentences, most frequent first, and in how many. The last line is JSON.
"""

import argparse
import gzip
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

HERE = Path(__file__).parent
CORPORA = ("koen_open", "koen_general", "koen_more")
# A domain counts with about this many of its lines at most, from all over it: manuals are long.
LARGEST_DOMAIN = 2_000
LEAST_DOMAINS = 3
ENOUGH = 4
# Parts of speech of Kiwi that are words with a meaning: nouns, pronouns, numerals, verbs, adjectives, adverbs,
# determiners, interjections, roots.
KOREAN = {"NNG", "NP", "NR", "VV", "VA", "MAG", "MAJ", "MM", "IC", "XR"}
LONG = 15

Lemmas = Callable[[Iterable[str]], Iterable[list[str]]]


def english(lines: Iterable[str]) -> Iterable[list[str]]:
    """The lemmas of each line; a word with a capital inside of a sentence is a name."""
    import simplemma

    for line in lines:
        words = re.findall(r"[A-Za-z]+(?:'[a-z]+)?", line)
        names = {word for word in words[1:] if word[0].isupper()} - {"I"}
        plain = [word.partition("'")[0].lower() for word in words if word not in names]
        yield [simplemma.lemmatize(word, lang="en").lower() for word in plain if len(word) > 1]


def korean(lines: Iterable[str]) -> Iterable[list[str]]:
    """The lemmas of each line: verbs and adjectives with 다."""
    from kiwipiepy import Kiwi

    for tokens in Kiwi(num_workers=1).tokenize(lines):
        yield [
            token.form + ("다" if token.tag.startswith(("VV", "VA")) else "")
            for token in tokens
            if token.tag.partition("-")[0] in KOREAN and re.fullmatch("[가-힣]+", token.form)
        ]


def corpus(data: Path, side: str) -> dict[str, list[str]]:
    """The different lines of each domain in the training parts."""
    domains: dict[str, dict[str, None]] = defaultdict(dict)
    for name in CORPORA:
        columns = (gzip.decompress((data / name / f"train.{part}.gz").read_bytes()) for part in ("domain", side))
        for domain, line in zip(*(column.decode("utf-8").splitlines() for column in columns), strict=True):
            domains[domain][line.strip()] = None
    return {domain: [*lines][:: max(1, len(lines) // LARGEST_DOMAIN)] for domain, lines in domains.items()}


def frequent(
    domains: dict[str, list[str]], lemmas: Callable[[Iterable[str]], Iterable[list[str]]], count: int
) -> list[str]:
    """The `count` most frequent lemmas, most frequent first."""
    total, spread = Counter[str](), Counter[str]()
    for lines in domains.values():
        counts = Counter(lemma for line in lemmas(lines) for lemma in line)
        scale = min(1.0, LARGEST_DOMAIN / max(1, counts.total()))
        for lemma, number in counts.items():
            total[lemma] += number * scale
            spread[lemma] += 1
    ranked = sorted(total, key=lambda lemma: (-total[lemma], lemma))
    return [lemma for lemma in ranked if spread[lemma] >= LEAST_DOMAINS][:count]


def everyday() -> list[list[str]]:
    """The pairs of the everyday text: English, Korean."""
    files = sorted((HERE / "everyday").glob("*.tsv"))
    return [line.split("\t") for path in files for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=6000)
    parser.add_argument("--missing", type=Path)
    arguments = parser.parse_args()
    data, pairs = Path(os.environ["DRAGOMAN_DATA"]), everyday()
    result: dict[str, object] = {"pairs": len(pairs)}
    sizes = [len(pair[0].split()) for pair in pairs]
    result["longer_than_15_words"] = round(sum(size > LONG for size in sizes) / len(sizes), 3)
    for side, lemmas in (("en", english), ("ko", korean)):
        words = frequent(corpus(data, side), lemmas, arguments.words)
        sentences = Counter(lemma for line in lemmas(pair[side == "ko"] for pair in pairs) for lemma in set(line))
        short = [word for word in words if sentences[word] < ENOUGH]
        shares = {least: sum(sentences[word] >= least for word in words) for least in (1, 2, ENOUGH)}
        print(
            f"{side}: of {len(words):,} lemmas, "
            + ", ".join(f"{n:,} in {least} or more" for least, n in shares.items())
        )
        result[side] = {"lemmas": len(words), **{f"in_{least}": n for least, n in shares.items()}}
        if arguments.missing:
            rows = "".join(f"{word}\t{sentences[word]}\n" for word in short)
            (arguments.missing / f"missing.{side}.tsv").write_text(rows, encoding="utf-8")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
