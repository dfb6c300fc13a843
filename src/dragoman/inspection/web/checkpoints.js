// View 8, checkpoints: the same sentence by each checkpoint of a run, side by side.

const checkpointsState = { layer: -1 };

function checkpointsView() {
  if (data.film) return [data === recorded ? null : note(t("live.recorded")), ...filmView()];
  if (!data.checkpoints)
    return [
      el("p.lead", {}, t("checkpoints.none")),
      el("pre", { tabindex: 0 }, el("code", {}, "dragoman look … --run runs/NAME --html page.html")),
    ];
  const good = data.checkpoints.filter((one) => !one.problem);
  const maps = good.map((one) => array(one.attention));
  const depth = Math.max(1, ...maps.map((x) => x.shape[0])); // the run may have another number of layers
  if (checkpointsState.layer < 0) checkpointsState.layer = depth - 1;
  const cards = part(() => el("div.checkpoints", {}, data.checkpoints.map(checkpoint)));
  return [
    data === recorded ? null : note(t("live.recorded")),
    el("p.lead", {}, t("checkpoints.lead", { n: good.length })),
    good.length > 1
      ? lines({
          title: t("checkpoints.log_prob"),
          series: [{ name: "log P / |Y|", values: good.map((one) => one.log_prob / one.pieces.length) }],
          x: good.map((one) => String(one.step)),
          xTitle: t("checkpoints.step"),
          height: 180,
        })
      : null,
    el(
      "div.controls",
      { role: "group", "aria-label": t("controls") },
      choice(
        t("decoder.layer"),
        Array.from({ length: depth }, (_, i) => [i, String(i + 1)]),
        checkpointsState.layer,
        (layer) => {
          checkpointsState.layer = layer;
          cards.redraw();
        },
      ),
    ),
    cards,
  ];
}

function checkpoint(one) {
  const title = `${t("checkpoints.step")} ${whole(one.step)}`;
  if (one.problem) return el("article.checkpoint", {}, el("h3", {}, title), el("p.missing", {}, shown(one.problem)));
  const x = array(one.attention),
    pieceWise = headOf(x, checkpointsState.layer),
    layer = page.words ? byWords({ ...pieceWise, sides: ["position", "key"].map((name) => labelsOf(pieceWise, name)) }) : pieceWise;
  return el(
    "article.checkpoint",
    {},
    el("h3", {}, title),
    el("p.translation", { lang: data.languages.target }, bdi(one.translation || "∅")),
    el("p.hint", {}, `log P = ${number(one.log_prob, 3)}`),
    matrix(layer, {
      name: t("checkpoints.attention"),
      signed: false,
      top: topOf(x),
      rowTitle: t("axis.output"),
      columnTitle: t("axis.source"),
    }),
    blocks(x),
  );
}
