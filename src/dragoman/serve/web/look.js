// What the model computed for a sentence: the page of `look`, in which the model runs; where the reader has no such page,
// each piece with its probability, attention, and the hypotheses of the search.

import { call, download, persistently } from "./api.js";
import { byId, el, has, say, store, t } from "./dom.js";
import { current, languagesOf } from "./text.js";

const root = document.documentElement;
const view = byId("view-look");
const head = el("div");
const result = el("div.looked", { "aria-live": "polite" });
// A frame that is moved in the document is loaded again: it stays where it is, and what is around it is replaced.
const stage = el("div.stage");
const field = el("input", { id: "look-text", maxlength: "500", required: true });
let found = null;
let layer = 0;

const shown = (piece) => piece.replaceAll("\u2581", "\u00a0").trim() || piece;
const percent = (value) => `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`;

// A cell as dark as its weight.
function cell(weight) {
  const made = el("td", { title: weight.toFixed(3) }, weight >= 0.1 ? weight.toFixed(2).slice(1) : "");
  made.style.backgroundColor = `color-mix(in srgb, var(--lit) ${Math.round(100 * Math.min(1, weight))}%, transparent)`;
  return made;
}

function attention() {
  const { source, output } = found.pieces;
  const weights = found.cross_attention[layer];
  const head = el("tr", {}, el("td"), source.map((piece) => el("th", { scope: "col" }, shown(piece))));
  const body = output.map((piece, row) => el("tr", {}, el("th", { scope: "row" }, shown(piece)), weights[row].map(cell)));
  return el("table.attention", {}, el("thead", {}, head), el("tbody", {}, body));
}

function layers() {
  const select = el("select", { id: "look-layer" }, found.cross_attention.map((_, n) => el("option", { value: String(n) }, String(n + 1))));
  select.value = String(layer);
  select.addEventListener("change", () => {
    layer = Number(select.value);
    result.querySelector(".attention").replaceWith(attention());
  });
  return el("p.row", {}, el("label", { for: "look-layer" }, t("layer")), select);
}

function steps() {
  const rows = found.steps.map((step) =>
    el("tr", {}, el("td", {}, el("b", {}, shown(step.piece))), el("td", {}, percent(step.probability)),
      el("td.soft", {}, step.instead.slice(0, 4).map(([piece, value]) => `${shown(piece)} ${percent(value)}`).join(" · "))),
  );
  const head = ["piece", "probability", "instead"].map((key) => el("th", { scope: "col" }, t(key)));
  return el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows));
}

const hypotheses = () =>
  el("ol", {}, found.hypotheses.map((one) => el("li", {}, one.text, " ", el("span.soft", {}, `log P ${one.log_prob.toFixed(2)}`))));

const scrolled = (key, child) => el("div.wide", { tabindex: "0", role: "region", "aria-label": t(key) }, child);

const pageOf = (asked) => `v1/inspect/page?${new URLSearchParams(asked)}`;

// The page in a frame, which its policy keeps from everything else. A link cannot carry a key: who has one fetches a file.
function showPage() {
  stage.replaceChildren();
  if (!has("/v1/inspect/page") || store.get("key", null, "sessionStorage")) return;
  stage.append(el("iframe", { src: addressOf(found.asked), onload: dressFrame }));
}

const addressOf = (asked) => `${pageOf(asked)}#${root.lang}/walk/${root.dataset.theme ?? ""}`;

// The page in the frame takes the language and the theme of this one, and stays where it is. Its origin is none.
function dressFrame() {
  const wanted = { lang: root.lang, theme: root.dataset.theme ?? "" };
  stage.querySelector("iframe")?.contentWindow.postMessage(wanted, "*");
}

// What is between the translation and the page, in the language of the reader.
function aboutPage() {
  const frame = stage.querySelector("iframe");
  if (frame) frame.title = t("look_frame");
  if (!frame) return [...tables(), has("/v1/inspect/page") && el("p", {}, el("button", { onclick: fetchPage }, t("look_file")))];
  return [
    el("details", {}, el("summary", {}, t("look_tables")), tables()),
    found.why_recorded && el("p.warning", {}, t("look_recorded", { why: found.why_recorded })),
    el("p", {}, el("a", { href: addressOf(found.asked), target: "_blank", rel: "noopener" }, t("everything"))),
  ];
}

async function fetchPage({ currentTarget: button }) {
  button.disabled = true;
  const answer = await persistently(() => download(pageOf(found.asked)));
  button.disabled = false;
  if (!answer) return;
  const address = URL.createObjectURL(await answer.blob());
  el("a", { href: address, download: "look.html" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

function tables() {
  const seen = found.cross_attention.length ? [el("h2", {}, t("attention")), layers(), scrolled("attention", attention())] : [];
  return [...seen, el("h2", {}, t("steps")), scrolled("steps", steps()),
    ...(found.hypotheses.length ? [el("h2", {}, t("hypotheses")), hypotheses()] : [])];
}

function draw() {
  if (!found) return;
  layer = Math.max(0, Math.min(layer, found.cross_attention.length - 1));
  result.replaceChildren(
    ...[
      el("p.translation", {}, found.translation), el("p.soft", {}, `${t("model", { model: found.model })} · log P ${found.log_prob.toFixed(2)}`),
      ...aboutPage(),
    ].filter(Boolean),
  );
}

async function look(event) {
  event?.preventDefault();
  const text = field.value.trim();
  if (!text) return;
  result.replaceChildren(el("p.soft", {}, t("searching")));
  try {
    const { source, target, model } = await languagesOf(text);
    const asked = { text, target, ...(source && { source }), ...(model && { model }) };
    const answer = await call("v1/inspect", { body: asked });
    found = { ...answer, asked: { ...asked, model: answer.model } };
    showPage();
    draw();
  } catch (error) {
    found = null;
    stage.replaceChildren();
    result.replaceChildren(el("p.warning", {}, error.message));
  }
}

function write() {
  if (view.hidden) return;
  field.placeholder = t("look_hint");
  const form = el("form.row", { onsubmit: look }, el("label.hidden", { for: "look-text" }, t("look_hint")), field,
    el("button.main", { type: "submit" }, t("look_button")));
  head.replaceChildren(el("h1", {}, t("tab_look")), el("p.soft", {}, t("look_text")), form);
  draw();
}

export function startLook() {
  if (!has("/v1/inspect")) return;
  view.replaceChildren(head, result, stage);
  view.addEventListener("open", () => {
    const line = current()?.lines.find((one) => one);
    write();
    say("");
    if (line && line !== field.value) {
      field.value = line;
      look();
    }
  });
  document.addEventListener("language", () => {
    write();
    dressFrame();
  });
  new MutationObserver(dressFrame).observe(root, { attributeFilter: ["data-theme"] });
}
