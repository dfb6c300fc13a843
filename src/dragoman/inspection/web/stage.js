// Figure 1 of the paper as a stage that is always in sight: each block is a link to its step of the walk, the part that the
// view explains is lit, and below it are the other views of this part. Where there is little space it is folded.

const STAGE = { column: 128, left: 22, right: 192, width: 342, gap: 9, tall: 33, low: 19, head: 24 };
const onWideScreen = matchMedia("(min-width: 75rem)");

// Of each stack the blocks from below: [id of the step, title, kind].
function stageBlocks() {
  const pe = (side) => (rotary ? [] : [[`${side}-position`, t("box.position"), "embed"]]);
  const norm = (kind) => (post ? [] : [[`${kind}-norm`, normName, "norm"]]);
  const add = (kind) => [`${kind}-add`, t(`walk.add.${post ? "post" : "pre"}.title`), "norm"];
  const sublayer = (kind, block, title, tone) => [...norm(kind), [block, title, tone], add(kind)];
  return {
    encoder: [
      ["source-embedding", t("box.embedding"), "embed"],
      ...pe("source"),
      ...sublayer("self", "self-qkv", t("box.self"), "attend"),
      ...sublayer("encoder-ffn", "encoder-ffn-ffn", t("box.ffn"), "ffn"),
      ["memory", t("box.memory"), "embed"],
    ],
    decoder: [
      ["target-embedding", t("box.shifted"), "embed"],
      ...pe("target"),
      ...sublayer("masked", "masked-qkv", t("box.masked"), "attend"),
      ...sublayer("cross", "cross-qkv", t("box.cross"), "attend"),
      ...sublayer("decoder-ffn", "decoder-ffn-ffn", t("box.ffn"), "ffn"),
      ["logits", t("box.linear"), "ffn"],
      ["softmax", t("box.softmax"), "attend"],
      ["word", t("box.word"), "embed"],
    ],
  };
}

// The block of a step: of an attention all its steps are one block.
function blockOf(step, ids) {
  if (ids.includes(step)) return [step];
  if (step === "rotary") return ["self-qkv", "masked-qkv"];
  if (step === "features") return ["decoder-ffn-add"];
  return [`${step.split("-")[0]}-qkv`];
}

// The blocks that the current view explains.
function explained(ids) {
  const ofAttention = (path) => {
    const [stack, , leaf] = path.split(".");
    return leaf === "cross_attention" ? "cross-qkv" : stack === "encoder" ? "self-qkv" : "masked-qkv";
  };
  const attentions = ["self-qkv", "masked-qkv", "cross-qkv"];
  const views = {
    walk: () => blockOf(reading.id, ids),
    heads: () => [ofAttention(chosenHead.path)],
    positions: () => (rotary ? attentions.slice(0, 2) : ["source-position", "target-position"]),
    masks: () => attentions.slice(0, 2),
    beam: () => ["softmax", "word"],
    attribution: () => ["cross-qkv", "word"],
    stream: () => ids.filter((id) => /-(add|norm)$/.test(id)),
    checkpoints: () => (filmState.map ? [ofAttention(filmState.map)] : attentions),
  };
  return views[page.view]().filter((id) => ids.includes(id));
}

// The other views of a block.
function viewsOf(id) {
  if (id.endsWith("-position")) return ["positions"];
  if (/-(add|norm)$/.test(id)) return ["stream"];
  if (id.endsWith("-qkv")) return ["heads", ...(id === "cross-qkv" ? ["attribution"] : ["masks"]), ...(rotary && id !== "cross-qkv" ? ["positions"] : [])];
  return ["logits", "softmax", "word"].includes(id) ? ["beam", "stream"] : [];
}

function stage() {
  const blocks = stageBlocks();
  const place = el("span", { id: "stage-place" });
  const box = el("details", { open: onWideScreen.matches }, el("summary", {}, smallStage(blocks), place), largeStage(blocks), el("p", { id: "stage-views" }));
  const holder = document.getElementById("stage");
  holder.setAttribute("aria-label", t("figure.one"));
  holder.replaceChildren(box);
  litStage();
}

const boxAddress = (id) => {
  const numbers = Object.values(walk).map((n) => n + 1);
  return address(page.lang, "walk", page.theme, sentence, `${numbers.join("-")}.${id}`);
};

// Light what the view explains; addresses follow what is chosen.
function litStage() {
  const all = [...document.querySelectorAll("#stage .box")];
  if (!all.length) return;
  const ids = all.map((box) => box.id.replace("box-", ""));
  const lit = explained(ids);
  for (const box of all) {
    const id = box.id.replace("box-", "");
    box.classList.toggle("now", lit.includes(id));
    box.setAttribute("href", boxAddress(id));
    if (lit.includes(id)) box.setAttribute("aria-current", "step");
    else box.removeAttribute("aria-current");
    document.getElementById(`mini-${id}`).classList.toggle("now", lit.includes(id));
  }
  const names = lit.map((id) => document.getElementById(`box-${id}`).getAttribute("aria-label"));
  document.getElementById("stage-place").textContent = page.view === "stream" ? t("view.stream") : [...new Set(names)].join(", ");
  const others = [...new Set(lit.flatMap(viewsOf))].filter((view) => view !== page.view);
  const links = others.map((view) => el("a", { href: address(page.lang, view, page.theme, sentence, choiceOf(view)) }, t(`view.${view}`)));
  document.getElementById("stage-views").replaceChildren(...(links.length ? [`${t("stage.views")} `, ...links.flatMap((link, i) => (i ? [" · ", link] : [link]))] : []));
}

// All blocks as a row of small marks.
function smallStage(blocks) {
  const marks = [];
  let x = 0;
  for (const list of [blocks.encoder, blocks.decoder]) {
    for (const [id, , kind] of list) {
      marks.push(svg("rect", { id: `mini-${id}`, class: `mini ${kind}`, x, y: 1, width: kind === "norm" ? 4 : 8, height: 16, rx: 1.5 }));
      x += kind === "norm" ? 6 : 10;
    }
    x += 8;
  }
  return svg("svg", { viewBox: `0 0 ${x} 18`, width: x, height: 18, "aria-hidden": "true", class: "small-stage" }, marks);
}

// A title in one line or two: broken at the space that is nearest to its middle.
function titleLines(title) {
  const width = [...title].reduce((sum, sign) => sum + (sign > "\u1100" ? 11.5 : 6.2), 0);
  if (width < STAGE.column - 8 || !title.includes(" ")) return [title];
  const spaces = [...title.matchAll(/ /g)].map((match) => match.index);
  const middle = spaces.reduce((a, b) => (Math.abs(b - title.length / 2) < Math.abs(a - title.length / 2) ? b : a));
  return [title.slice(0, middle), title.slice(middle + 1)];
}

// Blocks from below with their places: {id, title, kind, texts, x, y, height}.
function placed_blocks(list, x, bottom) {
  let y = bottom;
  return list.map(([id, title, kind]) => {
    const texts = titleLines(title);
    const height = texts.length > 1 ? STAGE.tall : STAGE.low;
    y -= height;
    const block = { id, title, kind, texts, x, y, height };
    y -= STAGE.gap;
    return block;
  });
}

function largeStage(blocks) {
  const sizes = Object.values(blocks).map((list) => -placed_blocks(list, 0, 0).at(-1).y);
  const height = Math.max(...sizes) + STAGE.head + 10;
  const encoder = placed_blocks(blocks.encoder, STAGE.left, height - 6);
  const decoder = placed_blocks(blocks.decoder, STAGE.right, height - 6);
  const picture = svg("svg", { viewBox: `0 0 ${STAGE.width} ${height}`, class: "large-stage" });
  const tip = svg("marker", { id: "tip", viewBox: "0 0 6 6", refX: 5, refY: 3, markerWidth: 5, markerHeight: 5, orient: "auto" }, svg("path", { d: "M0,0 L6,3 L0,6 z", class: "tip" }));
  picture.append(svg("defs", {}, tip));
  [
    [encoder, "encoder", -1],
    [decoder, "decoder", 1],
  ].forEach(([list, stack, side]) => picture.append(...stackOf(list, stack, side)));
  picture.append(memoryArrow(encoder.at(-1), decoder.find(({ id }) => id === "cross-qkv")));
  for (const block of [...encoder, ...decoder]) picture.append(drawnBlock(block));
  return picture;
}

const wire = (d, classes = "wire") => svg("path", { d, class: classes, "marker-end": "url(#tip)" });

// The frame around the layers of a stack, its title, the arrows from block to block and around each sub-layer.
function stackOf(list, stack, side) {
  const { column, gap } = STAGE;
  const middle = list[0].x + column / 2;
  const layers = list.filter(({ id }) => /-(norm|add|qkv|ffn)$/.test(id));
  const [low, high] = [layers[0], layers.at(-1)];
  const frame = { x: list[0].x - (side < 0 ? 20 : 6), y: high.y - 5, width: column + 26, height: low.y + low.height - high.y + 14, rx: 8, class: "frame" };
  const title = svg("text", { x: middle, y: list.at(-1).y - 12, class: "stack-title" }, `${t(stack)} × ${model[`${stack}_layers`]}`);
  const made = [svg("rect", frame), title];
  list.slice(1).forEach((block, i) => made.push(wire(`M${middle},${list[i].y} V${block.y + block.height}`)));
  list.forEach((block, i) => {
    if (!block.id.endsWith("-add")) return;
    const first = list[i - (post ? 1 : 2)];
    const [edge, from, to] = [side < 0 ? block.x : block.x + column, first.y + first.height + gap / 2 + 1, block.y + block.height / 2];
    made.push(wire(`M${middle},${from} H${edge + 13 * side} V${to} H${edge + 1 * side}`, "wire residual"));
  });
  return made;
}

// The memory goes to the attention between encoder and decoder, as keys and values.
function memoryArrow(memory, cross) {
  const between = (memory.x + STAGE.column + cross.x) / 2;
  const [from, to] = [memory.y + memory.height / 2, cross.y + cross.height / 2];
  return svg(
    "g",
    {},
    wire(`M${memory.x + STAGE.column},${from} H${between} V${to} H${cross.x}`),
    svg("text", { x: between + 2, y: to - 4, class: "keys-values" }, svg("tspan", { class: "tone-k" }, "K"), " ", svg("tspan", { class: "tone-v" }, "V")),
  );
}

function drawnBlock({ id, title, kind, texts, x, y, height }) {
  const middle = x + STAGE.column / 2;
  const first = y + height / 2 + 4 - (texts.length - 1) * 6.5;
  const label = texts.map((text, i) => svg("text", { x: middle, y: first + 13 * i }, text));
  const link = svg("a", { id: `box-${id}`, class: `box ${kind}`, href: boxAddress(id), "aria-label": title }, svg("rect", { x, y, width: STAGE.column, height, rx: 4 }), label);
  // On a narrow screen the figure is folded again after a block was chosen.
  link.addEventListener("click", () => {
    if (!onWideScreen.matches) document.querySelector("#stage details").open = false;
  });
  return link;
}

onWideScreen.addEventListener("change", ({ matches }) => {
  const box = document.querySelector("#stage details");
  if (box && !matchMedia("print").matches) box.open = matches;
});
