// Light: a word of the sentence, or a cell of a matrix, lights what it is connected to, everywhere on the page.

const FAINT = 0.1; // weights below it light nothing
const lamp = { pinned: null };
const BYTE = /^<0x([0-9A-F]{2})>$/i;

// The text of pieces: bytes are put together to characters.
function spelled(pieces) {
  const encoder = new TextEncoder();
  const bytes = pieces.flatMap((piece) => (BYTE.test(piece) ? [parseInt(piece.slice(3, 5), 16)] : [...encoder.encode(piece)]));
  return new TextDecoder().decode(Uint8Array.from(bytes)).replaceAll("▁", " ");
}

// The words of a side: their texts, and the indices of their pieces. A piece that begins with "▁" begins a word.
function wordsOf(side) {
  const pieces = data.pieces[side === "source" ? "source" : "output"];
  const words = [];
  pieces.forEach((piece, i) => {
    if (/^<[^>]+>$/.test(piece) && !BYTE.test(piece)) return; // EOS, a language
    if (!words.length || piece.startsWith("▁")) words.push([]);
    words[words.length - 1].push(i);
  });
  return words.map((word) => ({ pieces: word, text: spelled(word.map((i) => pieces[i])) }));
}

// A text whose words can be pointed at; without that where its pieces do not spell it, as with placeholders.
function lit(side, text) {
  const words = wordsOf(side);
  const same = (a) => a.normalize("NFC").replace(/\s+/g, " ").trim();
  if (!words.length || same(words.map((word) => word.text).join("")) !== same(text)) return bdi(text);
  const buttons = words.map((word) =>
    el("span.lit", { role: "button", "aria-pressed": "false", "data-side": side, "data-at": word.pieces.join(" ") }, shown(word.text.trim())),
  );
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

// What a word lights: for each side, the strength at each position; and the heads that say so.
function ofWord(side, indices) {
  const sides = { source: new Map(), target: new Map() };
  const heads = [];
  const add = (to, at, strength) => {
    if (strength >= FAINT) sides[to].set(at, Math.max(strength, sides[to].get(at) || 0));
  };
  const read = (chosen, visit) => {
    const x = chosen && headOf(array(`${chosen[0]}.weights`), chosen[1]);
    if (!x || x.reduced > 1) return;
    heads.push(chosen);
    visit(x.values, x.shape[1], x.shape[0]);
  };
  read(headBetween(), (values, width, rows) => {
    if (side === "target") {
      for (let j = 0; j < width; j++) add("source", j, Math.max(...indices.map((i) => values[i * width + j])));
    } else {
      for (let i = 0; i < rows; i++) add("target", i, indices.reduce((sum, j) => sum + values[i * width + j], 0));
    }
  });
  read(headWithin(side), (values, width) => {
    const before = side === "target" ? 1 : 0; // the input of a position is the output of the one before
    for (let j = before; j < width; j++) add(side, j - before, Math.max(...indices.map((i) => values[i * width + j])));
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

// What a cell lights: its row where it is a query, its column where it is a key.
function ofCell({ x, row, column }) {
  const [rows, columns] = x.axes.map((name) => ({ name, side: x.labels[name] }));
  const at = (kind, side) => {
    if (rows.side === side && (kind === rows.name || rows.side !== columns.side)) return new Map([[row, 1]]);
    return columns.side === side ? new Map([[column, 1]]) : new Map();
  };
  const target = at("position", "input");
  return { sides: { source: at(columns.side ? "key" : "position", "source"), target: target.size ? target : at("position", "output") }, at, heads: [] };
}

function shine(beam) {
  document.querySelectorAll(".glow").forEach((glow) => glow.remove());
  document.querySelectorAll("[data-side][data-at]").forEach((one) => {
    const strengths = beam ? one.dataset.at.split(" ").map((at) => beam.sides[one.dataset.side].get(Number(at)) || 0) : [0];
    one.style.setProperty("--light", Math.max(...strengths).toFixed(2));
  });
  say(beam);
  if (!beam) return;
  for (const field of document.querySelectorAll(`#view-${page.view} .field`)) {
    const { x } = field;
    if (!x || x.reduced > 1) continue;
    x.axes.forEach((kind, axis) => {
      const side = x.labels[kind],
        count = x.shape[axis];
      if (typeof side !== "string") return;
      for (const [at, strength] of beam.at(kind, side)) if (at < count) field.append(glow(axis, at, count, strength));
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
      .map((word) => [word.text.trim(), Math.max(...word.pieces.map((i) => beam.sides[name].get(i) || 0))])
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
  else if (!target.closest(".field")) shine(lamp.pinned && beamOf(lamp.pinned));
}

// A click, Enter or Space lets a word shine until the next one.
function pin(word) {
  document.querySelectorAll(".lit[aria-pressed=true]").forEach((one) => one.setAttribute("aria-pressed", "false"));
  lamp.pinned = word === lamp.pinned ? null : word;
  if (lamp.pinned) word.setAttribute("aria-pressed", "true");
  shine(lamp.pinned && beamOf(lamp.pinned));
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
