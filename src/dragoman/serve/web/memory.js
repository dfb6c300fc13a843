// The translation memory of the service: what is similar to the text at hand, and was translated before.

import { call } from "./api.js";
import { byId, el, has, t } from "./dom.js";
import { current, setText } from "./text.js";

const panel = byId("memory");
const button = byId("memory-open");
const SHORT = 300;
let at = null;
let matches = [];

async function search({ source, target, lines }) {
  const text = lines.find((line) => line) ?? "";
  if (panel.hidden || !text || text.length > SHORT || text === at) return;
  at = text;
  const found = await call("v1/memory/search", { body: { text, source, target, threshold: 50 } }).catch(() => null);
  matches = (found?.matches ?? []).map((one) => ({ ...one, from: source, to: target }));
  write();
}

function row(match) {
  return el("tr", {}, el("td.soft", {}, `${match.score} %`),
    el("td", { lang: match.from }, el("button.text", { onclick: () => setText(match.source) }, match.source)), el("td", { lang: match.to }, match.target));
}

function write() {
  if (panel.hidden) return;
  panel.replaceChildren(el("p.soft", {}, t(matches.length ? "memory_text" : "memory_empty")),
    matches.length ? el("table", {}, el("tbody", {}, matches.map(row))) : "");
}

export function startMemory() {
  button.hidden = !has("/v1/memory/search");
  if (button.hidden) return;
  const now = () => current() && search(current());
  panel.addEventListener("open", () => {
    write();
    at = null;
    now();
  });
  document.addEventListener("language", write);
  document.addEventListener("paused", now);
}
