// Terms that a reader typed in: a translation has the target of each term that its sentence has.
"use strict";

// The translation of a sentence in which the terms of `glossary`, [source, target], are kept where that is possible:
// the likeliest hypothesis that has them, else the likeliest with the translation of the term alone replaced. What is in
// neither is in `missing`.
function* withGlossary(direction, sentence, glossary, changes) {
  const translated = yield* complete(direction, sentence, changes);
  const terms = glossary.filter(([source, target]) => target && occurs(sentence, source));
  const lacking = (text) => terms.filter(([, target]) => !occurs(text, target));
  if (!lacking(translated.text).length) return translated;
  const faults = countFaults(sentence, translated.text);
  const texts = yield* beamTexts(direction, sentence, changes);
  const best = texts.find((text) => !lacking(text).length && countFaults(sentence, text) <= faults);
  if (best !== undefined) return { ...translated, text: best };
  let { text } = translated;
  for (const [source, target] of lacking(text)) {
    const alone = normalise((yield* direction.translate(source, changes)).text.replace(/[.。]$/, ""));
    const place = placesOf(text, alone).find((at) => isWhole(text, at, at + alone.length));
    if (place === undefined) continue;
    const replaced = text.slice(0, place) + target + text.slice(place + alone.length);
    if (countFaults(sentence, replaced) <= countFaults(sentence, text)) text = replaced;
  }
  return { ...translated, text, missing: lacking(text).map(([source]) => source) };
}

const occurs = (text, term) => placesOf(text, normalise(term)).length > 0;

// Where a text has a term: as whole words where its script has spaces, and whatever its case.
function placesOf(text, term) {
  const name = term.toLowerCase();
  const folded = text.toLowerCase();
  const places = [];
  for (let at = folded.indexOf(name); name && at >= 0; at = folded.indexOf(name, at + 1)) {
    const [before, after] = [folded[at - 1] ?? " ", folded[at + name.length] ?? " "];
    const inWord = (a, b) => /[\p{L}\p{N}]/u.test(a) && /[\p{L}\p{N}]/u.test(b) && !WIDE.test(a) && !WIDE.test(b);
    if (!inWord(before, name[0]) && !inWord(name.at(-1), after)) places.push(at);
  }
  return places;
}

// Whether what is there in Korean is a word, with a particle at most, and not a part of one. Other scripts with wide
// letters have no spaces that would tell.
function isWhole(text, start, end) {
  if (!/\p{sc=Hangul}/u.test(text.slice(start, end))) return true;
  return !/[\p{L}\p{N}]$/u.test(text.slice(0, start)) && new RegExp(`^(?:${PARTICLE})?(?![\\p{L}\\p{N}])`, "u").test(text.slice(end));
}
