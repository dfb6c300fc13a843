"""Figures of pages 6 to 8: the whole network, a sub-layer's frame, its two orders, the output."""

from typing import Any

import torch

from dragoman.config import ModelConfig
from dragoman.model.parts.norm import norm
from figures.draw import Sheet, number, width_of


def transformer(t: Any) -> Sheet:
    """Figure 1 of the paper: six layers a side, each sub-layer in its frame."""
    sheet = Sheet(660, 500)
    for side, (x, names) in enumerate(
        ((90, ("attention", "ffn")), (390, ("masked", "cross", "ffn"))),
    ):
        top = 190 if side == 0 else 98
        sheet.box(x - 28, top, 226, 380 - top, kind="box", radius=8)
        sheet.text(x - 40, top + 20, "N ×", "b", 14, "end")
        sheet.text(x + 85, 486, t("source" if side == 0 else "target"), "", 13, "middle")
        sheet.arrow((x + 85, 470), (x + 85, 448))
        sheet.box(x, 418, 170, 28, t("embedding"), "cell page", 12.5)
        sheet.arrow((x + 85, 417), (x + 85, 363))
        sheet.box(x + 77, 391, 16, 16, kind="page")
        sheet.text(x + 85, 405, "⊕", "b tq", 17, "middle")
        sheet.text(x + 102, 404, "PE", "b tq", 13)
        for row, name in enumerate(names):
            y = 330 - 92 * row
            colour = "fk" if name == "ffn" else "fq"
            sheet.box(x, y, 170, 32, kind="cell page")
            sheet.box(x, y, 170, 32, t(name), colour, 12.5, opacity=0.25)
            sheet.box(x, y - 36, 170, 24, t("norm"), "cell page", 12)
            sheet.arrow((x + 85, y - 1), (x + 85, y - 11))
            sheet.path(f"M {x + 85} {y + 40} H {x - 15} V {y - 24} H {x - 2}", "line sv")
            sheet.arrow((x - 8, y - 24), (x - 1, y - 24), "line sv")
            if row < len(names) - 1:
                sheet.arrow((x + 85, y - 37), (x + 85, y - 58))
    sheet.path("M 175 202 V 176 H 330 V 254 H 380", "line sk curve")
    sheet.arrow((372, 254), (388, 254), "line sk curve")
    sheet.text(184, 168, t("memory"), "tk b", 12.5)
    sheet.arrow((475, 110), (475, 86))
    sheet.box(390, 60, 170, 26, t("linear"), "cell page", 12.5)
    sheet.arrow((475, 59), (475, 48))
    sheet.box(390, 20, 170, 26, "softmax", "cell page", 12.5)
    return sheet


def ffn(t: Any) -> Sheet:
    """The feed-forward network of one position: 4 numbers widened to 8, negatives cut, and back to 4."""
    torch.manual_seed(3)
    x = torch.tensor([1.0, -0.5, 0.8, 0.2])
    wide = torch.randn(8, 4) @ x
    narrow = torch.randn(4, 8) @ wide.relu() / 3
    sheet = Sheet(700, 320)
    columns = ((70, x, "a"), (220, wide, "q"), (370, wide.relu(), "v"), (540, narrow, "a"))
    for number_, (left, values, kind) in enumerate(columns):
        top = 52 + (8 - len(values)) * 13
        sheet.matrix(left, top, values[:, None], kind, (58, 26), 2, t(f"column {number_ + 1}"), scale=3)
    for x1, x2, name in ((130, 214, "W₁"), (280, 364, "max(0, ·)"), (430, 534, "W₂")):
        sheet.arrow((x1 + 4, 156), (x2, 156))
        sheet.text((x1 + x2) / 2 + 2, 146, name, "b", 12.5, "middle")
    sheet.text(70, 300, t("note"), "soft", 12.5)
    return sheet


def layer_norm(t: Any) -> Sheet:
    """Four numbers step by step: minus μ, over σ, times γ plus β."""
    x = torch.tensor([2.0, 4.0, 6.0, 8.0])
    layer = norm(ModelConfig(layers=1, d_model=4, d_ff=4, heads=1, norm="layer", norm_order="post"))
    gamma, beta = torch.tensor([1.0, 1.0, 2.0, 0.5]), torch.tensor([0.0, 1.0, 0.0, 0.0])
    with torch.no_grad():
        hat = layer(x)
        layer.weight.copy_(gamma)
        layer.bias.copy_(beta)
        done = layer(x)
    sheet = Sheet(720, 250)
    rows = (("x", x, "a"), ("x − μ", x - x.mean(), "q"), ("x̂ = (x − μ) / σ", hat, "q"), ("γ ⊙ x̂ + β", done, "v"))
    for row, (name, values, kind) in enumerate(rows):
        y = 16 + 46 * row
        sheet.text(150, y + 19, name, f"b t{kind}", 13.5, "end")
        sheet.matrix(166, y, [values.tolist()], kind, (64, 28), 2, scale=4)
        if row:
            sheet.arrow((294, y - 17), (294, y - 2))
    mean, deviation = number(x.mean(), 2), number(x.var(unbiased=False).sqrt(), 2)
    sheet.text(440, 36, f"μ = {mean}, σ = {deviation}", "soft", 12.5)
    sheet.text(440, 128, t("unit"), "soft", 12.5)
    sheet.text(440, 174, "γ = 1, 1, 2, 0.5   β = 0, 1, 0, 0", "soft", 12.5)
    sheet.lines(16, 222, t("note"), "soft", 12.5)
    return sheet


def residual(t: Any) -> Sheet:
    """x + Sublayer(x): what is added is small, and the way around it is free."""
    x, added = torch.tensor([1.2, -0.4, 0.7]), torch.tensor([0.1, 0.5, -0.2])
    sheet = Sheet(720, 190)
    sheet.matrix(30, 64, x[:, None], "a", (58, 26), 1, "x", scale=2)
    sheet.arrow((92, 103), (176, 103))
    sheet.box(178, 78, 140, 50, t("sublayer"), "box", 13)
    sheet.arrow((320, 103), (352, 103))
    sheet.matrix(358, 64, added[:, None], "k", (58, 26), 1, t("added"), scale=2)
    sheet.arrow((420, 103), (470, 103))
    sheet.circle(484, 103, 13, "line")
    sheet.text(484, 108, "+", "b", 16, "middle")
    sheet.path("M 120 103 V 28 H 484 V 88", "curve sv")
    sheet.arrow((484, 80), (484, 90), "curve sv")
    sheet.text(290, 22, t("around"), "tv b", 12.5, "middle")
    sheet.arrow((499, 103), (540, 103))
    sheet.matrix(550, 64, (x + added)[:, None], "v", (58, 26), 1, t("sum"), scale=2)
    sheet.text(30, 176, t("note"), "soft", 12.5)
    return sheet


def post_and_pre(t: Any) -> Sheet:
    """Where LayerNorm is: after the sum, or before the sub-layer."""
    sheet = Sheet(700, 300)
    for panel, name in enumerate(("post", "pre")):
        x = 150 + 340 * panel
        sheet.text(x, 26, t(name), "b", 14, "middle")
        sheet.line((x, 278), (x, 262))
        sheet.text(x + 12, 282, "x", "b", 14)
        free = "curve sv" if panel else "curve sbad"
        if panel == 0:
            sheet.box(x - 70, 196, 140, 36, t("sublayer"), "box", 13)
            sheet.arrow((x, 262), (x, 234))
            sheet.arrow((x, 195), (x, 158))
            sheet.circle(x, 144, 12, "line")
            sheet.path(f"M {x} 262 H {x - 96} V 144 H {x - 14}", free)
            sheet.arrow((x, 131), (x, 110))
            sheet.box(x - 70, 72, 140, 36, "LayerNorm", "cell page", 13)
            sheet.arrow((x, 71), (x, 44), free)
        else:
            sheet.arrow((x, 262), (x, 244))
            sheet.box(x - 70, 206, 140, 36, "LayerNorm", "cell page", 13)
            sheet.arrow((x, 205), (x, 186))
            sheet.box(x - 70, 148, 140, 36, t("sublayer"), "box", 13)
            sheet.arrow((x, 147), (x, 112))
            sheet.circle(x, 98, 12, "line")
            sheet.path(f"M {x} 262 H {x - 96} V 98 H {x - 14}", free)
            sheet.arrow((x, 85), (x, 44), free)
        sheet.text(x, 149 - 46 * panel, "+", "b", 15, "middle")
        sheet.lines(x + 84, 122, t(f"{name} path"), "tv" if panel else "tbad", 12)
    return sheet


def shift_right(t: Any) -> Sheet:
    """A training step: what the decoder reads, what it must predict, and the loss of each position."""
    sheet = Sheet(740, 300)
    reads, predicts = ("BOS", "I", "am", "a", "student"), ("I", "am", "a", "student", "EOS")
    chances = torch.tensor([0.6, 0.8, 0.9, 0.3, 0.95])
    losses = -chances.log()
    sheet.box(128, 118, 596, 44, kind="box")
    sheet.lines(12, 202, t("reads"), "tq b", 12.5)
    sheet.lines(12, 84, t("predicts"), "tv b", 12.5)
    sheet.lines(12, 34, t("loss"), "tbad b", 12.5)
    sheet.lines(12, 136, t("source"), "soft", 12)
    for place in range(5):
        x = 136 + 118 * place
        sheet.box(x, 186, 96, 30, kind="fq", opacity=0.22)
        sheet.text(x + 48, 206, reads[place], "b", 13, "middle")
        sheet.arrow((x + 48, 184), (x + 48, 165))
        sheet.arrow((x + 48, 117), (x + 48, 98))
        sheet.box(x, 66, 96, 30, kind="fv", opacity=0.22)
        sheet.text(x + 48, 86, predicts[place], "b", 13, "middle")
        formula = f"−ln {chances[place]:g}".replace("0.", ".") + f" = {number(losses[place], 2)}"
        sheet.text(x + 48, 36, formula, "tbad", 12, "middle")
        if place < 4:
            # The predicted word of one position is what the next one reads.
            sheet.path(f"M {x + 98} 82 C {x + 112} 120, {x + 104} 160, {x + 118} 190", "line sa dash")
    wide = width_of(t("decoder"), 13) + 20
    sheet.box(426 - wide / 2, 127, wide, 26, t("decoder"), "page", 13)
    sheet.text(136, 244, t("shift"), "ta", 12.5)
    mean = number(losses.mean(), 2)
    sheet.text(136, 268, t("mean").format(mean), "soft", 12.5)
    sheet.text(136, 288, t("teacher"), "soft", 12.5)
    return sheet


def argmax(t: Any) -> Sheet:
    """Logits → log-probabilities → the index of the largest → the piece."""
    logits = torch.tensor([-1.0, 0.2, 3.1, 1.4, 0.9, -0.6])
    words = ("a", "am", "student", "teacher", "I", "EOS")
    logs = logits.log_softmax(-1)
    best = int(logits.argmax())
    sheet = Sheet(740, 300)
    for row, (name, values) in enumerate((("logits", logits), ("log", logs), ("chance", logs.exp()))):
        y = 60 + 62 * row
        sheet.lines(12, y + 10, t(name), "b", 12.5)
        sheet.matrix(186, y, [values.tolist()], "vaq"[row], (84, 30), 2, scale=(4, 5, 1)[row])
        if row:
            sheet.text(176, y - 10, t("softmax" if row == 1 else "exp"), "soft", 11.5, "end")
    for column, word in enumerate(words):
        kind = "b tv" if column == best else "soft"
        sheet.text(228 + 84 * column, 30, str(column), kind, 12.5, "middle")
        sheet.text(228 + 84 * column, 48, word, kind, 12.5, "middle")
    sheet.text(12, 30, t("index"), "soft", 12.5)
    sheet.text(12, 48, t("piece"), "soft", 12.5)
    x = 186 + 84 * best
    sheet.box(x - 2, 14, 88, 204, kind="line sv", radius=4)
    sheet.arrow((x + 42, 220), (x + 42, 242), "curve sv")
    sheet.text(x + 42, 262, f"argmax = {best} → “{words[best]}”", "b tv", 14, "middle")
    sheet.text(12, 288, t("note"), "soft", 12.5)
    return sheet


def tying(t: Any) -> Sheet:
    """One matrix in three places, section 3.4."""
    sheet = Sheet(720, 230)
    sheet.matrix(310, 40, torch.tensor([[0.3, -0.5, 0.1], [0.8, 0.2, -0.4], [-0.1, 0.6, 0.7], [0.2, -0.3, 0.9]]),
                 "a", (44, 26), 1, "E  (V × d_model)", scale=1.5)  # fmt: skip
    for row, word in enumerate(("I", "am", "a", "student")):
        sheet.text(300, 58 + 26 * row, word, "soft", 12, "end")
    for x, name in ((20, "source"), (550, "output")):
        sheet.box(x, 46, 150, 60, t(name), "box", 12.5)
    sheet.box(290, 172, 172, 44, t("target"), "box", 12.5)
    sheet.arrow((256, 82), (174, 78), "line sq")
    sheet.arrow((446, 82), (546, 78), "line sv")
    sheet.arrow((376, 148), (376, 170), "line sk")
    sheet.text(490, 66, "Eᵀ", "b tv", 13, "middle")
    sheet.text(214, 68, "· √d_model", "b tq", 12, "middle")
    sheet.lines(20, 140, t("saved"), "soft", 12.5)
    return sheet


def dropouts(t: Any) -> Sheet:
    """The three places of dropout in the paper (section 5.4), and one more in tensor2tensor."""
    sheet = Sheet(740, 176)
    boxes = (("embedding", 16), ("sublayer", 254), ("after", 492))
    for number_, (name, x) in enumerate(boxes):
        sheet.box(x, 30, 140, 44, t(name), "box", 12.5)
        sheet.arrow((x + 142, 52), (x + 164, 52))
        if number_ < 2:
            sheet.circle(x + 180, 52, 15, "curve sbad")
            sheet.text(x + 180, 57, "D", "b tbad", 14, "middle")
            sheet.arrow((x + 197, 52), (x + 234, 52))
        sheet.lines(x, 96, t(f"{name} is"), "soft", 12)
    sheet.text(16, 160, t("note"), "", 12.5)
    return sheet


FIGURES = (transformer, residual, layer_norm, ffn, post_and_pre, dropouts, shift_right, argmax, tying)
