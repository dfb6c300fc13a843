// View 4, masks: padding and look-ahead masks before and after the softmax, and the result without them.

const masks = { layer: 0, head: 0 };

function masksView() {
  masks.layer = walk.decoder;
  const both = part(() => [paddingPart(), lookAheadPart()]);
  return [
    el("p.lead", {}, t("masks.lead")),
    el(
      "div.controls",
      { role: "group", "aria-label": t("controls") },
      choice(
        t("head"),
        Array.from({ length: model.heads }, (_, i) => [i, String(i + 1)]),
        masks.head,
        (head) => {
          masks.head = head;
          both.redraw();
        },
      ),
    ),
    both,
  ];
}

function softmaxRows(x) {
  const [rows, columns] = x.shape,
    values = new Float32Array(x.values.length);
  for (let i = 0; i < rows; i++) {
    const row = [...x.values.subarray(i * columns, (i + 1) * columns)],
      top = Math.max(...row);
    const each = row.map((v) => Math.exp(v - top)),
      sum = each.reduce((a, b) => a + b, 0);
    each.forEach((v, j) => {
      values[i * columns + j] = v / sum;
    });
  }
  return { ...x, values };
}

// The scores, the masked scores, their softmax, and the softmax without the mask. For blocks only the recorded
// `weights` are shown, because the softmax of means is not the mean of softmaxes.
function pairOf(before, hidden, weights = null) {
  const masked = {
    ...before,
    values: before.values.map((v, at) =>
      hidden(Math.floor(at / before.shape[1]), at % before.shape[1]) ? -Infinity : v,
    ),
  };
  const axes = { rowTitle: t("axis.query"), columnTitle: t("axis.key") };
  const finite = Math.max(...[...before.values].map(Math.abs));
  const without = softmaxRows(before),
    after = weights || softmaxRows(masked);
  let stolen = 0;
  for (let i = 0; i < before.shape[0]; i++) {
    let sum = 0;
    for (let j = 0; j < before.shape[1]; j++) if (hidden(i, j)) sum += without.values[i * before.shape[1] + j];
    stolen = Math.max(stolen, sum);
  }
  return {
    stolen,
    after,
    figures: el(
      `div.figures.${before.shape[1] > 24 ? "n2" : "quartet"}`,
      {},
      matrix(before, { name: `1 · ${t("masks.before")}`, top: finite, ...axes }),
      matrix(masked, { name: `2 · ${t("masks.masked")}`, top: finite, ...axes }),
      matrix(after, { name: `3 · ${t("masks.after")}`, signed: false, top: topOf(after), ...axes }),
      weights ? [] : matrix(without, { name: `4 · ${t("masks.without")}`, signed: false, top: 1, ...axes }),
    ),
  };
}

function paddingPart() {
  const x = headOf(array("padding.scaled"), masks.head);
  const pieces = labelsOf(x, "key"),
    real = pieces.length - data.padding;
  const made = pairOf(x, (_, j) => j >= real);
  return el(
    "section",
    {},
    el("h3", {}, t("masks.padding")),
    el("p", {}, t("masks.padding.text", { n: data.padding })),
    data.pieces.source.length > real ? note(t("masks.padding.first", { n: real })) : null,
    paddedPair(pieces, real),
    made.figures,
    el("p.worked", {}, t("masks.padding.stolen", { p: percent(made.stolen) })),
    sameAsAlone(made.after, real),
  );
}

// Two rows of a batch: the sentence with padding after it, and a longer one.
function paddedPair(pieces, real) {
  const row = (name, cells) => el("tr", {}, el("th", { scope: "row" }, name), cells);
  return el(
    "div.scroll",
    { tabindex: 0, role: "region", "aria-label": t("masks.batch") },
    el(
      "table.batch",
      {},
      el("caption", {}, t("masks.batch")),
      el(
        "tbody",
        {},
        row(
          t("masks.longer"),
          pieces.map(() => el("td.longer", {}, "·")),
        ),
        row(
          t("masks.this"),
          pieces.map((piece, i) => el(`td${i < real ? "" : ".pad"}`, {}, bdi(piece))),
        ),
        row(
          t("masks.mask"),
          pieces.map((_, i) => el("td", {}, i < real ? "1" : "0")),
        ),
      ),
    ),
  );
}

// Padded = alone: with padding masked, the weights equal those of the sentence by itself.
function sameAsAlone(after, real) {
  const alone = array(`encoder.${data.padded_layer}.self_attention.weights`);
  if (alone.reduced > 1 || alone.shape[1] !== real) return null;
  const own = headOf(alone, masks.head).values,
    width = after.shape[1];
  let most = 0;
  for (let i = 0; i < real; i++)
    for (let j = 0; j < real; j++) most = Math.max(most, Math.abs(own[i * real + j] - after.values[i * width + j]));
  return el("p.worked", {}, t("masks.alone", { error: most < 1e-5 ? "< 10⁻⁵" : number(most, 6) }));
}

function lookAheadPart() {
  const name = `decoder.${masks.layer}.self_attention.scaled`,
    found = array(name);
  if (!found) return el("section", {}, el("h3", {}, t("masks.lookahead")), matrixOf(name, { name: t("masks.before") }));
  const real = headOf(array(`decoder.${masks.layer}.self_attention.weights`), masks.head);
  const made = pairOf(headOf(found, masks.head), (i, j) => j > i, found.reduced > 1 ? real : null);
  return el(
    "section",
    {},
    el("h3", {}, t("masks.lookahead")),
    el("p", {}, t("masks.lookahead.text", { layer: masks.layer + 1 })),
    blocks(found),
    made.figures,
    found.reduced > 1 ? null : el("p.worked", {}, t("masks.lookahead.stolen", { p: percent(made.stolen) })),
  );
}
