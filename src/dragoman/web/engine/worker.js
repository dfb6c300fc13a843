// What a page asks the engine for, in a worker or, where there is none, in the page itself. Requests are objects with an
// `id`; answers have the same `id`. A new request of a `kind` ends an older one of that kind.
"use strict";

class Engine {
  // `post` sends an answer.
  constructor(post) {
    this.post = post;
    this.models = [];
    this.loading = new Map();
    this.latest = new Map();
    this.stopped = new Set();
  }

  async receive(request) {
    const { id, kind } = request;
    if (kind === "stop") return void this.stopped.add(request.which);
    if (request.replaces) this.latest.set(request.replaces, id);
    const isStale = () => this.stopped.has(id) || (request.replaces && this.latest.get(request.replaces) !== id);
    try {
      // A page that has started another worker asks it for everything at once: the model comes first.
      if (kind !== "load" && kind !== "ping") await this.loading.get(request.which ?? 0);
      const value = isStale() ? null : await this[`_${kind}`](request, isStale);
      if (!isStale()) this.post({ id, value });
      else this.post({ id, stale: true });
    } catch (error) {
      this.post({ id, error: error instanceof DamagedWeights ? "damaged" : String(error?.stack ?? error) });
    }
  }

  // Make a model ready to translate; the answer names its arithmetic.
  _load(request) {
    const loading = this._loaded(request);
    this.loading.set(request.which, loading);
    return loading;
  }

  async _loaded({ which, facts, base64, plain }) {
    const bytes = bytesOf(base64, facts.bytes, facts.checksum);
    const kernels = plain ? new PlainKernels() : await fastest(facts.bytes);
    this.models[which] = directionsOf(facts, bytes, kernels);
    return kernels.name;
  }

  // The translation of a text, line by line, with `progress` after each sentence; null where it was given up. What there is
  // until then is sent after each of the first sentences, and of a long text more rarely.
  async _translate({ id, which, pair, text, beam, glossary = [] }, isStale) {
    const direction = this.models[which][pair];
    const lines = direction.sentences(text);
    const total = lines.flat().length;
    let done = 0;
    const translations = [];
    for (const parts of lines) {
      const line = [];
      for (const [number, part] of parts.entries()) {
        const steps = withGlossary(direction, part.text, glossary, beam ? { beam } : {});
        const translated = await this._run(steps, isStale);
        if (!translated) return null;
        const separator = number < parts.length - 1 ? separatorAfter(part, translated.text) : "";
        line.push({ source: part.text, cut: part.cut, ...translated, separator });
        done++;
        const isShown = done < 8 || done % Math.ceil(total / 20) === 0;
        this.post({ id, progress: { done, total, lines: isShown ? [...translations, line] : null } });
        await turn();
      }
      translations.push(line);
    }
    return { lines: translations };
  }

  async _alternatives({ which, pair, sentence, before, count }, isStale) {
    return this._run(this.models[which][pair].alternatives(sentence, before, count), isStale);
  }

  // Whether the engine still runs.
  async _ping() {
    return true;
  }

  // Drive a search; now and then other messages are received, and a search that nobody waits for ends.
  async _run(steps, isStale) {
    let received = performance.now();
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
      if (performance.now() - received < 30) continue;
      await turn();
      if (isStale()) return null;
      received = performance.now();
    }
  }
}

// The SIMD kernels, or plain JavaScript where they are not allowed.
async function fastest(bytes) {
  try {
    // Vectors and the padding of matrices come on top of the weights.
    return await SimdKernels.start(Uint8Array.from(atob(KERNELS), (c) => c.charCodeAt(0)), bytes + 65536);
  } catch {
    return new PlainKernels();
  }
}

// Messages that wait are received before this resolves.
function turn() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

if (typeof WorkerGlobalScope !== "undefined" && self instanceof WorkerGlobalScope) {
  const engine = new Engine((answer) => self.postMessage(answer));
  self.onmessage = ({ data }) => engine.receive(data);
}
