// View 8, the time machine: the same sentence by each checkpoint of a run, side by side.

const timesState = { layer: -1 };

function timesView() {
  if (!data.times)
    return [
      el("p.lead", {}, t("times.none")),
      el("pre", { tabindex: 0 }, el("code", {}, "dragoman look … --run runs/NAME --html page.html")),
    ];
  const good = data.times.filter((one) => !one.problem);
  const maps = good.map((one) => array(one.attention));
  const depth = Math.max(1, ...maps.map((x) => x.shape[0])); // of the run's model, which may be another
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
    layer = headOf(x, timesState.layer);
  return el(
    "article.moment",
    {},
    el("h3", {}, title),
    el("p.said", { lang: data.languages.target }, bdi(one.translation || "∅")),
    el("p.hint", {}, `log P = ${number(one.log_prob, 3)}`),
    matrix(layer, {
      name: t("times.attention"),
      signed: false,
      top: topOf(x),
      rowTitle: t("axis.said"),
      columnTitle: t("axis.source"),
    }),
    blocks(x),
  );
}
