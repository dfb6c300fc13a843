// View 7, the residual stream: the prediction after each layer, the norms, and gradients of Post-LN and Pre-LN
// at initialisation.

const streamState = { norm: 0, layer: 0, position: 0 };
const WINDOW = 60; // positions of the lens at once

function streamView() {
  return [el("p.lead", {}, t("stream.lead")), lensPart(), normsPart(), gradientsPart()];
}

function lensPart() {
  streamState.layer = data.lens.length - 1;
  const details = part(lensDetails, ".node-details");
  const count = Math.min(WINDOW, data.pieces.output.length),
    buttons = [];
  const head = el(
    "tr",
    {},
    el("th", { scope: "col" }, t("layer")),
    data.pieces.output.slice(0, count).map((piece) => el("th", { scope: "col" }, bdi(piece))),
  );
  const rows = data.lens.map((layer, l) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, String(l + 1)),
      layer.slice(0, count).map((top, i) => {
        const [piece, p] = top[0],
          agrees = piece === data.pieces.output[i];
        const button = el(
          `button.lens${agrees ? ".agrees" : ""}`,
          {
            type: "button",
            "aria-label": `${t("layer")} ${l + 1}, ${i + 1}: ${isolated(piece)}, ${percent(p)}`,
            onclick: () => {
              Object.assign(streamState, { layer: l, position: i });
              details.redraw();
            },
          },
          bdi(piece),
          el("small", {}, percent(p)),
        );
        button.style.setProperty("--p", p);
        button.addEventListener("focus", () => {
          Object.assign(streamState, { layer: l, position: i });
          details.redraw();
        });
        buttons.push(button);
        return el("td", {}, button);
      }),
    ),
  );
  roving(buttons, count);
  const more = data.pieces.output.length > count ? note(t("stream.window", { n: count })) : null;
  const grid = el("table.lens", { "aria-label": t("stream.lens") }, el("thead", {}, head), el("tbody", {}, rows));
  grid.style.setProperty("--columns", count);
  return el(
    "section",
    {},
    el("h3", {}, t("stream.lens")),
    el("p", {}, t(post ? "stream.lens.post" : "stream.lens.pre")),
    more,
    el("div.scroll", {}, grid),
    details,
  );
}

function lensDetails() {
  const top = data.lens[streamState.layer][streamState.position];
  const chosen = top.findIndex(([piece]) => piece === data.pieces.output[streamState.position]);
  return [
    el("p", {}, `${t("layer")} ${streamState.layer + 1} · ${streamState.position + 1}`),
    bars(
      top.map(([piece]) => piece),
      top.map(([, p]) => p),
      chosen,
    ),
  ];
}

function normName_of(where) {
  const [stack, layer, norm] = where.split(".");
  if (layer === undefined) return t(`stream.${where}`);
  const self = stack === "encoder" ? "self" : "masked";
  const box = { self_attention_norm: self, cross_attention_norm: "cross", feed_forward_norm: "ffn" }[norm];
  return `${t(stack)} ${Number(layer) + 1} · ${t(`box.${box}`)}`;
}

function normsPart() {
  const curves = part(() => normCurves());
  return el(
    "section",
    {},
    el("h3", {}, t("stream.norms", { norm: normName })),
    el("p", {}, t(post ? "stream.norms.post" : "stream.norms.pre", { norm: normName })),
    overLayers(),
    el(
      "div.controls",
      { role: "group", "aria-label": t("controls") },
      choice(
        t("stream.which"),
        data.norms.map((one, i) => [i, normName_of(one.where)]),
        streamState.norm,
        (i) => {
          streamState.norm = i;
          curves.redraw();
        },
      ),
    ),
    curves,
  );
}

// The variance before every norm, averaged over positions: whether the stream grows.
function overLayers() {
  const average = (values) => values.reduce((a, b) => a + b, 0) / values.length;
  const series = [
    ["variance_before", "stream.before"],
    ["variance_after", "stream.after"],
  ].map(([leaf, name]) => ({ name: t(name), values: data.norms.map((one) => average(one[leaf])) }));
  return lines({
    title: t("stream.variance.all"),
    series,
    x: data.norms.map((one) =>
      one.where
        .replace("encoder", "E")
        .replace("decoder", "D")
        .replace(/(self|cross)_attention_norm/, "$1")
        .replace("feed_forward_norm", "ffn")
        .replace(/\.(\d+)/, (_, n) => `${Number(n) + 1}`),
    ),
    xTitle: "",
    log: true,
  });
}

function normCurves() {
  const one = data.norms[streamState.norm];
  const pieces = data.pieces[one.where.startsWith("encoder") ? "source" : "input"];
  const pair = (leaf) => [
    { name: t("stream.before"), values: one[`${leaf}_before`] },
    { name: t("stream.after"), values: one[`${leaf}_after`] },
  ];
  const [before, after] = normPair(one.where);
  return [
    el(
      "div.figures.n2",
      {},
      matrixOf(before, { name: "x", shape: `${one.where.startsWith("encoder") ? "S" : "T"} × d_model` }),
      matrixOf(after, { name: `${normName}(x)`, shape: `${one.where.startsWith("encoder") ? "S" : "T"} × d_model` }),
    ),
    lines({ title: `${t("stream.mean")} · ${normName_of(one.where)}`, series: pair("mean"), x: pieces }),
    lines({
      title: `${t("stream.variance")} · ${normName_of(one.where)}`,
      series: pair("variance"),
      x: pieces,
      log: true,
    }),
  ];
}

function gradientsPart() {
  return el(
    "section",
    {},
    el("h3", {}, t("stream.gradients")),
    el("p", {}, t("stream.gradients.text")),
    gradientCurves(data.initial_gradients),
  );
}

// One chart per stack: Post-LN and Pre-LN, all weights of a layer together.
function gradientCurves(found) {
  const curves = ["encoder", "decoder"].map((stack) =>
    lines({
      title: `${t(stack)} · ‖∂L/∂W‖`,
      height: 190,
      zero: true,
      xTitle: t("layer"),
      x: found.post[stack].map((_, i) => String(i + 1)),
      series: [
        ["Post-LN", found.post[stack]],
        ["Pre-LN", found.pre[stack]],
      ].map(([name, values]) => ({ name, values })),
    }),
  );
  return el(
    "div",
    {},
    el("div.ways", {}, curves),
    el(
      "p.hint",
      {},
      `${found.script} · ${found.model} · ${found.batch} · ${t("stream.seeds", { n: found.seeds.length })}`,
    ),
  );
}
