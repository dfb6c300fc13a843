// View 2, heads: every head of every layer, enlarged when chosen, with its roles by their formulas.

const KINDS = [
  ["encoder", "self_attention"],
  ["decoder", "self_attention"],
  ["decoder", "cross_attention"],
];
const ROLES = ["previous", "same", "positional", "alignment"];
const chosenHead = { path: "", head: 0 };

function startHeads() {
  chosenHead.path = data.attribution.attention.where;
  chosenHead.head = data.attribution.attention.head;
}

// The chosen head, as in `encoder.1.self_attention.3`: layer and head are counted from 1.
const headChoice = {
  write() {
    const [stack, layer, leaf] = chosenHead.path.split(".");
    return [stack, Number(layer) + 1, leaf, chosenHead.head + 1].join(".");
  },
  read(text) {
    const [stack, layer, leaf, head] = text.split(".");
    const path = `${stack}.${Number(layer) - 1}.${leaf}`;
    const valid = data.heads.some((one) => one.where === path && one.head === Number(head) - 1);
    if (valid) Object.assign(chosenHead, { path, head: Number(head) - 1 });
    return valid;
  },
};

function headsView() {
  const large = part(enlarged, ".enlarged");
  const choose = (path, head) => {
    Object.assign(chosenHead, { path, head });
    document.querySelectorAll(".thumb[aria-pressed=true]").forEach((one) => one.setAttribute("aria-pressed", "false"));
    document.getElementById(thumbId(path, head)).setAttribute("aria-pressed", "true");
    large.redraw();
    chose();
    if (narrow()) large.scrollIntoView();
  };
  return [
    el("p.lead", {}, t("heads.lead")),
    blocks(array("encoder.0.self_attention.weights")),
    el(
      "div.heads",
      {},
      el(
        "div",
        {},
        KINDS.map(([stack, leaf]) => grid(stack, leaf, choose)),
      ),
      large,
    ),
    formulas(),
  ];
}

const thumbId = (path, head) => `head-${path.replaceAll(".", "-")}-${head}`;

function grid(stack, leaf, choose) {
  const depth = model[`${stack}_layers`],
    buttons = [];
  const rows = Array.from({ length: depth }, (_, layer) => {
    const path = `${stack}.${layer}.${leaf}`;
    const row = Array.from({ length: model.heads }, (_, head) => thumb(path, layer, head, choose));
    buttons.push(...row);
    return el("div.thumbs", {}, el("span.layer", { "aria-hidden": "true" }, String(layer + 1)), row);
  });
  roving(buttons, model.heads);
  const title = t(`heads.${stack}.${leaf}`);
  const made = el("div.headgrid", { role: "group", "aria-label": title }, el("h3", {}, title), rows);
  made.style.setProperty("--heads", model.heads);
  return made;
}

function thumb(path, layer, head, choose) {
  const x = byWords(headOf(array(`${path}.weights`), head));
  const canvas = el("canvas", { "aria-hidden": "true" });
  paint(canvas, x.values, ...x.shape, scale(x.values, false, topOf(x)));
  const name = strongest(roleOf(path, head));
  const pressed = path === chosenHead.path && head === chosenHead.head;
  return el(
    `button.thumb${name ? `.${name}` : ""}`,
    {
      type: "button",
      id: thumbId(path, head),
      "aria-pressed": String(pressed),
      title: name ? t(`role.${name}`) : null,
      "aria-label": `${t("layer")} ${layer + 1}, ${t("head")} ${head + 1}${name ? `, ${t(`role.${name}`)}` : ""}`,
      onclick: () => choose(path, head),
    },
    canvas,
    name ? el("span.role", {}, t(`role.${name}.short`)) : null,
  );
}

const roleOf = (path, head) => data.heads.find((one) => one.where === path && one.head === head);

// The role with the highest score, if that is at least one half. "Same" and "previous" apply to self-attention only.
function strongest(role) {
  const within = !role.where.endsWith("cross_attention");
  const scores = ROLES.map((name) => [
    name,
    (name === "previous" || name === "same") && !within ? null : role[name],
  ]).filter(([, score]) => score !== null && score >= 0.5);
  return scores.length ? scores.reduce((a, b) => (b[1] > a[1] ? b : a))[0] : null;
}

function enlarged() {
  const { path, head } = chosenHead,
    [stack, layer, leaf] = path.split(".");
  const title = `${t(`heads.${stack}.${leaf}`)} · ${t("layer")} ${Number(layer) + 1} · ${t("head")} ${head + 1}`;
  if (isSkipped(`${path}.`)) return [el("p", {}, el("b", {}, title)), note(t("walk.skipped"))];
  const x = byWords(headOf(array(`${path}.weights`), head));
  return [
    matrix(x, {
      name: title,
      inputs: wordInputs(x),
      signed: false,
      top: topOf(x),
      rowTitle: t("axis.query"),
      columnTitle: t("axis.key"),
    }),
    described(roleOf(path, head)),
  ];
}

function described(role) {
  const at = (value, form) => (value === null ? "–" : form(value));
  const rows = [
    [t("entropy"), `${number(role.entropy, 3)} nat`],
    [t("entropy.normalised"), at(role.normalised_entropy, (x) => number(x, 3))],
    ...ROLES.map((name) => [
      t(`role.${name}`) +
        (name === "positional" ? ` (${role.offset > 0 ? "+" : ""}${String(role.offset).replace("-", "−")})` : ""),
      at(role[name], percent),
    ]),
  ];
  return el("dl.facts", {}, rows.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]).flat());
}

function formulas() {
  return el(
    "details",
    { open: true },
    el("summary", {}, t("heads.formulas")),
    el(
      "dl.formulas",
      {},
      ["entropy", "normalised", ...ROLES]
        .map((name) => [
          el(
            "dt",
            {},
            t(name === "entropy" ? "entropy" : name === "normalised" ? "entropy.normalised" : `role.${name}`),
          ),
          el("dd", {}, t(`formula.${name}`)),
        ])
        .flat(),
    ),
  );
}
