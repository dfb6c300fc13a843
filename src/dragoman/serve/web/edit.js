// Correcting a translation: what was changed is sent as a correction, line by line, and shown from then on.

import { call, persistently } from "./api.js";
import { byId, directionOf, isComposing, say, t } from "./dom.js";
import { current, replaceLine } from "./text.js";

const draft = byId("draft");
const output = byId("output");
let editing = null;

function open(on) {
  draft.hidden = !on;
  output.hidden = on;
  for (const id of ["save", "cancel"]) byId(id).hidden = !on;
  for (const id of ["edit", "copy", "link"]) byId(id).hidden = on;
}

function begin() {
  editing = current();
  if (!editing) return;
  draft.value = editing.translation;
  draft.lang = editing.target;
  draft.dir = directionOf(editing.target);
  open(true);
  draft.focus();
}

function end() {
  if (!editing) return;
  editing = null;
  open(false);
  document.dispatchEvent(new Event("shown"));
}

// [source line, its index, old translation, new translation] of each line that was changed.
function changes() {
  const [before, after] = [editing.translation.split("\n"), draft.value.split("\n")];
  if (before.length !== after.length) return null;
  return after.flatMap((line, n) => (line.trim() && line !== before[n] ? [[editing.lines[n], n, before[n], line.trim()]] : []));
}

async function save() {
  const found = changes();
  if (!found) return say(t("lines_differ"));
  const { source, target, model } = editing;
  for (const [text, index, translation, correction] of found) {
    const body = { text, source, target, translation, correction, ...(model && { model }) };
    if (!(await persistently(() => call("v1/feedback", { body }).then(() => true)))) return undefined;
    replaceLine(index, correction);
  }
  end();
  if (found.length) say(t("saved"), 4);
  return byId("edit").focus();
}

export function startEdit() {
  byId("edit").addEventListener("click", begin);
  byId("save").addEventListener("click", save);
  byId("cancel").addEventListener("click", end);
  byId("source").addEventListener("input", end);
  document.addEventListener("language", end);
  document.addEventListener("shown", () => (byId("edit").hidden = Boolean(editing) || !current()));
  draft.addEventListener("keydown", (event) => {
    if (isComposing(event)) return;
    if (event.key === "Escape") {
      end();
      byId("edit").focus();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
  });
}
