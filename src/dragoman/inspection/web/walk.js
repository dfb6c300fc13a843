// View 1, the paper step by step: the steps with their equations, and the choice of layer, head and position.

// The step that the address names, as in `…/1-3-2-5-4.self-weights`.
let walkStep = "";
const walk = { encoder: 0, decoder: 0, head: 0, source: 0, target: 0 };
// The positions that the address names, of a sentence that the engine has still to read; null of one that is here.
let namedPositions = null;

function startWalk() {
  const full = (stack, attention, order) =>
    order.find((layer) => has(`${stack}.${layer}.${attention}.q`)) ?? order[0];
  const count = (n) => [...Array(n).keys()];
  walk.encoder = full("encoder", "self_attention", count(model.encoder_layers));
  walk.decoder = full("decoder", "cross_attention", count(model.decoder_layers).reverse());
  walk.source = Math.min(1, data.pieces.source.length - 1);
  walk.target = Math.min(1, data.pieces.input.length - 1);
}

// What is chosen, as in `1-3-2-5-4`: layer of the encoder, of the decoder, head, positions; counted from 1.
const walkChoice = {
  write: () => Object.values({ ...walk, ...namedPositions }).map((n) => n + 1).join("-") + (walkStep && `.${walkStep}`),
  read(text) {
    const [choice, step = ""] = text.split(".");
    const numbers = choice.split("-").map((n) => Number(n) - 1);
    const limits = [model.encoder_layers, model.decoder_layers, model.heads, Infinity, Infinity];
    const isIndex = (n, i) => Number.isInteger(n) && n >= 0 && n < limits[i];
    const valid = numbers.length === limits.length && numbers.every(isIndex);
    if (valid) {
      const [encoder, decoder, head, source, target] = numbers;
      Object.assign(walk, { encoder, decoder, head });
      namedPositions = { source, target };
      placePositions();
    }
    walkStep = valid && /^[\w-]+$/.test(step) ? step : "";
    return valid;
  },
};

// Positions of the sentence that is shown: the named ones, as far as it has them.
function placePositions() {
  const { source, target } = { ...walk, ...namedPositions };
  walk.source = Math.min(source, data.pieces.source.length - 1);
  walk.target = Math.min(target, data.pieces.input.length - 1);
}

function walkView() {
  const list = part(() => Object.entries(walkSteps(walk)).map(([name, steps]) => group(name, steps)));
  const change = (key) => (value) => {
    walk[key] = value;
    if (key === "source" || key === "target") namedPositions = null;
    list.redraw();
    chose();
  };
  const layer = (stack, leaf) => (_, i) => [
    i,
    `${i + 1}${has(`${stack}.${i}.${leaf}.q`) ? "" : ` (${t("partly")})`}`,
  ];
  const pieces = (side) => data.pieces[side].map((piece, i) => [i, `${i + 1} ${isolated(piece)}`]);
  const bar = el(
    "div.controls",
    { role: "group", "aria-label": t("controls") },
    choice(
      t("encoder.layer"),
      Array.from({ length: model.encoder_layers }, layer("encoder", "self_attention")),
      walk.encoder,
      change("encoder"),
    ),
    choice(
      t("decoder.layer"),
      Array.from({ length: model.decoder_layers }, layer("decoder", "self_attention")),
      walk.decoder,
      change("decoder"),
    ),
    choice(t("head"), Array.from({ length: model.heads }, (_, i) => [i, `${i + 1}`]), walk.head, change("head")),
    choice(t("source.position"), pieces("source"), walk.source, change("source")),
    choice(t("target.position"), pieces("input"), walk.target, change("target")),
  );
  // A click on a row of positions chooses that position.
  list.addEventListener("pick", (event) => {
    const { x, row: place, column } = event.detail,
      side = { source: "source", input: "target" }[x.sides ? x.sides[0] : x.labels[x.axes[0]]];
    const row = x.groups ? x.groups[0][place][0] : place;
    if (x.reduced > 1 || !side || walk[side] === row) return;
    const at = [...list.querySelectorAll(".field")].indexOf(event.target);
    change(side)(row);
    bar.querySelectorAll("select")[side === "source" ? 3 : 4].value = row;
    list.querySelectorAll(".field")[at].reopen({ row: place, column });
  });
  setTimeout(readAgain);
  return [
    el("p.lead", {}, t("walk.lead")),
    kinds(),
    bar,
    absent(),
    blocks(array("encoder.0.self_attention.weights")),
    list,
    stepBar(),
  ];
}

// How this model differs from that of 2017, if it does.
function kinds() {
  const departures = [];
  if (!post) departures.push(t("kind.pre"));
  if (model.norm === "rms") departures.push(t("kind.rms"));
  if (rotary) departures.push(t("kind.rotary"));
  if (model.position_base !== 10000 || model.first_position)
    departures.push(t("kind.frequencies", { base: BASE, first: model.first_position }));
  if (model.feed_forward !== "relu") departures.push(t(`kind.${model.feed_forward}`));
  if (!model.bias) departures.push(t("kind.unbiased"));
  if (model.output_bias) departures.push(t("kind.output_bias"));
  if (model.tie !== "all") departures.push(t(`kind.${model.tie}`));
  return departures.length
    ? el(
        "details.note.departs",
        { open: true },
        el("summary", {}, t("kind.departs")),
        el("ul", {}, departures.map((text) => el("li", {}, text))),
      )
    : note(t("kind.paper"));
}

function absent() {
  const missing = (stack, depth) =>
    [...Array(depth).keys()].filter((i) => !has(`${stack}.${i}.self_attention.q`)).map((i) => i + 1);
  const lists = [
    ["encoder", model.encoder_layers],
    ["decoder", model.decoder_layers],
  ]
    .map(([stack, depth]) => [t(stack), missing(stack, depth)])
    .filter(([, found]) => found.length);
  return lists.length
    ? note(t("absent", { layers: lists.map(([stack, found]) => `${stack} ${found.join(", ")}`).join("; ") }))
    : null;
}

function group(name, steps) {
  return el(
    "section.group",
    { "aria-labelledby": `group-${name}` },
    el(
      "h3",
      { id: `group-${name}` },
      t(`group.${name}`, { n: name === "decoder" ? walk.decoder + 1 : walk.encoder + 1 }),
    ),
    steps.map((step) => oneStep(step, Boolean(step.kind) && isSkipped(`${name}.${walk[name]}.`))),
  );
}

// `skipped`: of a layer that is off, which computes nothing that could be shown.
function oneStep(step, skipped) {
  const equations = step.equations ? EQUATIONS[step.equations]() : [];
  const fill = {
    norm: normName,
    standard: t(`norm.${model.norm}`),
    n: model[`${step.id === "features" ? "decoder" : "encoder"}_layers`],
    h: model.heads,
    d_k: model.d_k,
    d_model: model.d_model,
    d_ff: model.d_ff,
    vocabulary: whole(model.vocabulary),
  };
  return el(
    `section.step${step.id === reading.id ? ".now" : ""}`,
    { id: `step-${step.id}`, "aria-labelledby": `title-${step.id}`, tabindex: -1 },
    el(
      "header",
      {},
      el("span.number", { title: t("section") }, `§${step.section}`),
      el("h4", { id: `title-${step.id}` }, prefix(step), t(`walk.${step.key}.title`, fill)),
    ),
    el(
      "div.step-text",
      {},
      [
        t(`walk.${step.key}.text`, fill),
        ...(step.more || []),
      ].map((text) => el("p", {}, text)),
      equations.length
        ? el("div.equations", { tabindex: 0, role: "group", "aria-label": t("equation") }, equations)
        : null,
      step.worked && !skipped ? [byPieces(), el("p.worked", {}, step.worked)] : null,
    ),
    skipped
      ? note(t("walk.skipped"))
      : el(
          `div.figures.n${step.figures.length}`,
          {},
          step.figures.map((figure) => figure()),
        ),
  );
}

function prefix(step) {
  const name = { masked: "kind.masked", cross: "kind.cross" }[step.kind];
  return name ? el("small", {}, `${t(name)} · `) : null;
}
