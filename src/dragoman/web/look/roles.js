// What each attention head does with a sentence, as `dragoman.inspection.heads`: its entropy, and four roles by formulas.
"use strict";

// `weights` of all heads, (H, T, S); `visible(i)`: how many keys query i sees; `erasure`: (T, S) or null.
function rolesOf(where, { shape, values }, visible, erasure) {
  const [heads, rows, columns] = shape;
  return Array.from({ length: heads }, (_, head) => {
    const weights = values.subarray(head * rows * columns, (head + 1) * rows * columns);
    const at = (i, j) => weights[i * columns + j];
    const entropies = Array.from({ length: rows }, (_, i) => entropyOf(weights.subarray(i * columns, (i + 1) * columns)));
    const free = entropies.map((entropy, i) => [entropy, visible(i)]).filter(([, count]) => count > 1);
    const [positional, offset] = bestOffset(at, rows, columns);
    return {
      where,
      head,
      entropy: average(entropies),
      normalised_entropy: free.length ? average(free.map(([entropy, count]) => entropy / Math.log(count))) : null,
      previous: rows > 1 ? diagonal(at, rows, columns, -1) : null,
      same: diagonal(at, rows, columns, 0),
      positional,
      offset,
      alignment: erasure && rows > 1 ? agreement(strongestKeys(weights, rows, columns), strongestKeys(erasure, rows, columns)) : null,
    };
  });
}

const average = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const agreement = (a, b) => average(a.map((value, i) => Number(value === b[i])));

function entropyOf(weights) {
  let sum = 0;
  for (const weight of weights) if (weight > 0) sum -= weight * Math.log(weight);
  return sum;
}

// The mean of w(i, i + offset).
function diagonal(at, rows, columns, offset) {
  const values = [];
  for (let i = Math.max(0, -offset); i < rows && i + offset < columns; i++) values.push(at(i, i + offset));
  return values.length ? average(values) : 0;
}

function bestOffset(at, rows, columns) {
  const shortest = Math.ceil(Math.min(rows, columns) / 2);
  let best = [-Infinity, 0];
  for (let offset = shortest - rows; offset <= columns - shortest; offset++) {
    const mean = diagonal(at, rows, columns, offset);
    if (mean > best[0]) best = [mean, offset];
  }
  return best;
}

// The key with the largest value of each row; EOS is left out on both sides.
function strongestKeys(values, rows, columns) {
  return Array.from({ length: rows - 1 }, (_, i) => {
    let best = 0;
    for (let j = 1; j < columns - 1; j++) if (values[i * columns + j] > values[i * columns + best]) best = j;
    return best;
  });
}

// How far two (T, S) matrices agree, as `attribution.agree`: the same strongest key, and Spearman's correlation.
function agreeing(first, second, rows, columns) {
  const top = agreement(strongestKeys(first, rows, columns), strongestKeys(second, rows, columns));
  const rho = [];
  for (let i = 0; i < rows - 1; i++) {
    const [a, b] = [first, second].map((values) => centredRanks([...values.slice(i * columns, (i + 1) * columns - 1)]));
    const norm = Math.sqrt(dotOf(a, a) * dotOf(b, b));
    if (norm > 0) rho.push(dotOf(a, b) / norm);
  }
  return { top, spearman: rho.length ? average(rho) : null };
}

const dotOf = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

function centredRanks(values) {
  const ranks = values.map((value) => values.filter((x) => x < value).length + (values.filter((x) => x === value).length + 1) / 2);
  const mean = ranks.length ? average(ranks) : 0;
  return ranks.map((rank) => rank - mean);
}
