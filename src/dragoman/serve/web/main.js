// Starts the page: views, panels, switches, keys.

import { startAlternatives } from "./alternatives.js";
import { askForKey } from "./api.js";
import { byId, el, has, isComposing, setLanguage, store, t } from "./dom.js";
import { startDocuments } from "./documents.js";
import { startEdit } from "./edit.js";
import { startGlossary } from "./glossary.js";
import { startHistory } from "./history.js";
import { loadLanguages, placeChoice } from "./languages.js";
import { startLook } from "./look.js";
import { startMemory } from "./memory.js";
import { startModels } from "./models.js";
import { changed, copy, focusWords, startText, swap } from "./text.js";

const root = document.documentElement;
const PANELS = ["glossary", "memory", "history"];
const tabs = [...document.querySelectorAll("#tabs a")];

function showView() {
  const names = tabs.filter((tab) => !tab.hidden).map((tab) => tab.hash.slice(1));
  const [asked] = location.hash.slice(1).split("?");
  const name = names.includes(asked) ? asked : "text";
  for (const tab of tabs) {
    const view = byId(`view-${tab.hash.slice(1)}`);
    const opens = tab.hash === `#${name}` && view.hidden;
    view.hidden = tab.hash !== `#${name}`;
    if (view.hidden) tab.removeAttribute("aria-current");
    else tab.setAttribute("aria-current", "page");
    if (opens) view.dispatchEvent(new Event("open"));
    if (opens && name === "text") placeChoice(view.querySelector(".card"));
  }
}

function toggle(name) {
  for (const one of PANELS) {
    const opens = one === name && byId(one).hidden;
    byId(one).hidden = !opens;
    byId(`${one}-open`).setAttribute("aria-expanded", String(opens));
    if (opens) {
      byId(one).dispatchEvent(new Event("open"));
      byId(one).querySelector("input, button")?.focus();
    }
  }
}

// Alt with a letter, by the key's position: an input method or another layout does not matter.
const KEYS = {
  KeyS: ["keys_swap", swap],
  KeyC: ["keys_copy", copy],
  KeyW: ["keys_words", focusWords],
  KeyT: ["keys_source", () => byId("source").focus()],
  KeyR: ["keys_edit", () => byId("edit").hidden || byId("edit").click()],
  KeyG: ["keys_glossary", () => toggle("glossary")],
  KeyH: ["keys_history", () => toggle("history")],
};

function onKey(event) {
  if (isComposing(event) || !event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
  const digit = /^Digit([1-4])$/.exec(event.code)?.[1];
  const tab = digit && tabs[digit - 1];
  if (tab && !tab.hidden) location.hash = tab.hash;
  else if (KEYS[event.code]) KEYS[event.code][1]();
  else return;
  event.preventDefault();
}

function writeKeys() {
  const rows = Object.entries(KEYS).filter(([code]) => code !== "KeyR" || has("/v1/feedback"));
  const all = [...rows.map(([code, [text]]) => [`Alt+${code.slice(3)}`, text]), ["Ctrl+Z", "keys_undo"], ["Alt+1–4", "keys_tabs"]];
  byId("keys").replaceChildren(...all.flatMap(([key, text]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, t(text))]));
}

function switchTheme() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("dragoman.theme", root.dataset.theme);
  } catch {
    // Storage is blocked: the theme is not kept.
  }
}

function switchLanguage() {
  const language = root.lang === "ko" ? "en" : "ko";
  store.set("language", language);
  setLanguage(language);
}

function start() {
  for (const one of document.querySelectorAll("[data-needs]")) {
    if (!has(one.dataset.needs)) one.hidden = true;
  }
  startAlternatives();
  startDocuments();
  if (has("/v1/feedback")) startEdit();
  startGlossary();
  startHistory();
  startLook();
  startMemory();
  startModels();
  const language = store.get("language");
  if (language && language !== root.lang) setLanguage(language);
  document.addEventListener("language", writeKeys);
  document.addEventListener("keydown", onKey);
  writeKeys();
  byId("language").addEventListener("click", switchLanguage);
  byId("theme").addEventListener("click", switchTheme);
  byId("help").addEventListener("click", () => byId("help-dialog").showModal());
  byId("help-close").addEventListener("click", () => byId("help-dialog").close());
  byId("key").addEventListener("click", () => askForKey().then((given) => given && changed()));
  byId("key-cancel").addEventListener("click", () => byId("key-dialog").close());
  byId("key").hidden = !store.get("key", null, "sessionStorage");
  for (const name of PANELS) byId(`${name}-open`).addEventListener("click", () => toggle(name));
  addEventListener("hashchange", showView);
  showView();
  loadLanguages(changed).then(() => {
    startText();
    root.dataset.ready = "";
  });
}

start();
