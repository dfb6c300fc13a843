// Beam search, section 6.1, as `dragoman.decode.search`: the same scores, the same end, the same order. A generator, so
// that who drives it can do other work between two steps, or stop.
"use strict";

const [PAD, UNK, BOS, EOS] = [0, 1, 2, 3];

// lp(Y) = ((5 + |Y|) / 6)^α, Wu et al. 2016, Eq. (14); |Y| counts EOS.
function lengthPenalty(length, alpha) {
  return ((5 + length) / 6) ** alpha;
}

// Maximum number of tokens of the translation of `length` source tokens.
function lengthLimit(length, options) {
  const longest = Math.max(length + options.extra_length, options.min_length);
  return options.max_length ? Math.min(longest, options.max_length) : longest;
}

// The finished translations of `source` ids, best score first: {tokens, logProb, score}. `marks` are language tokens
// before the source and behind BOS; translations begin with `prefix`. Yields after each step.
function* beamSearch(network, source, options, marks = { source: [], target: [] }, prefix = []) {
  const { beam, length_penalty: alpha } = options;
  const limit = Math.max(lengthLimit(source.length, options), prefix.length);
  const state = network.encode([...marks.source, ...source, EOS]);
  yield;
  const start = { tokens: [], logProb: 0, path: [] };
  for (const mark of [BOS, ...marks.target].slice(0, -1)) network.decode([mark], [start.path], state);
  let rows = [start];
  const latest = (row) => row.tokens.at(-1) ?? [BOS, ...marks.target].at(-1);
  const finished = [];
  while (rows.length) {
    const features = network.decode(rows.map(latest), rows.map((row) => row.path), state);
    const logits = network.logits(features, rows.length);
    const width = logits.length / rows.length;
    const extensions = [];
    rows.forEach((row, number) => {
      const scores = logSoftmax(logits.subarray(number * width, (number + 1) * width));
      constrain(scores, row.tokens, limit, prefix, options);
      for (const token of highest(scores, beam > 1 ? 2 * beam : 1)) {
        extensions.push({ row, token, logProb: Math.fround(row.logProb + scores[token]) });
      }
    });
    extensions.sort((a, b) => b.logProb - a.logProb);
    const best = extensions.slice(0, 2 * beam);
    best.slice(0, beam).forEach(({ row, token, logProb }) => {
      if (token !== EOS) return;
      const score = logProb / lengthPenalty(row.tokens.length + 1, alpha);
      finished.push({ tokens: row.tokens, logProb, score });
    });
    if (finished.length >= beam) break;
    rows = best
      .filter(({ token }) => token !== EOS)
      .slice(0, beam)
      .map(({ row, token, logProb }) => ({ tokens: [...row.tokens, token], logProb, path: [...row.path] }));
    yield;
  }
  const likeliest = finished.sort((a, b) => b.logProb - a.logProb).slice(0, beam);
  return likeliest.sort((a, b) => b.score - a.score);
}

// What a generator returns, without anything between its steps.
function exhaust(steps) {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

// log P of each token, in place; those that no translation contains have probability 0, and the others share all of it.
function logSoftmax(logits) {
  logits[PAD] = logits[UNK] = logits[BOS] = -Infinity;
  let top = -Infinity;
  for (let i = 0; i < logits.length; i++) if (logits[i] > top) top = logits[i];
  let sum = 0;
  for (let i = 0; i < logits.length; i++) sum += Math.exp(logits[i] - top);
  const normaliser = top + Math.log(sum);
  for (let i = 0; i < logits.length; i++) logits[i] -= normaliser;
  return logits;
}

// Give −∞ to what may not follow `tokens`; at least one token stays possible.
function constrain(scores, tokens, limit, prefix, options) {
  const { length } = tokens;
  if (length < prefix.length) {
    const forced = scores[prefix[length]];
    scores.fill(-Infinity);
    scores[prefix[length]] = forced;
    return;
  }
  const ends = scores[EOS];
  if (length < options.min_length) scores[EOS] = -Infinity;
  for (const token of repeating(tokens, options.no_repeat_ngram)) scores[token] = -Infinity;
  if (length >= limit) scores.fill(-Infinity);
  if ((length >= limit || length < options.min_length) && scores.every((score) => score === -Infinity)) {
    scores[EOS] = ends;
  }
}

// The tokens that would make the last n tokens equal to n tokens before them.
function repeating(tokens, n) {
  if (!n || tokens.length < n) return [];
  const end = tokens.slice(tokens.length - n + 1);
  const followers = [];
  for (let at = 0; at + n <= tokens.length; at++) {
    if (end.every((token, i) => token === tokens[at + i])) followers.push(tokens[at + n - 1]);
  }
  return followers;
}

// The indices of the `count` highest finite scores, highest first; of equal ones the first.
function highest(scores, count) {
  const chosen = [];
  let least = -Infinity;
  for (let i = 0; i < scores.length; i++) {
    if (scores[i] <= least) continue;
    let at = chosen.length;
    while (at && scores[chosen[at - 1]] < scores[i]) at--;
    chosen.splice(at, 0, i);
    if (chosen.length > count) chosen.pop();
    if (chosen.length === count) least = scores[chosen[count - 1]];
  }
  return chosen;
}
