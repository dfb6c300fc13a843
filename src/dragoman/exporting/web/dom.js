// Elements, texts of two languages, light and dark.
"use strict";

const page = {
  texts: JSON.parse(document.getElementById("texts").textContent),
  // Set once the whole document is there.
  facts: null,
  language: preferred("language") ?? (navigator.languages?.some((tag) => /^ko/.test(tag)) ? "ko" : "en"),
  theme: preferred("theme") ?? "auto",
};
const THEMES = ["auto", "light", "dark"];

function byId(id) {
  return document.getElementById(id);
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// A text of the page in its language, with values in place of the names in braces.
function text(key, values = {}) {
  return page.texts[page.language][key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

function languageName(tag) {
  try {
    return new Intl.DisplayNames([page.language], { type: "language" }).of(tag);
  } catch {
    return tag;
  }
}

// What the reader chose, where the browser lets a file store it.
function preferred(key) {
  try {
    return localStorage.getItem(`dragoman.${key}`);
  } catch {
    return null;
  }
}

function prefer(key, value) {
  page[key] = value;
  try {
    localStorage.setItem(`dragoman.${key}`, value);
  } catch {
    // It is forgotten with the page.
  }
}

function showTexts() {
  document.documentElement.lang = page.language;
  document.documentElement.dataset.theme = page.theme;
  for (const named of document.querySelectorAll("[data-text]")) named.textContent = text(named.dataset.text);
  byId("language").textContent = text("other_language");
  byId("language").lang = page.language === "ko" ? "en" : "ko";
  byId("theme").textContent = text(`theme_${page.theme}`);
  byId("source").placeholder = text("type");
}

// The words of a text with the spaces between them; a script without spaces is divided as the browser divides it.
function wordsOf(sentence, language) {
  if (!/^(zh|ja|th|lo|km|my)/.test(language) || !Intl.Segmenter) return sentence.match(/\s+|\S+/g) ?? [];
  return Array.from(new Intl.Segmenter(language, { granularity: "word" }).segment(sentence), ({ segment }) => segment);
}
