// Requests to the service: the key, problems, and what is sent as events.

import { byId, say, store, t } from "./dom.js";

// An answer that is an error: its status, its type and the sentence for people.
export class Problem extends Error {
  constructor(status, problem, retryAfter = 0) {
    super(problem.detail);
    this.status = status;
    this.type = problem.type ?? "";
    this.retryAfter = retryAfter;
  }
}

let asking = null;

// Ask the reader for a key; several requests that wait for one ask once.
export function askForKey(refused = false) {
  const dialog = byId("key-dialog");
  const field = byId("key-field");
  asking ??= new Promise((resolve) => {
    field.value = "";
    byId("key-refused").hidden = !refused;
    dialog.returnValue = "";
    dialog.showModal();
    dialog.addEventListener(
      "close",
      () => {
        const key = dialog.returnValue === "use" ? field.value.trim() : "";
        field.value = "";
        asking = null;
        if (key) store.set("key", key, "sessionStorage");
        byId("key").hidden = false;
        resolve(Boolean(key));
      },
      { once: true },
    );
  });
  return asking;
}

async function send(path, { body, form, method, signal, accept = "application/json" }) {
  const headers = { Accept: accept };
  const key = store.get("key", null, "sessionStorage");
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const options = { method: method ?? (body || form ? "POST" : "GET"), headers, signal, cache: "no-store" };
  const answer = await fetch(path, { ...options, body: form ?? (body === undefined ? undefined : JSON.stringify(body)) });
  if (answer.ok) return answer;
  if (answer.status === 401 && (await askForKey(Boolean(key)))) return send(path, { body, form, method, signal, accept });
  const problem = { detail: answer.statusText, ...(await answer.json().catch(() => ({}))) };
  throw new Problem(answer.status, problem, Number(answer.headers.get("Retry-After") ?? 0));
}

// The JSON that a path answers with. Throws Problem, or TypeError if the service cannot be reached.
export async function call(path, options = {}) {
  const answer = await send(path, options);
  return answer.status === 204 ? null : answer.json();
}

// The answer itself, for what is not JSON.
export const download = (path, options = {}) => send(path, { accept: "*/*", ...options });

// The events of an answer, one [name, data] after another.
export async function* events(path, options) {
  const answer = await send(path, { ...options, accept: "text/event-stream" });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s, 2)));
      if (fields.event) yield [fields.event, JSON.parse(fields.data)];
    }
  }
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

// `work()`, again while the service is busy or away, as long as `wanted()`; other problems are shown. null: given up.
export async function persistently(work, wanted = () => true) {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (error.name === "AbortError" || !wanted()) return null;
      const away = error instanceof TypeError;
      const used = error.type === "urn:dragoman:problem:quota";
      if (!away && (used || (error.status !== 503 && error.status !== 429))) {
        const failed = error.status >= 500 || !error.status ? "failed" : "refused";
        say(error.status === 401 ? t("no_key") : used ? t("quota") : t(failed, { detail: error.message }), 0, true);
        if (!(error instanceof Problem)) throw error;
        return null;
      }
      const seconds = away ? 2 : Math.min(30, Math.max(1, error.retryAfter));
      say(away ? t("offline") : t("busy", { seconds }), 0, true);
      await pause(seconds);
      if (!wanted()) return null;
      say("");
    }
  }
}
