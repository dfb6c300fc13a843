// The words of translations as elements, and the words of the source that they come from.

import { el, t } from "./dom.js";

// Languages that put no spaces between words.
const UNSPACED = /^(ja|zh|th|km|lo|my)\b/;

// [begin, end] of each word.
export function wordSpans(text, language) {
  if (UNSPACED.test(language) && window.Intl?.Segmenter) {
    const segments = [...new Intl.Segmenter(language, { granularity: "word" }).segment(text)];
    return segments.filter((one) => one.segment.trim()).map((one) => [one.index, one.index + one.segment.length]);
  }
  return [...text.matchAll(/\S+/gu)].map((match) => [match.index, match.index + match[0].length]);
}

// A line of the translation as words, of which one can be reached with Tab and the others with arrows.
export function paragraph(result, language) {
  const line = el("div.line");
  let end = 0;
  for (const [begin, after] of wordSpans(result.text, language)) {
    line.append(result.text.slice(end, begin));
    const word = result.text.slice(begin, after);
    const made = el("span.word", { role: "button", tabindex: "-1", "aria-haspopup": "listbox" }, word);
    made.setAttribute("aria-label", t("word", { word }));
    made.span = [begin, after];
    line.append(made);
    end = after;
  }
  line.append(result.text.slice(end));
  if (!result.text) line.append(el("br"));
  return line;
}

const overlap = (a, b) => a[0] < b[1] && b[0] < a[1];

// The spans of a normalised source that a span of the translation comes from.
export function sourcesOf(result, span) {
  return (result.alignment ?? []).filter((link) => overlap(link.target, span)).map((link) => link.source);
}

// Where each character of `normalised` is in `raw`, of which it differs in white space only; null if it differs more.
export function places(raw, normalised) {
  const found = [];
  let at = 0;
  for (const sign of normalised.split("")) {
    if (/\s/.test(sign)) {
      found.push(at);
      continue;
    }
    while (at < raw.length && /\s/.test(raw[at])) at += 1;
    if (raw[at] !== sign) return null;
    found.push(at);
    at += 1;
  }
  return found;
}

// Spans of a normalised line → spans of the text, in which the line as it was typed begins at `begin`.
export function inText(raw, begin, normalised, spans) {
  const where = places(raw, normalised);
  return where ? spans.map(([from, to]) => [begin + where[from], begin + where[to - 1] + 1]) : [];
}

// Links in code points, as the service counts, → in code units, as JavaScript does.
export function inUnits(links, source, target) {
  const units = (text) => [...text].reduce((sums, sign) => [...sums, sums.at(-1) + sign.length], [0]);
  if (!/[\ud800-\udfff]/.test(source + target)) return links;
  const [from, to] = [units(source), units(target)];
  const moved = (span, table) => span.map((index) => table[index]);
  return links.map((link) => ({ source: moved(link.source, from), target: moved(link.target, to) }));
}
