// A click on a cell of the residual stream shows its terms: x + Sublayer(x), E · √d_model + PE, or the way through a norm,
// x → x̂ → γ ⊙ x̂ + β.

// What a click on a cell of an array shows; null where its terms are not on the page, or where no norm was computed.
function streamInputs(name) {
  const x = array(name);
  const cut = name.lastIndexOf(".");
  const [path, leaf] = [name.slice(0, cut), name.slice(cut + 1)];
  if (!x || x.reduced > 1 || isSkipped(path)) return null;
  if (/_embedding$/.test(path) && leaf === "output" && !rotary)
    return sumInputs(name, [[`${path}.scaled`, "E · √d_model"], [`${path}.positions`, "PE"]]);
  const sum = [[`${path}.x`, "x"], [`${path}.added`, post ? "Sublayer(x)" : `Sublayer(${normName}(x))`]];
  if (/_norm$/.test(path) && leaf === (post ? "unnormed" : "output")) return sumInputs(name, sum);
  const norm = { memory: "encoder_norm", features: "decoder_norm" }[name] ?? path;
  if (!/_norm$/.test(norm) || (!norm.includes(".") && post)) return null;
  const pair = normPair(norm);
  return pair.includes(name) && pair.every((part) => array(part)?.reduced === 1) ? normInputs(...pair) : null;
}

const isSkipped = (path) => (data.surgery?.layers ?? []).some((layer) => path.startsWith(`${layer}.`));

// The names of the arrays before and after a norm.
function normPair(norm) {
  if (norm === "encoder_norm") return [`encoder.${model.encoder_layers - 1}.feed_forward_norm.output`, "memory"];
  if (norm === "decoder_norm") return [`decoder.${model.decoder_layers - 1}.feed_forward_norm.output`, "features"];
  return [`${norm}.unnormed`, `${norm}.${post ? "output" : "normed"}`];
}

// The terms of a sum of arrays, [name, title].
function sumInputs(name, parts) {
  if (!parts.every(([part]) => array(part)?.reduced === 1)) return null;
  return (row, column) => {
    const values = parts.map(([part]) => rowOf(array(part), row)[column]);
    const sum = values.reduce((total, value) => total + value, 0);
    light(Object.fromEntries([...parts.map(([part]) => part), name].map((lit) => [lit, { row, column }])));
    const rows = parts.map(([, title], i) => [values[i], [title, number(values[i])]]);
    return [el("p", {}, t("inputs.sum", { component: column })), terms(rows, [t("inputs.term"), t("inputs.value")], sum)];
  };
}

// γ and β of a component, which all positions share: from what the norm made of the two positions whose x̂ differ most.
// β is null for RMSNorm; γ is null where one position alone does not say it.
function learned(hats, values) {
  const order = [...hats.keys()].sort((a, b) => hats[a] - hats[b]);
  const [low, high] = [order[0], order.at(-1)];
  if (model.norm === "rms") {
    const largest = Math.abs(hats[low]) > Math.abs(hats[high]) ? low : high;
    return hats[largest] ? [values[largest] / hats[largest], null] : [null, null];
  }
  if (hats[high] - hats[low] < 1e-3) return [null, null];
  const gain = (values[high] - values[low]) / (hats[high] - hats[low]);
  return [gain, values[high] - gain * hats[high]];
}

// Of a row of x: its mean (0 for RMSNorm, which subtracts none), the mean of squares around it, and √(that + ε).
function statisticsOf(row, epsilon) {
  const { mu, variance } = moments(row);
  const rms = model.norm === "rms";
  const square = rms ? variance + mu * mu : variance;
  return { mu: rms ? 0 : mu, square, size: Math.sqrt(square + epsilon) };
}

function normInputs(before, after) {
  const [x, y] = [array(before), array(after)];
  const epsilon = Object.values(sentences[sentence - 1].norm_parameters)[0]?.[2] ?? 0;
  return (row, column) => {
    const rows = Array.from({ length: x.shape[0] }, (_, i) => rowOf(x, i));
    const hats = rows.map((values) => {
      const { mu, size } = statisticsOf(values, epsilon);
      return (values[column] - mu) / size;
    });
    const [gain, shift] = learned(hats, rows.map((_, i) => rowOf(y, i)[column]));
    const { mu, square, size } = statisticsOf(rows[row], epsilon);
    const [value, hat, result] = [rows[row][column], hats[row], rowOf(y, row)[column]];
    light({ [before]: { row }, [after]: { row, column } });
    const rms = model.norm === "rms";
    const c = (symbol) => low(symbol, column);
    const made = [
      [c("x"), t("inputs.norm.x"), number(value)],
      rms ? null : ["μ", t("inputs.norm.mean", { n: x.shape[1] }), number(mu)],
      rms ? ["Σ x² / d", t("inputs.norm.squares", { n: x.shape[1] }), number(square)] : ["σ²", t("inputs.norm.variance"), number(square)],
      ["ε", t("inputs.norm.epsilon"), String(epsilon)],
      [c("x̂"), `${rms ? number(value) : `(${number(value)} − ${inBrackets(mu)})`} / √(${number(square)} + ε) = ${rms ? number(value) : number(value - mu)} / ${number(size)}`, number(hat)],
      gain === null ? null : [c("γ"), t("inputs.norm.gain"), number(gain)],
      rms || gain === null ? null : [c("β"), t("inputs.norm.shift"), number(shift)],
      [c("y"), gain === null ? "" : `γ x̂${rms ? "" : " + β"} = ${number(gain)} · ${inBrackets(hat)}${rms ? "" : ` + ${inBrackets(shift)}`}`, number(result)],
    ].filter(Boolean);
    return [
      el("p", {}, t("inputs.norm", { norm: normName, component: column, piece: isolated(labelsOf(x, x.axes[0])[row]) })),
      table([t("inputs.term"), t("inputs.made"), t("inputs.value")], made, normName),
    ];
  };
}

const inBrackets = (value) => (value < 0 ? `(${number(value)})` : number(value));
