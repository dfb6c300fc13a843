// Light: a word of the sentence, or a cell of a matrix, lights what it is connected to, everywhere on the page.

const FAINT = 0.1; // weights below it light nothing
// The word that continues to shine: its side and its pieces, as in "source 3 4"; of another sentence it is none.
const lamp = { pinned: "" };
const lampName = ({ side, at }) => `${side} ${at}`;
const pinnedBeam = () => {
  const [side, ...at] = lamp.pinned.split(" ");
  return side ? ofWord(side, at.map(Number)) : null;
};

// A text whose words can be pointed at; without that where its pieces do not spell it, as with placeholders.
function lit(side, text) {
  const words = wordsOf(side);
  const same = (a) => a.normalize("NFC").replace(/\s+/g, " ").trim();
  if (!words.length || same(words.map((word) => word.text).join("")) !== same(text)) return bdi(text);
  const buttons = words.map((word) => {
    const at = word.pieces.join(" ");
    const pressed = String(lamp.pinned === lampName({ side, at }));
    return el("span.lit", { role: "button", "aria-pressed": pressed, "data-side": side, "data-at": at }, shown(word.text.trim()));
  });
  roving(buttons, 1);
  return el(
    "bdi.piece",
    { role: "group", "aria-label": t(side === "source" ? "axis.source" : "translation") },
    words.map((word, i) => [/^\s/.test(word.text) && i ? " " : "", buttons[i]]).flat(),
  );
}

// The head that says what a word is connected to: the chosen one, or in other views the one that aligns best.
function headBetween() {
  if (page.view === "heads" && chosenHead.path.endsWith("cross_attention")) return [chosenHead.path, chosenHead.head];
  if (page.view === "walk") return [`decoder.${walk.decoder}.cross_attention`, walk.head];
  return [data.attribution.attention.where, data.attribution.attention.head];
}

function headWithin(side) {
  const stack = side === "source" ? "encoder" : "decoder";
  if (page.view === "walk") return [`${stack}.${walk[stack]}.self_attention`, walk.head];
  if (page.view !== "heads" || !chosenHead.path.startsWith(stack) || !chosenHead.path.includes("self")) return null;
  return [chosenHead.path, chosenHead.head];
}

// What a word lights: for each side, the strength at each position; and the heads that say so. By pieces the strongest
// connection of a piece counts, by words the mean over those that read.
function ofWord(side, indices) {
  const sides = { source: new Map(), target: new Map() };
  const heads = [];
  const pool = (values) => (page.words ? values.reduce((sum, value) => sum + value, 0) / values.length : Math.max(...values));
  const add = (to, at, strength) => {
    if (page.words || strength >= FAINT) sides[to].set(at, Math.max(strength, sides[to].get(at) || 0));
  };
  const read = (chosen, visit) => {
    const x = chosen && headOf(array(`${chosen[0]}.weights`), chosen[1]);
    if (!x || x.reduced > 1) return;
    heads.push(chosen);
    visit(x.values, x.shape[1], x.shape[0]);
  };
  read(headBetween(), (values, width, rows) => {
    if (side === "target") {
      for (let j = 0; j < width; j++) add("source", j, pool(indices.map((i) => values[i * width + j])));
    } else {
      for (let i = 0; i < rows; i++) add("target", i, indices.reduce((sum, j) => sum + values[i * width + j], 0));
    }
  });
  read(headWithin(side), (values, width) => {
    const before = side === "target" ? 1 : 0; // the input of a position is the output of the one before
    for (let j = before; j < width; j++) add(side, j - before, pool(indices.map((i) => values[i * width + j])));
  });
  indices.forEach((i) => sides[side].set(i, 1));
  // On its side the word alone is a query; what it is connected to is a key.
  const at = (kind, name) => {
    const to = name === "source" ? "source" : "target";
    const lights = [...sides[to]].filter(([i]) => kind === "key" || to !== side || indices.includes(i));
    return new Map(lights.map(([i, strength]) => [i + (name === "input" && kind === "key" ? 1 : 0), strength]));
  };
  return { sides, at, heads, word: [side, indices] };
}

// The strength of a list of pieces: the largest; by words the sum over what is read, the mean over what reads.
function strengthOf(beam, side, indices, kind = side === "target" && beam.word?.[0] === "source" ? "position" : "key", lights = beam.sides[side]) {
  const strengths = indices.map((i) => lights.get(i) || 0);
  if (!page.words || !beam.word || (side === beam.word[0] && indices.some((i) => beam.word[1].includes(i)))) return Math.max(...strengths);
  const sum = strengths.reduce((total, strength) => total + strength, 0);
  const strength = kind === "key" ? sum : sum / indices.length;
  return strength >= FAINT ? Math.min(1, strength) : 0;
}

// What a cell lights: its row where it is a query, its column where it is a key.
function ofCell({ x, row, column }) {
  const [rows, columns] = x.axes.map((name, axis) => ({ name, side: x.sides ? x.sides[axis] : x.labels[name] }));
  const lightsOf = (axis, index) => new Map((x.groups ? x.groups[axis][index] : [index]).map((i) => [i, 1]));
  const at = (kind, side) => {
    if (rows.side === side && (kind === rows.name || rows.side !== columns.side)) return lightsOf(0, row);
    return columns.side === side ? lightsOf(1, column) : new Map();
  };
  const target = at("position", "input");
  return { sides: { source: at(columns.side ? "key" : "position", "source"), target: target.size ? target : at("position", "output") }, at, heads: [] };
}

function shine(beam) {
  document.querySelectorAll(".glow").forEach((glow) => glow.remove());
  document.querySelectorAll("[data-side][data-at]").forEach((one) => {
    const strength = beam ? strengthOf(beam, one.dataset.side, one.dataset.at.split(" ").map(Number)) : 0;
    one.style.setProperty("--light", strength.toFixed(2));
  });
  say(beam);
  if (!beam) return;
  for (const field of document.querySelectorAll(`#view-${page.view} .field`)) {
    const { x } = field;
    if (!x || x.reduced > 1) continue;
    x.axes.forEach((kind, axis) => {
      const side = x.sides ? x.sides[axis] : x.labels[kind],
        count = x.shape[axis];
      if (typeof side !== "string") return;
      const lights = beam.at(kind, side);
      const places = new Map([...lights].map(([piece]) => [placeOf(x, piece, axis), piece]));
      for (const [place, piece] of places) {
        if (place < 0 || place >= count) continue;
        const own = x.groups ? x.groups[axis][place] : [piece];
        const strength = x.groups ? strengthOf(beam, side === "source" ? "source" : "target", own, kind, lights) : lights.get(piece);
        if (strength) field.append(glow(axis, place, count, strength));
      }
    });
  }
}

function glow(axis, at, count, strength) {
  const made = el("div.glow");
  const [start, size] = axis ? ["left", "width"] : ["top", "height"];
  made.style[start] = `${(100 * at) / count}%`;
  made.style[size] = `${100 / count}%`;
  made.style.setProperty("--light", strength.toFixed(2));
  return made;
}

// In words, for those who do not see the light: the strongest connections of the word.
function say(beam) {
  const line = document.getElementById("light");
  if (!line) return;
  if (!beam || !beam.word) return line.replaceChildren(t("light.hint"));
  const [side, indices] = beam.word;
  const texts = ["source", "target"].flatMap((name) =>
    wordsOf(name)
      .filter((word) => !(name === side && word.pieces.some((i) => indices.includes(i))))
      .map((word) => [word.text.trim(), strengthOf(beam, name, word.pieces)])
      .filter(([, strength]) => strength >= FAINT),
  );
  texts.sort((a, b) => b[1] - a[1]);
  const named = beam.heads.map(([path, head]) => {
    const [stack, layer, leaf] = path.split(".");
    return `${t(`heads.${stack}.${leaf}`)} ${Number(layer) + 1}.${head + 1}`;
  });
  const list = texts.slice(0, 5).map(([text, strength]) => `${isolated(text)} ${percent(strength)}`);
  line.replaceChildren(`${list.join(" · ") || t("light.nothing")} (${named.join(", ")})`);
}

// A node of the beam tree lights its path from the root.
function lightPath(node) {
  document.querySelectorAll(".path").forEach((one) => one.classList.remove("path"));
  for (let id = node; id > 0; id = data.beam.nodes[id][0])
    for (const name of ["node", "edge"]) document.getElementById(`${name}-${id}`)?.classList.add("path");
}

const beamOf = (word) => ofWord(word.dataset.side, word.dataset.at.split(" ").map(Number));

function follow(target) {
  if (!target.closest) return;
  const word = target.closest(".lit"),
    node = target.closest(".node");
  if (word) shine(beamOf(word));
  else if (node) lightPath(Number(node.id.replace("node-", "")));
  else if (!target.closest(".field")) shine(pinnedBeam());
}

// A click, Enter or Space lets a word shine until the next one.
function pin(word) {
  document.querySelectorAll(".lit[aria-pressed=true]").forEach((lit) => lit.setAttribute("aria-pressed", "false"));
  const name = lampName(word.dataset);
  lamp.pinned = lamp.pinned === name ? "" : name;
  if (lamp.pinned) word.setAttribute("aria-pressed", "true");
  shine(pinnedBeam());
}

function startLight() {
  document.addEventListener("pointerover", (event) => event.pointerType !== "touch" && follow(event.target));
  document.addEventListener("focusin", (event) => follow(event.target));
  document.addEventListener("cell", (event) => shine(ofCell(event.detail)));
  document.addEventListener("click", (event) => {
    const word = event.target.closest?.(".lit");
    if (word) pin(word);
  });
  document.addEventListener("keydown", (event) => {
    const word = event.target.closest?.(".lit");
    if (!word || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    pin(word);
  });
}
