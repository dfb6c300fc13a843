// Roles of heads and the contribution of each source token, as `dragoman.inspection.attribution`; erasure is a pass for
// each source token and comes after the rest. Gradients stay with PyTorch.
"use strict";

// What the page says of heads and attribution; `erasure` is (T, S) or null.
function attributed(shape, arrays, erasure) {
  const heads = [];
  for (const [stack, attentions] of [...Object.entries(ATTENTIONS)]) {
    for (let number = 0; number < shape[`${stack}_layers`]; number++) {
      for (const attention of attentions) {
        const where = `${stack}.${number}.${attention}`;
        const weights = arrays[`${where}.weights`];
        const masked = stack === "decoder" && attention === "self_attention";
        const visible = (i) => (masked ? i + 1 : weights.shape[2]);
        heads.push(...rolesOf(where, weights, visible, attention === "cross_attention" ? erasure : null));
      }
    }
  }
  const { where, head } = aligning(heads, arrays);
  const { shape: sizes, values } = arrays[`${where}.weights`];
  const [, rows, columns] = sizes;
  const attention = values.subarray(head * rows * columns, (head + 1) * rows * columns);
  const links = strongestKeys(attention, rows, columns).map((key, position) => [position, key]);
  const known = erasure && rows > 1 ? { "attention-erasure": agreeing(attention, erasure, rows, columns) } : {};
  return { heads, attribution: { attention: { where, head, links }, agreement: known } };
}

// The head of encoder-decoder attention that aligns best; ties are decided by the mean of its largest weights.
function aligning(heads, arrays) {
  const merit = ({ where, head }) => {
    const { shape, values } = arrays[`${where}.weights`];
    const [, rows, columns] = shape;
    let sum = 0;
    for (let i = 0; i < rows - 1; i++) {
      const from = (head * rows + i) * columns;
      sum += values.subarray(from, from + columns - 1).reduce((most, weight) => Math.max(most, weight), 0);
    }
    return sum;
  };
  const cross = heads.filter(({ where }) => where.endsWith("cross_attention"));
  const better = (a, b) => (b.alignment ?? 0) - (a.alignment ?? 0) || merit(b) - merit(a);
  return cross.reduce((best, role) => (better(best, role) > 0 ? role : best));
}

// log P(token | source) − log P(token | source without token s), of the sentence that was looked into last; null where
// that would take too long, `lost` in a worker that has not looked into any.
Engine.prototype._erasure = async function (_request, isStale) {
  if (!this.pass) return { lost: true };
  const { source, inputs, outputs, network, arrays } = this.pass;
  const [rows, columns] = [outputs.length, source.length];
  if (Math.max(rows, columns) * (rows + columns) > MAX_POSITIONS) return { facts: {}, arrays: {} };
  const whole = scorePass(network, source, inputs, outputs);
  const values = new Float32Array(rows * columns);
  for (let erased = 0; erased < columns; erased++) {
    const without = source.filter((_, position) => position !== erased);
    const after = without.length ? scorePass(network, without, inputs, outputs) : whole;
    after.forEach((logProb, row) => (values[row * columns + erased] = whole[row] - logProb));
    await turn();
    if (isStale()) return null;
  }
  const labels = { position: "output", key: "source" };
  const erasure = { shape: [rows, columns], axes: ["position", "key"], labels, values, reduced: 1 };
  return { facts: attributed(network.shape, arrays, values), arrays: { "attribution.erasure": erasure } };
};
