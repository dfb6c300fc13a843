// Files that are translated and given back: .txt by lines, .srt by subtitles, .po by messages (`po.js`).
"use strict";

const LARGEST_FILE = 2_000_000;
const TIMES = /^\s*\d+:\d+:\d+[,.]\d+\s*-->/;
// What a line of a speaker or of a song begins with, copied as it is.
const SPEAKER = /^\s*(?:[-\u2010-\u2015\u2212]\s*(?![\d\s.,-]*\d|[\s-])|>>+\s*|[\u2669-\u266c]+\s*)/u;

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
  return /\.srt$/i.test(name) ? subtitles(lines, newline) : plainText(lines, newline);
}

// The columns of each line, without the white space around them.
function plainText(lines, newline) {
  const rows = lines.map((line) => line.split("\t").map((column) => [/^\s*/.exec(column)[0], column.trim(), column]));
  return {
    lines: rows.flatMap((row) => row.map(([, text]) => text)),
    filled(translations) {
      const rest = [...translations];
      const filledIn = ([before, text, column], translation) =>
        text ? before + translation + column.slice(before.length + text.length) : column;
      return rows.map((row) => row.map((column) => filledIn(column, rest.shift())).join("\t")).join(newline);
    },
  };
}

// The texts of each subtitle: one, or one of each speaker.
function subtitles(lines, newline) {
  const places = [];
  lines.forEach((line, at) => {
    if (!line.trim() || TIMES.test(line) || TIMES.test(lines[at + 1] ?? "")) return;
    const [prefix] = SPEAKER.exec(line) ?? [""];
    if (!prefix && places.at(-1)?.end === at) places.at(-1).end = at + 1;
    else places.push({ start: at, end: at + 1, prefix });
  });
  return {
    lines: places.map(({ start, end, prefix }) => lines.slice(start, end).join(" ").slice(prefix.length)),
    filled(translations) {
      const result = [...lines];
      [...places.keys()].reverse().forEach((n) => {
        const { start, end, prefix } = places[n];
        const [first, ...others] = inRows(translations[n], end - start);
        result.splice(start, end - start, prefix + first, ...others);
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
