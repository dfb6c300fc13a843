// Files that are translated and given back: .txt by lines, .srt by subtitles, .po by messages (`po.js`).
"use strict";

const LARGEST_FILE = 2_000_000;
const TIMES = /^\s*\d+:\d+:\d+[,.]\d+\s*-->/;

// The text of a dropped file. Raises an Error whose message is for the reader.
async function readFile(file) {
  const { name, size } = file;
  if (!/\.(txt|srt|pot?)$/i.test(name)) throw new Error(text("wrong_kind", { name }));
  if (size > LARGEST_FILE) throw new Error(text("too_large", { name, size: (size / 1e6).toFixed(1) }));
  try {
    const content = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    if (!content.includes("\0")) return content;
  } catch {
    // As of a binary file.
  }
  throw new Error(text("not_text", { name }));
}

// The lines to translate of a file, and a function that puts their translations into their places. Of a .po file
// `everything`, or only what has no translation into `language`. Raises an Error whose message is for the reader.
function documentOf(name, content, language, everything) {
  const newline = content.includes("\r\n") ? "\r\n" : "\n";
  const lines = content.split(/\r\n|\n|\r/);
  if (/\.pot?$/i.test(name)) return poDocument(name, lines, newline, language, everything);
  if (!/\.srt$/i.test(name)) return { lines, filled: (translations) => translations.join(newline) };
  const places = [];
  lines.forEach((line, at) => {
    const isText = line.trim() && !TIMES.test(line) && !TIMES.test(lines[at + 1] ?? "");
    // The lines of one subtitle are one text.
    if (isText && places.at(-1)?.end === at) places.at(-1).end = at + 1;
    else if (isText) places.push({ start: at, end: at + 1 });
  });
  return {
    lines: places.map(({ start, end }) => lines.slice(start, end).join(" ")),
    filled(translations) {
      const result = [...lines];
      [...places.keys()].reverse().forEach((n) => {
        const { start, end } = places[n];
        result.splice(start, end - start, ...inRows(translations[n], end - start));
      });
      return result.join(newline);
    },
  };
}

// A text in as many rows as its source had, of about the same length, divided at spaces.
function inRows(translation, count) {
  const words = translation.split(" ");
  const rows = [];
  for (let row = count; row > 0 && words.length; row--) {
    const wanted = words.join(" ").length / row;
    let line = words.shift();
    while (row > 1 && words.length && line.length + words[0].length / 2 < wanted) line += ` ${words.shift()}`;
    rows.push(row === 1 ? [line, ...words.splice(0)].join(" ") : line);
  }
  return rows;
}

function fileName(name, language) {
  const at = name.lastIndexOf(".");
  // A template becomes a catalogue.
  return `${name.slice(0, at)}.${language}${name.slice(at).replace(/^\.pot$/i, ".po")}`;
}

function download(name, content) {
  const address = URL.createObjectURL(new Blob([content], { type: "text/plain;charset=utf-8" }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

// Terms that are typed in, one a line: "source = translation", also with a tab or an arrow.
function termsOf(content) {
  const lines = content.split("\n").map((line) => line.split(/\t|=|→/).map((side) => side.trim()));
  return lines.filter(([source, target]) => source && target).map(([source, target]) => [source, target]);
}
