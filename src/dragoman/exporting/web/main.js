// The page: what is typed, dropped or chosen, and what is shown of it.
"use strict";

// How long typing pauses before a translation begins, in milliseconds.
const PAUSE = 120;
// How long an engine may answer nothing before another is started.
const SILENCE = 4000;

class Page {
  constructor() {
    this.client = new Client((which) => {
      return { facts: page.facts.models[which], base64: byId(`weights-${which}`)?.textContent ?? "" };
    }, SILENCE);
    const alternatives = (sentence, before) => this._ask({ kind: "alternatives", sentence, before, count: 6 });
    this.output = new Output(alternatives, () => this._notes());
    this.directions = page.facts.models.flatMap((model, which) =>
      model.pairs.map((pair, number) => ({ which, pair: number, languages: pair.languages })),
    );
    this.current = 0;
    this.status = ["preparing"];
    this._restore();
    this._listen();
    this.refresh();
    this._prepare();
  }

  // What was in the boxes when the device put an end to this tab.
  _restore() {
    const { direction, source = "", terms = "", beam } = storedDraft() ?? {};
    if (this.directions[direction]) this.current = direction;
    byId("source").value = source;
    byId("terms").value = terms;
    fillBeam(page.facts.models[this.direction.which].decode.beam);
    if (byId("beam").querySelector(`[value="${Number(beam)}"]`)) byId("beam").value = beam;
  }

  get direction() {
    return this.directions[this.current];
  }

  // Everything that depends on the language of the page or the direction.
  refresh() {
    showTexts();
    const names = this.directions.map(({ languages }) => languages.map(languageName));
    fillList(byId("direction"), names.map((pair, value) => [value, pair.join(" → ")]), this.current);
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
      if (!this.isBusy) byId("source").value = this.output.texts.join("\n") || byId("source").value;
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
    printWhole(byId("source"));
    document.addEventListener("visibilitychange", () => document.hidden || this.client.revive());
    storeDraft(() => ({
      direction: this.current,
      source: this.document ? "" : byId("source").value,
      terms: byId("terms").value,
      beam: byId("beam").value,
    }));
    acceptFiles(byId("drop"), ([file, ...others]) => {
      byId("again").checked = false;
      this._open(file, others.length);
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
    this.readiness = this.client.isInPage ? "ready_in_page" : slow;
    this._say(this.readiness);
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
    this._wait(true);
    const asked = this._request(source, language);
    this.request = asked.id;
    const answer = await asked.catch(({ message }) => void this._say("failed", { reason: message.split("\n")[0] }));
    if (this.request !== asked.id) return;
    this._wait(false);
    if (!answer) return;
    this.output.show(answer.lines, language);
    this._notes();
    const count = answer.lines.flat().length;
    const seconds = ((performance.now() - began) / 1000).toFixed(2);
    if (this.document && count) this._say("file_done", { name: this.document.name });
    else if (count) this._say(count === 1 ? "took_sentence" : "took", { count, seconds });
    else this._say(this.readiness);
  }

  _request(source, language) {
    const request = { kind: "translate", text: source, glossary: termsOf(byId("terms").value), beam: Number(byId("beam").value) };
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
    this._wait(false);
    this._say("stopped");
  }

  // A translation that is not finished is paler, and no screen reader reads it.
  _wait(isWaiting) {
    byId("target").classList.toggle("waiting", isWaiting);
    byId("target").setAttribute("aria-busy", String(isWaiting));
    if (!isWaiting) byId("progress").hidden = true;
  }

  get isBusy() {
    return byId("target").getAttribute("aria-busy") === "true";
  }

  _turn(number) {
    this.current = number;
    this.output.show([], this.direction.languages[1]);
    this._forget();
    fillBeam(page.facts.models[this.direction.which].decode.beam);
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
    this.output.show([], this.direction.languages[1]);
    this.document = file;
    if (file) byId("save").textContent = text("save_file", { name: file.name });
    this.translate();
    byId("source").focus();
  }

  // Translate a file, the first of those that were dropped.
  async _open(file, others = 0) {
    if (!file) return;
    try {
      const [, language] = this.direction.languages;
      const { lines, ...rest } = documentOf(file.name, await readFile(file), language, byId("again").checked);
      if (!rest.notes && !lines.join("").trim()) throw new Error(text("no_text", { name: file.name }));
      if (others) rest.notes = [["first_file", { count: others + 1, name: file.name }], ...(rest.notes ?? [])];
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
    if (this.isBusy) return; // the translation is not there yet, or not to its end
    if (this.document && texts.length !== byId("source").value.split("\n").length) return; // it could not be translated
    if (this.document) download(this.document.name, this.document.filled(texts));
    else download(`translation.${this.direction.languages[1]}.txt`, `${texts.join("\n")}\n`);
  }

  async _copy() {
    await copyText(this.output.texts.join("\n"));
    this._say("copied");
  }

  _say(key, values = {}) {
    this.status = [key, values];
    byId("status").textContent = text(key, values);
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
