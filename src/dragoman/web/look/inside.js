// What the page of `dragoman look` asks the engine for: everything of one sentence, and later its attribution.
"use strict";

const CANDIDATES = 24;
// Source tokens of the example with padding, and the padding after them.
const [PADDED, PADDING] = [40, 4];
// Positions that erasure may pass through the network, as `dragoman.inspection.attribution`.
const MAX_POSITIONS = 8000;

// {facts, arrays} of a sentence, and with `surgery` how the translation of the whole network fares under it.
// `request`: {pair, text, part, surgery} or, for a sentence that was recorded, {source_ids, target_ids}.
Engine.prototype._inside = async function (request, isStale) {
  const direction = this.models[0][request.pair ?? 0];
  const { source_ids: forced, surgery = {} } = request;
  const parts = forced ? [] : direction.sentences(request.text).flat().map(({ text }) => text);
  const source = parts[Math.min(request.part ?? 0, parts.length - 1)] ?? "";
  const { marks } = direction.facts;
  const ids = forced ?? direction.source.encode(source);
  if (!ids.length) return { empty: true };
  const options = { ...direction.facts.decode, ...(surgery.search ?? {}) };
  const changed = altered(direction.network, surgery);
  const tree = forced ? null : await this._run(grownTree(changed, ids, options, marks), isStale);
  if (!forced && !tree) return null;
  const tokens = forced ? request.target_ids : [...marks.target, ...(tree.hypotheses[0]?.tokens ?? []), EOS];
  const pass = { source: forced ?? [...marks.source, ...ids, EOS], inputs: [BOS, ...tokens.slice(0, -1)], outputs: tokens };
  const network = altered(direction.network, surgery, true);
  const answer = insideOf(direction, network, pass, tree, options);
  Object.assign(answer.facts, { source, surgery, unknown: direction.unknown(ids), parts });
  if (!forced && Object.keys(surgery).length) {
    answer.facts.effect = await this._effect(direction, ids, network, isStale);
    if (!answer.facts.effect) return null;
  }
  this.pass = { ...pass, network, direction, arrays: answer.arrays, searched: changed, options, surgery };
  return answer;
};

// The translation of the whole network, and its log P with and without what was changed.
Engine.prototype._effect = async function (direction, ids, network, isStale) {
  const { marks, decode } = direction.facts;
  const hypotheses = await this._run(direction.search(ids, decode, []), isStale);
  if (!hypotheses) return null;
  const outputs = [...marks.target, ...(hypotheses[0]?.tokens ?? []), EOS];
  const score = (net) => {
    const logProbs = scorePass(net, [...marks.source, ...ids, EOS], [BOS, ...outputs.slice(0, -1)], outputs);
    return logProbs.reduce((sum, logProb) => sum + logProb, 0);
  };
  return { translation: direction.textOf(hypotheses[0]), before: score(direction.network), after: score(network) };
};

function insideOf(direction, network, pass, tree, options) {
  const piece = (token) => direction.target.model.texts[token];
  const { source, inputs, outputs } = pass;
  const values = recordPass(network, source, inputs);
  const counts = { source: source.length, input: inputs.length };
  const arrays = arraysOf(values, network.shape, counts);
  const logits = network.logits(values.get("features"), inputs.length);
  const candidates = candidatesOf(logits, outputs);
  addCandidates(arrays, candidates, inputs.length);
  arrays["padding.scaled"] = paddedOf(network, direction, source);
  const text = (tokens) => direction.target.decode(tokens);
  const facts = {
    translation: text(outputs),
    forced: !tree,
    pieces: {
      source: source.map((token) => direction.source.model.texts[token]),
      input: inputs.map(piece),
      output: outputs.map(piece),
    },
    predictions: candidates.map(({ tokens, chosen }) => ({ candidates: tokens.map(piece), chosen })),
    beam: tree && {
      beam: options.beam,
      alpha: options.length_penalty,
      nodes: tree.nodes.map(([parent, step, token, ...rest]) => [parent, step, piece(token), ...rest]),
      omitted: 0,
      hypotheses: tree.hypotheses.map(({ tokens, score, logProb }) => ({
        text: text(tokens),
        score,
        log_prob: logProb,
        length: tokens.length,
      })),
    },
    padding: PADDING,
    padded_layer: 0,
    lens: lensOf(network, values, 3, piece),
    norms: normsOf(values, network.shape),
    logProbs: candidates.map(({ logProb }) => logProb),
    ...attributed(network.shape, arrays, null),
  };
  return { facts, arrays };
}

// Per position the likeliest tokens, the chosen one among them, their logits and log Σ exp.
function candidatesOf(logits, outputs) {
  const width = logits.length / outputs.length;
  return outputs.map((output, row) => {
    const own = logits.slice(row * width, (row + 1) * width);
    const logProbs = logSoftmax(own.slice());
    const tokens = highest(logProbs, CANDIDATES);
    if (!tokens.includes(output)) tokens[tokens.length - 1] = output;
    const known = tokens.find((token) => Number.isFinite(logProbs[token]));
    const sum = own[known] - logProbs[known];
    return { tokens, chosen: tokens.indexOf(output), logits: tokens.map((token) => own[token]), sum, logProb: logProbs[output] };
  });
}

function addCandidates(arrays, candidates, rows) {
  const width = candidates[0].tokens.length;
  const labels = { position: "input" };
  const values = Float32Array.from(candidates.flatMap((row) => row.logits));
  arrays.logits = { shape: [rows, width], axes: ["position", "candidate"], labels, values, reduced: 1 };
  const sums = Float32Array.from(candidates, ({ sum }) => sum);
  arrays.logsumexp = { shape: [rows, 1], axes: ["position", "one"], labels, values: sums, reduced: 1 };
}

// Q Kᵀ / √d_k of the first encoder layer for the sentence with padding after it, as in a batch.
function paddedOf(network, direction, source) {
  const real = source.slice(0, PADDED);
  const ids = [...real, ...Array(PADDING).fill(PAD)];
  const { heads, d_k } = network.shape;
  const outer = Object.create(network);
  const values = new Float32Array(heads * ids.length ** 2);
  const seen = real.map((_, position) => position);
  outer._attend = function (q, k, v, visible, attention) {
    for (let at = 0; attention === "encoder.0.self_attention" && at < values.length; at++) {
      const [head, row, column] = [Math.floor(at / ids.length ** 2), Math.floor(at / ids.length) % ids.length, at % ids.length];
      values[at] = dot(q, (row * heads + head) * d_k, k, (column * heads + head) * d_k, d_k) * this._scale();
    }
    return network._attend.call(this, q, k, v, visible.map(() => seen), attention);
  };
  outer.encode(ids);
  const pieces = ids.map((token) => direction.source.model.texts[token]);
  const labels = { position: pieces, key: pieces };
  return { shape: [heads, ids.length, ids.length], axes: ["head", "position", "key"], labels, values, reduced: 1 };
}
