// Texts in the reader's language, elements, storage. Text of people and models becomes text nodes only.

const TEXTS = JSON.parse(document.getElementById("texts").textContent);
const FEATURES = new Set((document.documentElement.dataset.features ?? "").split(" "));
const root = document.documentElement;

export const byId = (id) => document.getElementById(id);

// Whether the service has this path.
export const has = (path) => FEATURES.has(path);

// The text of `key` with its {names} filled in.
export function t(key, fill = {}) {
  const text = TEXTS[root.lang][key];
  if (text === undefined) throw new Error(`no text ${key}`);
  return text.replace(/\{(\w+)\}/g, (_, name) => fill[name]);
}

// el("p.note", {id: "x", onclick: f}, "text", child): an element with classes, attributes and children.
export function el(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  svg.setAttribute("aria-hidden", "true");
  return svg;
}

export function iconButton(name, label, onclick) {
  return el("button.plain", { "aria-label": label, title: label, onclick }, icon(name));
}

// What the browser stores for this page; nothing, where storage is blocked.
export const store = {
  get(name, otherwise = null, area = "localStorage") {
    try {
      return JSON.parse(window[area].getItem(`dragoman.${name}`)) ?? otherwise;
    } catch {
      return otherwise;
    }
  },
  set(name, value, area = "localStorage") {
    try {
      if (value === null) window[area].removeItem(`dragoman.${name}`);
      else window[area].setItem(`dragoman.${name}`, JSON.stringify(value));
    } catch {
      // Blocked or full: the page works without it.
    }
  },
};

// Write every text of the page in a language; views listen to "language" and write what they have made.
export function setLanguage(language) {
  root.lang = language;
  for (const one of document.querySelectorAll("[data-text]")) {
    const text = t(one.dataset.text);
    if (one.tagName === "TITLE") document.title = text;
    else one.textContent = text;
  }
  for (const one of document.querySelectorAll("[data-label]")) {
    one.setAttribute("aria-label", t(one.dataset.label));
    one.title = t(one.dataset.label);
  }
  for (const one of document.querySelectorAll("[data-hint]")) one.placeholder = t(one.dataset.hint);
  document.dispatchEvent(new Event("language"));
}

// The name of a language in the reader's own.
export function languageName(tag) {
  try {
    return new Intl.DisplayNames([root.lang], { type: "language" }).of(tag) ?? tag;
  } catch {
    return tag;
  }
}

export const directionOf = (tag) => (/^(ar|fa|he|ur|ps|yi|dv|ckb|ug|sd)\b/.test(tag) ? "rtl" : "ltr");

let saying = 0;

// A message that stays in sight; `seconds` 0: until the next one.
export function say(text, seconds = 0, problem = false) {
  byId("status").textContent = text;
  byId("status").classList.toggle("problem", problem && Boolean(text));
  clearTimeout(saying);
  if (seconds) saying = setTimeout(() => (byId("status").textContent = ""), 1000 * seconds);
}

// A key pressed while a syllable is composed belongs to the input method. Safari ends the composition before Enter.
let composed = 0;
document.addEventListener("compositionend", (event) => (composed = event.timeStamp));
export const isComposing = (event) => event.isComposing || event.keyCode === 229 || event.timeStamp - composed < 20;
