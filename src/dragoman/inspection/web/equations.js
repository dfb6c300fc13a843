// The equations as MathML: those of the paper, and of later papers where the model differs.

function m(tag, ...children) {
  const made = document.createElementNS("http://www.w3.org/1998/Math/MathML", tag);
  made.append(
    ...children.map((child) =>
      typeof child === "string" && tag !== "mi" && tag !== "mo" && tag !== "mn" && tag !== "mtext"
        ? sign(child)
        : child,
    ),
  );
  return made;
}

function sign(text) {
  if (/^[\d.,]+$/.test(text)) return m("mn", text);
  const made = m(/^[\p{L}\p{M}′∞…]+$/u.test(text) ? "mi" : "mo", text);
  if (/^[QKV]$/.test(text)) made.setAttribute("class", `tone-${text.toLowerCase()}`);
  return made;
}

// A query, a key or a value in its colour.
function vectorOf(name) {
  const made = m("mi", name);
  made.setAttribute("class", `tone-${name}`);
  return made;
}

// A stretchy left brace.
function brace() {
  const made = m("mo", "{");
  made.setAttribute("form", "prefix");
  made.setAttribute("stretchy", "true");
  return made;
}

function gap() {
  const made = m("mspace");
  made.setAttribute("width", "1.6em");
  return made;
}

const row = (...parts) => m("mrow", ...parts);
const sub = (a, b) => m("msub", a, b);
const sup = (a, b) => m("msup", a, b);
const both = (a, b, c) => m("msubsup", a, b, c);
const frac = (a, b) => m("mfrac", a, b);
const root = (...a) => m("msqrt", ...a);
const call = (f, ...parts) => row(f, m("mo", "("), ...parts, m("mo", ")"));

function equation(...parts) {
  const made = m("math", row(...parts));
  made.setAttribute("display", "block");
  return made;
}

const D = () => sub("d", m("mtext", "model"));
const weight = (name, i = "i") => both("W", i, name);
// The projection of one head, Q_i = X W_i^Q, with its bias where the model has one.
const projected = (name, x = "X") => [
  sub(name, "i"),
  "=",
  x,
  weight(name),
  ...(model.bias ? ["+", both("b", "i", name)] : []),
];
const transposed = (x) => sup(x, "⊤");
const dK = () => sub("d", "k");
const BASE = String(Number(model.position_base.toFixed(2)));
const scores = () => frac(row("Q", transposed("K")), root(dK()));

// The name of the model's norm.
const normName = model.norm === "rms" ? "RMSNorm" : "LayerNorm";

const EQUATIONS = {
  embedding: () => [equation(sub("x", "pos"), "=", "E", "[", "token", "]", "·", root(D()))],
  position: () => [
    equation(call("PE", "pos", ",", "2", "i"), "=", call("sin", frac("pos", sup(BASE, row("2", "i", "/", D()))))),
    equation(
      call("PE", "pos", ",", "2", "i", "+", "1"),
      "=",
      call("cos", frac("pos", sup(BASE, row("2", "i", "/", D())))),
    ),
  ],
  rotary: () => [
    equation(
      sub("θ", "i"),
      "=",
      sup(BASE, row("−", "2", "i", "/", dK())),
      gap(),
      sub(vectorOf("q"), "pos"),
      "=",
      sub("R", row("pos", "·", "θ")),
      weight("Q"),
      sub("x", "pos"),
    ),
    equation(
      transposed(row("(", sub("R", row("m", "θ")), vectorOf("q"), ")")),
      row("(", sub("R", row("n", "θ")), vectorOf("k"), ")"),
      "=",
      transposed(vectorOf("q")),
      sub("R", row("(", "n", "−", "m", ")", "θ")),
      vectorOf("k"),
    ),
  ],
  norm: () => [
    model.norm === "rms"
      ? equation(
          call("RMSNorm", "x"),
          "=",
          frac("x", root(frac("1", D()), "∑", both("x", "c", "2"), "+", "ε")),
          "⊙",
          "γ",
        )
      : equation(
          call("LayerNorm", "x"),
          "=",
          frac(row("x", "−", "μ"), root(sup("σ", "2"), "+", "ε")),
          "⊙",
          "γ",
          "+",
          "β",
        ),
  ],
  addnorm: () => [
    equation(
      "x",
      "←",
      post ? call(normName, "x", "+", call("Sublayer", "x")) : row("x", "+", call("Sublayer", call(normName, "x"))),
    ),
  ],
  qkv: () => [equation(...projected("Q"), gap(), ...projected("K"), gap(), ...projected("V"))],
  crossqkv: () => [
    equation(...projected("Q")),
    equation(...projected("K", sub("X", "memory")), gap(), ...projected("V", sub("X", "memory"))),
  ],
  products: () => [
    equation(
      "Q",
      transposed("K"),
      gap(),
      sub(row("(", "Q", transposed("K"), ")"), row("p", "j")),
      "=",
      sub(vectorOf("q"), "p"),
      "·",
      sub(vectorOf("k"), "j"),
    ),
  ],
  scaled: () => [equation(scores())],
  masked: () => [
    equation(
      sub("S", row("p", "j")),
      "=",
      brace(),
      m(
        "mtable",
        m("mtr", m("mtd", frac(row(sub(vectorOf("q"), "p"), "·", sub(vectorOf("k"), "j")), root(dK()))), m("mtd", m("mtext", "j ✓"))),
        m("mtr", m("mtd", row("−", "∞")), m("mtd", m("mtext", "j ✗"))),
      ),
    ),
  ],
  weights: () => [
    equation(
      "A",
      "=",
      call("softmax", scores()),
      gap(),
      sub("A", row("p", "j")),
      "=",
      frac(sup("e", sub("S", row("p", "j"))), row(sub("∑", "l"), sup("e", sub("S", row("p", "l"))))),
    ),
  ],
  heads: () => [
    equation(
      sub("head", "i"),
      "=",
      call("Attention", sub("Q", "i"), ",", sub("K", "i"), ",", sub("V", "i")),
    ),
    equation(call("Attention", "Q", ",", "K", ",", "V"), "=", call("softmax", scores()), "V"),
  ],
  output: () => [
    equation(call("MultiHead", "Q", ",", "K", ",", "V"), "="),
    equation(call("Concat", sub("head", "1"), ",", "…", ",", sub("head", "h")), sup("W", "O"), ...(model.bias ? ["+", sup("b", "O")] : [])),
  ],
  ffn: () => {
    const by = (n) => [sub("W", n), ...(model.bias ? ["+", sub("b", n)] : [])];
    if (model.feed_forward === "relu")
      return [equation(call("FFN", "x"), "=", call("max", "0", ",", "x", ...by("1")), ...by("2"))];
    const silu = model.feed_forward === "silu";
    return [
      ...(silu
        ? [equation(call("FFN", "x"), "=", call("Swish", "x", ...by("1")), ...by("2"))]
        : [
            equation(call("FFN", "x"), "="),
            equation("(", call("Swish", "x", ...by("1")), "⊙", "(", "x", ...by("3"), ")", ")", ...by("2")),
          ]),
      equation(call("Swish", "z"), "=", frac("z", row("1", "+", sup("e", row("−", "z"))))),
    ];
  },
  logits: () => [
    equation("z", "=", "x", transposed(model.tie === "none" ? "W" : "E"), ...(model.output_bias ? ["+", "b"] : [])),
  ],
  softmax: () => [
    equation("P", "(", "w", ")", "=", frac(sup("e", sub("z", "w")), row(sub("∑", "v"), sup("e", sub("z", "v"))))),
  ],
};
