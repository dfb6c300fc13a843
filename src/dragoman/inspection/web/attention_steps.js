// The steps of attention, section 3.2: the matrices of each step, and the numbers at the chosen position.

// The row of a position in an array: the index of its block.
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

// The statistics that a norm uses: mean and variance, or for RMSNorm the root mean square.
const inWords = ({ mu, variance }) =>
  model.norm === "rms"
    ? `√mean(x²) = ${number(Math.sqrt(variance + mu * mu), 3)}`
    : `μ = ${number(mu, 3)}, σ² = ${number(variance, 3)}`;

// One attention at one query position: its weights, the query's piece and the piece with the largest weight.
function strongestOf(path, head, position) {
  const weights = headOf(array(`${path}.weights`), head);
  const at = placed(weights, position);
  const row = rowOf(weights, at);
  const best = row.indexOf(Math.max(...row));
  return { weights, at, best, query: labelsOf(weights, "position")[at], key: labelsOf(weights, "key")[best] };
}

function worked(path, head, position) {
  const { weights, at, best, query, key } = strongestOf(path, head, position);
  // A mean of softmaxes is not the softmax of a mean; a layer that is skipped computes nothing.
  if (weights.reduced > 1 || isSkipped(path)) return {};
  const cell = (leaf) => {
    const x = headOf(array(`${path}.${leaf}`), head);
    return x ? x.values[at * x.shape[1] + best] : null;
  };
  const dot = cell("products"),
    scaled = cell("scaled"),
    weight = weights.values[at * weights.shape[1] + best];
  const pair = [isolated(query), isolated(key)];
  // The weights are no softmax, or their exponentials are beyond the numbers of a computer.
  const replaced = data.surgery?.uniform || data.surgery?.heads || Math.abs(scaled) > LARGEST_EXPONENT;
  const root = data.surgery?.scale === false ? "1" : `√${model.d_k}`;
  return {
    products: dot === null ? "" : `q(${pair[0]}) · k(${pair[1]}) = ${number(dot)}`,
    scaled:
      dot === null
        ? ""
        : `${number(dot)} / ${root} = ${number(dot)} / ${number(divisor(), 3)} = ${number(scaled)}`,
    weights:
      scaled === null || replaced || !Number.isFinite(Math.exp(scaled))
        ? ""
        : `Σⱼ e^S(${pair[0]}, j) = ${number(Math.exp(scaled) / weight)}\nA(${pair[0]}, ${pair[1]}) = e^${number(scaled)} / Σⱼ e^S(${pair[0]}, j) = ${number(Math.exp(scaled))} / ${number(Math.exp(scaled) / weight)} = ${number(weight)}`,
    heads: weightedSum(path, head, at, weights),
  };
}

// The first component of A V at a position: the largest terms, and the sum of all.
function weightedSum(path, head, at, weights) {
  const [v, out] = ["v", "heads"].map((leaf) => headOf(array(`${path}.${leaf}`), head));
  if (!v || !out) return "";
  const width = v.shape[1],
    row = [...rowOf(weights, at)];
  const order = [...row.keys()]
    .filter((j) => row[j] >= 0.001)
    .sort((a, b) => row[b] - row[a]);
  const keys = labelsOf(weights, "key");
  const terms = order.slice(0, 3).map((j) => `${number(row[j], 3)} · ${signed(v.values[j * width])} [${isolated(keys[j])}]`);
  return `Σⱼ A(${isolated(labelsOf(weights, "position")[at])}, j) v(j)₁ = ${terms.join(" + ")}${order.length > 3 ? " + …" : ""} = ${number(rowOf(out, at)[0], 3)}`;
}

const AXES = { self: "S × S", masked: "T × T", cross: "T × S" };

// The steps of one attention; `kind` is self (encoder), masked (decoder self-attention) or cross.
function attentionSteps(kind, path, state) {
  const position = kind === "self" ? state.source : state.target;
  const head = state.head,
    sums = worked(path, head, position);
  const at = { rowTitle: t("axis.query"), columnTitle: t("axis.key") };
  const rows = kind === "self" ? "S" : "T",
    columns = kind === "masked" ? "T" : rows === "T" ? "S" : "S";
  const show =
    (leaf, title, options = {}) =>
    () =>
      picture(`${path}.${leaf}`, title, position, { head, shape: AXES[kind], ...at, ...options });
  const plain = (leaf, title, shape, tone = "") => () => picture(`${path}.${leaf}`, title, position, { head, shape, tone });
  const steps = [
    {
      id: "qkv",
      key: kind === "cross" ? "crossqkv" : "qkv",
      section: "3.2.2",
      equations: kind === "cross" ? "crossqkv" : "qkv",
      more: rotary && kind !== "cross" ? [t("walk.qkv.turned")] : [],
      figures: [
        plain("q", `Q${digit(head)}`, `${rows} × d_k`, "q"),
        () => matrixOf(`${path}.k`, { name: `K${digit(head)}`, shape: `${columns} × d_k`, tone: "k" }, head),
        () => matrixOf(`${path}.v`, { name: `V${digit(head)}`, shape: `${columns} × d_v`, tone: "v" }, head),
      ],
    },
    { id: "products", section: "3.2.1", figures: [show("products", "QKᵀ")], worked: sums.products },
    { id: "scaled", section: "3.2.1", figures: [show("scaled", "QKᵀ / √d_k")], worked: sums.scaled },
    {
      id: "masked",
      key: `masked.${kind}`,
      section: kind === "masked" ? "3.2.3" : "3.2.1",
      equations: kind === "masked" ? "masked" : null,
      figures: kind === "masked" ? [show("masked", t("name.masked"))] : [],
    },
    {
      id: "weights",
      section: "3.2.1",
      figures: [show("weights", "A = softmax", { signed: false, top: topOf(array(`${path}.weights`)) })],
      worked: sums.weights,
    },
    { id: "heads", section: "3.2.1", figures: [plain("heads", `head${digit(head)} = A V`, `${rows} × d_v`)], worked: sums.heads },
    {
      id: "output",
      section: "3.2.2",
      figures: [
        () =>
          picture(`${path}.concat`, `Concat(head₁ … head${digit(model.heads - 1)})`, position, {
            shape: `${rows} × h·d_v`,
          }),
        () => picture(`${path}.output`, "Concat · Wᴼ", position, { shape: `${rows} × d_model` }),
      ],
    },
  ];
  return steps.map((step) => ({
    ...step,
    id: `${kind}-${step.id}`,
    key: step.key || step.id,
    equations: step.equations === undefined ? step.id : step.equations,
    kind,
  }));
}

const digit = (n) => [...String(n + 1)].map((d) => "₀₁₂₃₄₅₆₇₈₉"[d]).join("");
