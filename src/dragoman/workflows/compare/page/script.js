"use strict";
const root = document.documentElement;
const keep = (value) => { try { localStorage.setItem("dragoman-language", value); } catch {} };
const kept = () => { try { return localStorage.getItem("dragoman-language"); } catch { return null; } };
const speak = (language) => { root.dataset.language = root.lang = language; };
speak(kept() || (navigator.language.startsWith("ko") ? "ko" : "en"));
document.getElementById("language").onclick = () => {
  speak(root.dataset.language === "ko" ? "en" : "ko");
  keep(root.dataset.language);
};
