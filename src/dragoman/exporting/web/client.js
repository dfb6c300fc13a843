// The engine as the page sees it: in a worker made of the script before this one, or in the page itself where there is none.
"use strict";

class Client {
  constructor() {
    this.waiting = new Map();
    this.next = 0;
    this.loaded = new Map();
    this.inPage = false;
    this._start();
  }

  _start() {
    try {
      const code = new Blob([byId("engine").textContent], { type: "text/javascript" });
      this.worker = new Worker(URL.createObjectURL(code));
      this.worker.onmessage = ({ data }) => this._receive(data);
      this.worker.onerror = () => this._withoutWorker();
    } catch {
      this._withoutWorker();
    }
  }

  // What was asked for and not answered yet is asked again, of the engine in the page.
  _withoutWorker() {
    this.worker?.terminate();
    this.worker = null;
    this.inPage = true;
    this.engine = new Engine((answer) => this._receive(answer));
    this._askAgain();
  }

  // A worker that a device has put an end to answers nothing: start another.
  async revive() {
    if (!this.worker) return;
    const answered = this.ask({ kind: "ping" }).then(() => true);
    const silent = new Promise((resolve) => setTimeout(resolve, 4000, false));
    if (await Promise.race([answered, silent])) return;
    this.worker?.terminate();
    this._start();
    this._askAgain();
  }

  _askAgain() {
    const requests = [...this.waiting.values()].map(({ request }) => request);
    const loads = [...this.loaded.keys()].map((which) => ({ id: this.next++, ...this._loading(which) }));
    for (const request of [...loads, ...requests]) this._send(request);
  }

  _send(request) {
    if (this.worker) this.worker.postMessage(request);
    else this.engine.receive(request);
  }

  // The answer to a request; `progress` receives what is reported before it. Stale answers are null.
  ask(request, progress) {
    const whole = { id: this.next++, ...request };
    const answer = new Promise((resolve, reject) => {
      this.waiting.set(whole.id, { request: whole, resolve, reject, progress });
    });
    this._send(whole);
    return Object.assign(answer, { id: whole.id });
  }

  stop(id) {
    this._send({ kind: "stop", which: id });
  }

  // Load a model once; the answer is the name of its arithmetic.
  load(which) {
    if (!this.loaded.has(which)) this.loaded.set(which, this.ask(this._loading(which)));
    return this.loaded.get(which);
  }

  _loading(which) {
    const base64 = byId(`weights-${which}`)?.textContent ?? "";
    return { kind: "load", which, facts: page.facts.models[which], base64, plain: !("WebAssembly" in window) };
  }

  _receive({ id, value, error, stale, progress }) {
    const asked = this.waiting.get(id);
    if (!asked) return;
    if (progress) return void asked.progress?.(progress);
    this.waiting.delete(id);
    if (error) asked.reject(new Error(error));
    else asked.resolve(stale ? null : value);
  }
}
