// View 5, beam: the tree of hypotheses, when each was pruned, and the alternatives at each position.

const STEPS = 24; // columns of the tree at once
const beamState = { from: 1, node: 0, word: 0 };

function beamView() {
  if (!data.beam) return [el("p.lead", {}, t("beam.forced")), rivalPart()];
  const tree = part(treePart);
  return [
    el("p.lead", {}, t("beam.lead", { beam: data.beam.beam })),
    fates(),
    data.beam.omitted ? note(t("beam.omitted", { n: whole(data.beam.omitted) })) : null,
    tree,
    rivalPart(),
    hypotheses(),
  ];
}

const FATES = ["chosen", "finished", "kept", "pruned"];

function fates() {
  return el(
    "ul.fates",
    {},
    FATES.map((fate) => el(`li.${fate}`, {}, el("b", {}, t(`fate.${fate}`)), " ", t(`fate.${fate}.text`))),
  );
}

function hypotheses() {
  const rows = data.beam.hypotheses.map((one, i) => [
    String(i + 1),
    bdi(one.text),
    number(one.log_prob, 3),
    String(one.length + 1),
    number(one.score, 3),
  ]);
  return el(
    "section",
    {},
    el("h3", {}, t("beam.hypotheses")),
    table(["#", t("translation"), "log P", t("beam.length"), t("beam.score")], rows, "", t("beam.hypotheses")),
    el("p.hint", {}, t("beam.score.text", { alpha: data.beam.alpha })),
  );
}

// The nodes drawn of a step: all that continued or finished, and the best of the pruned ones.
function columnOf(step) {
  const all = data.beam.nodes
    .map((node, id) => ({
      id,
      parent: node[0],
      step: node[1],
      piece: node[2],
      probability: node[3],
      log_prob: node[4],
      fate: node[5],
    }))
    .filter((node) => node.step === step);
  const order = (a, b) => FATES.indexOf(a.fate) - FATES.indexOf(b.fate) || b.log_prob - a.log_prob;
  const kept = all.filter((node) => node.fate !== "pruned"),
    pruned = all.filter((node) => node.fate === "pruned").sort(order);
  return [...kept.sort(order), ...pruned.slice(0, Math.max(2, data.beam.beam))];
}

function treePart(tree) {
  const last = data.beam.nodes[data.beam.nodes.length - 1][1];
  const to = Math.min(last, beamState.from + STEPS - 1);
  const columns = Array.from({ length: to - beamState.from + 1 }, (_, i) => columnOf(beamState.from + i));
  const positionsOf = new Map();
  columns.forEach((column, x) => column.forEach((node, y) => positionsOf.set(node.id, { x, y, node })));
  const turn = (name, by, disabled) => {
    const go = () => {
      beamState.from = Math.max(1, beamState.from + by);
      tree.redraw();
      (tree.querySelector(`#tree-${name}:enabled`) ?? tree.querySelector(".tree")).focus();
    };
    return el("button", { type: "button", id: `tree-${name}`, "aria-label": t(`beam.${name}`), disabled, onclick: go }, by < 0 ? "←" : "→");
  };
  const place = `${t("beam.steps")} ${beamState.from}–${to} / ${last}`;
  const buttons = [turn("back", -STEPS, beamState.from === 1), el("span", { role: "status" }, place), turn("on", STEPS, to >= last)];
  const pager = last > STEPS ? el("div.controls", { role: "group", "aria-label": t("beam.steps") }, buttons) : null;
  const details = part(() => nodeDetails(), ".node-details");
  details.setAttribute("aria-live", "polite");
  return [
    pager,
    el("div.tree.scroll", { tabindex: 0, role: "region", "aria-label": t("beam.tree") }, drawn(columns, positionsOf, details)),
    details,
  ];
}

const CELL = { width: 124, height: 46 };

function drawn(columns, positionsOf, details) {
  const height = Math.max(...columns.map((column) => column.length)) * CELL.height + 26;
  const field = el("div.nodes");
  field.style.setProperty("--columns", columns.length);
  Object.assign(field.style, { width: `${columns.length * CELL.width}px`, height: `${height}px` });
  const edges = svg("svg", { width: columns.length * CELL.width, height, "aria-hidden": "true" });
  field.append(edges);
  columns.forEach((_, x) => {
    const head = el("span.step-number", {}, String(beamState.from + x));
    head.style.left = `${x * CELL.width}px`;
    field.append(head);
  });
  for (const { x, y, node } of positionsOf.values()) {
    const from = positionsOf.get(node.parent),
      top = 26 + y * CELL.height;
    if (from) {
      const [x1, y1, x2, y2] = [from.x * CELL.width + 104, 26 + from.y * CELL.height + 18, x * CELL.width, top + 18];
      edges.append(
        svg("path", { d: `M${x1},${y1} C${x1 + 12},${y1} ${x2 - 12},${y2} ${x2},${y2}`, class: `edge ${node.fate}`, id: `edge-${node.id}` }),
      );
    }
    const button = el(
      `button.node.${node.fate}`,
      {
        type: "button",
        id: `node-${node.id}`,
        "aria-label": `${isolated(node.piece)}, ${percent(node.probability)}, log P ${number(node.log_prob, 2)}, ${t(`fate.${node.fate}`)}`,
        onclick: () => {
          beamState.node = node.id;
          details.redraw();
          const [piece, ...before] = pathOf(node.id).reverse();
          if (node.fate !== "chosen") contend(piece, { before: before.reverse() });
        },
      },
      bdi(node.piece),
      el("small", {}, `${percent(node.probability)} · ${number(node.log_prob, 2)}`),
    );
    Object.assign(button.style, { left: `${x * CELL.width}px`, top: `${top}px` });
    button.tabIndex = x || y ? -1 : 0;
    button.addEventListener("keydown", (event) => goFrom(event, x, y, columns, positionsOf));
    field.append(button);
  }
  return field;
}

// Arrow keys: left to the parent, right to the best child, up and down within the step.
function goFrom(event, x, y, columns, positionsOf) {
  const node = columns[x][y];
  const child = () => (columns[x + 1] || []).find((one) => one.parent === node.id) || (columns[x + 1] || [])[0];
  const next = {
    ArrowLeft: () => (positionsOf.get(node.parent) || {}).node,
    ArrowRight: child,
    ArrowUp: () => columns[x][y - 1],
    ArrowDown: () => columns[x][y + 1],
  }[event.key]?.();
  if (!next) return;
  event.preventDefault();
  event.target.tabIndex = -1;
  const button = document.getElementById(`node-${next.id}`);
  button.tabIndex = 0;
  button.focus();
}

// The pieces from the root to a node.
function pathOf(node) {
  const path = [];
  for (let id = node; id > 0; id = data.beam.nodes[id][0]) path.unshift(data.beam.nodes[id][2]);
  return path;
}

// The whole prefix of a node, and all continuations that the search considered.
function nodeDetails() {
  const path = pathOf(beamState.node);
  if (!path.length) return el("p.hint", {}, t("beam.hint"));
  const node = data.beam.nodes[beamState.node],
    after = data.beam.nodes.filter((one) => one[0] === beamState.node).sort((a, b) => b[3] - a[3]);
  return [
    el(
      "p.trail",
      {},
      path.map((piece) => bdi(piece)),
    ),
    el("p", {}, `${t(`fate.${node[5]}`)} · log P = ${number(node[4])}`),
    after.length
      ? table(
          [t("beam.next"), "P", "log P", t("beam.fate")],
          after.map((one) => [one[2], percent(one[3]), number(one[4], 3), t(`fate.${one[5]}`)]),
          t("beam.next"),
        )
      : null,
  ];
}
