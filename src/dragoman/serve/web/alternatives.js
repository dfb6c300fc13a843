// A word of the translation → a list of what may be there in its place. Arrows move, Enter takes, Escape closes.

import { byId, el, t } from "./dom.js";
import { alternatives } from "./lines.js";

const popup = byId("popup");
const COUNT = 8;
let opened = null;

export function closeAlternatives(focus = false) {
  if (!opened) return;
  popup.hidden = true;
  opened.controller.abort();
  opened.word.classList.remove("open");
  const { word } = opened;
  opened = null;
  document.dispatchEvent(new Event("closed"));
  if (focus) word.focus();
}

// Below the word, or above it where there is no space; always within the window.
function place(word) {
  const box = word.getBoundingClientRect();
  const width = Math.min(420, innerWidth - 16);
  popup.style.maxWidth = `${width}px`;
  popup.style.left = `${Math.max(8, Math.min(box.left, innerWidth - popup.offsetWidth - 8)) + scrollX}px`;
  const below = box.bottom + popup.offsetHeight + 8 < innerHeight || box.top < popup.offsetHeight;
  popup.style.top = `${(below ? box.bottom + 6 : box.top - popup.offsetHeight - 6) + scrollY}px`;
}

// What follows the clicked word is soft; of whole lines the words that differ are marked.
function shown({ word, text }, begin, first) {
  if (word !== undefined) return [el("b", {}, word || t("end")), el("span.soft", {}, text.slice(begin + word.length))];
  const there = new Set(first.split(/\s+/));
  return text.split(/(\s+)/).map((part) => (!part.trim() || there.has(part) ? part : el("mark", {}, part)));
}

function fill(choices, begin, first, onChoose) {
  const list = el("ul", { role: "listbox", "aria-label": t("alternatives") });
  for (const choice of choices) {
    const take = () => {
      closeAlternatives();
      onChoose(choice);
    };
    const option = el("li", { role: "option", tabindex: "-1", "aria-selected": "false", onclick: take });
    option.append(...shown(choice, begin, first));
    option.addEventListener("focus", () => option.setAttribute("aria-selected", "true"));
    option.addEventListener("blur", () => option.setAttribute("aria-selected", "false"));
    option.addEventListener("keydown", (event) => event.key === "Enter" && (event.preventDefault(), take()));
    list.append(option);
  }
  popup.replaceChildren(list);
}

// Open the list for a word of the translation of a line; `onChoose` receives {text, sentences}.
export async function openAlternatives(word, { asked, line, result }, onChoose) {
  const again = opened?.word === word;
  closeAlternatives(again);
  if (again) return;
  const mine = { word, controller: new AbortController() };
  opened = mine;
  word.classList.add("open");
  popup.hidden = false;
  popup.replaceChildren(el("p.soft", {}, t("searching")));
  place(word);
  const [begin] = word.span;
  const all = await alternatives(asked, line, begin, COUNT, mine.controller.signal).catch(() => []);
  if (opened !== mine) return;
  const choices = all.filter((one) => one.text !== result.text);
  if (choices.length) fill(choices, begin, result.text, onChoose);
  else popup.replaceChildren(el("p.soft", {}, t("no_alternatives")));
  place(word);
  popup.querySelector("[role=option]")?.focus({ preventScroll: true });
}

function onKey(event) {
  const options = [...popup.querySelectorAll("[role=option]")];
  const at = options.indexOf(document.activeElement);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape" || event.key === "Tab") closeAlternatives(true);
  else if (step && options.length) options[(at + step + options.length) % options.length].focus();
  else return;
  event.preventDefault();
}

export function startAlternatives() {
  popup.addEventListener("keydown", onKey);
  document.addEventListener("keydown", (event) => event.key === "Escape" && closeAlternatives(true));
  document.addEventListener("pointerdown", (event) => {
    if (!popup.contains(event.target) && !event.target.closest?.(".word")) closeAlternatives();
  });
  addEventListener("resize", () => closeAlternatives());
}
