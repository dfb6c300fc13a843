// Switches and sliders that change the network, each with what the paper says of it, and what came of them.

const TOGGLES = ["positions", "mask", "scale"];
// Ends and step of each slider, and what its value means.
const SLIDERS = {
  temperature: { min: -10, max: 10, step: 1, read: (v) => 10 ** (v / 10), write: (x) => Math.round(10 * Math.log10(x)), digits: 2 },
  beam: { min: 1, max: 12, step: 1, read: (v) => v, write: (x) => x, digits: 0 },
  length_penalty: { min: 0, max: 30, step: 1, read: (v) => v / 10, write: (x) => Math.round(10 * x), digits: 1 },
};
const SEARCHED = ["beam", "length_penalty"];
const usual = (key) => (key === "temperature" ? 1 : modelFacts()?.decode[key]);
const sliderValue = (key) => (SEARCHED.includes(key) ? live.surgery.search?.[key] : live.surgery[key]) ?? usual(key);

// Give a key of the surgery a value; that of the whole network is left out, so that {} is no surgery.
function operate(key, value, wait = 0) {
  const target = SEARCHED.includes(key) ? { ...live.surgery.search } : live.surgery;
  const none = value === true || value === "" || (Array.isArray(value) && !value.length);
  if (none || value === usual(key)) delete target[key];
  else target[key] = value;
  if (SEARCHED.includes(key)) {
    if (Object.keys(target).length) live.surgery.search = target;
    else delete live.surgery.search;
  }
  clearTimeout(live.timer);
  live.timer = setTimeout(look, wait);
}

function switches() {
  const rows = part(() => [
    ...TOGGLES.map(toggle),
    chosenOff("heads", headOptions()),
    chosenOff("layers", layerOptions()),
    chosenOff("uniform", uniformOptions()),
    ...Object.keys(SLIDERS).map(slider),
  ], ".switchboard");
  const whole = el(
    "button",
    {
      type: "button",
      id: "live-whole",
      onclick: () => {
        live.surgery = {};
        rows.redraw();
        look();
      },
    },
    t("switch.whole"),
  );
  const box = el("details.operate", { open: isChanged() || live.opened }, el("summary", {}, t("switch.title")), el("p.hint", {}, t("switch.lead")), rows, whole);
  box.addEventListener("toggle", () => (live.opened = box.open));
  return box;
}

const paper = (key) => el("small", { id: `paper-${key}` }, t(`switch.${key}.paper`));

function toggle(key) {
  const box = el("input", {
    type: "checkbox",
    id: `switch-${key}`,
    checked: live.surgery[key] !== false,
    "aria-describedby": `paper-${key}`,
    onchange: (event) => operate(key, event.target.checked),
  });
  return el("div.switch", {}, el("label", { for: `switch-${key}` }, box, " ", t(`switch.${key}`)), paper(key));
}

// A list of what can be off; of heads and layers the engine takes several, the list one.
function chosenOff(key, groups) {
  const now = [live.surgery[key] ?? ""].flat()[0] ?? "";
  const list = el(
    "select",
    {
      id: `switch-${key}`,
      "aria-describedby": `paper-${key}`,
      onchange: ({ target }) => operate(key, key === "uniform" || !target.value ? target.value : [target.value]),
    },
    el("option", { value: "" }, t("switch.none")),
    groups.flatMap(([title, options]) => {
      const made = options.map(([value, text]) => el("option", { value, selected: value === now }, text));
      return title ? el("optgroup", { label: title }, made) : made;
    }),
  );
  return el("div.switch", {}, el("label", { for: `switch-${key}` }, t(`switch.${key}`), " ", list), paper(key));
}

function headOptions() {
  return KINDS.flatMap(([stack, leaf]) =>
    Array.from({ length: model[`${stack}_layers`] }, (_, layer) => {
      const title = `${t(`heads.${stack}.${leaf}`)} · ${t("layer")} ${layer + 1}`;
      const value = (head) => `${stack}.${layer}.${leaf}.${head}`;
      const options = Array.from({ length: model.heads }, (_, head) => [value(head), `${t(`heads.${stack}.${leaf}`)} ${layer + 1}.${head + 1}`]);
      return [title, options];
    }),
  );
}

function layerOptions() {
  return ["encoder", "decoder"].map((stack) => [
    t(stack),
    Array.from({ length: model[`${stack}_layers`] }, (_, layer) => [`${stack}.${layer}`, `${t(stack)} ${layer + 1}`]),
  ]);
}

function uniformOptions() {
  const kinds = KINDS.map(([stack, leaf]) => [`${stack}.${leaf}`, t(`heads.${stack}.${leaf}`)]);
  return [["", [...kinds, ["all", t("switch.all")]]]];
}

function slider(key) {
  const { min, max, step, read, write, digits } = SLIDERS[key];
  const value = el("output", { for: `switch-${key}` }, number(sliderValue(key), digits));
  const range = el("input", {
    type: "range",
    id: `switch-${key}`,
    ...{ min, max, step, value: write(sliderValue(key)) },
    "aria-describedby": `paper-${key}`,
    oninput: ({ target }) => {
      const chosen = read(Number(target.value));
      value.textContent = number(chosen, digits);
      operate(key, chosen, TYPING);
    },
  });
  return el("div.switch", {}, el("label", { for: `switch-${key}` }, t(`switch.${key}`), " ", range, " ", value), paper(key));
}

// The translation of the whole network and of the changed one, and what became of log P.
function effect() {
  const found = data.effect;
  if (!found) return [];
  const same = found.translation === data.translation;
  const lines = [
    el("p", {}, t("effect.whole"), " ", el("b", { lang: data.languages.target, dir: "auto" }, bdi(found.translation))),
    same
      ? el("p", {}, t("effect.same"))
      : el("p", {}, t("effect.now"), " ", el("b", { lang: data.languages.target, dir: "auto" }, marked(data.translation, found.translation))),
    el("p", {}, t("effect.log_prob", { before: number(found.before, 2), after: number(found.after, 2) })),
  ];
  if (live.surgery.mask === false) lines.push(el("p", {}, t("effect.future", { p: percent(future()) })));
  return el("div", {}, lines);
}

// The words of a text, those marked that another text does not have.
function marked(text, other) {
  const known = new Set(other.split(" "));
  return text.split(" ").flatMap((word, i) => [i ? " " : "", known.has(word) ? shown(word) : el("mark", {}, shown(word))]);
}

// The largest share of a decoder's attention that goes to positions after the query.
function future() {
  let most = 0;
  for (let layer = 0; layer < model.decoder_layers; layer++) {
    const { shape, values } = array(`decoder.${layer}.self_attention.weights`);
    const [heads, rows, columns] = shape;
    for (let row = 0; row < heads * rows; row++) {
      const after = values.subarray(row * columns + (row % rows) + 1, (row + 1) * columns);
      most = Math.max(most, after.reduce((sum, weight) => sum + weight, 0));
    }
  }
  return most;
}

// Surgery and sentence as the last part of the address: `text=…&positions=off&beam=1`.
function writeLive() {
  const { search = {}, heads, layers, ...rest } = live.surgery;
  const pairs = { ...rest, ...search, ...(heads && { heads: heads[0] }), ...(layers && { layers: layers[0] }) };
  const fields = new URLSearchParams();
  if (live.text.trim()) fields.set("text", live.text.trim());
  if (live.text && live.part) fields.set("part", live.part + 1);
  for (const [key, value] of Object.entries(pairs)) fields.set(key, value === false ? "off" : value);
  return fields.toString();
}

// What an address says; what it says wrongly is left out.
function readLive(text) {
  const fields = new URLSearchParams(text);
  const surgery = {};
  for (const key of TOGGLES) if (fields.get(key) === "off") surgery[key] = false;
  const known = { heads: headOptions(), layers: layerOptions(), uniform: uniformOptions() };
  for (const [key, groups] of Object.entries(known)) {
    const value = fields.get(key);
    if (groups.some(([, options]) => options.some(([name]) => name === value))) surgery[key] = key === "uniform" ? value : [value];
  }
  for (const [key, { min, max, read }] of Object.entries(SLIDERS)) {
    const value = fields.has(key) ? Number(fields.get(key)) : NaN;
    if (!(value >= read(min) && value <= read(max)) || value === usual(key)) continue;
    if (SEARCHED.includes(key)) surgery.search = { ...surgery.search, [key]: key === "beam" ? Math.round(value) : value };
    else surgery[key] = value;
  }
  const before = writeLive();
  const typed = fields.get("text") ?? "";
  Object.assign(live, { text: typed.slice(0, MAX_TEXT), isCut: typed.length > MAX_TEXT, surgery, part: Math.max(0, Math.floor(Number(fields.get("part")) || 1) - 1) });
  return before !== writeLive();
}
