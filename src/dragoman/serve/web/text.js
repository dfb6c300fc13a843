// Two panes: the source, and its translation while one types.
//
// One request is under way at a time; what was typed meanwhile is asked for when it returns. So an answer is never older
// than the one that is shown, and fast typing does not starve the translation. A change of languages aborts.

import { openAlternatives } from "./alternatives.js";
import { persistently } from "./api.js";
import { byId, directionOf, languageName, say, t } from "./dom.js";
import { termsFor } from "./glossary.js";
import { choice, foundLanguage, likelySource, swapped } from "./languages.js";
import { align, detect, keep, known, linesOf, translate } from "./lines.js";
import { reflect } from "./mirror.js";
import { inText, paragraph, sourcesOf } from "./words.js";

const source = byId("source");
const output = byId("output");
const pane = output.closest(".pane");
const NOTHING = { text: "" };
// Kinds of warnings whose texts are here in the reader's language.
const WARNED = new Set(["loop", "length", "empty", "copy", "script"]);
// Milliseconds without a key: until words are aligned, until a screen reader reads, until it is history.
const IDLE = 350;
const READ = 1000;
const SETTLED = 2500;

let running = null;
let composing = false;
let timers = [];
// What is shown: how it was asked for, its lines, and sentences of lines that are not finished.
let shown = { asked: null, lines: [], parts: new Map() };

// {source, target, text, translation, lines, asked} of what is shown; null while there is nothing or more is to come.
export function current() {
  if (!shown.asked || pane.getAttribute("aria-busy") === "true") return null;
  const translation = shown.lines.map((line) => resultOf(line)?.text ?? "").join("\n");
  return translation.trim() ? { ...shown.asked, text: source.value, translation, lines: shown.lines, asked: shown.asked } : null;
}

const resultOf = (line) => (line ? (known(shown.asked, line) ?? shown.parts.get(line)) : NOTHING);

// Show a text, and translate it.
export function setText(text) {
  source.value = text;
  changed();
}

// Translate again what is there, such as after a change of the glossary.
export function changed(abort = true) {
  byId("clear").hidden = !source.value;
  byId("count").textContent = source.value ? t("characters", { count: [...source.value].length.toLocaleString() }) : "";
  reflect(source.value);
  timers.forEach(clearTimeout);
  if (running) {
    running.again = true;
    if (abort || running.long) running.controller.abort();
    return;
  }
  run();
}

// A syllable that is being composed may be a single letter for now, which nobody means.
const wanted = () => (composing ? source.value.replace(/[\u3131-\u3163]+$/u, "") : source.value);

async function run() {
  const text = wanted();
  if (!text.trim()) return empty();
  const mine = { controller: new AbortController(), again: false, long: text.length > 1000 };
  running = mine;
  pane.setAttribute("aria-busy", "true");
  const signal = mine.controller.signal;
  const finished = await persistently(() => translated(text, signal), () => !mine.again).catch(() => null);
  running = null;
  if (mine.again) return run();
  pane.setAttribute("aria-busy", "false");
  document.dispatchEvent(new Event("shown"));
  return finished && settle();
}

async function translated(text, signal) {
  const asked = await languagesOf(text, signal);
  const lines = linesOf(text);
  const parts = new Map();
  shown = { asked, lines, parts };
  await translate(asked, lines, signal, (line, part) => {
    parts.set(line, part);
    show();
  });
  say("");
  show();
  return true;
}

// The languages and the glossary with which a text is asked for.
async function languagesOf(text, signal) {
  if (choice.source === "auto") {
    const language = await detect(text, signal);
    if (language) foundLanguage(language);
  }
  const from = choice.source === "auto" ? likelySource() : choice.source;
  return { source: from, target: choice.target, glossary: termsFor(from, choice.target) };
}

function empty() {
  shown = { asked: null, lines: [], parts: new Map() };
  output.replaceChildren();
  pane.setAttribute("aria-busy", "false");
  byId("announce").textContent = "";
  show();
}

// Write what has changed; a line that is not there yet keeps its old translation, dimmed.
function show() {
  const { asked, lines } = shown;
  source.lang = asked?.source ?? "";
  source.dir = asked ? directionOf(asked.source) : "auto";
  output.lang = asked?.target ?? "";
  output.dir = asked ? directionOf(asked.target) : "auto";
  while (output.children.length > lines.length) output.lastChild.remove();
  lines.forEach((line, n) => {
    const result = resultOf(line);
    const old = output.children[n];
    if (!result) old?.classList.add("stale");
    if (old && (!result || old.result === result)) return;
    const made = paragraph(result ?? NOTHING, asked.target);
    made.result = result;
    if (old) old.replaceWith(made);
    else output.append(made);
  });
  const first = output.querySelector(".word");
  if (first && !output.querySelector('.word[tabindex="0"]')) first.tabIndex = 0;
  byId("copy").hidden = !first;
  notes();
  document.dispatchEvent(new Event("shown"));
}

// The model, and what it warns of.
function notes() {
  const results = shown.lines.map(resultOf).filter((one) => one?.text);
  const model = results.find((one) => one.model)?.model;
  const warned = results.flatMap((one) => one.warnings ?? []).filter((one) => one.kind !== "segmented");
  const warnings = new Set(warned.map((one) => (WARNED.has(one.kind) ? t(`warn_${one.kind}`) : one.text)));
  byId("notes").textContent = [model ? t("model", { model }) : "", ...warnings].filter(Boolean).join(" · ");
}

// What happens when the writer pauses.
function settle() {
  const { asked, lines } = shown;
  timers = [
    setTimeout(() => {
      align(asked, lines).then(() => highlight(output.querySelector(".word.lit"))).catch(() => null);
      document.dispatchEvent(new Event("paused"));
    }, IDLE),
    setTimeout(() => {
      if (!output.contains(document.activeElement)) byId("announce").textContent = output.innerText;
    }, READ),
    setTimeout(() => current() && document.dispatchEvent(new CustomEvent("settled", { detail: current() })), SETTLED),
  ];
}

const lineIndex = (word) => [...output.children].indexOf(word.closest(".line"));

function highlight(word) {
  for (const one of output.querySelectorAll(".lit")) one.classList.remove("lit");
  if (!word) return reflect(source.value, []);
  word.classList.add("lit");
  const index = lineIndex(word);
  const result = word.closest(".line").result;
  const raw = source.value.split("\n");
  if (!result?.normalised || raw[index]?.trim() !== shown.lines[index]) return;
  const begin = raw.slice(0, index).reduce((sum, line) => sum + line.length + 1, 0);
  reflect(source.value, inText(raw[index], begin, result.normalised, sourcesOf(result, word.span)));
}

function choose(word) {
  const index = lineIndex(word);
  const { asked, lines } = shown;
  const result = resultOf(lines[index]);
  if (!result || result.partial) return;
  const at = [...output.children[index].querySelectorAll(".word")].indexOf(word);
  openAlternatives(word, { asked, line: lines[index], result }, (chosen) => {
    keep(asked, lines[index], { ...result, ...chosen, alignment: [], chosen: true });
    show();
    const words = output.children[index].querySelectorAll(".word");
    moveTo(words[Math.min(at, words.length - 1)]);
  });
}

function moveTo(word) {
  if (!word) return;
  for (const one of output.querySelectorAll('.word[tabindex="0"]')) one.tabIndex = -1;
  word.tabIndex = 0;
  word.focus();
}

function onKey(event) {
  const word = event.target.closest?.(".word");
  if (!word) return;
  const all = [...output.querySelectorAll(".word")];
  const at = all.indexOf(word);
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (step) moveTo(all[at + (output.dir === "rtl" && event.key !== "ArrowDown" && event.key !== "ArrowUp" ? -step : step)]);
  else if (event.key === "Home") moveTo(all[0]);
  else if (event.key === "End") moveTo(all.at(-1));
  else if (event.key === "Enter" || event.key === " ") choose(word);
  else return;
  event.preventDefault();
}

// A reader's own translation of a line that is shown.
export function replaceLine(index, text) {
  const line = shown.lines[index];
  keep(shown.asked, line, { ...resultOf(line), text, alignment: [], sentences: null, chosen: true });
  show();
}

// To the words of the translation.
export const focusWords = () => moveTo(output.querySelector('.word[tabindex="0"]'));

export function swap() {
  const there = current();
  if (!swapped()) return;
  if (there) source.value = there.translation;
  changed();
}

export async function copy() {
  const there = current();
  if (!there) return;
  try {
    await navigator.clipboard.writeText(there.translation);
  } catch {
    // Without TLS there is no such interface: the old one.
    const selection = getSelection();
    selection.selectAllChildren(output);
    document.execCommand("copy");
    selection.removeAllRanges();
  }
  say(t("copied"), 2);
}

export function startText() {
  source.addEventListener("input", () => changed(false));
  source.addEventListener("compositionstart", () => (composing = true));
  source.addEventListener("compositionend", () => {
    composing = false;
    queueMicrotask(() => changed(false));
  });
  output.addEventListener("keydown", onKey);
  output.addEventListener("click", (event) => event.target.closest(".word") && choose(event.target.closest(".word")));
  for (const [begin, end] of [["pointerover", "pointerout"], ["focusin", "focusout"]]) {
    output.addEventListener(begin, (event) => highlight(event.target.closest(".word")));
    output.addEventListener(end, () => highlight(output.querySelector(".word.open")));
  }
  document.addEventListener("closed", () => highlight(document.activeElement.closest(".word")));
  document.addEventListener("glossary", () => changed());
  document.addEventListener("language", () => {
    output.replaceChildren();
    changed(false);
  });
  byId("clear").addEventListener("click", () => {
    setText("");
    source.focus();
  });
  byId("swap").addEventListener("click", swap);
  byId("copy").addEventListener("click", copy);
  changed();
}
