// What the page says of a text and of its models.
"use strict";

// What a reader should know of a translation, and of the document that it is of.
function showNotes(output, direction, ofDocument) {
  const sentences = output.lines.flat();
  const facts = ofDocument.map(([key, values]) => element("li", { className: "fact", textContent: text(key, values) }));
  const notes = [];
  const faults = sentences.map((sentence) => output.faultsOf(sentence));
  for (const kind of ["placeholders", "numbers"]) {
    const names = [...new Set(faults.flatMap((ofSentence) => ofSentence[kind]))];
    if (names.length) notes.push(text(`differ_${kind}`, { names: shortList(names) }));
  }
  if (sentences.some(({ unknown, tokens }) => unknown > 0.5 && tokens > 1)) notes.push(text("unknown"));
  if (sentences.some(({ cut }) => cut)) {
    notes.push(text("long", { longest: page.facts.models[direction.which].longest }));
  }
  if (/<\/?[a-z][^<>]*>/i.test(byId("source").value)) notes.push(text("markup"));
  const missing = [...new Set(sentences.flatMap((sentence) => sentence.missing ?? []))];
  if (missing.length) notes.push(text("missing", { terms: shortList(missing) }));
  byId("notes").replaceChildren(...facts, ...notes.map((note) => element("li", { textContent: note })));
}

// The first of many names.
function shortList(names) {
  return names.slice(0, 6).join(", ") + (names.length > 6 ? " …" : "");
}

// The card, the licence and the size of each model.
function showCards() {
  const cards = page.facts.models.map((model) => {
    const arithmetic = text(model.arithmetic ?? "not_loaded");
    const size = (model.bytes / 1e6).toFixed(1);
    const compact = { notation: "compact", maximumSignificantDigits: 3 };
    const parameters = new Intl.NumberFormat(page.language, compact).format(model.parameters);
    return element(
      "section",
      {},
      element("h2", { textContent: model.name }),
      element("p", { textContent: text("licence", { licence: model.licence }) }),
      element("p", { textContent: text("weights", { parameters, size, arithmetic }) }),
      Object.assign(element("div", { className: "card", textContent: model.card, tabIndex: 0 }), { role: "region" }),
    );
  });
  cards.forEach((card, number) => card.lastChild.setAttribute("aria-label", page.facts.models[number].name));
  byId("cards").replaceChildren(...cards, element("p", { textContent: text("made_by", page.facts) }));
}

// A list of [value, text], of which `chosen` is chosen.
function fillList(list, options, chosen) {
  list.replaceChildren(...options.map(([value, textContent]) => element("option", { value, textContent })));
  list.value = chosen;
}

function fillBeam(usual) {
  const widths = [...new Set([1, 2, 4, 8, usual])].sort((a, b) => a - b);
  fillList(byId("beam"), widths.map((width) => [width, width]), usual);
}
