// Curves and bars as SVG, each with a table of the same numbers for screen readers.

// series: [{name, values}]; x: the labels or numbers along the bottom; log: a logarithmic ordinate.
function lines({ title, series, x, xTitle = "", log = false, height = 220, zero = false }) {
  const width = 640,
    left = 56,
    bottom = 34,
    top = 10,
    right = 26;
  const all = series.flatMap((one) => [...one.values]).filter((value) => Number.isFinite(value) && (!log || value > 0));
  let low = Math.min(...all, zero ? 0 : Infinity),
    high = Math.max(...all);
  if (low === high) {
    low -= 0.5 * Math.abs(low) || 1;
    high += 0.5 * Math.abs(high) || 1;
  }
  const f = log ? Math.log10 : (value) => value;
  const across = (i) => left + ((width - left - right) * i) / Math.max(1, x.length - 1);
  const up = (value) => top + (height - top - bottom) * (1 - (f(value) - f(low)) / (f(high) - f(low) || 1));
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title, class: "chart" });
  for (const [value, text] of roundTicks(low, high, log))
    picture.append(
      svg("line", { x1: left, x2: width - right, y1: up(value), y2: up(value), class: "rule" }),
      svg("text", { x: left - 6, y: up(value) + 4, class: "tick end" }, text),
    );
  const most = matchMedia("(max-width: 34rem)").matches ? 6 : 12;
  const every = [1, 2, 4, 8, 16, 32, 64].find((n) => x.length / n <= most) || 128;
  x.forEach((label, i) => {
    if (i % every === 0)
      picture.append(
        svg("text", { x: across(i), y: height - bottom + 16, class: "tick middle" }, shortened(shown(label), 8)),
      );
  });
  picture.append(
    svg("text", { x: width - right, y: height - 3, class: "tick end" }, xTitle),
  );
  series.forEach((one, s) => {
    const points = [...one.values]
      .map((value, i) => [across(i), up(log && value <= 0 ? low : value)])
      .map((point) => point.map((v) => v.toFixed(1)).join(","));
    picture.append(svg("polyline", { points: points.join(" "), class: `line s${s % 4}` }));
    if (x.length <= 40)
      one.values.forEach((value, i) => {
        const dot = svg("circle", {
          cx: across(i),
          cy: up(log && value <= 0 ? low : value),
          r: 3,
          class: `dot s${s % 4}`,
        });
        dot.append(svg("title", {}, `${one.name} · ${shown(x[i])}: ${number(value, 4)}`));
        picture.append(dot);
      });
  });
  const keys = el(
    "div.keys",
    {},
    series.map((one, s) => el(`span.key.s${s % 4}`, {}, one.name)),
  );
  const rows = x.map((label, i) => [label, ...series.map((one) => number(one.values[i], 4))]);
  return el(
    "figure.curve",
    {},
    el("figcaption", {}, el("b", {}, title)),
    keys,
    picture,
    folded(t("numbers"), () => table([xTitle || "·", ...series.map((one) => one.name)], rows)),
  );
}

// Round numbers between two ends, with their texts: of 1, 2 or 5 times a power of ten, or if a logarithmic axis has
// more than a decade, powers of ten.
function roundTicks(low, high, log) {
  const decades = log ? Math.log10(high / low) : 0;
  if (decades >= 1) {
    const apart = Math.ceil(decades / 5);
    const powers = [];
    for (let k = Math.ceil(Math.log10(low)); k <= Math.log10(high); k += apart) powers.push(10 ** k);
    return powers.map((value) => [value, value >= 1e-3 && value < 1e5 ? String(value) : value.toExponential(0)]);
  }
  const rough = (high - low) / 4,
    power = 10 ** Math.floor(Math.log10(rough));
  const apart = [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough * 0.8);
  const digits = Math.max(0, -Math.floor(Math.log10(apart) + 1e-9));
  const ticks = [];
  for (let k = Math.ceil(low / apart - 1e-9); k * apart <= high + 1e-9 * apart; k++)
    ticks.push([k * apart, (k * apart).toFixed(digits).replace("-", "−")]);
  return ticks;
}

function shortened(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

// A disclosure whose contents are created when it is first opened.
function folded(title, make) {
  const box = el("details", {}, el("summary", {}, title));
  box.addEventListener("toggle", () => {
    if (box.open && box.children.length === 1) box.append(make());
  });
  return box;
}

// `label`: of a table without a caption, under a heading that says the same.
function table(head, rows, caption = "", label = "") {
  const made = el(
    "table",
    { "aria-label": label || null },
    caption ? el("caption", {}, caption) : null,
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        head.map((cell) => el("th", { scope: "col" }, cell)),
      ),
    ),
    el(
      "tbody",
      {},
      rows.map((row) =>
        el(
          "tr",
          {},
          row.map((cell, i) =>
            i
              ? el("td", {}, cell)
              : el("th", { scope: "row" }, typeof cell === "string" ? el("bdi", {}, shown(cell)) : cell),
          ),
        ),
      ),
    ),
  );
  return el("div.scroll", { tabindex: 0, role: "region", "aria-label": caption || label || String(head[0]) }, made);
}

// Probabilities as bars with their pieces; `chosen` is highlighted. With `onchoose` a piece is a button.
function bars(words, values, chosen = -1, form = percent, onchoose = null) {
  const top = Math.max(...values, 1e-9);
  return el(
    "ol.bars",
    {},
    words.map((word, i) => {
      const bar = el("span.bar");
      bar.style.width = `${(100 * Math.max(0, values[i])) / top}%`;
      return el(
        `li${i === chosen ? ".chosen" : ""}`,
        {},
        onchoose && i !== chosen ? el("button.plain", { type: "button", onclick: () => onchoose(word) }, bdi(word)) : bdi(word),
        el("span.track", {}, bar),
        el("span.value", {}, form(values[i])),
      );
    }),
  );
}

// The pieces of the translation, or its words (`unitsOf`), as buttons, one of which is chosen; arrow keys move through them.
function wordRow(label, units, chosen, onchoose) {
  const buttons = units.map(({ text, pieces }, i) =>
    el(
      "button.word",
      {
        type: "button",
        "aria-pressed": String(i === chosen),
        "data-side": "target",
        "data-at": pieces.join(" "),
        onclick: () => onchoose(i),
      },
      el("small", {}, String(pieces[0] + 1)),
      bdi(text),
    ),
  );
  roving(buttons, 1);
  buttons.forEach((button, i) => {
    button.tabIndex = i === chosen ? 0 : -1;
  });
  return el("div.words", { role: "group", "aria-label": label }, buttons);
}
