// View 8, the time machine: the same sentence by each checkpoint of a run, side by side.

const timesState = { layer: -1 };

function timesView() {
  if (!data.times)
    return [
      el("p.lead", {}, t("times.none")),
      el("pre", { tabindex: 0 }, el("code", {}, "dragoman look … --run runs/NAME --html page.html")),
    ];
  const good = data.times.filter((one) => !one.problem);
  const depth = model.decoder_layers;
  if (timesState.layer < 0) timesState.layer = depth - 1;
  const cards = part(() => el("div.moments", {}, data.times.map(moment)));
  return [
    el("p.lead", {}, t("times.lead", { n: good.length })),
    good.length > 1
      ? lines({
          title: t("times.log_prob"),
          series: [{ name: "log P / |Y|", values: good.map((one) => one.log_prob / one.pieces.length) }],
          x: good.map((one) => String(one.step)),
          xTitle: t("times.step"),
          height: 180,
        })
      : null,
    el(
      "div.controls",
      { role: "group", "aria-label": t("controls") },
      choice(
        t("decoder.layer"),
        Array.from({ length: depth }, (_, i) => [i, String(i + 1)]),
        timesState.layer,
        (layer) => {
          timesState.layer = layer;
          cards.redraw();
        },
      ),
    ),
    cards,
  ];
}

function moment(one) {
  const title = `${t("times.step")} ${whole(one.step)}`;
  if (one.problem) return el("article.moment", {}, el("h3", {}, title), el("p.missing", {}, shown(one.problem)));
  const x = array(one.attention),
    layer = x && headOf(x, Math.min(timesState.layer, x.shape[0] - 1));
  return el(
    "article.moment",
    {},
    el("h3", {}, title),
    el("p.said", { lang: data.languages.target }, bdi(one.translation || "∅")),
    el("p.hint", {}, `log P = ${number(one.log_prob, 3)}`),
    layer
      ? matrix(layer, {
          name: t("times.attention"),
          signed: false,
          top: 1,
          rowTitle: t("axis.said"),
          columnTitle: t("axis.source"),
        })
      : null,
    blocks(x),
  );
}
