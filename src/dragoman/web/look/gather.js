// One pass → the arrays of a page by name, {shape, axes, labels, values}, as `dragoman.inspection.payload` has them.
"use strict";

const ATTENTIONS = { encoder: ["self_attention"], decoder: ["self_attention", "cross_attention"] };
const STREAM_AXES = ["position", "d_model"];

// `values`: of `recordPass`. What a skipped layer did not compute is zero, and its norms are the stream itself.
function arraysOf(values, shape, counts) {
  const arrays = {};
  const { heads, d_k, d_v, d_model } = shape;
  const add = (name, sizes, axes, labels, numbers) => {
    const count = sizes.reduce((product, size) => product * size, 1);
    arrays[name] = { shape: sizes, axes, labels, values: numbers ?? new Float32Array(count), reduced: 1 };
  };
  const stream = (name, side, numbers = values.get(name)) =>
    add(name, [counts[side], d_model], STREAM_AXES, { position: side }, numbers);
  for (const [name, side] of [["source", "source"], ["target", "input"]]) {
    for (const leaf of ["scaled", "positions", "output"]) stream(`${name}_embedding.${leaf}`, side);
  }
  for (const [stack, side] of [["encoder", "source"], ["decoder", "input"]]) {
    for (let number = 0; number < shape[`${stack}_layers`]; number++) {
      const layer = `${stack}.${number}`;
      for (const attention of ATTENTIONS[stack]) {
        const path = `${layer}.${attention}`;
        const other = attention === "cross_attention" ? "source" : side;
        const [rows, columns] = [counts[side], counts[other]];
        const byHead = (leaf, axis, where, width, title) => {
          const found = values.get(`${path}.${leaf}`);
          const numbers = found && headsApart(found, counts[where], heads, width);
          add(`${path}.${leaf}`, [heads, counts[where], width], ["head", axis, title], { [axis]: where }, numbers);
        };
        byHead("q", "position", side, d_k, "d_k");
        byHead("k", "key", other, d_k, "d_k");
        byHead("v", "key", other, d_v, "d_v");
        byHead("heads", "position", side, d_v, "d_v");
        const labels = { position: side, key: other };
        add(`${path}.weights`, [heads, rows, columns], ["head", "position", "key"], labels, values.get(`${path}.weights`));
        add(`${path}.concat`, [rows, heads * d_v], ["position", "h·d_v"], { position: side }, values.get(`${path}.concat`));
        stream(`${path}.output`, side);
      }
      for (const leaf of ["inner", "active"]) {
        const found = values.get(`${layer}.feed_forward.${leaf}`);
        const width = found ? found.length / counts[side] : 1;
        add(`${layer}.feed_forward.${leaf}`, [counts[side], width], ["position", "d_ff"], { position: side }, found);
      }
      stream(`${layer}.feed_forward.output`, side);
      for (const sublayer of [...ATTENTIONS[stack], "feed_forward"]) {
        const path = `${layer}.${sublayer}_norm`;
        for (const leaf of ["x", "unnormed", "normed", "output"]) {
          stream(`${path}.${leaf}`, side, values.get(`${path}.${leaf}`) ?? values.get(`${path}.x`));
        }
        stream(`${path}.added`, side);
      }
    }
  }
  stream("memory", "source");
  stream("features", "input");
  return arrays;
}

// Vectors of all heads side by side, (rows, H · width) → (H, rows, width).
function headsApart(values, rows, heads, width) {
  const apart = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    for (let head = 0; head < heads; head++) {
      const from = (row * heads + head) * width;
      apart.set(values.subarray(from, from + width), (head * rows + row) * width);
    }
  }
  return apart;
}

// Mean and variance before and after each norm, in the order of computation, as `dragoman.inspection.lens`.
function normsOf(values, shape) {
  const { d_model, norm_order } = shape;
  const statistics = [];
  const add = (where) => {
    const [before, after] = ["unnormed", "normed"].map((leaf) => momentsOf(values.get(`${where}.${leaf}`), d_model));
    if (!before || !after) return;
    const [[mean_before, variance_before], [mean_after, variance_after]] = [before, after];
    statistics.push({ where, mean_before, variance_before, mean_after, variance_after });
  };
  for (const stack of ["encoder", "decoder"]) {
    for (let number = 0; number < shape[`${stack}_layers`]; number++) {
      for (const sublayer of [...ATTENTIONS[stack], "feed_forward"]) add(`${stack}.${number}.${sublayer}_norm`);
    }
    if (norm_order === "pre") add(`${stack}_norm`);
  }
  return statistics;
}

function momentsOf(values, width) {
  if (!values) return null;
  const moments = [[], []];
  for (let at = 0; at < values.length; at += width) {
    const row = values.subarray(at, at + width);
    const mean = average(row);
    moments[0].push(mean);
    moments[1].push(average(row.map((x) => (x - mean) ** 2)));
  }
  return moments;
}

// The likeliest pieces after each decoder layer, as if there were no further layers: the logit lens.
function lensOf(network, values, count, pieces) {
  const { decoder_layers, norm_order, d_model } = network.shape;
  return Array.from({ length: decoder_layers }, (_, number) => {
    const stream = values.get(`decoder.${number}.feed_forward_norm.output`) ?? values.get("features");
    const rows = stream.length / d_model;
    const features = norm_order === "pre" ? network._norm(stream, rows, "decoder_norm") : stream;
    return ranked(network.logits(features, rows), rows, count).map((row) =>
      row.map(([token, logProb]) => [pieces(token), Math.exp(logProb)]),
    );
  });
}

// The likeliest tokens of each row of logits, [token, log P], and nothing that no translation contains.
function ranked(logits, rows, count) {
  const width = logits.length / rows;
  return Array.from({ length: rows }, (_, row) => {
    const logProbs = logSoftmax(logits.slice(row * width, (row + 1) * width));
    return highest(logProbs, count).map((token) => [token, logProbs[token]]);
  });
}
