// A matrix as a heat map with name, shape and pieces along its axes; pointer and keyboard show single values.

const MAX_LABELS = () => (matchMedia("(max-width: 34rem)").matches ? 22 : 44); // on one axis; of more, every n-th is written

// matrix(x, {name, signed, top, row}): x is a result of `array` with two axes; `row` is highlighted; `tone` is its colour
// as a query, key or value; `inputs` makes what a click on a cell shows, `source` is the name of its array.
function matrix(
  x,
  { name, signed = true, top, row = -1, shape = "", rowTitle = "", columnTitle = "", tone = "", inputs = null, source = "" } = {},
) {
  const [rows, columns] = x.shape;
  const labels = [rowLabels(x), labelsOf(x, x.axes[1])];
  const colours = scale(x.values, signed, top);
  const canvas = el("canvas", { "aria-hidden": "true" });
  paint(canvas, x.values, rows, columns, colours);
  const state = { row: Math.max(row, 0), column: 0 };
  const cursor = el("div.cursor", { hidden: true });
  const readout = el("output", { "aria-live": "polite" });
  const square = labels[1] !== null;
  const field = el(
    `div.field${square ? ".square" : ""}`,
    {
      tabindex: 0,
      role: "application",
      "aria-roledescription": t("heatmap"),
      "aria-label": `${name}, ${rows} × ${columns}. ${t("heatmap.keys")}${inputs ? ` ${t("inputs.keys")}` : ""}`,
      "data-shape": `${rows}x${columns}`,
    },
    canvas,
    highlight(row, rows),
    cursor,
  );

  field.x = x;
  const tell = (name, detail) => field.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }));
  function showValue() {
    const value = x.values[state.row * columns + state.column];
    const at = (axis, index) => (labels[axis] ? `${index + 1} ${isolated(labels[axis][index])}` : `${index}`);
    readout.textContent = `[${at(0, state.row)}, ${at(1, state.column)}] = ${number(value, 5)}`;
    Object.assign(cursor.style, box(state, rows, columns));
    cursor.hidden = false;
    tell("cell", { x, row: state.row, column: state.column });
  }
  function pointed(event) {
    const area = canvas.getBoundingClientRect();
    state.column = Math.min(columns - 1, Math.max(0, Math.floor(((event.clientX - area.left) / area.width) * columns)));
    state.row = Math.min(rows - 1, Math.max(0, Math.floor(((event.clientY - area.top) / area.height) * rows)));
    showValue();
  }
  const made = el("div.inputs", { role: "status" });
  const open = () => inputs && made.replaceChildren(...inputs(state.row, state.column));
  // After the view was drawn again for another position: the same cell once more.
  field.reopen = (cell) => {
    Object.assign(state, cell);
    open();
    field.focus({ preventScroll: true });
  };
  field.addEventListener("click", open);
  field.addEventListener("pointermove", pointed);
  field.addEventListener("pointerdown", pointed);
  field.addEventListener("click", (event) => event.pointerType !== "touch" && tell("pick", { x, ...state }));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || (inputs && event.key === " ")) {
      event.preventDefault();
      open();
      if (event.key === "Enter") tell("pick", { x, ...state });
      return;
    }
    if (!move(state, event, rows, columns)) return;
    event.preventDefault();
    showValue();
  });
  field.addEventListener("focus", showValue);
  field.addEventListener("blur", () => {
    cursor.hidden = true;
  });
  field.addEventListener("pointerleave", () => {
    cursor.hidden = document.activeElement !== field;
  });

  const size = `${rows} × ${columns}`;
  const grid = el(
    `div.grid${square ? ".square" : ".wide"}`,
    {},
    axis(labels[1], columns, "columns"),
    axis(labels[0], rows, "rows"),
    field,
  );
  grid.style.setProperty("--rows", rows);
  grid.style.setProperty("--columns", columns);
  const titles = rowTitle || columnTitle ? el("span.axes", {}, `${rowTitle} ↓ · ${columnTitle} →`) : null;
  return el(
    `figure.matrix${square ? ".square" : ""}${inputs ? ".traced" : ""}`,
    { "data-array": source || null },
    el("figcaption", {}, el(`b${tone ? `.tone-${tone}` : ""}`, {}, name), " ", el("span.shape", {}, shape ? `${shape} = ${size}` : size)),
    grid,
    el("div.under", {}, titles, legend(colours)),
    readout,
    x.groups ? el("p.hint", {}, t(x.total ? "words.total" : "words.rule")) : null,
    inputs ? el("p.hint", {}, t("inputs.hint")) : null,
    inputs ? made : null,
  );
}

// The labels of the rows: in cross-attention a row computes the output from the input, as in "▁그 → ▁동물".
function rowLabels(x) {
  const { position, key } = x.labels;
  if (x.axes[0] !== "position" || position !== "input" || key !== "source" || x.reduced > 1) return labelsOf(x, x.axes[0]);
  return data.pieces.input.map((piece, i) => `${piece} → ${data.pieces.output[i]}`);
}

// The labels along one side.
function axis(labels, count, side) {
  const every = Math.ceil(count / MAX_LABELS());
  const box = el(`div.labels.${side}`, { "aria-hidden": "true" });
  if (labels) {
    for (let i = 0; i < count; i++) box.append(el("span", {}, i % every ? "" : el("bdi", {}, shown(labels[i]))));
  } else if (side === "columns") {
    const step = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].find((width) => count / width <= 5) || 1024;
    box.classList.add("ticks");
    for (let i = 0; i < count; i += step) {
      const tick = el("span", {}, String(i));
      tick.style.left = `${(100 * i) / count}%`;
      box.append(tick);
    }
  }
  return box;
}

function highlight(row, rows) {
  if (row < 0 || row >= rows) return null;
  const made = el("div.mark.row");
  made.style.top = `${(100 * row) / rows}%`;
  made.style.height = `${100 / rows}%`;
  return made;
}

function box({ row, column }, rows, columns) {
  return {
    left: `${(100 * column) / columns}%`,
    top: `${(100 * row) / rows}%`,
    width: `${100 / columns}%`,
    height: `${100 / rows}%`,
  };
}

// Arrow keys move by one cell, with Shift or the Page keys by eight; Home and End move to the ends of the row.
function move(state, event, rows, columns) {
  const far = event.shiftKey ? 8 : 1;
  const step = {
    ArrowLeft: [0, -far],
    ArrowRight: [0, far],
    ArrowUp: [-far, 0],
    ArrowDown: [far, 0],
    PageUp: [-8, 0],
    PageDown: [8, 0],
    Home: [0, -columns],
    End: [0, columns],
  }[event.key];
  if (!step) return false;
  state.row = Math.min(rows - 1, Math.max(0, state.row + step[0]));
  state.column = Math.min(columns - 1, Math.max(0, state.column + step[1]));
  return true;
}

// What a click on a cell of an array shows, by what computed it: an attention, a norm or a sum, a linear layer.
function inputsFor(path, leaf, name, head) {
  return (head < 0 ? streamInputs(name) : inputsOf(path, leaf, head)) ?? linearInputs(path, leaf, head);
}

// The matrix, or a line with the command that includes it in the page.
function matrixOf(name, options, head = -1) {
  const found = array(name);
  if (!found)
    return el("p.missing", {}, el("b", {}, options.name), " ", t("missing", { layer: Number(name.split(".")[1]) + 1 }));
  const cut = name.lastIndexOf(".");
  const x = head < 0 ? found : headOf(found, head);
  const shownX = name.endsWith(".weights") ? byWords(x) : x;
  const inputs = wordInputs(shownX) ?? inputsFor(name.slice(0, cut), name.slice(cut + 1), name, head);
  const row = shownX.groups && options.row >= 0 ? placeOf(shownX, options.row) : options.row;
  return matrix(shownX, { ...options, row, inputs, source: name });
}
