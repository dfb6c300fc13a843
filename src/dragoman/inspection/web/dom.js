// Texts in the reader's language, elements, numbers. Text from a sentence or a vocabulary becomes text nodes only.

const texts = JSON.parse(document.getElementById("texts").textContent);
const page = { lang: "en", view: "walk", theme: "", choice: "", words: false };

// The text of `key` with all its {names} filled in.
function t(key, fill = {}) {
  const text = texts[page.lang][key];
  if (text === undefined) throw new Error(`no text ${key}`);
  return text.replace(/\{(\w+)\}/g, (placeholder, name) => {
    if (!(name in fill)) throw new Error(`no ${placeholder} for ${key}`);
    return fill[name];
  });
}

// el("p.note", {id: "x", onclick: f}, "text", child): an element with classes, attributes and children.
function el(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.flat());
  return made;
}

// Text with invisible characters made visible: control characters as control pictures, others as \uXXXX. Joiners (U+200C,
// U+200D) belong to the spelling of many languages and stay.
function shown(text) {
  return String(text)
    .replace(/[\u0000-\u001f]/g, (sign) => String.fromCharCode(0x2400 + sign.charCodeAt(0)))
    .replace(/\u007f/g, "␡")
    .replace(
      /[\u0080-\u009f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g,
      (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
}

// A piece in a <bdi> element: its writing direction does not affect the text around it.
function bdi(text, classes = "") {
  return el(`bdi.piece${classes}`, {}, shown(text));
}

// The same by Unicode isolates, for places without elements, such as a label.
function isolated(text) {
  return `\u2068${shown(text)}\u2069`;
}

function number(x, digits = 4) {
  if (x === -Infinity) return "−∞";
  if (!Number.isFinite(x)) return String(x);
  const size = Math.abs(x);
  if (size !== 0 && (size < 10 ** -digits || size >= 1e5)) return x.toExponential(2).replaceAll("-", "−");
  return x.toFixed(size >= 100 ? 2 : digits).replace("-", "−");
}

function percent(p) {
  return `${(100 * p).toFixed(p < 0.001 ? 3 : 1)}\u00a0%`;
}

function whole(n) {
  return n.toLocaleString(page.lang);
}

function languageName(tag) {
  if (tag === "und") return "";
  try {
    return new Intl.DisplayNames([page.lang], { type: "language" }).of(tag);
  } catch {
    return tag;
  }
}

// A labelled drop-down list.
function choice(label, options, chosen, onchange) {
  const list = el(
    "select",
    { onchange: (event) => onchange(Number(event.target.value)) },
    options.map(([value, text, off]) =>
      el("option", { value, selected: value === chosen, disabled: off || false }, text),
    ),
  );
  return el("label.choice", {}, el("span", {}, label), list);
}

// Arrow keys move the focus in a grid of buttons; one of them is in the tab order.
function roving(buttons, columns) {
  buttons.forEach((button, at) => {
    button.tabIndex = at ? -1 : 0;
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
      const next = event.key === "Home" ? 0 : event.key === "End" ? buttons.length - 1 : step && at + step;
      if (next === undefined || !buttons[next]) return;
      event.preventDefault();
      buttons.forEach((other) => {
        other.tabIndex = -1;
      });
      buttons[next].tabIndex = 0;
      buttons[next].focus();
    });
  });
}

// A part of a view that can be redrawn by itself.
function part(draw, classes = "") {
  const box = el(`div${classes}`);
  box.redraw = () => box.replaceChildren(...[draw(box)].flat().filter(Boolean));
  box.redraw();
  return box;
}

function note(...children) {
  return el("p.note", {}, ...children);
}

// A note for matrices whose cells are means over blocks of positions.
function blocks(x) {
  return x && x.reduced > 1 ? note(t("blocks", { n: x.reduced })) : null;
}
