// The page alive: what is typed and what is switched off go to the engine, and every view shows what comes back.

const TYPING = 250; // milliseconds without a key after which a sentence is read
const MAX_TEXT = 4000; // characters
const recorded = data;
// `request`: for the sentence that the engine read last, `reading` while it does.
// `text`: "" for the sentence that was recorded; `isCut`: more was typed. `surgery`: what is off or changed, as
// `web/look/surgery.js` reads it.
const live = { state: "", text: "", isCut: false, part: 0, surgery: {}, timer: 0, base: {}, count: 0, turn: 0, reading: null };
const isLive = () => document.getElementById("engine") !== null;

const isChanged = () => Object.keys(live.surgery).length > 0;

async function startLive() {
  try {
    live.kernels = await startEngine();
  } catch (error) {
    return report(error.message === "damaged" ? "live.damaged" : "live.failed", { error: error.message });
  }
  live.state = "ready";
  document.documentElement.dataset.engine = live.kernels;
  if (live.text || isChanged()) return look();
  report("live.ready", { arithmetic: arithmetic() });
  await recordedPass();
}

// The sentence of this page once more, for what was left out of the file.
async function recordedPass() {
  const { source, target } = recorded.ids;
  const turn = live.turn;
  try {
    const answer = await readSentence({ source_ids: source, target_ids: target });
    if (!answer) return;
    live.base = answer.arrays;
    if (!live.text && !isChanged()) adopt(recorded, live.base);
  } catch (error) {
    failed(error, turn);
  }
}

// Have the engine read a sentence: it answers questions on the one that it read last.
function readSentence(request) {
  const reading = engine.ask({ kind: "inside", pair: modelFacts().pair, replaces: "inside", ...request });
  const done = () => {
    if (live.reading === reading) live.reading = null;
  };
  reading.then(done, done);
  return Object.assign(live, { request, reading }).reading;
}

// Ask of the sentence that is shown. An engine that was started since then has read none: it reads it, and is asked once
// more. Null for what is not awaited any longer.
async function askOfSentence(request) {
  const turn = live.turn;
  const answer = await engine.ask(request);
  if (!answer?.lost) return answer;
  await (live.reading ?? readSentence(live.request));
  if (turn !== live.turn) return null;
  const second = await engine.ask(request);
  if (second?.lost) throw new Error(t("live.lost"));
  return second;
}

function failed(error, turn) {
  if (turn === live.turn) report("live.failed", { error: error.message.split("\n")[0] });
}

const arithmetic = () =>
  t(live.kernels === "wasm" ? "live.wasm" : "live.plain") + (engine.isInPage ? `, ${t("live.alone")}` : "");

// Read the sentence that was typed with what is switched, and show it everywhere.
async function look() {
  chose();
  const turn = ++live.turn; // an answer to what was typed before is late
  if (live.state === "damaged") return;
  if (!live.kernels) return report("live.loading");
  if (!live.text.trim() && !isChanged()) {
    report("live.ready", { arithmetic: arithmetic() });
    adopt(recorded, live.base);
    return recordedPass(); // the engine answers questions on the sentence that it read last
  }
  report("live.working");
  const started = performance.now();
  const text = live.text.trim() || recorded.source;
  try {
    const answer = await readSentence({ text, part: live.part, surgery: live.surgery });
    if (!answer || turn !== live.turn) return;
    if (answer.empty) return report("live.nothing");
    const checkpoints = Object.entries(recorded.arrays).filter(([name]) => name.startsWith("checkpoints."));
    adopt({ ...recorded, ...answer.facts, arrays: Object.fromEntries(checkpoints) }, answer.arrays);
    const isStrange = answer.facts.unknown > 0.5;
    report(isStrange ? "live.strange" : "live.done", { ms: whole(Math.round(performance.now() - started)), arithmetic: arithmetic() });
    if (await attribute()) document.documentElement.dataset.looked = ++live.count;
  } catch (error) {
    failed(error, turn);
  }
}

// Erasure needs a pass for each token of the source, and comes after the rest.
async function attribute() {
  const answer = await engine.ask({ kind: "erasure", replaces: "inside" });
  if (answer?.lost) return void look(); // the worker that knew the sentence is gone
  if (!answer || data === recorded) return false;
  Object.assign(data, answer.facts);
  Object.assign(stores.live, answer.arrays);
  cache.clear();
  if (page.view === "attribution" || page.view === "heads") redrawn();
  return true;
}

// Show another sentence, or another computation of it.
function adopt(facts, arrays) {
  const isSame = ["source", "output"].every((side) => String(facts.pieces[side]) === String(data.pieces[side]));
  if (!isSame) lamp.pinned = "";
  setData(facts, arrays);
  placePositions();
  namedPositions = null;
  Object.assign(beamState, { from: 1, node: 0 });
  if (!isSame && !rival.linked) {
    Object.assign(rival, { before: null, text: "" });
    beamState.word = 0;
  }
  Object.assign(rival, { answer: null, linked: false });
  chosenWord.index = 0;
  Object.assign(streamState, { norm: 0, position: 0 });
  frame();
  effectBox.redraw?.();
  partsBox.redraw?.();
  redrawn();
}

// Draw the view again at the same place, with the focus where it was. A step that is read stays where it is, although what
// is before it changes its height.
function redrawn() {
  const [x, y] = [window.scrollX, window.scrollY];
  const top = () => (page.view === "walk" && document.getElementById(`step-${reading.id}`)?.getBoundingClientRect().top) || 0;
  const before = top();
  const focused = document.activeElement?.id;
  sections();
  show(false);
  const isRead = y > 0 && before && before < innerHeight / 3;
  window.scrollTo({ left: x, top: isRead ? window.scrollY + top() - before : y, behavior: "instant" });
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

function report(key, fill = {}) {
  live.report = [key, fill];
  if (key === "live.damaged") live.state = "damaged";
  const line = document.getElementById("live-status");
  // A screen reader receives the translation too, which is in the heading.
  const isDone = key === "live.done" || key === "live.strange";
  const spoken = isDone ? [el("span.unseen", { lang: data.languages.target }, ` ${shown(data.translation)}`)] : [];
  const cut = live.isCut && isDone ? ` ${t("live.cut", { n: whole(MAX_TEXT) })}` : "";
  if (line) line.replaceChildren(t(key, fill), cut, ...spoken);
}

let effectBox = {};
let partsBox = {};

// The box and the switches above the views.
function livePanel() {
  const box = document.getElementById("live");
  if (!isLive()) {
    box.hidden = !recorded.why_recorded;
    return box.replaceChildren(note(t("live.none", { reason: recorded.why_recorded })));
  }
  const typed = (event) => {
    live.text = event.target.value.slice(0, MAX_TEXT);
    live.isCut = event.target.value.length > MAX_TEXT;
    live.part = 0;
    clearTimeout(live.timer);
    live.timer = setTimeout(look, event.type === "change" ? 0 : TYPING);
  };
  const area = el("textarea", {
    id: "live-text",
    rows: 2,
    lang: recorded.languages.source,
    dir: "auto",
    spellcheck: "false",
    autocomplete: "off",
    placeholder: shown(recorded.source),
    oninput: typed,
  });
  area.value = live.text;
  effectBox = part(effect, ".effect");
  effectBox.setAttribute("role", "status");
  partsBox = part(partsChoice);
  box.hidden = false;
  box.setAttribute("aria-label", t("live.box"));
  const examples = exampleButtons((text) => {
    area.value = text;
    typed({ type: "change", target: area });
  });
  box.replaceChildren(
    el("label", { for: "live-text" }, t("live.box"), " ", el("small", {}, languageName(recorded.languages.source))),
    area,
    el("p.hint", { id: "live-status", role: "status" }, live.report ? t(...live.report) : ""),
    ...(examples ? [examples] : []),
    partsBox,
    switches(),
    effectBox,
  );
}

// Of a text of several sentences one is shown.
function partsChoice() {
  const parts = data.parts ?? [];
  if (parts.length < 2) return [];
  const options = parts.map((text, number) => [number, `${number + 1}. ${shown(text.slice(0, 60))}`]);
  return [
    choice(t("sentence"), options, Math.min(live.part, parts.length - 1), (number) => {
      live.part = number;
      look();
    }),
  ];
}

if (isLive()) {
  const begin = () => startLive();
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
  document.addEventListener("visibilitychange", () => document.hidden || engine?.revive());
}
