// What a translation has to have of its source: placeholders, addresses and numbers. It is a part of what `translate`
// compares (`dragoman.control.faults`): negation, signs, names and lengths are not compared here.
"use strict";

// An address ends before punctuation, and before a Korean particle, which follows without a space.
const PARTICLE =
  "(?:이|가|은|는|을|를|의|에|에서|에는|에게|로|으로|와|과|도|만|까지|부터|보다|처럼|이나|나|이라고|라고|이다|입니다|이며|이고)";
const ADDRESS = new RegExp(
  String.raw`(?<!(?:https?|ftp|mailto):)(?:https?|ftp|mailto):[^\s<>"'“”‘’]{1,2000}?[^\s<>"'“”‘’.,;:!?)\]]` +
    String.raw`(?=(?:(?:(?<![\uac00-\ud7a3])|[.,;:!?)\]]{1,9})${PARTICLE})?[.,;:!?)\]]{0,9}(?:[\s<>"'“”‘’]|$))`,
);
// Each takes linear time: what repeats has a maximum.
const PLACEHOLDER = new RegExp(
  [
    ADDRESS,
    /(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}/,
    /<\/?[A-Za-z][^<>\n]{0,500}>/,
    /\{\{[^{}\n]{1,200}\}\}|\{%[^{}\n]{1,200}%\}|\$\{[^{}\n]{1,100}\}|[$#%@]?\{[^{}\s]{0,100}\}/,
    /%%|%(?:\(\w{1,60}\)|\d{1,2}\$)?[-+#0]{0,4}(?:\d{1,4}|\*)?(?:\.\d{1,3})?(?:hh?|ll?|[zjt])?[sdiufFgGeExXc@vqwT](?![A-Za-z])/,
    /%[1-9](?![\d%])|%[A-Z][A-Z_]{2,40}%?|\$[A-Z][A-Z\d]{0,40}_[A-Z\d_]{1,40}/,
    /&(?:#\d{1,7}|#x[\dA-Fa-f]{1,6}|[A-Za-z][A-Za-z\d]{1,31});/,
    /\\[nrt"]/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gu",
);
const NUMBER = /\d(?:[\d.,'’\u00a0\u202f]{0,60}\d)?/gu;
const POWER = /^\s?(?:십|백|천|만|억|조|[十百千万萬億兆]|hundred|thousand|million|billion|trillion)/iu;
// A number up to this may be a word in the translation: "two dogs", "3월".
const MOST_WORDS = 12;

// What a translation lacks, or has too much, of its source.
function faultsOf(source, text) {
  return { placeholders: differing(placeholdersOf(source), placeholdersOf(text)), numbers: lostNumbers(source, text) };
}

function countFaults(source, text) {
  const { placeholders, numbers } = faultsOf(source, text);
  return 2 * placeholders.length + numbers.length;
}

function placeholdersOf(text) {
  return text.match(PLACEHOLDER) ?? [];
}

// The placeholders that are not as often in both, or those of printf that take their arguments in another order.
function differing(ours, theirs) {
  const counts = new Map();
  for (const name of ours) counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const name of theirs) counts.set(name, (counts.get(name) ?? 0) - 1);
  const names = [...counts.keys()].filter((name) => counts.get(name));
  const ordered = (list) => list.filter((name) => /^%[^%($]*[A-Za-z@]$/.test(name));
  if (names.length || ordered(ours).join() === ordered(theirs).join()) return names;
  return [...new Set(ordered(ours))];
}

// The numbers of a source that its translation has in no form. Numbers in other digits than 0 to 9 are not compared.
function lostNumbers(source, text) {
  const [ours, theirs] = [source, text].map((part) => part.replace(PLACEHOLDER, " "));
  if (/(?![0-9])\p{Nd}/u.test(theirs)) return [];
  const there = new Set(Array.from(theirs.matchAll(NUMBER), ([number]) => digitsOf(number)));
  const scaled = [...theirs.matchAll(NUMBER)].some((match) => POWER.test(after(theirs, match)));
  const lost = [...ours.matchAll(NUMBER)].filter((match) => {
    const digits = digitsOf(match[0]);
    const value = Number(digits);
    if (there.has(digits) || (value <= MOST_WORDS && digits === match[0]) || POWER.test(after(ours, match))) return false;
    if (scaled && value >= 100) return false;
    // 15시 is 3 p.m., and 10:30 half past ten.
    return !(value < 24 && there.has(String(value - 12))) && !(value === 30 && /half|반/i.test(theirs));
  });
  return [...new Set(lost.map(([number]) => number))];
}

function digitsOf(number) {
  return number.replace(/\D/g, "");
}

function after(text, match) {
  const end = match.index + match[0].length;
  return text.slice(end, end + 10);
}

// The translation of a sentence with its placeholders and numbers where one is found: the likeliest one, another
// hypothesis of a beam, or that of the sentence with a name in place of each placeholder, as models copy names. A text
// without a letter is copied.
function* complete(direction, sentence, changes) {
  if (!/\p{L}/u.test(sentence.replace(PLACEHOLDER, " "))) return { text: sentence, unknown: 0, tokens: 0 };
  const translated = yield* direction.translate(sentence, changes);
  if (!countFaults(sentence, translated.text)) return translated;
  const key = JSON.stringify(["complete", sentence, changes.beam]);
  if (!direction.known.has(key)) {
    const [text, names] = named(sentence);
    const texts = [translated.text, ...(yield* beamTexts(direction, sentence, changes))];
    const whole = texts.some((other) => !countFaults(sentence, other));
    if (names.length && !whole) texts.push(...(yield* beamTexts(direction, text, changes)).map((other) => unnamed(other, names)));
    const counts = texts.map((other) => countFaults(sentence, other));
    direction.known.set(key, texts[counts.indexOf(Math.min(...counts))]);
  }
  return { ...translated, text: direction.known.get(key) };
}

// The texts that a beam finds, best first.
function* beamTexts(direction, sentence, changes) {
  const beam = Math.max(4, direction.facts.decode.beam);
  const found = yield* direction.search(direction.source.encode(sentence), { ...direction.facts.decode, ...changes, beam }, []);
  return found.map((hypothesis) => direction.textOf(hypothesis));
}

// A sentence with X1, X2, … in place of its placeholders, and what they stand for.
function named(sentence) {
  const names = [];
  if (/X\d/.test(sentence)) return [sentence, names];
  return [sentence.replace(PLACEHOLDER, (text) => `X${names.includes(text) ? names.indexOf(text) + 1 : names.push(text)}`), names];
}

function unnamed(text, names) {
  return text.replace(/X(\d{1,3})/g, (name, number) => names[number - 1] ?? name);
}
