// The models that are served, each with its card.

import { call, download, persistently } from "./api.js";
import { byId, el, languageName, t } from "./dom.js";
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

function card(model) {
  const pairs = model.pairs.map((pair) => `${languageName(pair.source)} → ${languageName(pair.target)}`);
  return el("article.card.model", {}, el("h2", {}, model.name), el("p", {}, pairs.join(" · ")),
    el("p.soft", {}, model.license ? `${t("license")}: ${model.license} · ` : "", t(model.loaded ? "loaded" : "not_loaded")),
    details(model));
}

function write() {
  if (view.hidden) return;
  view.replaceChildren(el("h1", {}, t("models")), el("p.soft", {}, t("models_text")), el("div.cards", {}, (models ?? []).map(card)));
}

export function startModels() {
  view.addEventListener("open", async () => {
    write();
    models = (await persistently(() => call("v1/models")))?.models ?? models;
    write();
  });
  document.addEventListener("language", write);
}
