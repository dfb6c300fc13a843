// View 3, positions: PE, the similarity of two positions, and a shift by k as a rotation.

const rotated = { k: 3, pair: 0, position: 4 };

function positionsView() {
  const width = rotary ? model.d_k : model.d_model;
  const half = Math.floor(width / 2);
  rotated.pair = Math.min(rotated.pair, half - 1);
  const rotation = part(() => rotationPicture(width));
  const slide = (key, low, high, label) => {
    const output = el("output", {}, String(rotated[key]));
    return el(
      "label.choice",
      {},
      el("span", {}, label, " ", output),
      el("input", {
        type: "range",
        "aria-label": label,
        min: low,
        max: high,
        value: rotated[key],
        oninput: (event) => {
          rotated[key] = Number(event.target.value);
          output.textContent = String(rotated[key]);
          rotation.redraw();
        },
      }),
    );
  };
  return [
    el("p.lead", {}, t(rotary ? "positions.rotary.lead" : "positions.lead")),
    el(
      "div.equations",
      { tabindex: 0, role: "group", "aria-label": t("equation") },
      EQUATIONS[rotary ? "rotary" : "position"](),
    ),
    map_of(width),
    alike(width),
    el("h3", {}, t("positions.rotation")),
    el("p", {}, t(rotary ? "positions.rotary.rotation" : "positions.rotation.text")),
    el(
      "div.controls",
      { role: "group", "aria-label": t("positions.rotation") },
      slide("position", 0, 40, "pos"),
      slide("k", -20, 20, "k"),
      slide("pair", 0, half - 1, "i"),
    ),
    rotation,
  ];
}

const COUNT = 64;

function map_of(width) {
  const rows = rotary ? angles(COUNT, width).map((row) => row.map(Math.cos)) : positional(COUNT, width);
  const x = {
    shape: [COUNT, rows[0].length],
    values: Float32Array.from(rows.flatMap((row) => [...row])),
    axes: ["pos", "i"],
    labels: {},
    reduced: 1,
  };
  return matrix(x, {
    name: rotary ? "cos(pos · θᵢ)" : "PE(pos, i)",
    top: 1,
    shape: rotary ? "pos × d_k / 2" : "pos × d_model",
    rowTitle: "pos",
    columnTitle: "i",
  });
}

function angles(count, width) {
  return Array.from({ length: count }, (_, pos) =>
    Array.from({ length: width / 2 }, (_, i) => pos * model.position_base ** ((-2 * i) / width)),
  );
}

// p(i)·p(j) = Σ cos((i − j) θ): it depends only on the distance of the two positions.
function alike(width) {
  const offsets = Array.from({ length: 2 * COUNT + 1 }, (_, at) => at - COUNT);
  const dots = offsets.map((offset) => {
    let sum = 0;
    for (let i = 0; i < width / 2; i++) sum += Math.cos(offset * model.position_base ** ((-2 * i) / width));
    return sum;
  });
  return el(
    "div",
    {},
    el("p", {}, t(rotary ? "positions.rotary.alike" : "positions.alike")),
    lines({
      title: rotary ? "Σᵢ cos((m − n) θᵢ)" : "p(i) · p(j)",
      series: [{ name: rotary ? "Σᵢ cos((m − n) θᵢ)" : "p(i) · p(j)", values: dots }],
      x: offsets.map((n) => String(n).replace("-", "−")),
      xTitle: rotary ? "m − n" : "i − j",
    }),
  );
}

function rotationPicture(width) {
  const theta = model.position_base ** ((-2 * rotated.pair) / width),
    from = rotated.position * theta,
    to = (rotated.position + rotated.k) * theta;
  const spot = (angle) => [Math.cos(angle), Math.sin(angle)];
  const a = spot(from),
    b = spot(to);
  const picture = svg("svg", {
    viewBox: "-1.35 -1.35 2.7 2.7",
    class: "circle",
    role: "img",
    "aria-label": `${t("positions.rotation")}: pos ${rotated.position}, k ${rotated.k}`,
  });
  picture.append(
    svg("circle", { cx: 0, cy: 0, r: 1, class: "ring" }),
    svg("line", { x1: -1.2, x2: 1.2, y1: 0, y2: 0, class: "rule" }),
    svg("line", { y1: -1.2, y2: 1.2, x1: 0, x2: 0, class: "rule" }),
  );
  for (const [point, name, at] of [
    [a, "a", "pos"],
    [b, "b", "pos + k"],
  ]) {
    picture.append(
      svg("line", { x1: 0, y1: 0, x2: point[0], y2: -point[1], class: `ray ${name}` }),
      svg("circle", { cx: point[0], cy: -point[1], r: 0.05, class: `end ${name}` }),
      svg("text", { x: 1.17 * point[0], y: -1.17 * point[1] + 0.04, class: "name" }, at),
    );
  }
  const c = Math.cos(rotated.k * theta),
    s = Math.sin(rotated.k * theta);
  const error = Math.max(Math.abs(c * a[0] - s * a[1] - b[0]), Math.abs(s * a[0] + c * a[1] - b[1]));
  const names = rotary ? ["x", "y"] : ["cos", "sin"];
  const cells = (rows) =>
    el(
      "span.cells",
      {},
      rows.map((row) =>
        el(
          "span",
          {},
          row.map((x) => el("span", {}, typeof x === "number" ? number(x) : x)),
        ),
      ),
    );
  return el(
    "div.rotation",
    {},
    picture,
    el(
      "div",
      {},
      el(
        "p",
        {},
        `θ(i = ${rotated.pair}) = ${BASE}^(−2·${rotated.pair}/${width}) = ${number(theta, 6)}, k·θ = ${number(rotated.k * theta)} rad`,
      ),
      el(
        "p.product",
        {},
        cells([
          [c, -s],
          [s, c],
        ]),
        " · ",
        cells([[a[0]], [a[1]]]),
        " = ",
        cells([[b[0]], [b[1]]]),
      ),
      el(
        "p.hint",
        {},
        `(${names.join(", ")}) · |R(k)·p(pos) − p(pos + k)| ${error < 1e-12 ? "< 10⁻¹²" : `= ${number(error, 6)}`}`,
      ),
    ),
  );
}
