// The choice of languages: from, to, swap, detection.

import { call, persistently } from "./api.js";
import { byId, el, languageName, store, t } from "./dom.js";

const from = byId("from");
const to = byId("to");
const AUTO = "auto";
// A language that is less probable is shown with a question.
const SURE = 0.5;

let served = [];
let models = [];
// `found` is the language that was detected, `sure` whether it is likely.
export const choice = { source: AUTO, target: "", found: null, sure: true };

const targetsOf = (code) => served.find((one) => one.code === code)?.targets ?? [];
const everyTarget = () => [...new Set(served.flatMap((one) => one.targets))];
const sourcesTo = (target) => served.filter((one) => one.targets.includes(target)).map((one) => one.code);

function options(select, codes, chosen, auto) {
  const first = auto ? [el("option", { value: AUTO }, autoName())] : [];
  select.replaceChildren(...first, ...codes.map((code) => el("option", { value: code }, languageName(code))));
  select.value = chosen;
}

function autoName() {
  return choice.found ? t(choice.sure ? "auto_found" : "auto_unsure", { language: languageName(choice.found) }) : t("auto");
}

const modelsOf = (source, target) =>
  models.filter((one) => one.pairs.some((pair) => pair.source === source && pair.target === target)).map((one) => one.name);

// The model that a reader has chosen for a pair of languages; null: the first that has them.
export function modelFor(source, target) {
  const chosen = store.get("models", {})[`${source}-${target}`];
  return modelsOf(source, target).includes(chosen) ? chosen : null;
}

// The choice of a model, where several have the languages.
export function writeModels() {
  const source = choice.source === AUTO ? likelySource() : choice.source;
  const names = modelsOf(source, choice.target);
  byId("model-choice").hidden = names.length < 2;
  if (names.length < 2) return;
  const select = byId("model");
  select.replaceChildren(...names.map((name) => el("option", { value: name }, name)));
  select.value = modelFor(source, choice.target) ?? names[0];
}

function write() {
  options(from, served.map((one) => one.code), choice.source, true);
  const source = choice.source === AUTO ? null : choice.source;
  options(to, source ? targetsOf(source) : everyTarget(), choice.target, false);
  writeModels();
}

// Choose a pair; a target that the source does not have becomes one that it has.
export function choose(source, target) {
  choice.source = source === AUTO || targetsOf(source).length ? source : AUTO;
  const targets = choice.source === AUTO ? everyTarget() : targetsOf(choice.source);
  choice.target = targets.includes(target) ? target : (targets.find((one) => one !== choice.source) ?? "");
  if (choice.source !== AUTO) choice.found = null;
  store.set("languages", [choice.source, choice.target]);
  write();
}

// The language that a text was found to be in; a text in the target language is translated into another one.
export function foundLanguage({ language, probability }) {
  const sure = probability >= SURE;
  if (choice.found !== language || choice.sure !== sure) {
    Object.assign(choice, { found: language, sure });
    from.options[0].textContent = autoName();
    writeModels();
  }
  if (!targetsOf(language).includes(choice.target)) {
    choice.target = targetsOf(language)[0] ?? choice.target;
    to.value = choice.target;
    store.set("languages", [choice.source, choice.target]);
  }
}

// The source language for a text without letters: the last one found, or any that the target has.
export const likelySource = () =>
  targetsOf(choice.found).includes(choice.target) ? choice.found : (sourcesTo(choice.target)[0] ?? null);

// The bar of languages, at the top of a card: there is one, in the view that is shown.
export function placeChoice(card) {
  card.prepend(from.closest(".choice"));
}

// Whether the source language, detected, decides the target.
export const decided = () => choice.source === AUTO && served.every((one) => one.targets.length === 1);

// The language of a document: the one that is chosen, or the only one that it may be in; null: the service detects it.
export function sourceOfDocuments() {
  if (choice.source !== AUTO) return choice.source;
  const sources = decided() ? served.map((one) => one.code) : sourcesTo(choice.target);
  return sources.length === 1 ? sources[0] : null;
}

// Swap the languages; false if there is no such pair.
export function swapped() {
  const source = choice.source === AUTO ? likelySource() : choice.source;
  if (!source || !targetsOf(choice.target).includes(source)) return false;
  choose(choice.target, source);
  return true;
}

export async function loadLanguages(onChange) {
  const answer = await persistently(() => call("v1/languages"));
  served = answer?.languages ?? [];
  const [source, target] = store.get("languages", [AUTO, document.documentElement.lang]);
  choose(source, target);
  call("v1/models").then((all) => {
    models = all.models;
    writeModels();
  }, () => null);
  byId("model").addEventListener("change", () => {
    const from = choice.source === AUTO ? likelySource() : choice.source;
    store.set("models", { ...store.get("models", {}), [`${from}-${choice.target}`]: byId("model").value });
    onChange();
  });
  from.addEventListener("change", () => {
    choose(from.value, from.value === choice.target ? (choice.found ?? choice.target) : choice.target);
    onChange();
  });
  to.addEventListener("change", () => {
    const fits = choice.source === AUTO || targetsOf(choice.source).includes(to.value);
    choose(fits ? choice.source : AUTO, to.value);
    onChange();
  });
  document.addEventListener("language", write);
}
