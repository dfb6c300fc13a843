// Two panes: the source, and its translation while one types.
//
// One request is under way at a time; what was typed meanwhile is asked for when it returns. So an answer is never older
// than the one that is shown, and fast typing does not starve the translation. A change of languages aborts.

import { openAlternatives } from "./alternatives.js";
import { persistently } from "./api.js";
import { byId, directionOf, languageName, say, t } from "./dom.js";
import { forgetKept, keptFor, termsFor } from "./glossary.js";
import { choice, choose as chooseLanguages, foundLanguage, likelySource, modelFor, swapped } from "./languages.js";
import { align, detect, keep, known, linesOf, translate } from "./lines.js";
import { reflect } from "./mirror.js";
import { inText, paragraph, sourcesOf } from "./words.js";

const source = byId("source");
const output = byId("output");
const pane = output.closest(".pane");
const NOTHING = { text: "" };
// Kinds of warnings whose texts are here in the reader's language.
const WARNED = new Set(["loop", "length", "empty", "copy", "script", "language"]);
// Characters that the service takes at a time.
const LIMIT = Number(document.documentElement.dataset.limit) || Infinity;
// Milliseconds without a key: until words are aligned, until a screen reader reads, until it is history.
const IDLE = 350;
const READ = 1000;
const SETTLED = 2500;
// Milliseconds without an answer: until the old translation is pale, until a message says that it takes long.
const PALE = 700;
const SLOW = 6000;

let running = null;
let composing = false;
let timers = [];
let waiting = [];
// Choices of words that can be taken back, the last one first.
let choices = [];
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
  count();
  reflect(source.value);
  timers.forEach(clearTimeout);
  if (running) {
    running.again = true;
    if (abort || running.long) running.controller.abort();
    return;
  }
  run();
}

function count() {
  const length = [...source.value].length;
  const fill = { count: length.toLocaleString(), limit: LIMIT.toLocaleString() };
  byId("count").textContent = source.value ? t(length > 0.9 * LIMIT ? "characters_of" : "characters", fill) : "";
  byId("count").classList.toggle("over", length > LIMIT);
}

// Whether a text is more than the service takes; it says so, where it can be seen.
function isTooLong(text) {
  const length = [...text].length;
  if (length <= LIMIT) return false;
  empty();
  say(t("too_long", { count: length.toLocaleString(), limit: LIMIT.toLocaleString() }), 0, true);
  return true;
}

// What is shown is of another text: pale, and not to be used.
function pale(on) {
  output.classList.toggle("stale", on);
  output.inert = on;
}

// What is shown is pale while another text is waited for, and a message comes when that takes long.
function wait() {
  waiting = [
    setTimeout(() => pale(true), PALE),
    setTimeout(() => byId("status").textContent || say(t("slow")), SLOW),
  ];
}

// A syllable that is being composed may be a single letter for now, which nobody means.
const wanted = () => (composing ? source.value.replace(/[\u3131-\u3163]+$/u, "") : source.value);

async function run() {
  const text = wanted();
  if (!text.trim()) return empty();
  if (isTooLong(text)) return undefined;
  const mine = { controller: new AbortController(), again: false, long: text.length > 1000 };
  running = mine;
  pane.setAttribute("aria-busy", "true");
  wait();
  const signal = mine.controller.signal;
  const finished = await persistently(() => translated(text, signal), () => !mine.again).catch(() => null);
  running = null;
  waiting.forEach(clearTimeout);
  if (mine.again) return run();
  pale(!finished);
  pane.setAttribute("aria-busy", "false");
  document.dispatchEvent(new Event("shown"));
  return finished && settle();
}

async function translated(text, signal) {
  const asked = await languagesOf(text, signal);
  pale(false); // from here on its lines are pale each by itself
  waiting.slice(0, 1).forEach(clearTimeout);
  const lines = linesOf(text);
  const parts = new Map();
  shown = { asked, lines, parts };
  show();
  await translate(asked, lines, signal, (line, part) => {
    parts.set(line, part);
    show();
  }).catch((error) => {
    if (error.type === "urn:dragoman:problem:unknown-glossary" && asked.kept) forgetKept();
    throw error;
  });
  say("");
  show();
  return true;
}

// The languages and the glossary with which a text is asked for.
export async function languagesOf(text, signal) {
  if (choice.source === "auto") {
    const language = await detect(text, signal);
    if (language) foundLanguage(language);
  }
  const from = choice.source === "auto" ? likelySource() : choice.source;
  const { target } = choice;
  return { source: from, target, model: modelFor(from, target), kept: keptFor(from, target), glossary: termsFor(from, target) };
}

function empty() {
  shown = { asked: null, lines: [], parts: new Map() };
  output.replaceChildren();
  pale(false);
  if (byId("status").classList.contains("problem")) say("");
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
  byId("copy").hidden = byId("link").hidden = !first;
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
    choices.unshift({ asked, line: lines[index], result, index, at });
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

// Take back the last choice of a word; false where there is none.
function undo() {
  const last = choices.shift();
  if (!last) return false;
  keep(last.asked, last.line, last.result);
  show();
  moveTo(output.children[last.index]?.querySelectorAll(".word")[last.at]);
  say(t("undone"), 2);
  return true;
}

function onKey(event) {
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && event.code === "KeyZ") {
    event.preventDefault(); // or the browser takes a letter from the source
    undo();
    return;
  }
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

// The address of the page with this text, after the `#`: no server receives it.
function address() {
  const fields = new URLSearchParams({ from: choice.source, to: choice.target, q: source.value });
  return `${location.origin}${location.pathname}#text?${fields}`;
}

async function link() {
  const url = address();
  history.replaceState(null, "", url);
  try {
    await navigator.clipboard.writeText(url);
    say(t("link_copied"), 3);
  } catch {
    say(t("link_shown"), 4);
  }
}

// The text of the address: `#text?q=…&from=en&to=ko`, or `?q=…` as other services have it.
function linked() {
  const fields = new URLSearchParams(location.hash.includes("?") ? location.hash.split("?").slice(1).join("?") : location.search);
  const text = fields.get("q") ?? fields.get("text");
  if (text === null) return;
  const [from, to] = [fields.get("from") ?? fields.get("source"), fields.get("to") ?? fields.get("target")];
  if (from || to) chooseLanguages(from ?? choice.source, to ?? choice.target);
  source.value = text;
}

export function startText() {
  linked();
  addEventListener("hashchange", () => {
    if (!location.hash.includes("q=")) return;
    linked();
    changed();
  });
  byId("link").addEventListener("click", link);
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
  source.addEventListener("input", () => (choices = []));
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
