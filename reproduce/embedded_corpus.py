"""Make the embedded English-Korean corpus from the LibreOffice help part of koen_open.

    DRAGOMAN_DATA=/path/to/data python reproduce/embedded_corpus.py

DRAGOMAN_DATA is the folder that contains koen_open/. Writes {train,valid,test}.tsv.gz (English, tab, Korean) into
src/dragoman/data/embedded, the same bytes at every run.

A pair is kept if it is clean on both sides, if both sides agree in digits, Latin words and closing punctuation, and
if its Korean is the most frequent rendering of its English. Validation and test sentences have 3 to 15 English words.
Two sentences are near-duplicates if, lower-cased, reduced to letters and digits and with every digit set to 0, they
are equal or share at least 0.7 of their character 5-grams (Jaccard), in English or in Korean. No test or validation
sentence has a near-duplicate in another split: the duplicate is removed from train, or from validation. The last line
printed is one JSON object.
"""

import gzip
import hashlib
import json
import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dragoman.text.words.normalise import normalise

Pair = tuple[str, str]

OUT = Path(__file__).parents[1] / "src" / "dragoman" / "data" / "embedded"
HELD_OUT = 500
THRESHOLD = 0.7
MARKUP = re.compile(r"[<>{}\[\]\\|^_=#$@~`]|https?:|&\w+;|\.\.\.\s*\w")
LATIN = re.compile(r"[A-Za-z]+")
HANGUL = re.compile(r"[가-힣]")
CLOSING = {".": ".", "!": ".", "?": "?", ":": ":", ";": ";", ",": ","}


def read_pairs(data: Path) -> Iterator[Pair]:
    """All LibreOffice help pairs of the three splits of koen_open."""
    for split in ("train", "valid", "test"):
        sides = [
            gzip.decompress((data / "koen_open" / f"{split}.{side}.gz").read_bytes()).decode("utf-8").split("\n")
            for side in ("domain", "en", "ko")
        ]
        for domain, english, korean in zip(*sides, strict=True):
            if domain == "libreoffice_help":
                yield normalise(english), normalise(korean)


def fault(english: str, korean: str) -> str | None:
    """Why a pair is not clean, or None."""
    letters = sum(character.isalpha() or character == " " for character in english)
    if not english or letters < 0.8 * len(english) or HANGUL.search(english):
        return "English side is not English"
    if len(HANGUL.findall(korean)) < 0.6 * sum(map(str.isalpha, korean)) or not HANGUL.search(korean):
        return "Korean side is not Korean"
    if MARKUP.search(english + korean):
        return "markup or code"
    if not 0.2 <= len(korean) / len(english) <= 1.2:
        return "lengths far apart"
    if Counter(re.findall(r"\d+", english)) != Counter(re.findall(r"\d+", korean)):
        return "digits differ"
    if not set(LATIN.findall(korean.lower())) <= set(LATIN.findall(english.lower())):
        return "Latin words differ"
    if CLOSING.get(english[-1]) != CLOSING.get(korean[-1]):
        return "closing punctuation differs"
    return None


def one_rendering(pairs: Iterable[Pair]) -> list[Pair]:
    """Each English sentence with its most frequent Korean one (the first of equals), in order."""
    renderings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for english, korean in pairs:
        renderings[english][korean] += 1
    return [(english, counts.most_common(1)[0][0]) for english, counts in renderings.items()]


def grams(sentence: str) -> frozenset[str]:
    """Character 5-grams of the bare sentence (the whole of a shorter one)."""
    bare = "".join(filter(str.isalnum, re.sub(r"\d", "0", sentence.casefold())))
    return frozenset(bare[i : i + 5] for i in range(max(1, len(bare) - 4)))


def near_duplicates(sentences: Sequence[str], guarded: Sequence[str]) -> tuple[set[int], float]:
    """Indices of `sentences` close to one of `guarded`, and the highest similarity of all the others."""
    guarded_grams = [grams(sentence) for sentence in guarded]
    index: defaultdict[str, list[int]] = defaultdict(list)
    for number, sentence_grams in enumerate(guarded_grams):
        for gram in sentence_grams:
            index[gram].append(number)
    close, highest = set(), 0.0
    for number, sentence in enumerate(sentences):
        own = grams(sentence)
        shared = Counter(other for gram in own for other in index.get(gram, ()))
        similarity = max((n / (len(own | guarded_grams[other])) for other, n in shared.items()), default=0.0)
        if similarity >= THRESHOLD:
            close.add(number)
        else:
            highest = max(highest, similarity)
    return close, highest


def without_near(pairs: Sequence[Pair], guarded: Sequence[Pair]) -> tuple[list[Pair], float]:
    """`pairs` without near-duplicates of `guarded` on either side, and the highest similarity left."""
    english, high_english = near_duplicates([pair[0] for pair in pairs], [pair[0] for pair in guarded])
    korean, high_korean = near_duplicates([pair[1] for pair in pairs], [pair[1] for pair in guarded])
    kept = [pair for number, pair in enumerate(pairs) if number not in english | korean]
    return kept, max(high_english, high_korean)


def split(pairs: Sequence[Pair]) -> tuple[dict[str, list[Pair]], float]:
    """Train, validation and test, and the highest similarity between train and the other two."""
    shuffled = list(pairs)
    random.Random(2017).shuffle(shuffled)
    eligible = [pair for pair in shuffled if 3 <= len(pair[0].split()) <= 15]
    test = eligible[:HELD_OUT]
    valid, _ = without_near(eligible[HELD_OUT : 2 * HELD_OUT], test)
    held = {*test, *valid}
    train, highest = without_near([pair for pair in pairs if pair not in held], [*test, *valid])
    return {"train": train, "valid": valid, "test": test}, highest


def write(path: Path, pairs: Sequence[Pair]) -> dict[str, object]:
    """Write one split, byte for byte the same each time; what was written."""
    text = "".join(f"{english}\t{korean}\n" for english, korean in pairs)
    packed = gzip.compress(text.encode("utf-8"), compresslevel=9, mtime=0)
    path.write_bytes(packed)
    return {"pairs": len(pairs), "bytes": len(packed), "sha256": hashlib.sha256(packed).hexdigest()}


def main() -> None:
    """Draw, split, write, report."""
    everything = list(read_pairs(Path(os.environ["DRAGOMAN_DATA"])))
    faults = Counter(fault(*pair) or "clean" for pair in everything)
    pairs = one_rendering(pair for pair in everything if fault(*pair) is None)
    splits, highest = split(pairs)
    OUT.mkdir(exist_ok=True)
    result = {name: write(OUT / f"{name}.tsv.gz", part) for name, part in splits.items()}
    for reason, count in faults.most_common():
        print(f"{count:6,} {reason}")
    print(
        f"{len(pairs):6,} English sentences; near-duplicates left out: {len(pairs) - sum(map(len, splits.values())):,}"
    )
    for limit in (8, 10, 12, 15):
        print(f"train pairs of at most {limit} words: {sum(len(en.split()) <= limit for en, _ in splits['train']):,}")
    print(json.dumps({**result, "highest_similarity_left": round(highest, 3)}))


if __name__ == "__main__":
    main()
