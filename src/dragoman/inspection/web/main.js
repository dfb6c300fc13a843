// The frame: navigation, language, theme, sentence, and what a view has chosen. The address holds them all, as
// `#ko/heads/dark/2/encoder.1.self_attention.3/text=…&positions=off/words`, so that a link opens what its sender saw.

const VIEWS = {
  walk: walkView,
  heads: headsView,
  positions: positionsView,
  masks: masksView,
  beam: beamView,
  attribution: attributionView,
  stream: streamView,
  checkpoints: checkpointsView,
};
const drawn_views = new Set();
const CHOICES = { walk: walkChoice, heads: headChoice, beam: rivalChoice };
const address = (lang, view, theme, number = sentence, choice = "", words = page.words) =>
  `#${[lang, view, theme, number > 1 ? number : "", choice, isLive() ? writeLive() : "", words ? "words" : ""].join("/").replace(/\/+$/, "")}`;
// What a view has chosen, as the address says it.
const choiceOf = (view) => CHOICES[view]?.write() ?? "";
const hash = ({ lang, view, theme, choice, words } = page) => address(lang, view, theme, sentence, choice, words);

function readHash() {
  const [lang, view, theme, , choice, operated, units] = location.hash.slice(1).split("/");
  page.lang = Object.hasOwn(texts, lang) ? lang : (navigator.language || "").toLowerCase().startsWith("ko") ? "ko" : "en";
  page.view = Object.hasOwn(VIEWS, view) ? view : "walk";
  page.theme = theme === "dark" || theme === "light" ? theme : "";
  page.words = units === "words";
  const before = choiceOf(page.view);
  page.choice = CHOICES[page.view]?.read(choice || "") ? choice : "";
  page.isOther = choiceOf(page.view) !== before;
  const differs = isLive() && readLive(operated || "");
  const isRead = data !== recorded || !(live.text || isChanged());
  if (isRead && !differs) namedPositions = null;
  return differs;
}

// What a view has chosen becomes part of the address, without a step of the browser's history.
function chose() {
  page.choice = choiceOf(page.view);
  history.replaceState(null, "", hash());
  litStage();
  for (const view of Object.keys(VIEWS)) {
    document.getElementById(`to-${view}`).href = address(page.lang, view, page.theme, sentence, choiceOf(view));
  }
}

const isDark = () => !page.isPrinted && (page.theme ? page.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);

function frame() {
  document.documentElement.lang = page.lang;
  document.getElementById("skip").textContent = t("skip");
  const other = page.lang === "ko" ? "en" : "ko";
  // `changed` compares what the address says with what is shown, and draws again what differs.
  const goto = (change) => () => {
    location.hash = hash({ ...page, ...change });
  };
  document
    .getElementById("head")
    .replaceChildren(
      el(
        "div",
        {},
        el("p.kicker", {}, "Dragoman · ", bdi(model.name)),
        el("h1", {}, t("title")),
        el(
          "p.sentence",
          {},
          el("span", { lang: data.languages.source, dir: "auto" }, lit("source", data.source)),
          " ",
          el("span.arrow", { "aria-hidden": "true" }, "→"),
          " ",
          el("b", { lang: data.languages.target, dir: "auto" }, data.translation ? lit("target", data.translation) : "∅"),
        ),
        el("p.hint", { id: "light", "aria-live": "polite" }, t("light.hint")),
        el("p", { id: "found" }),
        data.forced ? el("p.hint", {}, t("forced")) : null,
        sentences.length > 1 ? chooser() : null,
      ),
      el(
        "div.switches",
        {},
        el(
          "button",
          { type: "button", id: "language", lang: other, onclick: goto({ lang: other }) },
          texts[other]["language.name"],
        ),
        el(
          "button",
          { type: "button", id: "words", "aria-pressed": String(page.words), title: t("words.title"), onclick: () => goto({ words: !page.words })() },
          t("words"),
        ),
        el(
          "button",
          { type: "button", id: "theme", onclick: () => goto({ theme: isDark() ? "light" : "dark" })() },
          t(isDark() ? "theme.light" : "theme.dark"),
        ),
      ),
    );
  document.getElementById("nav").setAttribute("aria-label", t("views"));
  document.getElementById("nav").replaceChildren(
    el(
      "ol",
      {},
      Object.keys(VIEWS).map((view) =>
        el(
          "li",
          {},
          el(
            "a",
            {
              id: `to-${view}`,
              href: address(page.lang, view, page.theme, sentence, view === page.view ? page.choice : choiceOf(view)),
              "aria-current": view === page.view ? "page" : null,
            },
            t(`view.${view}`),
          ),
        ),
      ),
    ),
  );
  const facts = [
    t("layers", { n: `${model.encoder_layers} + ${model.decoder_layers}` }),
    `h = ${model.heads}`,
    `d_model = ${model.d_model}`,
    `d_ff = ${model.d_ff}`,
    `d_k = ${model.d_k}`,
    post ? "Post-LN" : "Pre-LN",
    normName,
    t(`positions.kind.${model.positions}`),
    { relu: "ReLU", silu: "SiLU", swiglu: "SwiGLU" }[model.feed_forward],
    t("parameters", { n: whole(model.parameters) }),
  ];
  foundLine();
  const tab = document.getElementById(`to-${page.view}`);
  tab.parentElement.parentElement.scrollLeft = tab.offsetLeft - 40; // on a narrow screen the tabs scroll
  document.getElementById("foot").replaceChildren(el("p", {}, facts.join(" · ")), el("p.hint", {}, t(isLive() ? "foot.live" : "foot")), el("p.hint", {}, t("foot.pieces")));
}

// The sentences of the text, of which one is shown; another one is another page.
function chooser() {
  const choose = (event) => {
    location.hash = address(page.lang, page.view, page.theme, Number(event.target.value));
    location.reload();
  };
  const options = sentences.map(({ source }, index) =>
    el("option", { value: index + 1, selected: index + 1 === sentence }, `${index + 1}. ${shown(source)}`),
  );
  return el("p", {}, el("label", { for: "sentence" }, t("sentence")), " ", el("select", { id: "sentence", onchange: choose }, options));
}

function sections() {
  drawn_views.clear();
  document
    .getElementById("main")
    .replaceChildren(
      ...Object.keys(VIEWS).map((view) =>
        el(
          `section.view${view === "walk" && reading.all ? ".all-steps" : ""}`,
          { id: `view-${view}`, "aria-labelledby": `heading-${view}` },
          el("h2", { id: `heading-${view}`, tabindex: -1 }, t(`view.${view}`)),
        ),
      ),
    );
}

function draw(view) {
  if (drawn_views.has(view)) return;
  drawn_views.add(view);
  const section = document.getElementById(`view-${view}`);
  section.append(...VIEWS[view]().flat().filter(Boolean));
}

function show(moved) {
  document.documentElement.dataset.theme = page.theme;
  document
    .querySelectorAll("section.view")
    .forEach((section) => section.classList.toggle("current", section.id === `view-${page.view}`));
  draw(page.view);
  litStage();
  shine(pinnedBeam());
  if (!moved) return;
  window.scrollTo(0, 0);
  document.getElementById(`heading-${page.view}`).focus({ preventScroll: true });
}

function changed() {
  if ((Number(location.hash.split("/")[3]) || 1) !== sentence && sentences.length > 1) return location.reload();
  const before = { ...page };
  const operated = readHash();
  const focused = document.activeElement && document.activeElement.id;
  frame();
  if (before.lang !== page.lang || operated) livePanel();
  if (operated) look();
  const isRedrawn = before.lang !== page.lang || before.theme !== page.theme || before.words !== page.words;
  if (isRedrawn) stage();
  if (!operated) rival.linked = false;
  if (isRedrawn || page.isOther || (before.view === page.view && before.choice !== page.choice)) sections();
  show(before.view !== page.view);
  if (page.view === "walk" && walkStep && before.choice !== page.choice) leadTo(`step-${walkStep}`);
  if (focused && before.view === page.view && document.getElementById(focused))
    document.getElementById(focused).focus({ preventScroll: true });
}

function ontoPaper(isPrinted) {
  page.isPrinted = isPrinted;
  redrawn();
}

// All views are printed; those not opened yet are drawn first. Paper is light, and so are its matrices.
window.addEventListener("beforeprint", () => {
  if (isDark()) ontoPaper(true);
  Object.keys(VIEWS).forEach(draw);
  document.querySelectorAll("details").forEach((box) => {
    if (box.closest("figure") === null) box.open = true;
  });
});
window.addEventListener("afterprint", () => page.isPrinted && ontoPaper(false));
window.addEventListener("hashchange", changed);
// A page around this one passes on the language and the theme of its reader.
window.addEventListener("message", ({ source, data: wanted }) => {
  if (source !== window.parent || window.parent === window || !Object.hasOwn(texts, wanted?.lang)) return;
  const theme = ["dark", "light"].includes(wanted.theme) ? wanted.theme : "";
  history.replaceState(null, "", hash({ ...page, lang: wanted.lang, theme }));
  changed();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  frame();
  stage();
  sections();
  show(false);
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});

startWalk();
startHeads();
readHash();
frame();
livePanel();
stage();
sections();
show(false);
if (page.view === "walk" && walkStep) leadTo(`step-${walkStep}`);
Object.assign(window.dragoman, { draw, leadTo });
startLight();
startSteps();
document.documentElement.dataset.ready = "";
