"use strict";
const root = document.documentElement, kind = document.getElementById("kind");
const names = JSON.parse(kind.dataset.names);
const keep = (value) => { try { localStorage.setItem("dragoman-language", value); } catch {} };
const kept = () => { try { return localStorage.getItem("dragoman-language"); } catch { return null; } };
const speak = (language) => {
  root.dataset.language = root.lang = language;
  for (const option of kind.options) option.textContent = names[language][option.value];
};
speak(kept() || (navigator.language.startsWith("ko") ? "ko" : "en"));
document.getElementById("language").onclick = () => {
  speak(root.dataset.language === "ko" ? "en" : "ko");
  keep(root.dataset.language);
};
kind.onchange = () => {
  for (const row of document.querySelectorAll("tbody tr"))
    row.hidden = kind.value !== "" && !row.dataset.kinds.split(" ").includes(kind.value);
};
