// The Markdown of model cards → elements: headings, paragraphs, lists, tables, code. Anything else stays text.

import { el } from "./dom.js";

// `code`, **bold** and [links](addresses), of which the text is shown.
function inline(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\))/).map((part) => {
    if (/^`.+`$/.test(part)) return el("code", {}, part.slice(1, -1).replaceAll("\\|", "|"));
    if (/^\*\*.+\*\*$/.test(part)) return el("b", {}, part.slice(2, -2));
    const link = /^\[([^\]]+)\]\([^)]+\)$/.exec(part);
    return link ? link[1] : part;
  });
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => inline(cell.trim()));

function table(lines) {
  const [head, , ...rows] = lines.map(cells);
  const row = (tag, values) => el("tr", {}, values.map((value) => el(tag, tag === "th" ? { scope: "col" } : {}, value)));
  return el("div.wide", { tabindex: "0" }, el("table", {}, el("thead", {}, row("th", head)), el("tbody", {}, rows.map((values) => row("td", values)))));
}

function block(text, below) {
  const lines = text.split("\n");
  const heading = /^(#{1,4}) (.*)/.exec(lines[0]);
  if (heading) {
    const rest = lines.slice(1).join("\n");
    return [el(`h${Math.min(6, heading[1].length + below)}`, {}, inline(heading[2])), ...(rest ? block(rest, below) : [])];
  }
  if (lines[0].startsWith("|") && lines.length > 1) return [table(lines)];
  if (lines.every((line) => /^(- |\* |  )/.test(line))) {
    const items = text.split(/^[-*] /m).filter((item) => item.trim());
    return [el("ul", {}, items.map((item) => el("li", {}, inline(item.trim().replace(/\s*\n\s*/g, " ")))))];
  }
  return [el("p", {}, inline(lines.join(" ")))];
}

// Headings of level 1 become those of level 1 + `below`; the front matter is left out.
export function markdown(text, below = 1) {
  const body = text.replace(/^---\n.*?\n---\n/s, "");
  const parts = body.split(/```[^\n]*\n(.*?)```/s);
  return parts.flatMap((part, n) =>
    n % 2 ? [el("pre", { tabindex: "0" }, part)] : part.split(/\n\s*\n/).filter((one) => one.trim()).flatMap((one) => block(one.trim(), below)),
  );
}
