// A network with a part switched off or changed, from outside: a value says what. The network itself is unchanged.
"use strict";

// What each key means where nothing is changed. `heads` are off, as "encoder.0.self_attention.3"; `layers` are skipped,
// as "decoder.1"; `uniform` is "", "all" or the end of the names of attentions that give each key the same weight.
const WHOLE = { positions: true, mask: true, scale: true, heads: [], layers: [], uniform: "", temperature: 1 };

// `parallel`: all positions of a translation at once, as in training. Only there is a future that a mask hides.
function altered(network, surgery, parallel = false) {
  const { positions, mask, scale, heads, layers, uniform, temperature } = { ...WHOLE, ...surgery };
  const outer = Object.create(network);
  if (!positions) outer.positions = unplaced(network);
  if (!scale) outer._scale = () => 1;
  if (!mask && parallel) {
    outer._attend = function (q, k, v, visible, attention) {
      const all = visible.map(() => visible.at(-1));
      return network._attend.call(this, q, k, v, /^decoder.*self/.test(attention) ? all : visible, attention);
    };
  }
  if (heads.length || uniform) {
    outer._softmax = function (scores, count, attention, row, head) {
      if (heads.includes(`${attention}.${head}`)) scores.fill(0, 0, count);
      else if (isUniform(uniform, attention)) scores.fill(1 / count, 0, count);
      else network._softmax.call(this, scores, count, attention, row, head);
    };
  }
  if (layers.length) {
    outer._sublayer = function (x, count, norm, sublayer) {
      const skipped = layers.some((layer) => norm.startsWith(`${layer}.`));
      return skipped ? x : network._sublayer.call(this, x, count, norm, sublayer);
    };
  }
  if (temperature !== 1) {
    outer.logits = function (x, count) {
      const logits = network.logits.call(this, x, count);
      for (let i = 0; i < logits.length; i++) logits[i] /= temperature;
      return logits;
    };
  }
  return outer;
}

const isUniform = (uniform, attention) =>
  uniform === "all" || (uniform !== "" && attention.replace(/\.\d+\./, ".") === uniform);

// Positions of which all are the same: nothing is added, nothing is turned.
function unplaced(network) {
  const zeros = new Float32Array(network.shape.d_model);
  return Object.assign(Object.create(network.positions), { vector: () => zeros, rotate: (x) => x });
}
