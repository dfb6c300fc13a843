// The Transformer, section 3 of "Attention Is All You Need", with every option of [model]: encode(ids) → state,
// decode(tokens, paths, state) → features. Names and order of operations are those of `dragoman.model`. It is watched and
// changed from outside, by objects that inherit from it and replace single methods (`web/look`).
//
// The keys and values of decoded positions are nodes of a tree: hypotheses share those of their common beginning. A path
// is the list of the nodes of a hypothesis.
"use strict";

// Positions whose keys and values a new state has space for; it grows.
const NODES = 64;

class Network {
  // `shape`: the keys of [model] and `epsilon`; `tensors`: matrices and vectors by name.
  constructor(shape, tensors, kernels) {
    this.shape = shape;
    this.kernels = kernels;
    this.tensors = tensors;
    this.positions = new Positions(shape, tensors, kernels);
  }

  // The state before the first target token: of each decoder layer the keys and values of the encoder's output.
  encode(ids) {
    const { encoder_layers, decoder_layers, heads, d_k, d_v, norm_order } = this.shape;
    const count = ids.length;
    const places = ids.map((_, position) => position);
    const everything = places.map(() => places);
    let x = this._embed(ids, places, "source");
    for (let number = 0; number < encoder_layers; number++) {
      const layer = `encoder.${number}`;
      x = this._sublayer(x, count, `${layer}.self_attention_norm`, (y) => {
        const attention = `${layer}.self_attention`;
        const q = this.positions.rotate(this._linear(y, count, `${attention}.w_q`), places);
        const k = this.positions.rotate(this._linear(y, count, `${attention}.w_k`), places);
        const v = this._linear(y, count, `${attention}.w_v`);
        return this._linear(this._attend(q, k, v, everything, attention), count, `${attention}.w_o`);
      });
      x = this._sublayer(x, count, `${layer}.feed_forward_norm`, (y) => this._feedForward(y, count, layer));
    }
    if (norm_order === "pre") x = this._norm(x, count, "encoder_norm");
    const memory = [];
    const past = [];
    for (let number = 0; number < decoder_layers; number++) {
      const attention = `decoder.${number}.cross_attention`;
      memory.push([this._linear(x, count, `${attention}.w_k`), this._linear(x, count, `${attention}.w_v`)]);
      past.push([new Float32Array(NODES * heads * d_k), new Float32Array(NODES * heads * d_v)]);
    }
    return { memory, past, places, nodes: 0 };
  }

  // The features of one new position of each hypothesis, after `tokens`; it becomes a node at the end of its path.
  decode(tokens, paths, state) {
    const { decoder_layers, norm_order } = this.shape;
    const count = tokens.length;
    const places = paths.map((path) => path.length);
    const first = state.nodes;
    paths.forEach((path, row) => path.push(first + row));
    state.nodes += count;
    const memory = paths.map(() => state.places);
    let x = this._embed(tokens, places, "target");
    for (let number = 0; number < decoder_layers; number++) {
      const layer = `decoder.${number}`;
      x = this._sublayer(x, count, `${layer}.self_attention_norm`, (y) => {
        const attention = `${layer}.self_attention`;
        const q = this.positions.rotate(this._linear(y, count, `${attention}.w_q`), places);
        const past = state.past[number];
        append(past, 0, this.positions.rotate(this._linear(y, count, `${attention}.w_k`), places), first, count);
        append(past, 1, this._linear(y, count, `${attention}.w_v`), first, count);
        return this._linear(this._attend(q, past[0], past[1], paths, attention), count, `${attention}.w_o`);
      });
      x = this._sublayer(x, count, `${layer}.cross_attention_norm`, (y) => {
        const attention = `${layer}.cross_attention`;
        const q = this._linear(y, count, `${attention}.w_q`);
        const [k, v] = state.memory[number];
        return this._linear(this._attend(q, k, v, memory, attention), count, `${attention}.w_o`);
      });
      x = this._sublayer(x, count, `${layer}.feed_forward_norm`, (y) => this._feedForward(y, count, layer));
    }
    return norm_order === "pre" ? this._norm(x, count, "decoder_norm") : x;
  }

  // Logits of `count` vectors of features.
  logits(x, count) {
    return this.kernels.linear(x, count, this.tensors.projection, this.tensors.projection_bias);
  }

  // softmax(Q Kᵀ / √d_k) V, Eq. (1), for each query over the positions in its list, and the heads side by side.
  _attend(q, k, v, visible, attention) {
    const { heads, d_k, d_v } = this.shape;
    const output = new Float32Array(visible.length * heads * d_v);
    const weights = new Float64Array(Math.max(...visible.map((list) => list.length)));
    const scale = this._scale();
    visible.forEach((list, row) => {
      for (let head = 0; head < heads; head++) {
        const from = (row * heads + head) * d_k;
        const to = (row * heads + head) * d_v;
        for (let n = 0; n < list.length; n++) {
          weights[n] = dot(q, from, k, (list[n] * heads + head) * d_k, d_k) * scale;
        }
        this._softmax(weights, list.length, attention, row, head);
        for (let n = 0; n < list.length; n++) {
          const weight = weights[n];
          const value = (list[n] * heads + head) * d_v;
          for (let i = 0; i < d_v; i++) output[to + i] += weight * v[value + i];
        }
      }
    });
    return output;
  }

  _scale() {
    return 1 / Math.sqrt(this.shape.d_k);
  }

  // The first `count` scores → weights that sum to 1, in place.
  _softmax(scores, count) {
    let highest = -Infinity;
    for (let n = 0; n < count; n++) if (scores[n] > highest) highest = scores[n];
    let sum = 0;
    for (let n = 0; n < count; n++) sum += scores[n] = Math.exp(scores[n] - highest);
    for (let n = 0; n < count; n++) scores[n] /= sum;
  }

  // Post-LN: norm(x + sublayer(x)). Pre-LN: x + sublayer(norm(x)).
  _sublayer(x, count, norm, sublayer) {
    const post = this.shape.norm_order === "post";
    const y = sublayer(post ? x : this._norm(x, count, `${norm}.norm`));
    for (let i = 0; i < y.length; i++) y[i] += x[i];
    return post ? this._norm(y, count, `${norm}.norm`) : y;
  }

  _linear(x, count, name) {
    return this.kernels.linear(x, count, this.tensors[`${name}.weight`], this.tensors[`${name}.bias`]);
  }

  // LayerNorm (x − mean) / √(variance + ε) ⊙ γ + β, or RMSNorm x / √(mean of squares + ε) ⊙ γ.
  _norm(x, count, name) {
    const { d_model, norm, epsilon } = this.shape;
    const gain = this.tensors[`${name}.weight`];
    const bias = this.tensors[`${name}.bias`];
    const y = new Float32Array(count * d_model);
    for (let at = 0; at < y.length; at += d_model) {
      let mean = 0;
      if (norm === "layer") {
        for (let i = 0; i < d_model; i++) mean += x[at + i];
        mean /= d_model;
      }
      let squares = 0;
      for (let i = 0; i < d_model; i++) squares += (x[at + i] - mean) ** 2;
      const factor = 1 / Math.sqrt(squares / d_model + epsilon);
      for (let i = 0; i < d_model; i++) y[at + i] = (x[at + i] - mean) * factor * gain[i] + (bias ? bias[i] : 0);
    }
    return y;
  }

  // FFN, Eq. (2): max(0, x W_1) W_2, with SiLU in place of max, or gated: (SiLU(x W_1) ⊙ x W_3) W_2.
  _feedForward(y, count, layer) {
    const inner = this._linear(y, count, `${layer}.feed_forward.w_1`);
    if (this.shape.feed_forward === "relu") {
      for (let i = 0; i < inner.length; i++) inner[i] = Math.max(0, inner[i]);
    } else {
      for (let i = 0; i < inner.length; i++) inner[i] /= 1 + Math.exp(-inner[i]);
    }
    if (this.shape.feed_forward === "swiglu") {
      const gate = this._linear(y, count, `${layer}.feed_forward.w_3`);
      for (let i = 0; i < inner.length; i++) inner[i] *= gate[i];
    }
    return this._linear(inner, count, `${layer}.feed_forward.w_2`);
  }

  // E[token] · √d_model + position, sections 3.4 and 3.5.
  _embed(tokens, places, side) {
    const { d_model, positions } = this.shape;
    const x = new Float32Array(tokens.length * d_model);
    const scale = Math.fround(Math.sqrt(d_model));
    tokens.forEach((token, row) => {
      this.kernels.copyRow(this.tensors[`${side}_embedding.weight`], token, scale, x, row * d_model);
      if (positions === "rotary") return;
      const vector = this.positions.vector(places[row], side);
      for (let i = 0; i < d_model; i++) x[row * d_model + i] += vector[i];
    });
    return x;
  }
}

// Write the keys (part 0) or values (part 1) of new nodes, in a larger array where there is no space.
function append(past, part, vectors, first, count) {
  const width = vectors.length / count;
  const needed = (first + count) * width;
  if (needed > past[part].length) {
    const larger = new Float32Array(2 * needed);
    larger.set(past[part]);
    past[part] = larger;
  }
  past[part].set(vectors, first * width);
}
