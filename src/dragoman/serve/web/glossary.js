// The reader's own terms, for each pair of languages, which stay in this browser and are sent with each request; and
// glossaries that the service keeps, of which one may be chosen, also from a file.

import { call, persistently } from "./api.js";
import { byId, el, has, iconButton, languageName, say, store, t } from "./dom.js";
import { choice, likelySource } from "./languages.js";

const panel = byId("glossary");

const all = () => store.get("glossary", {});
const pairOf = (source, target) => `${source}-${target}`;

// {term: translation} of a pair.
export const termsFor = (source, target) => all()[pairOf(source, target)] ?? {};

// The id of the glossary of the service that is used for a pair; null: none.
export const keptFor = (source, target) => store.get("glossary.kept", {})[pairOf(source, target)] ?? null;

let stored = [];

function useKept(id) {
  const [source, target] = here();
  store.set("glossary.kept", { ...store.get("glossary.kept", {}), [pairOf(source, target)]: id || undefined });
  write();
  document.dispatchEvent(new Event("glossary"));
}

// The one that was chosen is there no more.
export const forgetKept = () => useKept(null);

async function loadKept() {
  if (!has("/v1/glossaries")) return;
  stored = (await call("v1/glossaries").catch(() => null))?.glossaries ?? [];
  write();
}

// Keep the terms of a file on the service, and use them.
async function openFile(event) {
  const [file] = event.target.files;
  const format = /\.(tsv|csv|tbx)$/i.exec(file?.name ?? "")?.[1].toLowerCase() ?? "tsv";
  if (!file) return;
  const [source, target] = here();
  const body = { name: file.name.slice(0, 200), source, target, text: await file.text(), format };
  const made = await persistently(() => call("v1/glossaries", { body }));
  if (!made) return;
  stored = [...stored, made];
  useKept(made.id);
  say(t("glossary_kept", { name: made.name }), 4);
}

async function removeKept(id) {
  await call(`v1/glossaries/${encodeURIComponent(id)}`, { method: "DELETE" }).catch(() => null);
  stored = stored.filter((one) => one.id !== id);
  useKept(null);
}

// The choice among the glossaries of the service that have this pair, and the button for a file.
function kept(source, target) {
  if (!has("/v1/glossaries") || !source) return null;
  const primary = (tag) => tag.split("-")[0];
  const fits = stored.filter((one) =>
    one.dictionaries.some((pair) => pair.source === primary(source) && pair.target === primary(target)));
  const chosen = fits.some((one) => one.id === keptFor(source, target)) ? keptFor(source, target) : "";
  const select = el("select", { id: "glossary-kept", onchange: () => useKept(select.value) },
    el("option", { value: "" }, t("glossary_none")), fits.map((one) => el("option", { value: one.id }, one.name)));
  select.value = chosen;
  const file = el("input.hidden", { type: "file", id: "glossary-file", accept: ".tsv,.csv,.tbx,.txt", onchange: openFile });
  return el("p.row", {},
    fits.length ? el("label", { for: "glossary-kept" }, t("glossary_service")) : null, fits.length ? select : null,
    chosen ? iconButton("bin", t("remove", { what: fits.find((one) => one.id === chosen).name }), () => removeKept(chosen)) : null,
    file, el("label.button.quiet", { for: "glossary-file" }, t("glossary_file")));
}

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
  const used = terms.length + (keptFor(source, target) ? 1 : 0);
  byId("glossary-count").textContent = String(used);
  byId("glossary-count").hidden = !used;
  if (panel.hidden) return;
  const names = { source: languageName(source ?? ""), target: languageName(target) };
  const rows = terms.map(([term, translation]) =>
    el("tr", {}, el("td", { lang: source }, term), el("td", { lang: target }, translation),
      el("td.end", {}, iconButton("close", t("remove", { what: term }), () => change((left) => delete left[term])))),
  );
  const field = (key, lang) => el("input", { "aria-label": t(key), placeholder: t(key), lang, maxlength: "200", required: true });
  panel.replaceChildren(
    el("p.soft", {}, t("glossary_text", names)),
    el("form.row", { onsubmit: add }, field("glossary_source", source), field("glossary_target", target),
      el("button", { type: "submit" }, t("glossary_add"))),
    kept(source, target) ?? "",
    rows.length ? el("table", {}, el("tbody", {}, rows)) : el("p.soft", {}, t("glossary_empty")),
  );
}

export function startGlossary() {
  panel.addEventListener("open", () => {
    write();
    loadKept();
  });
  document.addEventListener("language", write);
  document.addEventListener("shown", () => panel.contains(document.activeElement) || write());
  write();
}
