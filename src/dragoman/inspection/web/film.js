// View 8, the film: one sentence by the snapshots of the run, from step 0 to the model, as a film that can be stopped.

const FRAME_MILLISECONDS = 900;
const filmState = { frame: -1, map: "", head: 0, timer: 0 };
const frames = () => recorded.film.frames.filter((frame) => !frame.problem);
const stepName = ({ step }) => (step === null ? t("film.model") : `${t("checkpoints.step")} ${whole(step)}`);

// The weights of one attention of one head at a frame, as a matrix. The film is of the sentence that was recorded.
function filmWeights(frame, map, head) {
  const { maps, heads, weights } = recorded.film;
  const side = { position: (name) => (name.startsWith("encoder") ? "source" : "input") };
  side.key = (name) => (name.endsWith("cross_attention") ? "source" : side.position(name));
  const { pieces } = recorded;
  const shape = (name) => [pieces[side.position(name)].length, pieces[side.key(name)].length];
  const size = (name) => shape(name)[0] * shape(name)[1];
  const total = maps.reduce((sum, name) => sum + heads * size(name), 0);
  const before = maps.slice(0, maps.indexOf(map)).reduce((sum, name) => sum + heads * size(name), 0);
  if (!filmState.bytes) filmState.bytes = Uint8Array.from(atob(weights), (sign) => sign.charCodeAt(0));
  const from = frame * total + before + head * size(map);
  const values = Float32Array.from(filmState.bytes.subarray(from, from + size(map)), (value) => value / 255);
  const labels = { position: pieces[side.position(map)], key: pieces[side.key(map)] };
  if (map.endsWith("cross_attention")) labels.position = pieces.input.map((piece, i) => `${piece} → ${pieces.output[i]}`);
  const x = { shape: shape(map), values, axes: ["position", "key"], labels, reduced: 1 };
  const readers = pieces[map.endsWith("cross_attention") ? "output" : side.position(map)];
  return page.words ? byWords({ ...x, sides: [readers, pieces[side.key(map)]] }) : x;
}

// How even the weights of the pieces are: their entropy over the largest that it can be, the mean over the rows.
function evenness(merged, lookAhead) {
  const x = merged.pieceWise ?? merged;
  const [rows, columns] = x.shape;
  const ratios = [];
  for (let i = 0; i < rows; i++) {
    const visible = lookAhead ? i + 1 : columns;
    const entropy = rowOf(x, i).reduce((sum, w) => sum - (w ? w * Math.log(w) : 0), 0);
    if (visible > 1) ratios.push(entropy / Math.log(visible));
  }
  return ratios.length ? ratios.reduce((a, b) => a + b, 0) / ratios.length : 0;
}

function filmView() {
  const shots = frames(),
    last = shots.length - 1;
  if (filmState.frame < 0) {
    filmState.frame = last;
    const { where, head } = recorded.attribution.attention,
      { maps, heads } = recorded.film;
    filmState.map = maps.includes(where) ? where : maps[maps.length - 1] || "";
    filmState.head = heads > 1 ? head : 0;
  }
  const picture = part(filmPicture, ".film-picture");
  const strip = part(() => filmStrip((frame) => {
    stop();
    turnTo(frame);
  }));
  const slider = el("input", {
    type: "range",
    id: "film-frame",
    min: 0,
    max: last,
    value: filmState.frame,
    oninput: (event) => {
      stop();
      turnTo(Number(event.target.value));
    },
  });
  const play = el("button", { type: "button", id: "film-play", onclick: () => (filmState.timer ? stop() : start()) });
  const turnTo = (frame) => {
    filmState.frame = frame;
    slider.value = frame;
    slider.setAttribute("aria-valuetext", stepName(shots[frame]));
    picture.redraw();
    [...strip.querySelectorAll("button")].forEach((one, i) => one.setAttribute("aria-pressed", String(i === frame)));
  };
  const stop = () => {
    clearInterval(filmState.timer);
    filmState.timer = 0;
    play.textContent = `▶ ${t("film.play")}`;
    picture.setAttribute("aria-live", "polite");
  };
  const start = () => {
    picture.setAttribute("aria-live", "off");
    play.textContent = `❚❚ ${t("film.pause")}`;
    turnTo(filmState.frame === last ? 0 : filmState.frame);
    filmState.timer = setInterval(() => {
      if (!play.isConnected || page.view !== "checkpoints") return stop();
      turnTo(filmState.frame + 1);
      if (filmState.frame === last) stop();
    }, FRAME_MILLISECONDS);
  };
  stop();
  turnTo(filmState.frame);
  const stage = el(
    "div.film",
    {},
    el(
      "div.controls",
      { role: "group", "aria-label": t("film.controls") },
      play,
      el("label.choice.wide", { for: "film-frame" }, el("span", {}, t("checkpoints.step")), slider),
      ...filmChoices(() => {
        picture.redraw();
        strip.redraw();
      }),
    ),
    picture,
    strip,
  );
  slider.addEventListener("keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    play.click();
  });
  return [
    el("p.lead", {}, t("film.lead", { n: last })),
    data === recorded ? null : note(bdi(recorded.source)),
    stage,
    filmCurves(shots),
    filmTable(),
    el("p.hint", {}, t("film.hint")),
  ];
}

// Of which attention and head: lists of what the film has.
function filmChoices(redraw) {
  const { maps, heads } = recorded.film;
  const named = (path) => {
    const [stack, layer, leaf] = path.split(".");
    return `${t(`heads.${stack}.${leaf}`)} · ${t("layer")} ${Number(layer) + 1}`;
  };
  const change = (key, of) => (value) => {
    filmState[key] = of(value);
    redraw();
    litStage();
  };
  if (!maps.length) return [];
  return [
    choice(t("film.attention"), maps.map((name, i) => [i, named(name)]), maps.indexOf(filmState.map), change("map", (i) => maps[i])),
    heads > 1
      ? choice(t("head"), Array.from({ length: heads }, (_, i) => [i, String(i + 1)]), filmState.head, change("head", Number))
      : null,
  ];
}

function filmPicture() {
  const shot = frames()[filmState.frame];
  const x = filmState.map ? filmWeights(filmState.frame, filmState.map, filmState.head) : null;
  const words = el(
    "div",
    {},
    el("h3", {}, stepName(shot)),
    el("p.translation", { lang: data.languages.target, dir: "auto" }, bdi(shot.text || "∅")),
    el(
      "dl.facts",
      {},
      el("dt", {}, "chrF"),
      el("dd", {}, number(shot.chrf, 1)),
      el("dt", {}, t("film.probability")),
      el("dd", {}, percent(Math.exp(shot.log_prob))),
      x ? el("dt", {}, t("entropy.normalised")) : null,
      x ? el("dd", {}, number(evenness(x, filmState.map.startsWith("decoder") && !filmState.map.endsWith("cross_attention")), 2)) : null,
    ),
  );
  return [
    words,
    x
      ? matrix(x, {
          inputs: wordInputs(x),
          name: recorded.film.heads > 1 ? `${t("head")} ${filmState.head + 1}` : t("checkpoints.attention"),
          signed: false,
          top: 1,
          rowTitle: t("axis.query"),
          columnTitle: t("axis.key"),
        })
      : note(t("film.long")),
  ];
}

// Every frame small, side by side: from even to sharp.
function filmStrip(choose) {
  const buttons = frames().map((shot, i) => {
    const canvas = el("canvas", { "aria-hidden": "true" });
    if (filmState.map) {
      const x = filmWeights(i, filmState.map, filmState.head);
      paint(canvas, x.values, ...x.shape, scale(x.values, false, 1));
    }
    const name = shot.step === null ? t("film.end") : whole(shot.step);
    const pressed = String(i === filmState.frame);
    return el("button", { type: "button", "aria-pressed": pressed, onclick: () => choose(i) }, filmState.map ? canvas : null, name);
  });
  roving(buttons, 1);
  return el("div.strip-of-frames", { role: "group", "aria-label": t("film.all") }, buttons);
}

function filmCurves(shots) {
  const x = shots.map(({ step }) => (step === null ? t("film.end") : String(step)));
  const curve = (title, values) =>
    lines({ title, series: [{ name: title, values }], x, xTitle: t("checkpoints.step"), height: 180, zero: true });
  return el(
    "div.ways",
    {},
    curve("chrF", shots.map((shot) => shot.chrf)),
    curve(t("film.probability"), shots.map((shot) => Math.exp(shot.log_prob))),
  );
}

function filmTable() {
  const rows = recorded.film.frames.map((frame) =>
    frame.problem
      ? [stepName(frame), shown(frame.problem), "–", "–"]
      : [stepName(frame), bdi(frame.text || "∅"), number(frame.chrf, 1), percent(Math.exp(frame.log_prob))],
  );
  return table([t("checkpoints.step"), t("translation"), "chrF", t("film.probability")], rows, t("film.all"));
}
