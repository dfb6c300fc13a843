// The arrays of the page, by the names of the Python side: those stored, and those computed from them.

// Of several sentences the one in the address, as in `#ko/walk//2`, is shown.
const sentences = JSON.parse(document.getElementById("payload").textContent);
const sentence = Math.min(sentences.length, Math.max(1, Number(location.hash.split("/")[3]) || 1));
let data = sentences[sentence - 1];
// The arrays that the engine in the page computed, which come before those that are stored.
const stores = { live: {} };
const model = data.model;
const post = model.norm_order === "post";
const rotary = model.positions === "rotary";

const bytes = (() => {
  const text = atob(document.getElementById("blob").textContent.split(" ")[sentence - 1]);
  const found = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) found[i] = text.charCodeAt(i);
  return found.buffer;
})();

const cache = new Map();

// {shape, values, axes, labels, reduced}, values row by row; null if the page lacks an array that it needs.
function array(name) {
  if (!cache.has(name)) cache.set(name, stored(name) || derived(name));
  return cache.get(name);
}

function setData(facts, arrays) {
  data = facts;
  stores.live = arrays;
  cache.clear();
}

const has = (name) => name in stores.live || name in data.arrays;

function stored(name) {
  if (stores.live[name]) return stores.live[name];
  const entry = data.arrays[name];
  if (!entry) return null;
  const count = entry.shape.reduce((a, b) => a * b, 1);
  const little = new DataView(bytes, entry.offset, 4 * count);
  const values = new Float32Array(count);
  for (let i = 0; i < count; i++) values[i] = little.getFloat32(4 * i, true);
  const { shape, axes, labels } = entry;
  return { shape, values, axes, labels, reduced: entry.reduced || 1 };
}

function derived(name) {
  const cut = name.lastIndexOf(".");
  const path = name.slice(0, cut);
  const leaf = name.slice(cut + 1);
  if (name === "probabilities") return probabilities();
  if (/attention$/.test(path)) return ofAttention(path, leaf);
  if (/embedding$/.test(path)) return ofEmbedding(path, leaf);
  if (/feed_forward$/.test(path)) return leaf === "active" ? rectified(array(`${path}.inner`)) : null;
  if (/\.\w+_norm$/.test(path)) return ofAddNorm(path, leaf);
  if (/^(encoder|decoder)\.\d+$/.test(name)) return array(`${name}.feed_forward_norm.output`);
  return null;
}

function map(x, f) {
  return x && { ...x, values: x.values.map(f) };
}

// max(0, x). The mean of max(0, x) over a block is not max(0, mean), so block means are stored.
function rectified(x) {
  return x && x.reduced === 1 && model.feed_forward === "relu" ? map(x, (value) => Math.max(0, value)) : null;
}

function plus(a, b) {
  return a && b && { ...a, values: a.values.map((x, i) => x + b.values[i]) };
}

function ofAttention(path, leaf) {
  if (leaf === "products") return products(array(`${path}.q`), array(`${path}.k`));
  if (leaf === "scaled") return map(array(`${path}.products`), (x) => x / divisor());
  if (leaf === "masked")
    return path.endsWith("cross_attention") || path.startsWith("encoder") || data.surgery?.mask === false
      ? array(`${path}.scaled`)
      : lookAhead(array(`${path}.scaled`));
  if (leaf === "concat") return concat(array(`${path}.heads`));
  return null;
}

// √d_k, by which the scores are divided unless that is switched off.
const divisor = () => (data.surgery?.scale === false ? 1 : Math.sqrt(model.d_k));

// Q Kᵀ of every head. With block means the result is the mean of the products, which are linear in each factor.
function products(q, k) {
  if (!q || !k) return null;
  const [heads, rows, width] = q.shape;
  const columns = k.shape[1];
  const values = new Float32Array(heads * rows * columns);
  for (let h = 0; h < heads; h++)
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < columns; j++) {
        let sum = 0;
        const a = (h * rows + i) * width,
          b = (h * columns + j) * width;
        for (let c = 0; c < width; c++) sum += q.values[a + c] * k.values[b + c];
        values[(h * rows + i) * columns + j] = sum;
      }
  const labels = { position: q.labels.position, key: k.labels.key };
  return { ...q, shape: [heads, rows, columns], axes: ["head", "position", "key"], labels, values };
}

function lookAhead(x) {
  if (!x) return null;
  const [, rows, columns] = x.shape;
  return {
    ...x,
    values: x.values.map((value, at) => (at % columns > Math.floor(at / columns) % rows ? -Infinity : value)),
  };
}

function concat(x) {
  if (!x) return null;
  const [heads, rows, width] = x.shape;
  const values = new Float32Array(x.values.length);
  for (let h = 0; h < heads; h++)
    for (let i = 0; i < rows; i++)
      values.set(x.values.subarray((h * rows + i) * width, (h * rows + i + 1) * width), i * heads * width + h * width);
  return { ...x, shape: [rows, heads * width], axes: ["position", "h·d_v"], values };
}

function ofEmbedding(path, leaf) {
  const scaled = array(`${path}.scaled`);
  if (!scaled) return null;
  if (leaf === "output") return plus(scaled, array(`${path}.positions`));
  if (leaf !== "positions") return null;
  const count = data.pieces[path.startsWith("source") ? "source" : "input"].length;
  const values = new Float32Array(scaled.values.length);
  if (!rotary) {
    const rows = positional(count, model.d_model, model.first_position);
    for (let i = 0; i < scaled.shape[0]; i++)
      values.set(mean(rows.slice(i * scaled.reduced, (i + 1) * scaled.reduced)), i * model.d_model);
  }
  return { ...scaled, values };
}

// PE(pos, 2i) = sin(pos / b^(2i/d)), PE(pos, 2i+1) = cos of the same (section 3.5, with b = 10000), one row per position.
function positional(count, d, start = 0) {
  return Array.from({ length: count }, (_, row) =>
    Float32Array.from({ length: d }, (_, c) => {
      const angle = (start + row) / model.position_base ** ((c - (c % 2)) / d);
      return c % 2 ? Math.cos(angle) : Math.sin(angle);
    }),
  );
}

function mean(rows) {
  if (rows.length === 1) return rows[0];
  return rows[0].map((_, c) => rows.reduce((sum, row) => sum + row[c], 0) / rows.length);
}

// The page stores the output of every norm, and the input of the first Add & Norm of a layer.
function ofAddNorm(path, leaf) {
  const [stack, layer, norm] = path.split(".");
  const sublayers =
    stack === "encoder" ? ["self_attention", "feed_forward"] : ["self_attention", "cross_attention", "feed_forward"];
  const number = sublayers.indexOf(norm.replace("_norm", ""));
  if (leaf === "added") return array(`${stack}.${layer}.${sublayers[number]}.output`);
  if (leaf === "x") return number ? array(`${stack}.${layer}.${sublayers[number - 1]}_norm.output`) : null;
  const sum = () => plus(array(`${path}.x`), array(`${path}.added`));
  if (leaf === "unnormed") return post ? sum() : array(`${path}.x`);
  if (leaf === "output") return post ? array(`${path}.normed`) : sum();
  return null;
}

function probabilities() {
  const logits = array("logits"),
    total = array("logsumexp");
  const width = logits.shape[1];
  return { ...logits, values: logits.values.map((x, at) => Math.exp(x - total.values[Math.floor(at / width)])) };
}

// One head of an array of heads, as a matrix.
function headOf(x, head) {
  if (!x || x.shape.length === 2) return x;
  const size = x.shape[1] * x.shape[2];
  return {
    ...x,
    shape: x.shape.slice(1),
    axes: x.axes.slice(1),
    values: x.values.subarray(head * size, (head + 1) * size),
  };
}

// The pieces along an axis; for a block, its first and last piece.
function labelsOf(x, axis) {
  const found = x.labels[axis];
  if (!found) return null;
  const pieces = typeof found === "string" ? data.pieces[found] : found;
  if (x.reduced === 1) return pieces;
  const blocks = [];
  for (let i = 0; i < pieces.length; i += x.reduced) {
    const last = Math.min(i + x.reduced, pieces.length) - 1;
    blocks.push(last > i ? `${pieces[i]} … ${pieces[last]}` : pieces[i]);
  }
  return blocks;
}

window.dragoman = {
  array,
  get data() {
    return data;
  },
  names: () => [...new Set([...Object.keys(data.arrays), ...Object.keys(stores.live)])],
};
