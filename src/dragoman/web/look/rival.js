// "Why not that word": a rival of the word that a search chose, its log P and rank, what speaks for it, and what a search
// that begins with it would have found.
"use strict";

// Of the sentence that was looked into last; `lost` in a worker that has looked into none. `before`: the pieces before the
// rival; `rival`: a piece, or with `typed` the text of a word. Its tokens are `pieces`. Where they and the output begin
// alike, they are compared `at` the first piece that differs: its rank, and what speaks for it rather than `against`.
// `chosen`: the output itself; `sameText`: its text in other pieces.
Engine.prototype._rival = async function ({ before, rival, typed }, isStale) {
  if (!this.pass) return { lost: true };
  const { direction, source, network, searched, options, surgery } = this.pass;
  const { marks } = direction.facts;
  const { texts } = direction.target.model;
  const tokensBefore = before.map((piece) => texts.indexOf(piece));
  const prefix = marks.target.every((mark, i) => tokensBefore[i] === mark) ? tokensBefore.slice(marks.target.length) : tokensBefore;
  const start = [...marks.target, ...prefix];
  const scored = (tokens) => scorePass(network, source, [BOS, ...start, ...tokens.slice(0, -1)], [...start, ...tokens]).slice(-tokens.length);
  const tokens = typed ? likeliestSpelling(direction.target, rival, scored) : [texts.indexOf(rival)];
  if (!tokens.length || tokens.includes(-1) || prefix.includes(-1)) return { unknown: true };
  const rest = following(this.pass.outputs, start);
  const shared = tokens.findIndex((token, i) => token !== rest[i]);
  const isChosen = shared < 0;
  const at = isChosen ? tokens.length - 1 : shared;
  const inputs = [BOS, ...start, ...tokens.slice(0, at)];
  const values = recordPass(network, source, inputs);
  const row = inputs.length - 1;
  const { d_model } = network.shape;
  const logProbs = logSoftmax(network.logits(values.get("features").slice(row * d_model, (row + 1) * d_model), 1).slice());
  const token = tokens[at];
  const answer = {
    pieces: tokens.map((id) => texts[id]),
    logProbs: scored(tokens),
    at,
    rank: logProbs.reduce((count, logProb) => count + Number(logProb > logProbs[token]), 1),
    vocabulary: logProbs.reduce((count, logProb) => count + Number(logProb > -Infinity), 0),
  };
  if (isChosen) return { ...answer, chosen: true };
  const against = rest[at] ?? highest(logProbs, 2).find((id) => id !== token);
  await turn();
  if (isStale()) return null;
  const ids = source.slice(marks.source.length, -1);
  const hypotheses = await this._run(beamSearch(searched, ids, options, marks, [...prefix, ...tokens]), isStale);
  if (!hypotheses) return null;
  const [best] = hypotheses;
  const textOf = (ids) => direction.target.decode([...prefix, ...ids]);
  return {
    ...answer,
    sameText: rest.some((_, i) => textOf(rest.slice(0, i + 1)) === textOf(tokens)),
    against: [texts[against], logProbs[against]],
    reasons: reasonsFor(network, values, row, token, against, 1 / (surgery.temperature ?? 1)),
    search: best && {
      text: direction.target.decode(best.tokens),
      pieces: [...best.tokens, EOS].map((id) => texts[id]),
      log_prob: best.logProb,
      score: best.score,
    },
  };
};

// The tokens that follow `prefix` in `tokens`; none where they do not begin with it.
const following = (tokens, prefix) => (prefix.every((token, i) => tokens[i] === token) ? tokens.slice(prefix.length) : []);

// The ids of a typed word: as it begins a word or as it continues one, whichever is likelier as a whole. `scored`: the
// log P of each of some ids.
function likeliestSpelling(pieces, text, scored) {
  const word = pieces.encode(text);
  const { suffix, texts } = pieces.model;
  const spellings = word.length ? [word] : [];
  const bare = pieces.ids.get(text.trim());
  if (bare !== undefined && !suffix) spellings.push([bare]);
  if (word.length && !suffix && texts[word[0]].startsWith(SPACE)) {
    const first = texts[word[0]].slice(1);
    const continued = first ? [pieces.ids.get(first), ...word.slice(1)] : word.slice(1);
    if (continued.length && continued[0] !== undefined) spellings.push(continued);
  }
  if (spellings.length < 2) return spellings[0] ?? [];
  const totals = spellings.map((ids) => scored(ids).reduce((sum, logProb) => sum + logProb, 0));
  return spellings[totals.indexOf(Math.max(...totals))];
}

// What makes the logit of a token larger than that of another at a row: the sum of what each sub-layer adds, with the
// statistics of the norms as they are (direct logit attribution, Elhage et al. 2021). {parts: [name, value] that add up to
// the difference, heads: [{where, head, key, value}] of the attention between encoder and decoder}.
// `factor` is 1 / τ.
function reasonsFor(network, values, row, token, against, factor) {
  const { d_model, norm_order, decoder_layers } = network.shape;
  const { kernels, tensors } = network;
  const rowsOf = [token, against].map((id) => {
    const made = new Float32Array(d_model);
    kernels.copyRow(tensors.projection, id, 1, made, 0);
    return made;
  });
  const at = (name) => values.get(name)?.subarray(row * d_model, (row + 1) * d_model);
  let direction = Float64Array.from(rowsOf[0], (x, i) => factor * (x - rowsOf[1][i]));
  const parts = { embedding: 0, self_attention: 0, cross_attention: 0, feed_forward: 0, bias: 0 };
  const bias = tensors.projection_bias;
  if (bias) parts.bias += factor * (bias[token] - bias[against]);
  const through = (norm) => {
    const input = at(`${norm.replace(/\.norm$/, "")}.unnormed`);
    if (!input) return;
    const shift = tensors[`${norm}.bias`];
    if (shift) parts.bias += inner(direction, shift);
    direction = beforeNorm(network, direction, input, tensors[`${norm}.weight`]);
  };
  const found = [];
  if (norm_order === "pre") through("decoder_norm");
  for (let number = decoder_layers - 1; number >= 0; number--) {
    for (const sublayer of ["feed_forward", "cross_attention", "self_attention"]) {
      const path = `decoder.${number}.${sublayer}`;
      if (norm_order === "post") through(`${path}_norm.norm`);
      const added = at(`${path}_norm.added`);
      if (!added) continue;
      parts[sublayer] += inner(direction, added);
      if (sublayer === "cross_attention") found.push(...headsOf(network, values, row, path, direction));
    }
  }
  parts.embedding += inner(direction, at("target_embedding.output"));
  found.sort((a, b) => b.value - a.value);
  const strongest = found.length > 6 ? [...found.slice(0, 3), ...found.slice(-3)] : found;
  return { parts: Object.entries(parts), heads: strongest };
}

const inner = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

// A direction behind a norm as a direction before it: y = γ ⊙ (x − μ) / √(…) + β, with μ and the root as constants.
function beforeNorm(network, direction, input, gain) {
  const { norm, epsilon } = network.shape;
  const mean = norm === "layer" ? average(input) : 0;
  const size = Math.sqrt(average(input.map((x) => (x - mean) ** 2)) + epsilon);
  const scaled = direction.map((x, i) => (x * gain[i]) / size);
  const centre = norm === "layer" ? average(scaled) : 0;
  return scaled.map((x) => x - centre);
}

// How much each position of the memory contributes through each head: A(t, j) v(j) · W_Oᵀ direction.
function headsOf(network, values, row, path, direction) {
  const { heads, d_v, d_model } = network.shape;
  const width = heads * d_v;
  const projected = new Float64Array(width);
  const line = new Float32Array(width);
  for (let i = 0; i < d_model; i++) {
    network.kernels.copyRow(network.tensors[`${path}.w_o.weight`], i, 1, line, 0);
    for (let c = 0; c < width; c++) projected[c] += direction[i] * line[c];
  }
  const [weights, v] = [values.get(`${path}.weights`), values.get(`${path}.v`)];
  const columns = v.length / width;
  const rows = weights.length / heads / columns;
  const contributions = [];
  for (let head = 0; head < heads; head++) {
    for (let key = 0; key < columns; key++) {
      let sum = 0;
      for (let c = head * d_v; c < (head + 1) * d_v; c++) sum += v[key * width + c] * projected[c];
      const weight = weights[(head * rows + row) * columns + key];
      contributions.push({ where: path, head, key, weight, value: weight * sum });
    }
  }
  return contributions;
}

// A row of the weights of a linear layer, and its bias: null where the layer has none; `lost` as for a rival.
Engine.prototype._row = async function ({ name, row }) {
  if (!this.pass) return { lost: true };
  const { kernels, tensors } = this.pass.network;
  const matrix = tensors[`${name}.weight`];
  const weights = new Float32Array(matrix.columns);
  kernels.copyRow(matrix, row, 1, weights, 0);
  return { weights, bias: tensors[`${name}.bias`]?.[row] ?? null };
};
