"""To which words the heads of the bundled en-ko model send *it*, in the two examples of the page of `look`.

    python reproduce/look_examples.py

For each word the head of the encoder with the largest weight from *it*, as the page chooses it. Last line: JSON.
"""

import json

import dragoman

SENTENCES = ["tired", "wide"]


def strongest(last: str) -> dict[str, float]:
    """The largest weight of a head from *it* to each word of the sentence that ends with `last`."""
    seen = dragoman.inspect("en-ko", f"The animal didn't cross the street because it was too {last}.")
    words = [piece.strip("\u2581").lower() for piece in seen.pieces["source"]]
    query = words.index("it")
    heads = [
        head
        for name in seen
        if name.startswith("encoder.") and name.endswith("self_attention.weights")
        for head in seen[name].values.reshape(-1, len(words), len(words))
    ]
    keys = {word: words.index(word) for word in ("animal", "street", last)}
    print(last, seen.text)
    return {word: round(max(float(head[query, key]) for head in heads), 2) for word, key in keys.items()}


if __name__ == "__main__":
    print(json.dumps({last: strongest(last) for last in SENTENCES}))
