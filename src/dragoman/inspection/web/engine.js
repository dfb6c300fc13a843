// The engine as this page sees it: in a worker made of the script before this one, or in the page where there is none.

let parsedFacts = null;
// What the engine knows of the model; null on a page of recorded values.
function modelFacts() {
  parsedFacts ??= JSON.parse(document.getElementById("model")?.textContent ?? "null");
  return parsedFacts;
}
// Milliseconds after which a worker that answers nothing is taken for dead: a telephone has put it to sleep.
const SILENCE = 8000;

const engine = {
  worker: null,
  inPage: null,
  waiting: new Map(),
  next: 1,

  // Start it and load the model; the answer is the name of its arithmetic. Fails for weights that were cut.
  start() {
    engine.facts = modelFacts();
    const base64 = document.getElementById("weights")?.textContent ?? "";
    engine.loading = { kind: "load", which: 0, facts: engine.facts, base64, plain: !("WebAssembly" in window) };
    engine.open();
    return engine.ask(engine.loading);
  },

  open() {
    try {
      const code = new Blob([document.getElementById("engine").textContent], { type: "text/javascript" });
      engine.worker = new Worker(URL.createObjectURL(code));
      engine.worker.onmessage = ({ data: answer }) => engine.receive(answer);
      engine.worker.onerror = () => engine.withoutWorker();
    } catch {
      engine.withoutWorker();
    }
  },

  withoutWorker() {
    engine.worker?.terminate();
    engine.worker = null;
    engine.inPage = new Engine((answer) => engine.receive(answer));
    engine.again();
  },

  // What was asked for and not answered yet is asked again, after the model is loaded.
  async again() {
    const requests = [...engine.waiting.values()].map(({ request }) => request);
    if (!requests.some(({ kind }) => kind === "load")) requests.unshift({ id: engine.next++, ...engine.loading });
    for (const request of requests) await engine.send(request);
  },

  send(request) {
    return engine.worker ? engine.worker.postMessage(request) : engine.inPage.receive(request);
  },

  // The answer to a request; that to one which a newer request replaced is null.
  ask(request) {
    const whole = { id: engine.next++, ...request };
    return new Promise((resolve, reject) => {
      engine.waiting.set(whole.id, { request: whole, resolve, reject });
      if (engine.worker || engine.inPage) engine.send(whole);
    });
  },

  // Start another worker where the one there answers nothing.
  async revive() {
    if (!engine.worker) return;
    const silent = new Promise((resolve) => setTimeout(resolve, SILENCE, false));
    if (await Promise.race([engine.ask({ kind: "ping" }), silent])) return;
    engine.worker.terminate();
    engine.open();
    engine.again();
  },

  receive({ id, value, error, stale }) {
    const request = engine.waiting.get(id);
    if (!request) return;
    engine.waiting.delete(id);
    if (error) request.reject(new Error(error));
    else request.resolve(stale ? null : value);
  },
};
