// The models that are served, each with its card.

import { call, download, persistently } from "./api.js";
import { byId, el, has, languageName, say, store, t } from "./dom.js";
import { markdown } from "./markdown.js";

const view = byId("view-models");
let models = null;

// What the trainer wrote, once it is opened.
function details(model) {
  const made = el("details", {}, el("summary", {}, t("card")));
  made.addEventListener("toggle", async () => {
    if (!made.open || made.children.length > 1) return;
    const answer = await persistently(() => download(`v1/models/${encodeURIComponent(model.name)}/card`));
    if (answer) made.append(el("div.card-text", { lang: "en" }, markdown(await answer.text(), 2)));
  });
  return made;
}

// Fetch the file that translates offline; of several megabytes, made when it is first asked for.
async function fetchFile(names, button) {
  button.disabled = true;
  say(t("file_wait"));
  const query = names.map((name) => `model=${encodeURIComponent(name)}`).join("&");
  const answer = await persistently(() => download(`v1/translator?${query}`));
  button.disabled = false;
  if (!answer) return;
  say("");
  const address = URL.createObjectURL(await answer.blob());
  el("a", { href: address, download: `translator-${names.join("-")}.html` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

const fileButton = (names, label) => el("button", { onclick: ({ currentTarget }) => fetchFile(names, currentTarget) }, label);

// A model of the other direction, for a file of both.
function backOf(model) {
  const is = (pair, other) => pair.source === other.target && pair.target === other.source;
  return models.find((other) => other !== model && other.pairs.some((pair) => model.pairs.some((mine) => is(mine, pair))));
}

function files(model) {
  if (!has("/v1/translator")) return null;
  const back = backOf(model);
  return el("p.row", {}, fileButton([model.name], t("file_one")), back && fileButton([model.name, back.name], t("file_both")));
}

function card(model) {
  const pairs = model.pairs.map((pair) => `${languageName(pair.source)} → ${languageName(pair.target)}`);
  return el("article.card.model", {}, el("h2", {}, model.name), el("p", {}, pairs.join(" · ")),
    el("p.soft", {}, model.license ? `${t("license")}: ${model.license} · ` : "", t(model.loaded ? "loaded" : "not_loaded")),
    files(model), details(model));
}

// The page with the model inside can be opened here where no key is needed.
function installable() {
  const needed = !has("/v1/translator") || !byId("key").hidden || store.get("key", null, "sessionStorage");
  return needed ? null : el("p.soft", {}, t("file_text"), " ", el("a", { href: "translator/" }, t("file_open")));
}

function write() {
  if (view.hidden) return;
  view.replaceChildren(el("h1", {}, t("models")), el("p.soft", {}, t("models_text")), installable(), el("div.cards", {}, (models ?? []).map(card)));
}

export function startModels() {
  view.addEventListener("open", async () => {
    write();
    models = (await persistently(() => call("v1/models")))?.models ?? models;
    write();
  });
  document.addEventListener("language", write);
}
