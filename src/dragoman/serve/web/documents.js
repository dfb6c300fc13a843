// Documents: dropped or chosen, translated by the service, looked through, fetched, deleted.

import { call, download, persistently } from "./api.js";
import { byId, el, has, icon, iconButton, say, t } from "./dom.js";
import { forgetKept, keptFor, termsFor } from "./glossary.js";
import { choice, decided, likelySource, modelFor, placeChoice, sourceOfDocuments } from "./languages.js";

const view = byId("view-documents");
const POLL = 1000;

const list = el("ul.documents");
const rows = new Map();
let polling = 0;

// A model and a glossary that were chosen are for one pair of languages: they are sent where the source is known.
function formOf(file) {
  const form = new FormData();
  form.append("file", file, file.name);
  const source = sourceOfDocuments();
  const { target } = choice;
  const [model, kept] = source ? [modelFor(source, target), keptFor(source, target)] : [];
  if (!decided()) form.append("target", target);
  if (choice.source !== "auto" || kept) form.append("source", source);
  if (model) form.append("model", model);
  if (kept) form.append("glossary_id", kept);
  const terms = termsFor(source ?? likelySource(), target);
  if (Object.keys(terms).length) form.append("glossary", JSON.stringify(terms));
  return form;
}

async function upload(file) {
  const form = formOf(file);
  say(t("uploading", { name: file.name }));
  const failed = (error) => {
    if (error.type === "urn:dragoman:problem:unknown-glossary") forgetKept();
    return { id: `${file.name} ${Date.now()}`, name: file.name, state: "failed", error: error.message, progress: {}, local: true };
  };
  show(await call("v1/documents", { form }).catch(failed));
  say("");
  poll();
}

// Send files one after another.
export async function take(files) {
  location.hash = "#documents";
  for (const file of files) await upload(file);
}

async function poll() {
  clearTimeout(polling);
  const answer = await call("v1/documents").catch(() => null);
  for (const one of answer?.documents ?? []) show(one);
  if (answer) for (const [id, row] of rows) if (!row.local && !answer.documents.some((one) => one.id === id)) forget(id, row.element);
  const open = [...rows.values()].some(({ state }) => state === "queued" || state === "translating");
  if (open && !view.hidden) polling = setTimeout(poll, POLL);
}

function forget(id, element) {
  element.remove();
  rows.delete(id);
}

async function fetchResult(document) {
  const answer = await persistently(() => download(`v1/documents/${document.id}/result`));
  if (!answer) return;
  const address = URL.createObjectURL(await answer.blob());
  el("a", { href: address, download: document.result }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

async function remove(document, element) {
  if (!document.local) await persistently(() => call(`v1/documents/${document.id}`, { method: "DELETE" }));
  forget(document.id, element);
}

// The table of what a person should look at, once it is opened.
function reviewOf(document) {
  const details = el("details", {}, el("summary", {}, t("review", { count: document.flagged })));
  details.addEventListener("toggle", async () => {
    if (!details.open || details.querySelector("table")) return;
    const found = await persistently(() => call(`v1/documents/${document.id}/review`));
    const head = ["review_where", "source_pane", "target_pane", "review_why"].map((key) => el("th", { scope: "col" }, t(key)));
    const body = (found?.rows ?? []).map((row) => el("tr", {}, el("td.soft", {}, row.location),
      el("td", { lang: document.source }, row.source), el("td", { lang: document.target }, row.translation), el("td", {}, row.why)));
    details.append(el("div.wide", { tabindex: "0", role: "region", "aria-label": t("review", { count: document.flagged }) },
      el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body))));
  });
  return details;
}

function stateOf(document) {
  const { state, progress } = document;
  if (state === "failed") return document.error;
  if (state === "translating" && progress.total) {
    const left = document.seconds_left === null ? "" : ` · ${t("seconds_left", { seconds: Math.ceil(document.seconds_left) })}`;
    return `${progress.done.toLocaleString()} / ${progress.total.toLocaleString()}${left}`;
  }
  return t(`status_${state}`);
}

function show(document) {
  const seen = JSON.stringify([document, globalThis.document.documentElement.lang]);
  const old = rows.get(document.id);
  if (old?.seen === seen) return;
  const element = el("li.document", { "data-state": document.state });
  const working = document.state === "queued" || document.state === "translating";
  const bar = working && el("progress", { "aria-label": document.name, max: String(document.progress.total || 1) });
  if (bar && document.progress.total) bar.value = document.progress.done;
  const buttons = el("span.actions", {},
    document.state === "done" && el("button.main", { onclick: () => fetchResult(document) }, t("download")),
    iconButton("bin", t("remove", { what: document.name }), () => remove(document, element)));
  element.append(icon("file"), el("div.about", {}, el("b", {}, document.result || document.name), el("span.soft", {}, stateOf(document)), bar,
    document.state === "done" && document.flagged > 0 && reviewOf(document)), buttons);
  if (old) old.element.replaceWith(element);
  else list.prepend(element);
  rows.set(document.id, { element, state: document.state, local: document.local, seen });
}

function write() {
  if (view.hidden) return;
  const field = el("input.hidden", { type: "file", multiple: true, id: "files" });
  field.addEventListener("change", () => take([...field.files]));
  const zone = el("div.drop", {}, icon("file"), el("p", {}, t("drop")), field, el("label.button", { for: "files" }, t("choose_files")),
    el("p.soft", {}, t("documents_text")));
  const card = el("div.card", {}, zone);
  placeChoice(card);
  view.replaceChildren(el("h1.hidden", {}, t("tab_documents")), card, list);
}

function startDrop() {
  const files = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragover", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    document.body.classList.add("dragging");
  });
  addEventListener("dragleave", (event) => event.relatedTarget || document.body.classList.remove("dragging"));
  addEventListener("drop", (event) => {
    document.body.classList.remove("dragging");
    if (!files(event)) return;
    event.preventDefault();
    take([...event.dataTransfer.files]);
  });
}

export function startDocuments() {
  if (!has("/v1/documents")) return;
  view.addEventListener("open", () => {
    write();
    poll();
  });
  document.addEventListener("language", () => {
    write();
    poll();
  });
  startDrop();
}
