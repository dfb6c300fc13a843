// "Why not that word": a rival of a piece of the translation, clicked on or typed: its log P, its rank, the distance to the
// piece that was chosen, what speaks for it, and what the search would have found with it.

// `before`: the pieces before it, null for those of the translation; `answer`: of the engine, or from what is recorded.
const rival = { before: null, text: "", typed: false, answer: null, linked: false, turn: 0 };
const MOST_TYPED = 80; // characters

// The rival as a part of the address, as in `7.%EB%84%93`: the number of the piece of the translation, and the rival.
const rivalChoice = {
  write: () => (rival.text && !rival.before ? `${beamState.word + 1}.${rival.typed ? "~" : ""}${encodeURIComponent(rival.text)}` : ""),
  read(text) {
    const [, step, typed, word] = /^(\d{1,3})\.(~?)(.+)$/.exec(text) ?? [];
    const spelling = word && decoded(word);
    if (!spelling || spelling.length > MOST_TYPED || Number(step) < 1) {
      if (!rival.before) forget(); // a rival of another path of the tree is in no address
      return false;
    }
    const isTyped = typed === "~";
    if (beamState.word === step - 1 && rival.text === spelling && rival.typed === isTyped && !rival.before) return true;
    beamState.word = step - 1;
    Object.assign(rival, { before: null, text: spelling, typed: isTyped, answer: null, linked: true });
    return true;
  },
};

// Ask for none, and take no answer that is late.
const forget = () => Object.assign(rival, { before: null, text: "", typed: false, answer: null, turn: rival.turn + 1 });

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

const rivalBefore = () => rival.before ?? data.pieces.output.slice(0, beamState.word);

// A node of the tree by the pieces of its path; 0 where the search considered no such node.
function nodeOf(pieces) {
  let id = 0;
  for (const piece of pieces) {
    id = data.beam?.nodes.findIndex((node) => node[0] === id && node[2] === piece) ?? -1;
    if (id < 0) return 0;
  }
  return id;
}

let rivalBox = {};

// Ask for a rival; what comes back is drawn below the words.
function contend(text, { before = null, typed = false } = {}) {
  Object.assign(rival, { before, text: text.slice(0, MOST_TYPED), typed, answer: null });
  chose();
  answerRival();
}

async function answerRival() {
  const turn = ++rival.turn;
  rival.answer = isLive() && live.kernels ? { waits: true } : fromRecording();
  rivalBox.redraw?.();
  if (rival.answer?.waits) {
    const request = { kind: "rival", before: rivalBefore(), rival: rival.text, typed: rival.typed, replaces: "rival" };
    const answer = await askOfSentence(request).catch((error) => ({ failed: error.message.split("\n")[0] }));
    if (!answer || turn !== rival.turn) return;
    rival.answer = answer;
    rivalBox.redraw?.();
  }
  const node = nodeOf([...rivalBefore(), ...(rival.answer?.pieces ?? [])]);
  if (node) lightPath(node);
  if (rival.before) rivalBox.scrollIntoView?.({ block: "nearest" });
  document.documentElement.dataset.rival = rival.text;
}

// Without the engine: of the pieces that were recorded at this step.
function fromRecording() {
  const spellings = rival.typed ? [`▁${rival.text.trim()}`, rival.text.trim()] : [rival.text];
  const parent = nodeOf(rivalBefore());
  const options = rival.before
    ? data.beam.nodes.filter(([id]) => id === parent).map((node) => [node[2], node[3]])
    : data.predictions[beamState.word].candidates.map((piece, i) => [piece, probabilityAt(beamState.word, i)]);
  options.sort((a, b) => b[1] - a[1]);
  const index = options.findIndex(([piece]) => spellings.includes(piece));
  if (index < 0) return { unknown: true };
  const chosen = rival.before ? options[0] : options.find(([piece]) => piece === data.pieces.output[beamState.word]);
  const answer = { pieces: [options[index][0]], logProbs: [Math.log(options[index][1])], at: 0, rank: index + 1 };
  if (chosen === options[index] && !rival.before) return { ...answer, chosen: true };
  const against = chosen === options[index] ? options[1] : chosen;
  return against ? { ...answer, against: [against[0], Math.log(against[1])] } : { unknown: true };
}

const probabilityAt = (row, column) => array("probabilities").values[row * array("logits").shape[1] + column];

// The words of the translation, the likeliest pieces at the one that is chosen, a field for any other, and the answer.
function rivalPart() {
  const box = part((own) => {
    const choose = (i) => {
      beamState.word = i;
      forget();
      chose();
      own.redraw();
      own.querySelector("[aria-pressed=true]").focus();
    };
    beamState.word = Math.min(beamState.word, data.pieces.output.length - 1);
    const step = data.predictions[beamState.word],
      count = Math.min(11, step.candidates.length);
    const values = Array.from({ length: count }, (_, i) => probabilityAt(beamState.word, i));
    const units = data.pieces.output.map((piece, i) => ({ pieces: [i], text: piece }));
    return [
      wordRow(t("translation"), units, beamState.word, choose),
      el("div.card", {}, bars(step.candidates.slice(0, count), values, step.chosen, percent, (piece) => contend(piece))),
      rivalForm(),
    ];
  });
  rivalBox = part(rivalAnswer, ".rival");
  rivalBox.setAttribute("role", "status");
  if (rival.text && !rival.answer) setTimeout(answerRival);
  return el("section", {}, el("h3", {}, t("beam.instead")), el("p", {}, t("beam.instead.text")), el("div.rivals", {}, box, rivalBox));
}

function rivalForm() {
  const field = el("input", { type: "text", id: "rival-text", maxlength: MOST_TYPED, autocomplete: "off", spellcheck: "false", lang: data.languages.target, dir: "auto" });
  field.value = rival.typed ? rival.text : "";
  const ask = (event) => {
    event.preventDefault();
    if (field.value.trim()) contend(field.value.trim(), { typed: true });
  };
  return el("form.rival-form", { onsubmit: ask }, el("label", { for: "rival-text" }, t("rival.type")), field, el("button", { type: "submit" }, t("rival.ask")));
}

function rivalAnswer() {
  const { answer } = rival;
  if (!rival.text || !answer) return [];
  if (answer.waits) return el("p.hint", {}, t("live.working"));
  if (answer.unknown) return note(t(isLive() && live.kernels ? "rival.unknown" : "rival.static", { word: isolated(rival.text) }));
  if (answer.failed) return note(t("engine.failed", { error: answer.failed }));
  const { pieces, logProbs, at } = answer;
  const sum = logProbs.reduce((total, logProb) => total + logProb, 0);
  const word = isolated(pieces.join(" "));
  const rank = answer.vocabulary ? `${whole(answer.rank)} / ${whole(answer.vocabulary)}` : whole(answer.rank);
  const facts = [
    [pieces.length > 1 ? t("rival.whole", { value: "P" }) : "P", percent(Math.exp(sum))],
    [pieces.length > 1 ? t("rival.whole", { value: "log P" }) : "log P", number(sum, 3)],
    [pieces.length > 1 ? t("rival.rank.piece", { piece: isolated(pieces[at]) }) : t("rival.rank"), rank],
  ];
  const step = rivalBefore().length + 1;
  const list = () => el("dl.facts", {}, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]).flat());
  const spelling = pieces.length > 1 ? spelledOut(answer) : null;
  if (answer.chosen) return el("div.card", {}, el("h4", {}, t("rival.chosen", { word, step })), list(), spelling);
  const [against, best] = answer.against;
  const gap = logProbs[at] - best;
  facts.push([t("rival.gap", { rival: isolated(pieces[at]), piece: isolated(against) }), t("rival.times", { gap: number(gap, 3), times: number(Math.exp(gap), 3) })]);
  const alike = pieces.slice(0, at);
  const node = nodeOf([...rivalBefore(), ...pieces]);
  return el(
    "div.card",
    {},
    el("h4", {}, t("rival.title", { rival: word, chosen: isolated([...alike, against].join(" ")), step })),
    at ? el("p", {}, t("rival.alike", { alike: isolated(alike.join(" ")), step: step + at })) : null,
    answer.sameText ? el("p", {}, t("rival.same_text")) : null,
    list(),
    spelling,
    node ? el("p", {}, t("rival.node", { fate: t(`fate.${data.beam.nodes[node][5]}`), text: t(`fate.${data.beam.nodes[node][5]}.text`) })) : data.beam ? el("p", {}, t("rival.absent")) : null,
    worthOf(answer.search),
    reasonsOf(answer, gap),
  );
}

// A word of several pieces: the log P of each after those before it.
function spelledOut({ pieces, logProbs }) {
  const sum = logProbs.reduce((total, logProb) => total + logProb, 0);
  return terms(pieces.map((piece, i) => [logProbs[i], [bdi(piece), number(logProbs[i], 3)]]), [t("rival.piece"), "log P"], sum);
}

// What the search finds when it must begin so, against the translation.
function worthOf(search) {
  if (!search) return null;
  const best = data.beam?.hypotheses[0];
  const verdict = !best ? "" : search.score > best.score + 1e-4 ? t("rival.missed") : Math.abs(search.score - best.score) <= 1e-4 ? t("rival.equal") : t("rival.right");
  const rows = [[t("rival.with"), search], ...(best ? [[t("translation"), best]] : [])].map(([name, hypothesis]) => [
    name,
    el("span", { lang: data.languages.target, dir: "auto" }, bdi(hypothesis.text)),
    number(hypothesis.log_prob, 3),
    number(hypothesis.score, 3),
  ]);
  const isSameText = search.text === data.translation && String(search.pieces) !== String(data.pieces.output.slice(-search.pieces.length));
  return el("div", {}, table(["", t("translation"), "log P", t("beam.score")], rows, t("rival.search")), el("p", {}, [isSameText && t("rival.same_text"), verdict].filter(Boolean).join(" ")));
}

// What speaks for the rival and what against it, adding up to the distance; and the heads that read the source.
function reasonsOf({ reasons, pieces, at, against }, gap) {
  if (!reasons) return null;
  const names = { rival: isolated(pieces[at]), chosen: isolated(against[0]) };
  const parts = reasons.parts.filter(([, value]) => value).map(([name, value]) => [value, [t(`rival.part.${name}`), number(value, 3)]]);
  const rows = reasons.heads.map(({ where, head, key, weight, value }) => {
    const layer = Number(where.split(".")[1]) + 1;
    const link = el("a", { href: address(page.lang, "heads", page.theme, sentence, `decoder.${layer}.cross_attention.${head + 1}`) }, `${layer}.${head + 1}`);
    return [link, bdi(data.pieces.source[key]), percent(weight), number(value, 3)];
  });
  return el(
    "details",
    { open: true },
    el("summary", {}, t("rival.reasons", names)),
    terms(parts, [t("rival.part"), t("rival.share")], parts.reduce((sum, [value]) => sum + value, 0)),
    el("p.hint", {}, t("rival.reasons.text", { ...names, gap: number(gap, 3) })),
    rows.length ? table([t("head"), t("rival.reads"), t("rival.weight"), t("rival.share")], rows, t("rival.heads", names)) : null,
  );
}
