// The engine as a page sees it: in a worker made of the script `engine`, or in the page itself where there is none. A
// device that lacks memory, or whose page sleeps, may end a worker without a word: what was not answered is asked of
// another one.
"use strict";

// Beyond this many times its usual patience a client does not wait. After MOST_RESTARTS workers in a row that answered
// nothing it gives up.
const MOST_PATIENCE = 16;
const MOST_RESTARTS = 8;

class Client {
  // `modelOf(which)`: {facts, base64} of a model. A worker that answers nothing for `silence` milliseconds is asked whether
  // it runs, and after as many again taken for dead; one that computes listens now and then.
  constructor(modelOf, silence) {
    Object.assign(this, { modelOf, silence, patience: silence, waiting: new Map(), loaded: new Map(), next: 1 });
    this.restarts = 0;
    this._start();
  }

  get isInPage() {
    return !this.worker;
  }

  // Load a model once; the answer is the name of its arithmetic. Fails with "damaged" for weights that were cut.
  load(which) {
    if (!this.loaded.has(which)) {
      const loading = this.ask({ kind: "load", which });
      this.loaded.set(which, loading);
      loading.catch(() => this.loaded.delete(which)); // another try may succeed
    }
    return this.loaded.get(which);
  }

  // The answer to a request; `progress` receives what is reported before it. That to a stale request is null.
  ask(request, progress) {
    const whole = { id: this.next++, ...request };
    const answer = new Promise((resolve, reject) => {
      this.waiting.set(whole.id, { request: whole, resolve, reject, progress });
    });
    this._send(whole);
    if (!this.timer) this._watch(); // a reader who types does not put the question off
    return Object.assign(answer, { id: whole.id });
  }

  // Give a request up: its answer is null.
  stop(id) {
    this._send({ kind: "stop", which: id });
    this._receive({ id, stale: true });
  }

  // Start another worker where the one there answers nothing for `patience` milliseconds.
  async revive(patience = this.patience) {
    const { worker } = this;
    if (!worker || this.reviving) return;
    this.reviving = true;
    const silent = new Promise((resolve) => setTimeout(resolve, patience, false));
    const ping = this.ask({ kind: "ping" });
    const isAlive = await Promise.race([ping, silent]);
    this.reviving = false;
    if (!isAlive && this.worker === worker) {
      worker.terminate();
      this.waiting.delete(ping.id);
      // It may have computed all that time: the next one gets more, and so finishes some time.
      this.patience = Math.max(this.patience, Math.min(2 * patience, MOST_PATIENCE * this.silence));
      this._start();
      if (++this.restarts > MOST_RESTARTS) this._giveUp();
      this._askAgain();
    }
    this._watch();
  }

  // What is asked ends every worker, as for lack of memory.
  _giveUp() {
    const requests = [...this.waiting.values()];
    this.waiting.clear();
    this.loaded.clear();
    this.restarts = 0;
    for (const { reject } of requests) reject(new Error("the model ended again and again: memory may be short"));
  }

  // Nobody says that a worker has ended: while answers are awaited and nothing comes, it is asked.
  _watch() {
    clearTimeout(this.timer);
    const isWatched = this.worker && this.waiting.size;
    this.timer = isWatched ? setTimeout(() => this.revive(), this.patience) : null;
  }

  _start() {
    try {
      const code = new Blob([document.getElementById("engine").textContent], { type: "text/javascript" });
      this.address ??= URL.createObjectURL(code);
      this.worker = new Worker(this.address);
      this.worker.onmessage = ({ data }) => this._receive(data);
      this.worker.onerror = () => this._withoutWorker();
    } catch {
      this._withoutWorker();
    }
  }

  _withoutWorker() {
    this.worker?.terminate();
    this.worker = null;
    this.engine = new Engine((answer) => this._receive(answer));
    this._askAgain();
  }

  // What was asked for and not answered yet is asked again, of an engine that has to load its models first.
  _askAgain() {
    const requests = [...this.waiting.values()].map(({ request }) => request);
    const isAwaited = (which) => requests.some((request) => request.kind === "load" && request.which === which);
    const lost = [...this.loaded.keys()].filter((which) => !isAwaited(which));
    const loads = lost.map((which) => ({ id: this.next++, kind: "load", which }));
    for (const request of [...loads, ...requests]) this._send(request);
  }

  _send(request) {
    const isLoad = request.kind === "load";
    const plain = !("WebAssembly" in window);
    const whole = isLoad ? { ...request, ...this.modelOf(request.which), plain } : request;
    if (this.worker) this.worker.postMessage(whole);
    else this.engine.receive(whole);
  }

  _receive({ id, value, error, stale, progress }) {
    const request = this.waiting.get(id);
    if (!request) return;
    if (!progress) this.waiting.delete(id);
    if (!["ping", "load"].includes(request.request.kind)) this.restarts = 0;
    this._watch();
    if (progress) return void request.progress?.(progress);
    if (error) request.reject(new Error(error));
    else request.resolve(stale ? null : value);
  }
}
