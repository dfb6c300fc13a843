// Each number shows its inputs: a click on a cell of Q Kᵀ, of the weights or of a head's output shows the numbers that
// it is made of, adding up to it, and lights their row and column wherever their matrix is drawn.

const MOST_TERMS = 128; // of more the largest are written

// What a click on a cell of `leaf` of an attention shows; null for arrays whose inputs are not on the page.
function inputsOf(path, leaf, head) {
  const made = { products: productInputs, weights: weightInputs, heads: headInputs }[leaf];
  if (!made || !array(`${path}.q`) || array(`${path}.q`).reduced > 1) return null;
  return (row, column) => made((name) => headOf(array(`${path}.${name}`), head), path, row, column);
}

// q · k: the products of each component, and their sum.
function productInputs(read, path, row, column) {
  const [q, k] = [read("q"), read("k")];
  const [a, b] = [[...rowOf(q, row)], [...rowOf(k, column)]];
  const products = a.map((x, c) => x * b[c]);
  const sum = products.reduce((total, x) => total + x, 0);
  light({ [`${path}.q`]: { row }, [`${path}.k`]: { row: column }, [`${path}.products`]: { row, column } });
  const [query, key] = [labelsOf(q, "position")[row], labelsOf(k, "key")[column]];
  return [
    el("p", {}, t("inputs.products", { query: isolated(query), key: isolated(key), sum: number(sum) })),
    strip(`q(${isolated(query)})`, a, "q"),
    strip(`k(${isolated(key)})`, b, "k"),
    strip("q ⊙ k", products, ""),
    terms(products.map((x, c) => [x, [`${c}`, toned(number(a[c]), "q"), toned(number(b[c]), "k"), number(x)]]), ["c", low("q", "c"), low("k", "c"), [low("q", "c"), " · ", low("k", "c")]], sum),
    el("p.hint", {}, t(model.bias ? "inputs.bias" : "inputs.unbiased")),
  ];
}

// A weight: its exponential over the sum of all in the row.
function weightInputs(read, path, row, column) {
  const [scores, weights] = [read("masked"), read("weights")];
  const raw = [...rowOf(scores, row)];
  const most = Math.max(...raw);
  const shift = Math.abs(most) > LARGEST_EXPONENT ? most : 0; // which changes no weight
  const values = raw.map((x) => x - shift);
  const exponentials = values.map(Math.exp);
  const sum = exponentials.reduce((total, x) => total + x, 0);
  const keys = labelsOf(weights, "key");
  const weight = rowOf(weights, row)[column];
  light({ [`${path}.scaled`]: { row }, [`${path}.masked`]: { row }, [`${path}.weights`]: { row, column } });
  if (Math.abs(exponentials[column] / sum - weight) > 1e-3 * Math.max(weight, 0.01))
    return [el("p", {}, t("inputs.replaced", { weight: number(weight) }))];
  const fill = { key: isolated(keys[column]), exponential: number(exponentials[column]), sum: number(sum), weight: number(weight) };
  return [
    el("p", {}, t("inputs.weights", fill)),
    terms(
      exponentials.map((x, j) => [x, [bdi(keys[j]), number(values[j]), number(x), number(x / sum)]]),
      [t("axis.key"), shift ? `S − ${signed(shift)}` : "S", "e^S", "e^S / Σ"],
      sum,
      column,
      2,
    ),
  ];
}

// One component of a head's output: the values of all positions, weighted.
function headInputs(read, path, row, column) {
  const [weights, values] = [read("weights"), read("v")];
  const width = values.shape[1];
  const shares = [...rowOf(weights, row)];
  const weighted = shares.map((weight, j) => weight * values.values[j * width + column]);
  const sum = weighted.reduce((total, x) => total + x, 0);
  const keys = labelsOf(weights, "key");
  light({ [`${path}.weights`]: { row }, [`${path}.v`]: { column }, [`${path}.heads`]: { row, column } });
  return [
    el("p", {}, t("inputs.heads", { component: column, sum: number(sum) })),
    terms(
      weighted.map((x, j) => [x, [bdi(keys[j]), number(shares[j]), toned(number(values.values[j * width + column]), "v"), number(x)]]),
      [t("axis.key"), "A", low("v", column), ["A · ", low("v", column)]],
      sum,
    ),
  ];
}

const low = (name, index) => el("span", {}, name, el("sub", {}, String(index)));
const toned = (text, tone) => el(`span.tone-${tone}`, {}, text);

// A vector as one row of colours.
function strip(name, values, tone) {
  const canvas = el("canvas.vector", { role: "img", "aria-label": name });
  paint(canvas, values, 1, values.length, scale(values, true));
  return el("div.strip-row", {}, el(`span${tone ? `.tone-${tone}` : ""}`, {}, name), canvas);
}

// The terms of a sum as a table with the sum below its column `total`, by default the last; of many the largest.
function terms(rows, head, sum, chosen = -1, total = head.length - 1) {
  const shownTerms = rows
    .map(([size, cells], i) => ({ size: Math.abs(size), cells, i }))
    .sort((a, b) => b.size - a.size)
    .slice(0, MOST_TERMS)
    .sort((a, b) => a.i - b.i);
  const line = (cells, tag, classes = "") => el(`tr${classes}`, {}, cells.map((cell) => el(tag, tag === "th" ? { scope: "col" } : {}, cell)));
  const last = head.map((_, i) => (i === total ? number(sum) : i === 0 ? "Σ" : ""));
  return el(
    "div.scroll.terms",
    { tabindex: 0, role: "region", "aria-label": t("inputs.terms") },
    el(
      "table",
      {},
      el("thead", {}, line(head, "th")),
      el("tbody", {}, shownTerms.map(({ cells, i }) => line(cells, "td", i === chosen ? ".chosen" : ""))),
      el("tfoot", {}, line(last, "td")),
    ),
  );
}

// Light the row, the column or the cell in the drawings of these arrays, and nothing else.
function light(places) {
  document.querySelectorAll(".band").forEach((one) => one.remove());
  for (const [name, { row, column }] of Object.entries(places)) {
    for (const field of document.querySelectorAll(`[data-array="${name}"] .field`)) {
      const [rows, columns] = field.dataset.shape.split("x").map(Number);
      const band = el("div.band");
      Object.assign(band.style, {
        top: row === undefined ? "0" : `${(100 * row) / rows}%`,
        height: row === undefined ? "100%" : `${100 / rows}%`,
        left: column === undefined ? "0" : `${(100 * column) / columns}%`,
        width: column === undefined ? "100%" : `${100 / columns}%`,
      });
      field.append(band);
    }
  }
}
