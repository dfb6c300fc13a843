// The steps of the walk one by one: which of them is read, and the way to the next. One is shown at a time, or all.

const reading = { id: "source-embedding", all: false };
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
    el("button", { type: "button", id: "step-all", "aria-pressed": String(reading.all), onclick: showAll }, t("steps.all")),
  );
}

// One step a screen, or all one below the other.
function showAll() {
  reading.all = !reading.all;
  document.getElementById("step-all").setAttribute("aria-pressed", String(reading.all));
  document.getElementById("view-walk").classList.toggle("all-steps", reading.all);
  leadTo(`step-${reading.id}`);
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
  litStage();
  const place = document.getElementById("step-place");
  if (!place) return;
  place.textContent = `${index + 1} / ${steps.length} · ${step.querySelector("h4").textContent}`;
  document.getElementById("step-back").disabled = index === 0;
  document.getElementById("step-on").disabled = index === steps.length - 1;
}

// Of all steps the one that is read is the last one whose beginning is in the upper third.
function follow_scroll() {
  if (page.view !== "walk" || !reading.all) return;
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

function leadTo(id) {
  const found = document.getElementById(id);
  if (!found) return;
  read(found);
  found.scrollIntoView();
  found.focus({ preventScroll: true });
}
