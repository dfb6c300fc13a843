"""Figures of pages 1 to 4: attention, its numbers, masks and heads."""

import math
from typing import Any

import torch

from dragoman.model.parts.attention import attention_weights, look_ahead_mask, padding_mask
from dragoman.model.parts.scores import AdditiveAttention
from figures.draw import Sheet, number

SOURCE, TARGET = ("나는", "학생입니다"), ("I", "am", "a", "student")
# Two words of three numbers each, and the three matrices of pages 2 and 4.
X = torch.tensor([[1.0, 0, 1], [0, 1, 1]])
W = {
    "Q": torch.tensor([[1.0, 0], [0, 1], [1, 0]]),
    "K": torch.tensor([[1.0, 0], [0, 2], [0, 1]]),
    "V": torch.tensor([[1.0, 0], [0, 4], [1, 0]]),
}


def weights(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Eq. (1)'s left factor for one sentence and one head."""
    everything = torch.ones(1, 1, 1, len(k), dtype=torch.bool)
    return attention_weights(q[None, None], k[None, None], everything)[0, 0]


def bottleneck(t: Any) -> Sheet:
    """A sentence in one vector against attention to all states."""
    sheet = Sheet(720, 340)
    for panel, name in enumerate(("one", "many")):
        y = 58 + 190 * panel
        sheet.text(14, (22, 166)[panel], t(name), "b")
        for place, word in enumerate(("나는", "학생", "입니다")):
            x = 30 + 92 * place
            sheet.box(x, y, 62, 34, f"h{'₁₂₃'[place]}", "box", 14)
            sheet.text(x + 31, y + 58, word, "", 13, "middle")
            sheet.arrow((x + 31, y + 46), (x + 31, y + 36))
            if place:
                sheet.arrow((x - 30, y + 17), (x - 2, y + 17))
        for place, word in enumerate(TARGET):
            x = 356 + 90 * place
            sheet.box(x, y, 62, 34, f"s{'₁₂₃₄'[place]}", "box", 14)
            sheet.text(x + 31, y + 58, word, "", 13, "middle")
            sheet.arrow((x + 31, y + 36), (x + 31, y + 47))
            if place:
                sheet.arrow((x - 28, y + 17), (x - 2, y + 17))
        if panel == 0:
            sheet.arrow((276, y + 17), (354, y + 17), "line sbad curve")
            sheet.text(315, y + 8, t("vector"), "tbad", 12, "middle")
        else:
            for place in range(3):
                x = 61 + 92 * place
                top = y - 64 + 8 * place
                strong = "line sa curve" if place else "line sa"
                sheet.path(
                    f"M {x} {y - 1} C {x + 60} {top}, {600 - 10 * place} {top}, 652 {y - 2}",
                    strong,
                )
            sheet.text(430, y - 60, t("weighted"), "ta", 12, "middle")
    return sheet


def attention_steps(t: Any) -> Sheet:
    """Attention in three pictures: compare, weigh, average."""
    q, k, v = (X @ W[name] for name in "QKV")
    scores, share = (q @ k.T / math.sqrt(2))[1], weights(q, k)[1]
    sheet = Sheet(740, 270)
    for panel in range(3):
        x = 16 + 244 * panel
        sheet.box(x, 12, 222, 246, kind="box")
        sheet.text(x + 12, 34, f"{panel + 1}. {t(f'panel {panel + 1}')}", "b")
        if panel:
            sheet.arrow((x - 21, 135), (x - 3, 135))
        for row, word in enumerate(SOURCE):
            y = 104 + 66 * row
            sheet.text(x + 12, y - 8, word, "", 12.5)
            if panel == 0:
                sheet.matrix(x + 12, y, [k[row].tolist()], "k", (32, 22), 0, scale=3)
                sheet.text(x + 82, y + 16, f"q · k / √2 = {number(scores[row], 2)}", "", 12.5)
            elif panel == 1:
                sheet.box(x + 12, y, 150 * float(share[row]), 22, kind="fa", radius=3, opacity=0.75)
                sheet.text(x + 18 + 150 * float(share[row]), y + 16, number(share[row], 2), "b", 13)
            else:
                sheet.text(x + 12, y + 16, f"{number(share[row], 2)} ×", "", 12.5)
                sheet.matrix(x + 58, y, [v[row].tolist()], "v", (38, 22), 0, scale=4)
        if panel == 0:
            sheet.text(x + 12, 66, "q", "b tq")
            sheet.matrix(x + 28, 50, [q[1].tolist()], "q", (32, 22), 0, scale=3)
            sheet.text(x + 100, 66, SOURCE[1], "", 12.5)
            sheet.text(x + 12, 242, t("similar"), "soft", 12)
        elif panel == 1:
            sheet.text(x + 12, 242, t("sum"), "soft", 12)
        else:
            sheet.text(x + 12, 242, "z =", "b")
            sheet.matrix(x + 58, 226, [(share @ v).tolist()], "a", (52, 22), 2, scale=4)
    return sheet


def qkv_by_hand(t: Any) -> Sheet:
    """Two words of three numbers → Q, K, V → scores → weights → output, every number."""
    sheet = Sheet(750, 520)
    cell = (36, 24)
    q, k, v = (X @ W[name] for name in "QKV")
    for row, name in enumerate("QKV"):
        kind, y = name.lower(), 50 + 116 * row
        sheet.matrix(96, y + 12, X, "a", cell, 0, "X", SOURCE, scale=3)
        sheet.text(218, y + 41, "×", "b", 16)
        sheet.matrix(244, y, W[name], kind, cell, 0, f"W^{name}", scale=5)
        sheet.text(330, y + 41, "=", "b", 16)
        sheet.matrix(356, y + 12, X @ W[name], kind, cell, 0, name, scale=5)
        sheet.lines(452, y + 30, t(name), "soft", 12.5)
    y = 424
    scores = q @ k.T
    sheet.matrix(50, y, scores, "a", (40, 26), 0, "Q Kᵀ", scale=4)
    sheet.arrow((140, y + 26), (176, y + 26))
    sheet.text(158, y + 17, "÷ √2", "soft", 12, "middle")
    sheet.matrix(186, y, scores / math.sqrt(2), "a", (50, 26), 2, t("scaled"), scale=3)
    sheet.arrow((296, y + 26), (352, y + 26))
    sheet.text(324, y + 17, "softmax", "soft", 12, "middle")
    sheet.matrix(362, y, weights(q, k), "a", (50, 26), 2, t("weights"), scale=1)
    sheet.arrow((472, y + 26), (512, y + 26))
    sheet.text(492, y + 17, "× V", "b tv", 13, "middle")
    sheet.matrix(524, y, weights(q, k) @ v, "v", (54, 26), 2, "Z", scale=5)
    for row, word in enumerate(SOURCE):
        sheet.text(642, y + 17 + 26 * row, word, "soft", 12)
    sheet.text(50, y + 82, t("read"), "soft", 12.5)
    return sheet


def dot_product(t: Any) -> Sheet:
    """A dot product is large for one direction, 0 at a right angle, and grows with length."""
    sheet = Sheet(720, 236)
    pairs = [((2.0, 1.0), (2.0, 1.5)), ((2.0, 1.0), (-1.0, 2.0)), ((2.0, 1.0), (4.0, 3.0))]
    for panel, (a, b) in enumerate(pairs):
        x, y, unit = 62 + 238 * panel, 178, 30
        sheet.line((x - 44, y), (x + 146, y), "thin")
        sheet.line((x, y + 12), (x, y - 112), "thin")
        for (dx, dy), kind, name in ((a, "q", "q"), (b, "k", "k")):
            sheet.arrow((x, y), (x + unit * dx, y - unit * dy), f"curve s{kind}", 6)
            side = 12 if dx > 0 else -12
            up = (9 if name == "q" else -5) if panel != 1 else 0
            sheet.text(x + unit * dx + side, y - unit * dy + up, name, f"b t{kind}", 14, "middle")
        product = float(torch.tensor(a) @ torch.tensor(b))
        sheet.text(x + 50, 30, f"q · k = {number(product, 1)}", "b", 14, "middle")
        sheet.text(x + 50, 222, t(f"panel {panel + 1}"), "soft", 12.5, "middle")
    return sheet


def largest_weights() -> dict[str, list[float]]:
    """The largest of ten weights, by kind of score, at d_k = 4, 64 and 512; vectors of independent unit numbers."""
    torch.manual_seed(0)
    sizes: dict[str, list[float]] = {"dot": [], "scaled": [], "additive": []}
    for d_k in (4, 64, 512):
        q, k = torch.randn(1000, 1, 1, d_k), torch.randn(1000, 1, 10, d_k)
        dot = q @ k.mT
        for name, scores in (
            ("dot", dot), ("scaled", dot / math.sqrt(d_k)), ("additive", AdditiveAttention(d_k).scores(q, k))
        ):  # fmt: skip
            sizes[name].append(float(scores.softmax(-1).amax(-1).mean()))
    return sizes


def saturation(t: Any) -> Sheet:
    """Additive against dot product, with and without √d_k."""
    sheet = Sheet(640, 290)
    with torch.random.fork_rng(), torch.no_grad():
        sizes = largest_weights()
    sheet.axes(60, 230, 420, 180, [], [(v, f"{v:.2f}") for v in (0, 0.25, 0.5, 0.75, 1)], ("", t("largest")))
    for group, d_k in enumerate((4, 64, 512)):
        for bar, (name, kind) in enumerate((("dot", "fbad"), ("scaled", "fq"), ("additive", "fk"))):
            x, height = 86 + 138 * group + 34 * bar, 180 * sizes[name][group]
            sheet.box(x, 230 - height, 28, height, kind=kind, radius=2)
            sheet.text(x + 14, 225 - height, number(sizes[name][group], 2), "", 11.5, "middle")
        sheet.text(134 + 138 * group, 249, f"d_k = {d_k}", "", 12.5, "middle")
    for row, (name, kind) in enumerate((("dot", "fbad"), ("scaled", "fq"), ("additive", "fk"))):
        sheet.box(500, 66 + 30 * row, 14, 14, kind=kind, radius=2)
        sheet.text(521, 78 + 30 * row, t(name), "", 12.5)
    sheet.text(60, 278, t("even"), "soft", 12)
    return sheet


def masks(t: Any) -> Sheet:
    """Padding, look-ahead and both, for a sentence of three words in a batch five wide."""
    sheet = Sheet(720, 250)
    ids = torch.tensor([[7, 21, 777, 0, 0]])
    padding, ahead = padding_mask(ids, 0).expand(1, 1, 5, 5)[0, 0], look_ahead_mask(5, 5)[0, 0]
    words = ("나는", "학생", "입니다", "PAD", "PAD")
    for panel, (name, mask) in enumerate((("padding", padding), ("ahead", ahead), ("both", padding & ahead))):
        x, y = 74 + 226 * panel, 76
        sheet.text(x + 80, 28, t(name), "b", 13.5, "middle")
        for column, word in enumerate(words):
            sheet.text(x + 32 * column + 16, y - 7, word, "soft", 10, "middle")
        for row in range(5):
            sheet.text(x - 6, y + 26 * row + 17, words[row], "soft", 11, "end")
            for column in range(5):
                seen = bool(mask[row, column])
                sheet.box(x + 32 * column, y + 26 * row, 32, 26, kind="cell page", radius=0)
                if seen:
                    sheet.box(x + 32 * column, y + 26 * row, 32, 26, kind="fq", radius=0, opacity=0.3)
                mark, kind = ("✓", "tq b") if seen else ("×", "soft")
                sheet.text(x + 32 * column + 16, y + 26 * row + 18, mark, kind, 13, "middle")
    sheet.text(74, 234, t("legend"), "soft", 12.5)
    return sheet


def mask_and_softmax(t: Any) -> Sheet:
    """Scores, −∞ above the diagonal, and the softmax: 0 there, and every row still sums to 1."""
    torch.manual_seed(2)
    q = k = torch.randn(4, 4)
    scores = q @ k.T / 2
    ahead = look_ahead_mask(4, 4)
    hidden = scores.masked_fill(~ahead[0, 0], -math.inf)
    seen = attention_weights(q[None, None], k[None, None], ahead)[0, 0]
    sheet = Sheet(740, 210)
    for panel, (name, rows, scale) in enumerate((("scores", scores, 3), ("hidden", hidden, 3), ("weights", seen, 1))):
        x = 66 + 236 * panel
        sheet.matrix(x, 62, rows, "a", (44, 28), 2, t(name), TARGET if panel == 0 else (), TARGET, scale)
        if panel:
            sheet.arrow((x - 52, 118), (x - 8, 118))
    sheet.text(66, 198, t("note"), "soft", 12.5)
    return sheet


def heads(t: Any) -> Sheet:
    """512 numbers are cut into eight heads of 64, each attends, and all are joined."""
    sheet = Sheet(740, 300)
    colours = ("fq", "fk", "fv", "fa")
    sheet.text(14, 52, "x", "b", 15)
    sheet.box(34, 36, 250, 24, kind="box")
    sheet.text(159, 53, "d_model = 512", "", 12.5, "middle")
    sheet.arrow((159, 62), (159, 84))
    sheet.text(170, 78, t("project"), "soft", 12)
    for head in range(8):
        x = 34 + 84 * head
        sheet.box(x, 90, 78, 24, kind=colours[head % 4], opacity=0.45 if head < 4 else 0.25)
        sheet.text(x + 39, 107, "64", "", 12, "middle")
        sheet.arrow((x + 39, 116), (x + 39, 134))
        sheet.box(x, 136, 78, 40, f"{t('head')} {head + 1}|Eq. (1)", "box", 11.5)
        sheet.arrow((x + 39, 178), (x + 39, 196))
        sheet.box(x, 198, 78, 24, kind=colours[head % 4], opacity=0.45 if head < 4 else 0.25)
        sheet.text(x + 39, 215, "64", "", 12, "middle")
    sheet.text(34, 244, t("concat"), "soft", 12)
    sheet.arrow((368, 228), (368, 254))
    sheet.text(378, 250, "W^O", "b", 13)
    sheet.box(243, 258, 250, 24, kind="box")
    sheet.text(368, 275, "d_model = 512", "", 12.5, "middle")
    return sheet


def two_heads(t: Any) -> Sheet:
    """Page 2's weights with one head of width 2, and with two heads of width 1: a line from a query to each key."""
    q, k, _ = (X @ W[name] for name in "QKV")
    sheet = Sheet(750, 220)
    panels = (("one", "a", [0, 1]), ("head 1", "q", [0]), ("head 2", "k", [1]))
    for panel, (name, kind, columns) in enumerate(panels):
        x, shares = 16 + 246 * panel, weights(q[:, columns], k[:, columns])
        sheet.box(x, 12, 226, 196, kind="box")
        sheet.text(x + 12, 34, t(name), f"b t{kind}")
        sheet.text(x + 12, 60, t("query"), "soft", 11.5)
        sheet.text(x + 214, 60, t("key"), "soft", 11.5, "end")
        for row, word in enumerate(SOURCE):
            y = 92 + 76 * row
            sheet.text(x + 12, y + 5, word, "", 12.5)
            sheet.text(x + 214, y + 5, word, "", 12.5, "end")
            for column in range(2):
                share, end = float(shares[row, column]), 92 + 76 * column
                sheet.weighted_line((x + 82, y), (x + 144, end), f"s{kind}", share)
                # Of a level line outside of it; of another at the right of its end.
                level = ((x + 113, y + (18 if row else -8)), "middle")
                place, anchor = level if row == column else ((x + 134, end + (-13 if column else 24)), "start")
                sheet.text(*place, number(share, 2), f"b t{kind}", 11.5, anchor)
    return sheet


def three_attentions(t: Any) -> Sheet:
    """Which mask where: Q, K and V of the three attentions in Figure 1 of the paper."""
    sheet = Sheet(740, 300)
    sheet.box(20, 84, 220, 150, kind="box")
    sheet.text(130, 106, t("encoder"), "b", 14, "middle")
    sheet.box(40, 130, 180, 60, t("self"), "page cell", 12.5)
    sheet.text(130, 212, t("padding"), "tq", 12, "middle")
    sheet.box(330, 20, 250, 270, kind="box")
    sheet.text(455, 42, t("decoder"), "b", 14, "middle")
    sheet.box(350, 200, 210, 50, t("masked"), "page cell", 12.5)
    sheet.text(455, 272, t("both"), "tq", 12, "middle")
    sheet.box(350, 90, 210, 50, t("cross"), "page cell", 12.5)
    sheet.text(455, 78, t("padding"), "tq", 12, "middle")
    sheet.arrow((455, 198), (455, 142), "line sq curve")
    sheet.text(464, 174, "Q", "b tq", 14)
    sheet.arrow((222, 160), (348, 115), "line sk curve")
    sheet.text(282, 122, "K, V", "b tk", 14, "middle")
    sheet.text(236, 66, t("memory"), "soft", 12)
    for x, y, name in ((130, 258, "Q = K = V: x"), (640, 222, "Q = K = V: y"), (640, 112, "Q: y|K, V: x")):
        sheet.lines(x, y, name, "soft", 12.5, "middle")
    return sheet


FIGURES = (
    bottleneck, attention_steps, qkv_by_hand, dot_product, saturation, masks, mask_and_softmax, heads, two_heads,
    three_attentions,
)  # fmt: skip
