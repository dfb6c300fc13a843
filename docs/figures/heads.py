"""Figures of pages 12 and 13: weights of trained heads, as they were recorded in `heads.json`.

Other weights come out of every training, so that these are drawn from a file. `python -m figures.heads` in `docs`
writes it again: from the bundled en-ko, and from the translator that page 13 trains.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from figures.draw import Sheet, number

FILE = Path(__file__).parent / "heads.json"
PAGE = Path(__file__).parents[1] / "learn/13-from-tensorflow.md"
SENTENCE = "The animal didn't cross the street because it was too tired."
# (layer, head, the word whose weights are shown; all words if it is empty), counted from 1.
SHOWN = ((2, 4, "because"), (5, 3, "it"), (2, 3, "it"), (6, 2, ""))


def heads_of_a_sentence(t: Any) -> Sheet:
    """Figures 3 to 5 of the paper with heads of a bundled model: a line from a word to each that it looks at."""
    recorded = json.loads(FILE.read_text(encoding="utf-8"))["sentence"]
    words = recorded["words"]
    sheet = Sheet(760, 380)
    for panel, (layer, head, query) in enumerate(SHOWN):
        x, kind = 10 + 188 * panel, "qkva"[panel]
        sheet.box(x, 10, 176, 360, kind="box")
        sheet.text(x + 10, 31, t(f"panel {panel + 1}"), f"b t{kind}", 12)
        sheet.text(x + 10, 50, t("head").format(layer, head), "soft", 11.5)
        shares = recorded["weights"][f"{layer}.{head}"]
        for row, word in enumerate(words):
            y = 76 + 23 * row
            chosen = query in ("", word)
            sheet.text(x + 10, y + 4, word, f"b t{kind}" if query == word else ("" if chosen else "soft"), 11.5)
            sheet.text(x + 166, y + 4, word, "", 11.5, "end")
            for column, share in enumerate(shares[row]):
                if chosen and share >= 0.03:
                    end = 76 + 23 * column
                    sheet.weighted_line((x + 60, y), (x + 97, end), f"s{kind}", share)
                    if query and share >= 0.2:
                        sheet.text(x + 100, end + 4, number(share, 2), f"b t{kind}", 10)
    return sheet


def attention_plot(t: Any) -> Sheet:
    """The plot that ends the notebook of page 13: predicted pieces against source pieces, of the sharpest head."""
    recorded = json.loads(FILE.read_text(encoding="utf-8"))["plot"]
    rows, columns = recorded["predicted"], recorded["source"]
    sheet = Sheet(740, 78 + 17 * len(rows) + 26)
    left, top, wide, high = 88, 64, 620 / len(columns), 17
    sheet.text(left, 18, t("source"), "soft", 12)
    sheet.text(left + 620, 18, t("head").format(recorded["head"]), "b tq", 12, "end")
    sheet.text(left - 8, 56, t("predicted"), "soft", 11.5, "end")
    sheet.matrix(left, top, torch.tensor(recorded["weights"]), "q", (wide, high), None, scale=0.8)
    for column, piece in enumerate(columns):  # in two lines, so that they have room
        sheet.text(left + (column + 0.5) * wide, 42 + 14 * (column % 2), piece, "", 11, "middle")
    for row, piece in enumerate(rows):
        sheet.text(left - 8, top + (row + 0.5) * high + 4, piece, "", 11.5, "end")
    sheet.text(left, sheet.height - 10, t("note"), "soft", 12)
    return sheet


FIGURES = (heads_of_a_sentence, attention_plot)


def by_words(weights: torch.Tensor, words: Sequence[Sequence[int]]) -> torch.Tensor:
    """Weights between pieces (T, S) as weights between words: mean of a word's queries, sum over a word's keys."""
    rows = torch.stack([weights[list(word)].mean(0) for word in words])
    return torch.stack([rows[:, list(word)].sum(1) for word in words], dim=1)


def sentence() -> dict[str, Any]:
    """The weights of the heads that are shown, of the bundled model."""
    import dragoman

    seen = dragoman.inspect("en-ko", SENTENCE)
    words: list[list[int]] = []
    for place, piece in enumerate(seen.pieces["source"]):
        if piece.startswith(("▁", ".", "<")) or not words:
            words.append([])
        words[-1].append(place)
    pieces = seen.pieces["source"]
    names = ["".join(pieces[place] for place in word).strip("▁").replace("</s>", "EOS") for word in words]
    weights = {}
    for layer, head, _ in SHOWN:
        array = torch.as_tensor(seen[f"encoder.{layer - 1}.self_attention.weights"].values)
        shares = by_words(array.reshape(array.shape[-3:])[head - 1], words)
        weights[f"{layer}.{head}"] = [[round(share, 2) for share in row] for row in shares.tolist()]
    return {"translation": seen.text, "words": names, "weights": weights}


def plot() -> dict[str, Any]:
    """The weights of the last decoder layer of page 13, by running its blocks."""
    from notebooks import SNIPPET

    page: dict[str, Any] = {"__name__": "page"}
    for code, _ in SNIPPET.findall(PAGE.read_text(encoding="utf-8")):
        exec(compile(code, PAGE.name, "exec"), page)
    pieces = page["pieces"]
    sharpest = int(page["weights"].amax(-1).mean(-1).argmax())
    shares = page["weights"][sharpest]
    predicted = pieces.pieces([*page["target"][1:], page["source"][-1]], "target")
    return {
        "head": sharpest + 1,
        "source": [piece.replace("</s>", "EOS") for piece in pieces.pieces(page["source"], "source")],
        "predicted": [piece.replace("</s>", "EOS") for piece in predicted],
        "weights": [[round(share, 2) for share in row] for row in shares.tolist()],
    }


if __name__ == "__main__":
    recorded = {"sentence": sentence(), "plot": plot()}
    FILE.write_text(json.dumps(recorded, ensure_ascii=False) + "\n", encoding="utf-8")
