// The page: what is typed, dropped or chosen, and what is shown of it.
"use strict";

// How long typing pauses before a translation begins, in milliseconds.
const PAUSE = 120;

class Page {
  constructor() {
    this.client = new Client();
    const alternatives = (sentence, before) => this._ask({ kind: "alternatives", sentence, before, count: 6 });
    this.output = new Output(alternatives, () => this._notes());
    this.directions = page.facts.models.flatMap((model, which) =>
      model.pairs.map((pair, number) => ({ which, pair: number, languages: pair.languages })),
    );
    this.current = 0;
    this.status = ["preparing"];
    this._listen();
    this._fillBeam();
    this.refresh();
    this._prepare();
  }

  get direction() {
    return this.directions[this.current];
  }

  // Everything that depends on the language of the page or the direction.
  refresh() {
    showTexts();
    const names = this.directions.map(({ languages }) => languages.map(languageName));
    const options = names.map(([from, to], value) => element("option", { value, textContent: `${from} → ${to}` }));
    byId("direction").replaceChildren(...options);
    byId("direction").value = this.current;
    [byId("source-name").textContent, byId("target-name").textContent] = names[this.current];
    byId("source").lang = this.direction.languages[0];
    byId("swap").hidden = this._opposite() < 0;
    document.title = `${names[this.current].join(" → ")} · ${text("title")}`;
    if (this.document) byId("save").textContent = text("save_file", { name: this.document.name });
    this._say(...this.status);
    this._notes();
    showCards();
  }

  _listen() {
    byId("source").addEventListener("input", () => {
      this._forget();
      this._soon();
    });
    byId("again").addEventListener("change", () => this._open(this.file));
    byId("terms").addEventListener("input", () => this._soon());
    byId("beam").addEventListener("change", () => this.translate());
    byId("direction").addEventListener("change", ({ target }) => this._turn(Number(target.value)));
    byId("swap").addEventListener("click", () => {
      byId("source").value = this.output.texts.join("\n") || byId("source").value;
      this._turn(this._opposite());
    });
    byId("clear").addEventListener("click", () => this._put("", null));
    byId("stop").addEventListener("click", () => this._stop());
    byId("copy").addEventListener("click", () => this._copy());
    byId("save").addEventListener("click", () => this._save());
    byId("file").addEventListener("change", ({ target }) => {
      byId("again").checked = false;
      this._open(target.files[0]).finally(() => (target.value = ""));
    });
    byId("language").addEventListener("click", () => {
      prefer("language", page.language === "ko" ? "en" : "ko");
      this.refresh();
    });
    byId("theme").addEventListener("click", () => {
      prefer("theme", THEMES[(THEMES.indexOf(page.theme) + 1) % THEMES.length]);
      showTexts();
    });
    // On paper the whole source is seen.
    const { style } = byId("source");
    addEventListener("beforeprint", () => (style.height = `${byId("source").scrollHeight + 4}px`));
    addEventListener("afterprint", () => (style.height = ""));
    document.addEventListener("visibilitychange", () => document.hidden || this.client.revive());
    const isFile = ({ dataTransfer }) => dataTransfer?.types.includes("Files");
    addEventListener("dragover", (event) => isFile(event) && (event.preventDefault(), (byId("drop").hidden = false)));
    addEventListener("dragleave", ({ relatedTarget }) => relatedTarget || (byId("drop").hidden = true));
    addEventListener("drop", (event) => {
      byId("drop").hidden = true;
      if (!isFile(event)) return;
      event.preventDefault();
      byId("again").checked = false;
      this._open(event.dataTransfer.files[0]);
    });
  }

  async _prepare() {
    const { which } = this.direction;
    this._say("preparing");
    try {
      page.facts.models[which].arithmetic = await this.client.load(which);
    } catch ({ message }) {
      const damaged = message === "damaged";
      const expected = document.documentElement.dataset.megabytes;
      return this._say(damaged ? "damaged" : "failed", { reason: message.split("\n")[0], expected });
    }
    const slow = page.facts.models[which].arithmetic === "javascript" ? "ready_slow" : "ready";
    this._say(this.client.inPage ? "ready_in_page" : slow);
    document.documentElement.dataset.ready = "true";
    showCards();
    this.translate();
  }

  _notes() {
    showNotes(this.output, this.direction, this.document?.notes ?? []);
  }

  // The text is no longer that of a file.
  _forget() {
    this.document = null;
    byId("again-row").hidden = true;
    byId("save").textContent = text("save");
  }

  _ask(request) {
    return this.client.ask({ ...request, which: this.direction.which, pair: this.direction.pair });
  }

  _soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.translate(), PAUSE);
  }

  // Translate the source text. A later call ends an earlier one.
  async translate() {
    clearTimeout(this.timer);
    if (!page.facts.models[this.direction.which].arithmetic) return;
    const [, language] = this.direction.languages;
    const source = byId("source").value;
    const began = performance.now();
    byId("target").classList.add("waiting");
    const asked = this._request(source, language);
    this.request = asked.id;
    const answer = await asked.catch(({ message }) => void this._say("failed", { reason: message.split("\n")[0] }));
    if (this.request !== asked.id) return;
    byId("progress").hidden = true;
    byId("target").classList.remove("waiting");
    if (!answer) return;
    this.output.show(answer.lines, language);
    this._notes();
    const count = answer.lines.flat().length;
    const seconds = ((performance.now() - began) / 1000).toFixed(2);
    if (this.document && count) this._say("file_done", { name: this.document.name });
    else if (count) this._say(count === 1 ? "took_sentence" : "took", { count, seconds });
  }

  _request(source, language) {
    const request = { kind: "translate", text: source, glossary: this._terms(), beam: Number(byId("beam").value) };
    const asked = this.client.ask(
      { ...request, which: this.direction.which, pair: this.direction.pair, replaces: "text" },
      ({ done, total, lines }) => {
        if (this.request !== asked.id || total < 4) return;
        byId("progress").hidden = false;
        byId("progress").firstElementChild.value = done / total;
        this._say("translating", { done, total });
        if (lines) this.output.show(lines, language);
      },
    );
    return asked;
  }

  _stop() {
    this.client.stop(this.request);
    this.request = null;
    this._forget();
    byId("progress").hidden = true;
    byId("target").classList.remove("waiting");
    this._say("stopped");
  }

  _terms() {
    const lines = byId("terms").value.split("\n").map((line) => line.split(/\t|=|→/).map((side) => side.trim()));
    return lines.filter(([source, target]) => source && target).map(([source, target]) => [source, target]);
  }

  _turn(number) {
    this.current = number;
    this.output.show([], this.direction.languages[1]);
    this._forget();
    this._fillBeam();
    this.refresh();
    this._prepare();
  }

  // The direction the other way round; −1 if this page has none.
  _opposite() {
    const [from, to] = this.direction.languages;
    return this.directions.findIndex(({ languages }) => languages[0] === to && languages[1] === from);
  }

  _put(content, file) {
    byId("source").value = content;
    this._forget();
    this.document = file;
    if (file) byId("save").textContent = text("save_file", { name: file.name });
    this.translate();
    byId("source").focus();
  }

  async _open(file) {
    if (!file) return;
    try {
      const [, language] = this.direction.languages;
      const { lines, ...rest } = documentOf(file.name, await readFile(file), language, byId("again").checked);
      const shown = lines.map((line) => line.replace(/[\r\v\f\x85\u2028\u2029]/g, " ")).join("\n");
      this._put(shown, { name: fileName(file.name, language), ...rest });
      this.file = file;
      byId("again-row").hidden = !rest.repeats;
    } catch ({ message }) {
      byId("status").textContent = message;
    }
  }

  _save() {
    const { texts } = this.output;
    if (this.document && texts.length !== byId("source").value.split("\n").length) return; // it is being translated
    if (this.document) download(this.document.name, this.document.filled(texts));
    else download(`translation.${this.direction.languages[1]}.txt`, `${texts.join("\n")}\n`);
  }

  async _copy() {
    const content = this.output.texts.join("\n");
    try {
      await navigator.clipboard.writeText(content);
    } catch {
      const box = element("textarea", { value: content, className: "hidden" });
      document.body.append(box);
      box.select();
      document.execCommand("copy");
      box.remove();
    }
    this._say("copied");
  }

  _say(key, values = {}) {
    this.status = [key, values];
    byId("status").textContent = text(key, values);
  }

  _fillBeam() {
    const { beam } = page.facts.models[this.direction.which].decode;
    const widths = [...new Set([1, 2, 4, 8, beam])].sort((a, b) => a - b);
    byId("beam").replaceChildren(...widths.map((width) => element("option", { value: width, textContent: width })));
    byId("beam").value = beam;
  }
}

addEventListener("DOMContentLoaded", () => {
  showTexts();
  try {
    page.facts = JSON.parse(byId("facts").textContent);
  } catch {
    const expected = document.documentElement.dataset.megabytes;
    byId("status").textContent = text("damaged", { expected });
    return;
  }
  page.main = new Page();
  install(document.documentElement.dataset.worker);
});

// Where a server offers the page, the browser stores it: it opens again without a network, and can be installed. Browsers
// want to read its address in the manifest, which does not know it.
function install(worker) {
  if (!worker || !location.protocol.startsWith("http")) return;
  const link = document.querySelector('link[rel="manifest"]');
  const [type, facts] = link.href.split(/,(.*)/s);
  const here = new URL("./", location.href).href;
  const manifest = { ...JSON.parse(decodeURIComponent(facts)), start_url: here, scope: here };
  link.href = `${type},${encodeURIComponent(JSON.stringify(manifest))}`;
  navigator.serviceWorker?.register(worker).catch(() => {});
}
