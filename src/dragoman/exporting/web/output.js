// The translation as the page shows it: words that offer other translations, and the list of those.
"use strict";

// Beyond this many sentences words are plain text, so that the page stays quick.
const CLICKABLE = 300;

class Output {
  // `alternatives(sentence, before)` resolves to other translations of a sentence that begin with `before`; `changed()`
  // is called when the reader has chosen one.
  constructor(alternatives, changed) {
    Object.assign(this, { alternatives, changed });
    this.checked = new Map();
    this.chosen = new Map();
    this.lines = [];
    byId("target").addEventListener("click", (event) => this._clicked(event.target.closest(".word")));
    byId("target").addEventListener("keydown", (event) => this._moved(event));
    document.addEventListener("keydown", ({ key }) => key === "Escape" && this._leave());
    byId("menu").addEventListener("keydown", (event) => this._movedInMenu(event));
    document.addEventListener("click", ({ target }) => {
      if (!target.closest("#menu, .word")) this.close();
    });
  }

  // Show lines of sentences; what the reader chose for a sentence stays.
  show(lines, language) {
    this.close();
    this.lines = lines;
    this.language = language;
    const clickable = lines.flat().length <= CLICKABLE;
    const target = byId("target");
    target.lang = language;
    const nodes = [];
    lines.forEach((line, number) => {
      if (number) nodes.push("\n");
      line.forEach((sentence) => {
        nodes.push(...(clickable ? this._words(sentence) : [this.textOf(sentence)]), sentence.separator);
      });
    });
    target.replaceChildren(...nodes);
    target.querySelector(".word")?.setAttribute("tabindex", "0");
  }

  textOf(sentence) {
    return this.chosen.get(this._key(sentence)) ?? sentence.text;
  }

  // A choice is of one direction.
  _key(sentence) {
    return `${this.language}\n${sentence.source}`;
  }

  // What a translation lacks of its sentence; compared once, since a long text is shown many times.
  faultsOf(sentence) {
    const shown = this.textOf(sentence);
    const key = `${sentence.source}\n${shown}`;
    if (this.checked.size > 5000) this.checked.clear();
    if (!this.checked.has(key)) this.checked.set(key, faultsOf(sentence.source, shown));
    return this.checked.get(key);
  }

  // The translations of the lines.
  get texts() {
    return this.lines.map((line) => line.map((part) => this.textOf(part) + part.separator).join(""));
  }

  _words(sentence) {
    let before = "";
    const { placeholders, numbers } = this.faultsOf(sentence);
    const className = placeholders.length || numbers.length ? "word doubtful" : "word";
    return wordsOf(this.textOf(sentence), this.language).map((word) => {
      const start = before;
      before += word;
      if (!word.trim()) return word;
      const made = element("button", { type: "button", className, textContent: word, tabIndex: -1 });
      made.setAttribute("aria-haspopup", "dialog");
      return Object.assign(made, { sentence, before: start });
    });
  }

  async _clicked(word) {
    if (!word) return;
    this.close();
    this.open = word;
    word.setAttribute("aria-expanded", "true");
    const menu = byId("menu");
    menu.setAttribute("aria-label", text("alternatives"));
    menu.replaceChildren(element("p", { textContent: text("searching") }));
    menu.hidden = false;
    this._place(menu, word);
    const current = this.textOf(word.sentence);
    const answer = await this.alternatives(word.sentence.source, word.before.trimEnd()).catch(() => []);
    if (this.open !== word || !answer) return;
    const others = answer.filter((other) => other !== current);
    const items = others.map((other) => {
      const shared = other.startsWith(word.before) ? word.before.length : 0;
      const [first, ...rest] = wordsOf(other.slice(shared), this.language);
      const item = element("button", { type: "button", lang: this.language, dir: "auto" });
      item.append(element("mark", { textContent: first ?? "" }), rest.join(""));
      item.onclick = () => {
        this.chosen.set(this._key(word.sentence), other);
        this.show(this.lines, this.language);
        this.changed();
        byId("target").focus();
      };
      return item;
    });
    menu.replaceChildren(...(items.length ? items : [element("p", { textContent: text("none") })]));
    this._place(menu, word);
    (menu.querySelector("button") ?? menu).focus();
  }

  _place(menu, word) {
    menu.style.left = "0"; // it is as wide as what is right of it allows
    const box = word.getBoundingClientRect();
    const left = Math.min(box.left, document.documentElement.clientWidth - menu.offsetWidth - 8);
    menu.style.left = `${Math.max(8, left) + scrollX}px`;
    menu.style.top = `${box.bottom + scrollY + 4}px`;
  }

  // Close the list, and be at its word again.
  _leave() {
    const word = this.open;
    this.close();
    word?.focus();
  }

  close() {
    this.open?.setAttribute("aria-expanded", "false");
    this.open = null;
    byId("menu").hidden = true;
  }

  // Arrow keys go from word to word, so that Tab does not have to.
  _moved(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const words = [...byId("target").querySelectorAll(".word")];
    const at = words.indexOf(event.target);
    if (!step || at < 0) return;
    event.preventDefault();
    const next = words[Math.max(0, Math.min(words.length - 1, at + step))];
    words[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  _movedInMenu(event) {
    const items = [...byId("menu").querySelectorAll("button")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Tab") {
      this._leave(); // to what comes after the word, or before it
    } else if (step && items.length) {
      event.preventDefault();
      items[(items.indexOf(event.target) + step + items.length) % items.length].focus();
    }
  }
}
