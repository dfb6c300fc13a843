// The quantities of sections 3.1 to 3.5 inside a network, watched from outside, as `dragoman.inspection.record` does: a
// network that inherits from the one watched and gives `observer(name, values)` a copy of each. The network itself is
// unchanged and computes nothing more.
"use strict";

// What a linear layer's input and output are, by its name.
const LINEAR = { w_o: ["concat", "output"], w_1: ["", "inner"], w_2: ["active", "output"] };

function watched(network, observer) {
  const outer = Object.create(network);
  const tell = (name, values) => observer(name, values.slice());
  let weights = null;

  outer._embed = function (tokens, places, side) {
    const output = network._embed.call(this, tokens, places, side);
    const { d_model, positions } = this.shape;
    const scaled = new Float32Array(output.length);
    const added = new Float32Array(output.length);
    tokens.forEach((token, row) => {
      const at = row * d_model;
      const factor = Math.fround(Math.sqrt(d_model));
      this.kernels.copyRow(this.tensors[`${side}_embedding.weight`], token, factor, scaled, at);
      if (positions !== "rotary") added.set(this.positions.vector(places[row], side), at);
    });
    observer(`${side}_embedding.scaled`, scaled);
    observer(`${side}_embedding.positions`, added);
    tell(`${side}_embedding.output`, output);
    return output;
  };

  outer._linear = function (x, count, name) {
    const y = network._linear.call(this, x, count, name);
    const at = name.lastIndexOf(".");
    const [input, output] = LINEAR[name.slice(at + 1)] ?? [];
    if (input) tell(`${name.slice(0, at)}.${input}`, x);
    if (output) tell(`${name.slice(0, at)}.${output}`, y);
    return y;
  };

  outer._attend = function (q, k, v, visible, attention) {
    const { heads, d_k, d_v } = this.shape;
    const keys = visible.reduce((most, list) => Math.max(most, list.at(-1) + 1), 0);
    const columns = keys;
    weights = { columns, rows: visible.length, values: new Float32Array(heads * visible.length * columns) };
    const output = network._attend.call(this, q, k, v, visible, attention);
    tell(`${attention}.q`, q);
    observer(`${attention}.k`, k.slice(0, keys * heads * d_k));
    observer(`${attention}.v`, v.slice(0, keys * heads * d_v));
    tell(`${attention}.heads`, output);
    observer(`${attention}.weights`, weights.values);
    return output;
  };

  outer._softmax = function (scores, count, attention, row, head) {
    network._softmax.call(this, scores, count, attention, row, head);
    weights.values.set(scores.subarray(0, count), (head * weights.rows + row) * weights.columns);
  };

  outer._sublayer = function (x, count, norm, sublayer) {
    tell(`${norm}.x`, x);
    const y = network._sublayer.call(this, x, count, norm, (input) => {
      const added = sublayer(input);
      tell(`${norm}.added`, added);
      return added;
    });
    tell(`${norm}.output`, y);
    return y;
  };

  outer._norm = function (x, count, name) {
    const y = network._norm.call(this, x, count, name);
    const path = name.replace(/\.norm$/, "");
    tell(`${path}.unnormed`, x);
    tell(`${path}.normed`, y);
    return y;
  };
  return outer;
}

// Every value of one pass: `source` ids through the encoder, `inputs` of the decoder all at once, each reading those
// before it. A map from names to values, row by row, and the decoder's `features`.
function recordPass(network, source, inputs) {
  const values = new Map();
  const outer = watched(network, (name, value) => values.set(name, value));
  const features = outer.decode(inputs, inputs.map((_, row) => [...Array(row).keys()]), outer.encode(source));
  const { encoder_layers, norm_order } = network.shape;
  const last = `encoder.${encoder_layers - 1}.feed_forward_norm.output`;
  values.set("memory", values.get(norm_order === "pre" ? "encoder_norm.normed" : last));
  values.set("features", features);
  return values;
}

// log P of each token after those before it, in one pass; `outputs` are shifted by one against `inputs`.
function scorePass(network, source, inputs, outputs) {
  const features = network.decode(inputs, inputs.map((_, row) => [...Array(row).keys()]), network.encode(source));
  const logits = network.logits(features, inputs.length);
  const width = logits.length / inputs.length;
  return outputs.map((token, row) => logSoftmax(logits.subarray(row * width, (row + 1) * width))[token]);
}
