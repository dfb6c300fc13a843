// The steps of sections 3.1–3.5 in their order, as this model takes them: what each shows, and its numbers.

// The place of a position in an array: that of its block.
const placed = (x, position) => (x ? Math.min(x.shape[x.shape.length - 2] - 1, Math.floor(position / x.reduced)) : -1);

function picture(name, title, position, options = {}) {
  const x = array(name);
  return matrixOf(name, { name: title, row: placed(x, position), ...options }, options.head ?? -1);
}

function rowOf(x, at) {
  const width = x.shape[x.shape.length - 1];
  return x.values.subarray(at * width, (at + 1) * width);
}

function moments(values) {
  const mu = values.reduce((sum, v) => sum + v, 0) / values.length;
  return { mu, variance: values.reduce((sum, v) => sum + (v - mu) ** 2, 0) / values.length };
}

// What a norm looks at: mean and variance, or for RMSNorm the root mean square.
const inWords = ({ mu, variance }) => (model.norm === "rms" ? `√mean(x²) = ${number(Math.sqrt(variance + mu * mu), 3)}` : `μ = ${number(mu, 3)}, σ² = ${number(variance, 3)}`);

// One attention: its path, and the words at the position that asks and at the one it looks at most.
function sightOf(path, head, position) {
  const weights = headOf(array(`${path}.weights`), head);
  const at = placed(weights, position);
  const row = rowOf(weights, at);
  const best = row.indexOf(Math.max(...row));
  return { weights, at, best, asks: labelsOf(weights, "position")[at], asked: labelsOf(weights, "seen")[best] };
}

function worked(path, head, position) {
  const { weights, at, best, asks, asked } = sightOf(path, head, position);
  if (weights.reduced > 1) return {}; // a mean of softmaxes is not the softmax of a mean
  const cell = (leaf) => {
    const x = headOf(array(`${path}.${leaf}`), head);
    return x ? x.values[at * x.shape[1] + best] : null;
  };
  const dot = cell("products"), scaled = cell("scaled"), weight = weights.values[at * weights.shape[1] + best];
  const pair = [isolated(asks), isolated(asked)];
  return {
    products: dot === null ? "" : `q(${pair[0]}) · k(${pair[1]}) = ${number(dot)}`,
    scaled: dot === null ? "" : `${number(dot)} / √${model.d_k} = ${number(dot)} / ${number(Math.sqrt(model.d_k), 3)} = ${number(scaled)}`,
    weights: scaled === null ? "" : `A(${pair[0]}, ${pair[1]}) = e^${number(scaled)} / Σ = ${number(weight)}`,
  };
}

const AXES = { self: "S × S", masked: "T × T", cross: "T × S" };

// The steps of an attention: `kind` is self (the encoder's), masked (the decoder's own) or cross.
function attentionSteps(kind, path, state) {
  const position = kind === "self" ? state.source : state.target;
  const head = state.head, sums = worked(path, head, position);
  const at = { rowTitle: t("axis.asks"), columnTitle: t("axis.asked") };
  const rows = kind === "self" ? "S" : "T", columns = kind === "masked" ? "T" : rows === "T" ? "S" : "S";
  const show = (leaf, title, options = {}) => () => picture(`${path}.${leaf}`, title, position, { head, shape: AXES[kind], ...at, ...options });
  const plain = (leaf, title, shape) => () => picture(`${path}.${leaf}`, title, position, { head, shape });
  const steps = [
    { id: "qkv", key: kind === "cross" ? "crossqkv" : "qkv", section: "3.2.2", equations: kind === "cross" ? "crossqkv" : "qkv",
      more: rotary && kind !== "cross" ? [t("walk.qkv.turned")] : [],
      figures: [plain("q", `Q${digit(head)}`, `${rows} × d_k`), () => matrixOf(`${path}.k`, { name: `K${digit(head)}`, shape: `${columns} × d_k` }, head), () => matrixOf(`${path}.v`, { name: `V${digit(head)}`, shape: `${columns} × d_v` }, head)] },
    { id: "products", section: "3.2.1", figures: [show("products", "QKᵀ")], worked: sums.products },
    { id: "scaled", section: "3.2.1", figures: [show("scaled", "QKᵀ / √d_k")], worked: sums.scaled },
    { id: "masked", key: `masked.${kind}`, section: kind === "masked" ? "3.2.3" : "3.2.1", equations: kind === "masked" ? "masked" : null, figures: kind === "masked" ? [show("masked", t("name.masked"))] : [] },
    { id: "weights", section: "3.2.1", figures: [show("weights", "A = softmax", { signed: false, top: 1 })], worked: sums.weights },
    { id: "heads", section: "3.2.1", figures: [plain("heads", `head${digit(head)} = A V`, `${rows} × d_v`)] },
    { id: "output", section: "3.2.2", figures: [() => picture(`${path}.concat`, `Concat(head₁ … head${digit(model.heads - 1)})`, position, { shape: `${rows} × h·d_v` }), () => picture(`${path}.output`, "Concat · W^O", position, { shape: `${rows} × d_model` })] },
  ];
  return steps.map((step) => ({ ...step, id: `${kind}-${step.id}`, key: step.key || step.id, equations: step.equations === undefined ? step.id : step.equations, kind }));
}

const digit = (n) => [...String(n + 1)].map((d) => "₀₁₂₃₄₅₆₇₈₉"[d]).join("");

// A residual connection: what the norm is given and what it makes of it (before the sub-layer, or after the sum).
function normSteps(path, kind, position, before) {
  const rows = path.startsWith("encoder") ? "S" : "T", shape = `${rows} × d_model`;
  const show = (leaf, title) => () => picture(`${path}.${leaf}`, title, position, { shape });
  const sums = (a, b) => {
    const [x, y] = [array(`${path}.${a}`), array(`${path}.${b}`)];
    return x && y && x.reduced === 1 ? `${inWords(moments(rowOf(x, placed(x, position))))} → ${inWords(moments(rowOf(y, placed(y, position))))}` : "";
  };
  if (before) return [{ id: `${kind}-norm`, key: "norm", section: "3.1", equations: "norm", figures: [show("unnormed", "x"), show("normed", `${normName}(x)`)], worked: sums("unnormed", "normed"), kind }];
  const figures = post
    ? [show("x", "x"), show("added", "Sublayer(x)"), show("unnormed", "x + Sublayer(x)"), show("output", `${normName}(x + Sublayer(x))`)]
    : [show("x", "x"), show("added", `Sublayer(${normName}(x))`), show("output", "x + Sublayer(…)")];
  return [{ id: `${kind}-add`, key: post ? "add.post" : "add.pre", section: "3.1", equations: "addnorm", figures, worked: post ? sums("unnormed", "output") : "", kind }];
}

function around(path, kind, position, inner) {
  return [...(post ? [] : normSteps(path, kind, position, true)), ...inner, ...normSteps(path, kind, position, false)];
}

function feedForward(layer, kind, position) {
  const rows = layer.startsWith("encoder") ? "S" : "T", path = `${layer}.feed_forward`;
  const gated = model.feed_forward === "swiglu";
  return { id: `${kind}-ffn`, key: gated ? "ffn.swiglu" : "ffn.relu", section: "3.3", equations: "ffn", kind, figures: [
    () => picture(`${path}.inner`, gated || !model.bias ? "x W₁" : "x W₁ + b₁", position, { shape: `${rows} × d_ff` }),
    () => picture(`${path}.active`, gated ? "Swish(x W₁) ⊙ x W₃" : "max(0, …)", position, { shape: `${rows} × d_ff`, signed: gated }),
    () => picture(`${path}.output`, "FFN(x)", position, { shape: `${rows} × d_model` })] };
}

function embedSteps(side, position) {
  const rows = side === "source" ? "S" : "T", shape = `${rows} × d_model`, path = `${side}_embedding`;
  const show = (leaf, title) => () => picture(`${path}.${leaf}`, title, position, { shape });
  const first = { id: `${side}-embedding`, key: side === "source" ? "embedding" : "shifted", section: "3.4", equations: "embedding", figures: [show("scaled", "E[token] · √d_model")] };
  if (rotary) return [first, ...(side === "source" ? [{ id: "rotary", key: "rotary", section: "3.5", equations: "rotary", figures: [] }] : [])];
  return [first, { id: `${side}-position`, key: "position", section: "3.5", equations: "position", figures: [show("positions", "PE"), show("output", "E · √d_model + PE")] }];
}

// All of them: the encoder's, the decoder's, and those after it.
function walkSteps(state) {
  const e = `encoder.${state.encoder}`, d = `decoder.${state.decoder}`;
  const s = state.source, p = state.target;
  const encoder = [...embedSteps("source", s),
    ...around(`${e}.add_norm.0`, "self", s, attentionSteps("self", `${e}.self_attention`, state)),
    ...around(`${e}.add_norm.1`, "encoder-ffn", s, [feedForward(e, "encoder-ffn", s)]),
    { id: "memory", key: post ? "memory.post" : "memory.pre", section: "3.1", figures: [() => picture("memory", t("name.memory"), s, { shape: "S × d_model" })] }];
  const decoder = [...embedSteps("target", p),
    ...around(`${d}.add_norm.0`, "masked", p, attentionSteps("masked", `${d}.self_attention`, state)),
    ...around(`${d}.add_norm.1`, "cross", p, attentionSteps("cross", `${d}.cross_attention`, state)),
    ...around(`${d}.add_norm.2`, "decoder-ffn", p, [feedForward(d, "decoder-ffn", p)]),
    { id: "features", key: post ? "features.post" : "features.pre", section: "3.1", figures: [() => picture("features", t("name.features"), p, { shape: "T × d_model" })] }];
  return { encoder, decoder, output: outputSteps(state) };
}

function outputSteps(state) {
  const step = data.steps[state.target], width = array("logits").shape[1];
  const at = (name) => [...array(name).values.slice(state.target * width, state.target * width + 10)];
  const ends = array("logsumexp").values[state.target];
  const said = step.said < 10 ? step.said : -1;
  return [
    { id: "logits", key: "logits", section: "3.4", equations: "logits", figures: [() => el("div.card", {}, bars(step.candidates.slice(0, 10), at("logits"), said, (x) => number(x, 3)))] },
    { id: "softmax", key: "softmax", section: "3.4", equations: "softmax", figures: [() => el("div.card", {}, bars(step.candidates.slice(0, 10), at("probabilities"), said))],
      worked: `P(${isolated(step.candidates[0])}) = e^${number(at("logits")[0])} / e^${number(ends)} = ${number(at("probabilities")[0])}` },
    { id: "word", key: data.forced ? "word.forced" : "word", section: "3.1", figures: [() => wordTrail(state.target)] },
  ];
}

function wordTrail(position) {
  const trail = data.pieces.output.slice(0, position + 1).map((piece, i) => bdi(piece, i === position ? ".now" : ""));
  return el("p.trail", {}, bdi(data.pieces.input[0]), trail);
}
