// The models that are served, as cards.

import { call, persistently } from "./api.js";
import { byId, el, languageName, t } from "./dom.js";

const view = byId("view-models");
let models = null;

function card(model) {
  const pairs = model.pairs.map((pair) => `${languageName(pair.source)} → ${languageName(pair.target)}`);
  return el("article.card.model", {}, el("h2", {}, model.name), el("p", {}, pairs.join(" · ")),
    el("p.soft", {}, model.license ? `${t("license")}: ${model.license} · ` : "", t(model.loaded ? "loaded" : "not_loaded")));
}

function write() {
  if (view.hidden) return;
  view.replaceChildren(el("h1", {}, t("models")), el("p.soft", {}, t("models_text")), el("div.cards", {}, (models ?? []).map(card)));
}

export function startModels() {
  view.addEventListener("open", async () => {
    write();
    models = (await persistently(() => call("/v1/models")))?.models ?? models;
    write();
  });
  document.addEventListener("language", write);
}
