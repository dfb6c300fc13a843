// A click on a cell of a linear layer's output shows the products of its input and a row of the weights, and the bias. The
// weights are those of the engine: a page that runs no model has none.

// What a click on a cell of `leaf` shows: x · w + b; null where the input or the weights are not on the page.
function linearInputs(path, leaf, head) {
  const [stack, layer, name] = path.split(".");
  if (!isLive() || !name || isSkipped(path)) return null;
  const stream = (sublayer) => `${stack}.${layer}.${sublayer}_norm.${post ? "x" : "normed"}`;
  const isCross = name === "cross_attention";
  const read = { q: stream(name), k: isCross ? "memory" : stream(name), v: isCross ? "memory" : stream(name) };
  const layers = /attention$/.test(name)
    ? { q: [read.q, "w_q"], k: [read.k, "w_k"], v: [read.v, "w_v"], output: [`${path}.concat`, "w_o"] }
    : name === "feed_forward"
      ? { inner: [stream(name), "w_1"], output: [`${path}.active`, "w_2"] }
      : {};
  // Rotated queries and keys are no longer what the layer computed.
  if (!layers[leaf] || (rotary && !isCross && (leaf === "q" || leaf === "k"))) return null;
  const [input, weights] = layers[leaf];
  const first = head < 0 ? 0 : head * (leaf === "v" ? model.d_v : model.d_k);
  return (row, column) => linearTerms({ input, name: `${path}.${weights}`, output: `${path}.${leaf}`, row, column, unit: first + column });
}

function linearTerms({ input, name, output, row, column, unit }) {
  const x = array(input);
  if (!x || x.reduced > 1) return [el("p.hint", {}, t("inputs.absent"))];
  light({ [input]: { row }, [output]: { row, column } });
  if (!live.kernels) return [el("p.hint", {}, t("live.loading"))];
  const box = part(() => el("p.hint", {}, t("live.working")));
  const show = ({ weights, bias }) => {
    const values = [...rowOf(x, row)];
    const products = values.map((value, i) => value * weights[i]);
    const sum = products.reduce((total, value) => total + value, bias ?? 0);
    const [symbol] = [name.split(".").pop()];
    const rows = products.map((product, i) => [product, [String(i), number(values[i]), number(weights[i]), number(product)]]);
    if (bias !== null) rows.push([Infinity, ["b", "", "", number(bias)]]);
    box.replaceChildren(
      el("p", {}, t("inputs.linear", { sum: number(sum), n: whole(values.length), unit: `${symbol.toUpperCase().replace("_", " ")}, ${unit}` })),
      terms(rows, ["i", low("x", "i"), low("w", "i"), [low("x", "i"), " · ", low("w", "i")]], sum),
      el("p.hint", {}, t(bias === null ? "inputs.linear.unbiased" : "inputs.linear.bias")),
    );
  };
  askOfSentence({ kind: "row", name, row: unit })
    .then((answer) => answer && show(answer))
    .catch((error) => box.replaceChildren(el("p.hint", {}, t("engine.failed", { error: error.message.split("\n")[0] }))));
  return [box];
}
