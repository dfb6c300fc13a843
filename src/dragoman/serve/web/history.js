// What was translated, in this browser only; it can be switched off, and cleared.

import { byId, el, iconButton, languageName, store, t } from "./dom.js";
import { choose } from "./languages.js";
import { setText } from "./text.js";

const panel = byId("history");
const KEPT = 100;
const LONGEST = 5000;

const entries = () => store.get("history", []);

function add({ source, target, text, translation }) {
  if (!store.get("history.keep", true) || text.length > LONGEST) return;
  // A text that continues the last one takes its place.
  const others = entries().filter((one, n) => one.text !== text && !(n === 0 && text.startsWith(one.text)));
  store.set("history", [{ source, target, text, translation, time: Date.now() }, ...others].slice(0, KEPT));
  write();
}

function show(entry) {
  choose(entry.source, entry.target);
  setText(entry.text);
  byId("source").focus();
}

function remove(entry) {
  store.set("history", entries().filter((one) => one.time !== entry.time));
  write();
}

function row(entry) {
  const when = new Date(entry.time).toLocaleString(document.documentElement.lang, { dateStyle: "short", timeStyle: "short" });
  const open = el("button.entry", { "aria-label": t("restore", { text: entry.text.slice(0, 60) }), onclick: () => show(entry) },
    el("span.soft", {}, `${languageName(entry.source)} → ${languageName(entry.target)} · ${when}`),
    el("span", { lang: entry.source }, entry.text), el("span", { lang: entry.target }, entry.translation));
  return el("li", {}, open, iconButton("close", t("remove", { what: entry.text.slice(0, 60) }), () => remove(entry)));
}

function write() {
  if (panel.hidden) return;
  const keep = el("input", { type: "checkbox", id: "history-keep" });
  keep.checked = store.get("history.keep", true);
  keep.addEventListener("change", () => store.set("history.keep", keep.checked));
  const clear = () => {
    store.set("history", null);
    write();
  };
  const rows = entries().map(row);
  panel.replaceChildren(
    el("p.soft", {}, t("history_text")),
    el("p.row", {}, el("label", {}, keep, " ", t("history_keep")), rows.length ? el("button", { onclick: clear }, t("history_clear")) : null),
    rows.length ? el("ul.entries", {}, rows) : el("p.soft", {}, t("history_empty")),
  );
}

export function startHistory() {
  panel.addEventListener("open", write);
  document.addEventListener("language", write);
  document.addEventListener("settled", (event) => add(event.detail));
}
