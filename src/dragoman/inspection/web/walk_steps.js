// The steps of sections 3.1–3.5 in order, in the form of this model: the matrices of each step, and its numbers.

// A residual connection: the input and output of its norm (before the sub-layer, or after the sum).
function normSteps(path, kind, position, before) {
  const rows = path.startsWith("encoder") ? "S" : "T",
    shape = `${rows} × d_model`;
  const show = (leaf, title) => () => picture(`${path}.${leaf}`, title, position, { shape });
  const sums = (a, b) => {
    const [x, y] = [array(`${path}.${a}`), array(`${path}.${b}`)];
    return x && y && x.reduced === 1 && !isSkipped(path)
      ? normalised(path, rowOf(x, placed(x, position)), rowOf(y, placed(y, position)))
      : "";
  };
  if (before)
    return [
      {
        id: `${kind}-norm`,
        key: "norm",
        section: "3.1",
        equations: "norm",
        figures: [show("unnormed", "x"), show("normed", `${normName}(x)`)],
        worked: sums("unnormed", "normed"),
        kind,
      },
    ];
  const figures = post
    ? [
        show("x", "x"),
        show("added", "Sublayer(x)"),
        show("unnormed", "x + Sublayer(x)"),
        show("output", `${normName}(x + Sublayer(x))`),
      ]
    : [show("x", "x"), show("added", `Sublayer(${normName}(x))`), show("output", "x + Sublayer(…)")];
  return [
    {
      id: `${kind}-add`,
      key: post ? "add.post" : "add.pre",
      section: "3.1",
      equations: "addnorm",
      figures,
      worked: [
        summed(`${path}.x`, `${path}.added`, "x₁ + Sublayer(…)₁", position),
        post ? sums("unnormed", "output") : "",
      ]
        .filter(Boolean)
        .join("\n"),
      kind,
    },
  ];
}

// The first component through the norm: x → x̂ → γ ⊙ x̂ + β.
function normalised(path, x, y) {
  const before = moments(x),
    words = [inWords(before)];
  const [scale, shift, epsilon] = sentences[sentence - 1].norm_parameters[path] || [];
  if (scale !== undefined) {
    const rms = model.norm === "rms";
    const centre = rms ? 0 : before.mu,
      size = Math.sqrt(before.variance + (rms ? before.mu ** 2 : 0) + epsilon);
    const hat = (x[0] - centre) / size;
    words.push(
      `x̂₁ = ${rms ? number(x[0], 3) : `(${number(x[0], 3)} − ${signed(centre)})`} / ${number(size, 3)} = ${number(hat, 3)}`,
      `γ₁ x̂₁${shift === null ? "" : " + β₁"} = ${number(scale, 3)} · ${signed(hat)}${shift === null ? "" : ` + ${signed(shift)}`} = ${number(y[0], 3)}`,
    );
  }
  return words.join("\n");
}

// A number as a term: a negative one in brackets.
const signed = (value) => (value < 0 ? `(${number(value, 3)})` : number(value, 3));

// The first component of a sum of two arrays at a position.
function summed(a, b, names, position) {
  const [x, y] = [array(a), array(b)];
  if (!x || !y || x.reduced > 1) return "";
  const [p, q] = [x, y].map((one) => rowOf(one, placed(one, position))[0]);
  return `${names} = ${number(p, 3)} + ${signed(q)} = ${number(p + q, 3)}`;
}

function around(path, kind, position, inner) {
  return [...(post ? [] : normSteps(path, kind, position, true)), ...inner, ...normSteps(path, kind, position, false)];
}

function feedForward(layer, kind, position) {
  const rows = layer.startsWith("encoder") ? "S" : "T",
    path = `${layer}.feed_forward`;
  const gated = model.feed_forward === "swiglu",
    relu = model.feed_forward === "relu";
  const active = gated ? "Swish(x W₁) ⊙ x W₃" : relu ? "max(0, …)" : "Swish(…)";
  return {
    id: `${kind}-ffn`,
    key: `ffn.${model.feed_forward}`,
    section: "3.3",
    equations: "ffn",
    kind,
    figures: [
      () =>
        picture(`${path}.inner`, gated || !model.bias ? "x W₁" : "x W₁ + b₁", position, { shape: `${rows} × d_ff` }),
      () =>
        picture(`${path}.active`, active, position, {
          shape: `${rows} × d_ff`,
          signed: !relu,
        }),
      () => picture(`${path}.output`, "FFN(x)", position, { shape: `${rows} × d_model` }),
    ],
  };
}

function embedSteps(side, position) {
  const rows = side === "source" ? "S" : "T",
    shape = `${rows} × d_model`,
    path = `${side}_embedding`;
  const show = (leaf, title) => () => picture(`${path}.${leaf}`, title, position, { shape });
  const first = {
    id: `${side}-embedding`,
    key: side === "source" ? "embedding" : "shifted",
    section: "3.4",
    equations: "embedding",
    figures: [show("scaled", "E[token] · √d_model")],
  };
  if (rotary)
    return [
      first,
      ...(side === "source" ? [{ id: "rotary", key: "rotary", section: "3.5", equations: "rotary", figures: [] }] : []),
    ];
  return [
    first,
    {
      id: `${side}-position`,
      key: "position",
      section: "3.5",
      equations: "position",
      figures: [show("positions", "PE"), show("output", "E · √d_model + PE")],
      worked: summed(`${path}.scaled`, `${path}.positions`, "E₁ · √d_model + PE₁", position),
    },
  ];
}

// All steps: the encoder's, the decoder's, and those after the decoder.
function walkSteps(state) {
  const e = `encoder.${state.encoder}`,
    d = `decoder.${state.decoder}`;
  const s = state.source,
    p = state.target;
  const encoder = [
    ...embedSteps("source", s),
    ...around(`${e}.self_attention_norm`, "self", s, attentionSteps("self", `${e}.self_attention`, state)),
    ...around(`${e}.feed_forward_norm`, "encoder-ffn", s, [feedForward(e, "encoder-ffn", s)]),
    {
      id: "memory",
      key: post ? "memory.post" : "memory.pre",
      section: "3.1",
      figures: [() => picture("memory", t("name.memory"), s, { shape: "S × d_model" })],
    },
  ];
  const decoder = [
    ...embedSteps("target", p),
    ...around(`${d}.self_attention_norm`, "masked", p, attentionSteps("masked", `${d}.self_attention`, state)),
    ...around(`${d}.cross_attention_norm`, "cross", p, attentionSteps("cross", `${d}.cross_attention`, state)),
    ...around(`${d}.feed_forward_norm`, "decoder-ffn", p, [feedForward(d, "decoder-ffn", p)]),
    {
      id: "features",
      key: post ? "features.post" : "features.pre",
      section: "3.1",
      figures: [() => picture("features", t("name.features"), p, { shape: "T × d_model" })],
    },
  ];
  return { encoder, decoder, output: outputSteps(state) };
}

function outputSteps(state) {
  const step = data.predictions[state.target],
    width = array("logits").shape[1];
  const at = (name) => [...array(name).values.slice(state.target * width, state.target * width + 10)];
  const ends = array("logsumexp").values[state.target];
  const chosen = step.chosen < 10 ? step.chosen : -1;
  return [
    {
      id: "logits",
      key: "logits",
      section: "3.4",
      equations: "logits",
      figures: [
        () =>
          el(
            "div.card",
            {},
            bars(step.candidates.slice(0, 10), at("logits"), chosen, (x) => number(x, 3)),
          ),
      ],
    },
    {
      id: "softmax",
      key: "softmax",
      section: "3.4",
      equations: "softmax",
      figures: [() => el("div.card", {}, bars(step.candidates.slice(0, 10), at("probabilities"), chosen))],
      worked: `log Σᵥ e^z(v) = ${number(ends)}\nP(${isolated(step.candidates[0])}) = e^${number(at("logits")[0])} / Σᵥ e^z(v) = e^(${number(at("logits")[0])} − ${signed(ends)}) = ${number(at("probabilities")[0])}`,
    },
    { id: "word", key: data.forced ? "word.forced" : "word", section: "3.1", figures: [() => wordTrail(state.target)] },
  ];
}

function wordTrail(position) {
  const trail = data.pieces.output.slice(0, position + 1).map((piece, i) => bdi(piece, i === position ? ".now" : ""));
  return el("p.trail", {}, bdi(data.pieces.input[0]), trail);
}
