// The reader's own terms, for each pair of languages; they are sent with each request and stay in this browser.

import { byId, el, iconButton, languageName, store, t } from "./dom.js";
import { choice, likelySource } from "./languages.js";

const panel = byId("glossary");

const all = () => store.get("glossary", {});
const pairOf = (source, target) => `${source}-${target}`;

// {term: translation} of a pair.
export const termsFor = (source, target) => all()[pairOf(source, target)] ?? {};

const here = () => [choice.source === "auto" ? likelySource() : choice.source, choice.target];

function change(edit) {
  const [source, target] = here();
  const terms = { ...termsFor(source, target) };
  edit(terms);
  store.set("glossary", { ...all(), [pairOf(source, target)]: terms });
  write();
  document.dispatchEvent(new Event("glossary"));
}

function add(event) {
  event.preventDefault();
  const [term, translation] = [...event.target.querySelectorAll("input")].map((field) => field.value.trim());
  if (!term || !translation) return;
  change((terms) => (terms[term] = translation));
  panel.querySelector("input").focus();
}

function write() {
  const [source, target] = here();
  const terms = Object.entries(termsFor(source, target));
  byId("glossary-count").textContent = String(terms.length);
  byId("glossary-count").hidden = !terms.length;
  if (panel.hidden) return;
  const names = { source: languageName(source ?? ""), target: languageName(target) };
  const rows = terms.map(([term, translation]) =>
    el("tr", {}, el("td", { lang: source }, term), el("td", { lang: target }, translation),
      el("td.end", {}, iconButton("close", t("remove", { what: term }), () => change((kept) => delete kept[term])))),
  );
  const field = (key, lang) => el("input", { "aria-label": t(key), placeholder: t(key), lang, maxlength: "200", required: true });
  panel.replaceChildren(
    el("p.soft", {}, t("glossary_text", names)),
    el("form.row", { onsubmit: add }, field("glossary_source", source), field("glossary_target", target),
      el("button", { type: "submit" }, t("glossary_add"))),
    rows.length ? el("table", {}, el("tbody", {}, rows)) : el("p.soft", {}, t("glossary_empty")),
  );
}

export function startGlossary() {
  panel.addEventListener("open", write);
  document.addEventListener("language", write);
  document.addEventListener("shown", () => panel.contains(document.activeElement) || write());
  write();
}
