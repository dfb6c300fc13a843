// Behind the source text: the same text, which gives the field its height and carries the marks of words.

import { byId, el } from "./dom.js";

const mirror = byId("mirror");

export function reflect(text, spans = []) {
  const parts = [];
  let end = 0;
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0])) {
    if (from < end) continue;
    parts.push(text.slice(end, from), el("mark", {}, text.slice(from, to)));
    end = to;
  }
  // A last line that is empty would have no height.
  mirror.replaceChildren(...parts, `${text.slice(end)}\n`);
}
