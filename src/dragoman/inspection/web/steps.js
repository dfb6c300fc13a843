// The steps of the walk one by one: Figure 1 as their contents, which of them is read, the way to the next, and on a
// telephone that one alone.

const reading = { id: "source-embedding" };
const narrow = () => matchMedia("(max-width: 34rem)").matches;
const allSteps = () => [...document.querySelectorAll("#view-walk .step")];

// The bar below the walk: back, the place, on.
function stepBar() {
  const turn = (by) => () => goTo(allSteps().findIndex((step) => step.classList.contains("now")) + by);
  return el(
    "div.step-bar",
    { role: "group", "aria-label": t("steps") },
    el("button", { type: "button", id: "step-back", "aria-label": t("steps.back"), onclick: turn(-1) }, "←"),
    el("output", { id: "step-place" }),
    el("button", { type: "button", id: "step-on", "aria-label": t("steps.on"), onclick: turn(1) }, "→"),
  );
}

function goTo(index) {
  const step = allSteps()[index];
  if (!step) return;
  walkStep = step.id.replace("step-", "");
  chose();
  leadTo(step.id);
}

function readAgain() {
  const step = document.getElementById(`step-${reading.id}`) || allSteps()[0];
  if (step) read(step);
}

// Make a step the one that is read.
function read(step) {
  const steps = allSteps(),
    index = steps.indexOf(step);
  steps.forEach((other) => other.classList.toggle("now", other === step));
  reading.id = step.id.replace("step-", "");
  const place = document.getElementById("step-place");
  if (!place) return;
  place.textContent = `${index + 1} / ${steps.length} · ${step.querySelector("h4").textContent}`;
  document.getElementById("step-back").disabled = index === 0;
  document.getElementById("step-on").disabled = index === steps.length - 1;
}

// On a wide screen the step that is read is the last one whose beginning is in the upper third.
function follow_scroll() {
  if (page.view !== "walk" || narrow()) return;
  const steps = allSteps();
  const last = steps.filter((step) => step.getBoundingClientRect().top < innerHeight / 3).pop() || steps[0];
  if (last && !last.classList.contains("now")) read(last);
}

function startSteps() {
  let waits = false;
  document.addEventListener(
    "scroll",
    () => {
      if (waits) return;
      waits = true;
      requestAnimationFrame(() => {
        waits = false;
        follow_scroll();
      });
    },
    { passive: true },
  );
  // Space and the arrow keys turn the steps where they have no other meaning.
  document.addEventListener("keydown", (event) => {
    if (page.view !== "walk" || event.altKey || event.ctrlKey || event.metaKey) return;
    if (!event.target.matches("body, main, .step, #heading-walk")) return;
    const by = { ArrowRight: 1, ArrowLeft: -1, " ": event.shiftKey ? -1 : 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    goTo(allSteps().findIndex((step) => step.classList.contains("now")) + by);
  });
}

// Figure 1 of the paper as a table of contents: each box links to its step.
function figureOne() {
  const boxes = (steps) =>
    el(
      "ol.stack",
      {},
      steps.map(([id, title, kind]) =>
        el(
          "li",
          {},
          el(
            `a.box.${kind}`,
            {
              href: `#${page.lang}/walk`,
              onclick: (event) => {
                event.preventDefault();
                walkStep = id;
                chose();
                leadTo(`step-${id}`);
              },
            },
            title,
          ),
        ),
      ),
    );
  const pe = rotary ? [] : ["position"];
  const norm = (kind) => (post ? [] : [[`${kind}-norm`, normName, "norm"]]);
  const add = (kind) => [`${kind}-add`, t(`walk.add.${post ? "post" : "pre"}.title`), "norm"];
  const encoder = [
    ["source-embedding", t("box.embedding"), "embed"],
    ...pe.map(() => ["source-position", t("box.position"), "embed"]),
    ...norm("self"),
    ["self-qkv", t("box.self"), "attend"],
    add("self"),
    ...norm("encoder-ffn"),
    ["encoder-ffn-ffn", t("box.ffn"), "ffn"],
    add("encoder-ffn"),
    ["memory", t("box.memory"), "embed"],
  ];
  const decoder = [
    ["target-embedding", t("box.shifted"), "embed"],
    ...pe.map(() => ["target-position", t("box.position"), "embed"]),
    ...norm("masked"),
    ["masked-qkv", t("box.masked"), "attend"],
    add("masked"),
    ...norm("cross"),
    ["cross-qkv", t("box.cross"), "attend"],
    add("cross"),
    ...norm("decoder-ffn"),
    ["decoder-ffn-ffn", t("box.ffn"), "ffn"],
    add("decoder-ffn"),
    ["logits", t("box.linear"), "ffn"],
    ["softmax", t("box.softmax"), "attend"],
    ["word", t("box.word"), "embed"],
  ];
  return el(
    "nav.figure-one",
    { "aria-label": t("figure.one") },
    el("div", {}, el("h3", {}, t("encoder"), " ", el("small", {}, `× ${model.encoder_layers}`)), boxes(encoder)),
    el("div", {}, el("h3", {}, t("decoder"), " ", el("small", {}, `× ${model.decoder_layers}`)), boxes(decoder)),
  );
}

function leadTo(id) {
  const found = document.getElementById(id);
  if (!found) return;
  read(found);
  found.scrollIntoView();
  found.focus({ preventScroll: true });
}
