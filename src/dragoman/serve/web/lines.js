// The lines of a text → their translations, each asked for once: the service translates line by line too.

import { call, events } from "./api.js";
import { has } from "./dom.js";
import { inUnits } from "./words.js";

// From this many characters on the sentences come one by one.
const LONG = 280;
const KEPT = 2000;

const found = new Map();
const detected = new Map();

function put(map, key, value) {
  map.delete(key);
  map.set(key, value);
  if (map.size > KEPT) map.delete(map.keys().next().value);
}

export const linesOf = (text) => text.split("\n").map((line) => line.trim());

const keyOf = (asked, line) => JSON.stringify([asked.source, asked.target, asked.glossary, line]);

// The translation of a line, if it is known: {text, source, target, model, warnings, alignment, normalised}.
export const known = (asked, line) => found.get(keyOf(asked, line));

// A reader's own translation of a line, or another one of the model.
export function keep(asked, line, result) {
  put(found, keyOf(asked, line), result);
}

// The language that a text is in, among those that are served; null for one without letters.
export async function detect(text, signal) {
  const known = detected.get(text);
  if (known !== undefined) return known;
  const answer = await call("v1/detect", { body: { text }, signal });
  put(detected, text, answer.languages[0]?.language ?? null);
  return detected.get(text);
}

function bodyOf(asked, text) {
  const { source, target, glossary } = asked;
  return { text, source, target, ...(Object.keys(glossary).length ? { glossary } : {}) };
}

// Translate all lines that are not known yet; `onPart()` is called when there is more to show.
export async function translate(asked, lines, signal, onPart) {
  const missing = [...new Set(lines)].filter((line) => line && !known(asked, line));
  if (!missing.length) return;
  const long = missing.reduce((sum, line) => sum + line.length, 0) > LONG;
  if (long) await stream(asked, missing, signal, onPart);
  else {
    const answer = await call("v1/translate", { body: bodyOf(asked, missing), signal });
    answer.translations.forEach((one, n) => keep(asked, missing[n], one));
  }
}

const linksOf = (one) => inUnits(one.alignment, one.normalised ?? "", one.text);

// The sentences of several lines; white space before a sentence that has line breaks begins another line.
async function stream(asked, missing, signal, onPart) {
  let index = 0;
  let part = { text: "", warnings: [] };
  const finish = () => keep(asked, missing[index], { ...part, partial: false, source: asked.source, target: asked.target });
  for await (const [name, data] of events("v1/translate/stream", { body: bodyOf(asked, missing.join("\n")), signal })) {
    if (name === "problem") throw new Error(data.detail);
    if (name === "done") {
      finish();
      for (const line of missing) Object.assign(known(asked, line) ?? {}, { model: data.model });
      return;
    }
    const breaks = data.before.split("\n").length - 1;
    if (breaks) {
      finish();
      index += breaks;
      part = { text: "", warnings: [] };
    }
    const between = breaks ? "" : data.before;
    part = { text: part.text + between + data.text, warnings: [...part.warnings, ...data.warnings], partial: true };
    onPart(missing[index], part);
  }
}

// The words that the words of a translation come from, for lines that came without.
export async function align(asked, lines, signal) {
  const missing = [...new Set(lines)].filter((line) => known(asked, line) && !known(asked, line).normalised).slice(0, 40);
  if (!missing.length) return;
  const answer = await call("v1/translate", { body: { ...bodyOf(asked, missing), alignment: true }, signal });
  answer.translations.forEach((one, n) => {
    const old = known(asked, missing[n]);
    const same = old.text === one.text;
    Object.assign(old, { normalised: one.normalised, alignment: same ? linksOf(one) : [], terms: one.terms });
  });
}

// The sentences of a line, [{source, before, text}]; null if together they are not its translation.
async function sentencesOf(asked, line, result, signal) {
  if (!result.sentences) {
    result.sentences = [];
    for await (const [name, data] of events("v1/translate/stream", { body: bodyOf(asked, line), signal })) {
      if (name === "sentence") result.sentences.push(data);
    }
  }
  return result.sentences.map((one) => one.before + one.text).join("") === result.text ? result.sentences : null;
}

// What may be there from a word on that begins at `begin`: [{word, text, sentences}], `text` of the whole line.
export async function alternatives(asked, line, begin, count, signal) {
  const result = known(asked, line);
  const sentences = has("/v1/alternatives") ? await sentencesOf(asked, line, result, signal) : null;
  if (!sentences) return wholeLines(asked, line, result, count, signal);
  let at = 0;
  const index = sentences.findIndex((one) => {
    const end = at + one.before.length + one.text.length;
    if (begin < end) return true;
    at = end;
    return false;
  });
  const { source, before, text } = sentences[index];
  const prefix = text.slice(0, Math.max(0, begin - at - before.length));
  const body = { text: source, source: asked.source, target: asked.target, prefix, count };
  const answer = await call("v1/alternatives", { body, signal });
  return answer.alternatives.map((one) => {
    const changed = sentences.with(index, { ...sentences[index], text: one.text });
    return { word: one.word, text: changed.map((each) => each.before + each.text).join(""), sentences: changed };
  });
}

// Other translations of the whole line.
async function wholeLines(asked, line, result, count, signal) {
  if (!result.alternatives?.length) {
    const answer = await call("v1/translate", { body: { ...bodyOf(asked, line), alternatives: count }, signal });
    result.alternatives = answer.translations[0].alternatives;
  }
  return result.alternatives.map((text) => ({ text }));
}
