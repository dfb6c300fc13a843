// The tree of a beam search, recorded from outside, as `dragoman.inspection.beam`: its hypotheses, when each was pruned,
// and the likeliest alternatives.
"use strict";

// The most extensions recorded for each hypothesis.
const MOST_EXTENSIONS = 32;

// A network that records the steps of a search: {ids, likeliest, continued}. `ids` are the nodes of the hypotheses in the
// key/value cache, `likeliest` maps tokens to log P, `continued` are the pairs of row and token of the next step.
function climbed(network, count, steps) {
  const outer = Object.create(network);
  let ids = [];
  outer.decode = function (tokens, paths, state) {
    const last = steps.at(-1);
    if (last) {
      tokens.forEach((token, number) => {
        const row = last.ids.indexOf(paths[number].at(-1));
        last.continued.push(`${row} ${token}`);
        last.likeliest[row].set(token, last.logProbs[row][token]);
      });
      last.logProbs = null;
    }
    const features = network.decode.call(this, tokens, paths, state);
    ids = paths.map((path) => path.at(-1));
    return features;
  };
  outer.logits = function (x, rows) {
    const logits = network.logits.call(this, x, rows);
    const width = logits.length / rows;
    const logProbs = ids.map((_, row) => logSoftmax(logits.slice(row * width, (row + 1) * width)));
    const likeliest = logProbs.map((row) => new Map([EOS, ...highest(row, count)].map((token) => [token, row[token]])));
    steps.push({ ids, logProbs, likeliest, continued: [] });
    return logits;
  };
  return outer;
}

// A search and its tree, {hypotheses, nodes}; a node is [parent, step, token, P, log P of the prefix, fate].
function* grownTree(network, ids, options, marks) {
  const steps = [];
  const outer = climbed(network, Math.min(2 * options.beam, MOST_EXTENSIONS), steps);
  const hypotheses = yield* beamSearch(outer, ids, options, marks);
  return { hypotheses, nodes: hypotheses.length ? nodesOf(steps, hypotheses) : [] };
}

function nodesOf(steps, hypotheses) {
  const key = (tokens) => tokens.join(" ");
  const ended = hypotheses.map(({ tokens }) => [...tokens, EOS]);
  const finished = new Set(ended.map(key));
  const nodes = [[-1, 0, BOS, 1, 0, "chosen"]];
  const prefixes = [[]];
  let rows = [0];
  steps.forEach(({ likeliest, continued }, number) => {
    const chosen = key(ended[0].slice(0, number + 1));
    const kept = new Set(continued);
    const indices = new Map();
    rows.forEach((parent, row) => {
      for (const [token, logProb] of likeliest[row]) {
        if (logProb === -Infinity) continue;
        const prefix = [...prefixes[parent], token];
        const name = `${row} ${token}`;
        let fate = "pruned";
        if (key(prefix) === chosen) fate = "chosen";
        else if (finished.has(key(prefix))) fate = "finished";
        else if (kept.has(name)) fate = "kept";
        indices.set(name, nodes.length);
        nodes.push([parent, number + 1, token, Math.exp(logProb), nodes[parent][4] + logProb, fate]);
        prefixes.push(prefix);
      }
    });
    rows = continued.map((name) => indices.get(name));
  });
  return nodes;
}
