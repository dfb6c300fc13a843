"""Which frames the everyday text repeats: a model learns them too well, and they stand for no new sentence.

    python reproduce/everyday_frames.py [--most 20] [FILE ...]

Three kinds are counted, a sentence once each: the first four words of the English; the English with `_` for every word
that is not among its COMMON most frequent ones; the last two words of the Korean. Files are those of `everyday/` if
none is named. The last line is JSON: per kind, the share of sentences whose frame occurs MANY times or more, and the
most frequent frame.
"""

import argparse
import json
import re
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
COMMON = 150
MANY = 20
# A sentence of fewer words is a frame of its own: greetings and answers.
SHORTEST = 5


def words(line: str) -> list[str]:
    """The words of a line, in lower case."""
    return re.findall(r"[^\W_]+(?:'\w+)?", line.lower())


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--most", type=int, default=20, help="how many frames of each kind to print")
    arguments = parser.parse_args()
    files = arguments.files or sorted((HERE / "everyday").glob("*.tsv"))
    rows = [line.split("\t") for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    english = [sentence for en, _ in rows if len(sentence := words(en)) >= SHORTEST]
    korean = [sentence for _, ko in rows if len(sentence := words(ko)) >= SHORTEST - 1]
    common = {word for word, _ in Counter(word for sentence in english for word in sentence).most_common(COMMON)}
    frames = {
        "first four words": [" ".join(sentence[:4]) for sentence in english],
        "skeleton": [" ".join(word if word in common else "_" for word in sentence) for sentence in english],
        "last two Korean words": [" ".join(sentence[-2:]) for sentence in korean],
    }
    result: dict[str, object] = {"pairs": len(rows)}
    for kind, occurrences in frames.items():
        counts = Counter(occurrences)
        repeated = sum(count for count in counts.values() if count >= MANY)
        top = counts.most_common(arguments.most)
        print(f"{kind}: {repeated:,} of {len(occurrences):,} in frames of {MANY} sentences or more")
        for frame, count in top:
            print(f"{count:7,}  {frame}")
        result[kind] = {"share": round(repeated / len(occurrences), 4), "most": top[0]}
    print(json.dumps(result, ensure_ascii=False))


if __name__ == "__main__":
    main()
