// A line → the sentences and parts of sentences that a model translates, as `dragoman.text.segment`: a short line stays
// whole, a longer one is divided at the ends of its sentences, and a sentence that is too long is halved at a clause.
"use strict";

// A line of several sentences stays whole up to this fraction of the limit.
const WHOLE_SHARE = 0.05;
const ENDS = /[.!?…。！？｡．؟۔।॥։።၊။។]+/g;
const WIDE_ENDS = /[。！？｡．]$/;
const CLOSING_QUOTES = "\"'”’»›」』》〉";
const QUOTES = ['""', "“”", "«»", "「」", "『』"];
const BRACKETS = [/\([^()]*\)/g, /（[^（）]*）/g, /\[[^[\]]*\]/g];
// Words before a full stop that ends no sentence. One letter is always such a word: "J. K. Rowling".
const ABBREVIATIONS = new Set(
  (
    "adm approx assoc ave bldg capt cf ch cmdr col dept dr ed eds e.g esp est ext fig figs gen gov hon i.e jan feb mar " +
    "apr jun jul aug sep sept oct nov dec jr lt maj messrs mlle mme mr mrs ms msgr mt no nos op ph.d pp prof pt rep rev " +
    "sec sen sgt sr st u.k u.n u.s v viz vs"
  ).split(" "),
);
// Abbreviations before a name, and before a small letter or a digit; `Sat.` is a day, and "sat." ends a sentence.
const TITLES = new Set("Ms Mx Mmes Assoc Atty Br Ft Amb Treas Ald Engr".split(" "));
const SHORTENED = new Set(
  (
    "approx esp incl excl max vol ch eq eqn sect para figs ed eds est tbsp tsp lbs yr yrs wks hrs mins secs avg qty tel " +
    "apt rm rte Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun"
  ).split(" "),
);
// Longer words are no abbreviations.
const LONGEST_WORD = 32;
// In Korean a quotative follows a quotation, sometimes after a space.
const QUOTATIVE = /^(이?라(고|며|면서|는)|하(고|며|면서|는|던|더니|자|니|기에|길래|려|려고) |했)/;
// A year of a date in Korean, `2024. 3. 5.`, or the month behind the sign of a range: neither ends a sentence.
const DATE_BEGINS = /(?:(?<!\d)\d{4}|['’]\d\d|[~∼〜–-]\s?\d{1,2})\. $/;
const DATE_CONTINUES = /^\d{1,2}\./;
// The end of a Korean sentence that no space follows; `초.중.고`, `수요.공급` and `캐나다.미국` are lists.
const UNSPACED_END =
  /[가-힣](?:(?:(?<![나바])다|(?<![수필중주소동민개토월화목금일])요|죠|까|시오)\.|(?:다|요|죠|까|오|지|네|나|자|라|어|아|해|래)[!?])$/;
// What follows a quotation or a title without a space, and belongs to it.
const ATTACHED =
  /^(?:이?라(?:[고며면는]|던)|이?란\s|하(?:고|며|면서|는|던)\s|냐[고는]|했|(?:[을를은는의]|에|에서|으?로|[와과]|도)\s)/;
const BEGINS_WITH_HANGUL = /^[가-힣]/;
// The characters before an end that tell whether it is one.
const NEAR = 32;
const CLAUSE = /[,;:.!?،؛؟।–—]["'”’»)\]]*\s|[、，；：。！？]["”’」』》）]*\s?/g;
// A cut within a word moves by at most this many characters to keep a letter and its combining marks together.
const CLUSTER = 32;
const HAS_LETTERS = /\p{L}/u;
const WIDE = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/;

// The parts of a line of normalised text, [{text, separator, cut}], each of up to `longest` tokens as `count` counts them.
// `cut`: it is a part of a sentence.
function divide(text, longest, count) {
  return sentencesOf(text).flatMap((sentence) => {
    const parts = fitting(sentence, longest, count);
    const separator = (part) => (part.endsWith(" ") ? " " : "");
    return parts.map((part) => ({ text: part.trimEnd(), separator: separator(part), cut: parts.length > 1 }));
  });
}

// What is between the translation of a part and the next: the space of the source, and one where the source had none
// after a clause, as Chinese and Japanese do not.
function separatorAfter(part, translation) {
  if (part.separator || !translation) return part.separator;
  const last = [...part.text].at(-1) ?? "";
  const cutWord = /[\p{L}\p{N}]/u.test(last) && !WIDE.test(last);
  return cutWord || WIDE.test([...translation].at(-1)) ? "" : " ";
}

// The sentences of a text, each with the space after it.
function sentencesOf(text) {
  const kinds = [...QUOTES.map((pair) => quotations(text, pair)), ...BRACKETS.map((pair) => spansOf(text, pair))];
  const begins = new Set(kinds.flatMap((spans) => spans.map(([begin]) => begin)));
  // Of each kind the first span that does not end before; positions only grow.
  const latest = kinds.map(() => 0);
  const around = (at) => {
    for (const [kind, spans] of kinds.entries()) {
      while (latest[kind] < spans.length && spans[latest[kind]][1] <= at) latest[kind]++;
      const span = spans[latest[kind]];
      if (span && span[0] < at) return span;
    }
    return undefined;
  };
  const parts = [];
  let start = 0;
  for (const match of text.matchAll(ENDS)) {
    let end = match.index + match[0].length;
    const pair = around(match.index);
    // The end of a quotation is the end of its sentence: `"Now." Then …`
    if (pair && end < pair[1] - 1) continue;
    if (pair) end = pair[1];
    while (CLOSING_QUOTES.includes(text[end] ?? " ") && !begins.has(end)) end++;
    if (!isEnd(text, start, match.index, end, match[0])) continue;
    while (text[end] === " ") end++;
    parts.push(text.slice(start, end));
    start = end;
  }
  if (start < text.length) parts.push(text.slice(start));
  return rejoined(parts);
}

// The quotations in a text, [begin, end]; an opening mark without a closing one has none.
function quotations(text, [open, close]) {
  const spans = [];
  for (let begin = text.indexOf(open); begin >= 0; ) {
    const end = text.indexOf(close, begin + 1) + 1;
    if (!end) break;
    spans.push([begin, end]);
    begin = text.indexOf(open, end);
  }
  return spans;
}

function spansOf(text, pattern) {
  return Array.from(text.matchAll(pattern), (match) => [match.index, match.index + match[0].length]);
}

function isEnd(text, start, at, end, marks) {
  const rest = text.slice(end);
  if (!rest) return true;
  const isWide = WIDE_ENDS.test(marks) || WIDE.test(text[end - 1]) || isUnspaced(text.slice(Math.max(start, end - NEAR), end), rest);
  if (!rest.startsWith(" ") && !isWide) return false;
  if (/^ *\[\d+\]/.test(rest)) return false;
  if (marks !== ".") return true;
  const word = text.slice(Math.max(start, at - LONGEST_WORD), at).split(/[\s"'“‘(\[]/).at(-1).toLowerCase();
  return !ABBREVIATIONS.has(word) && !/^\p{Ll}$/u.test(word);
}

// Parts that belong together: a quotation and its speaker, a number and its noun, and an end without letters.
function rejoined(parts) {
  const groups = [];
  let before = "";
  for (const part of parts) {
    const abbreviated = groups.length > 0 && isAbbreviated(before, part);
    if (groups.length && (abbreviated || continues(before, part))) groups[groups.length - 1] += part;
    else groups.push(part);
    before = abbreviated ? before.slice(-NEAR) + part : part;
  }
  if (groups.length > 1 && !HAS_LETTERS.test(groups.at(-1))) groups.push(groups.splice(-2).join(""));
  return groups;
}

function continues(before, after) {
  if (!HAS_LETTERS.test(before)) return true;
  const end = before.trimEnd();
  if (end !== before) return (CLOSING_QUOTES.includes(end.at(-1)) && QUOTATIVE.test(after)) || isDate(before, after);
  if (isUnspaced(before, after)) return false;
  return /^[\p{L}\p{N}]/u.test(after) && (CLOSING_QUOTES + ".!?").includes(end.at(-1));
}

function isUnspaced(before, after) {
  return BEGINS_WITH_HANGUL.test(after) && UNSPACED_END.test(before) && !ATTACHED.test(after);
}

function isDate(before, after) {
  return DATE_CONTINUES.test(after) && DATE_BEGINS.test(before.slice(-NEAR)) && /[가-힣]/.test(before);
}

function isAbbreviated(before, after) {
  const [, word] = /([\p{L}]+)\. ?$/u.exec(before.slice(-NEAR)) ?? [];
  if (!word) return false;
  if (TITLES.has(word)) return !/\d\s\p{L}+\. ?$/u.test(before.slice(-NEAR));
  return (SHORTENED.has(word) || SHORTENED.has(word.toLowerCase())) && /^[\p{Ll}\d]/u.test(after);
}

function fitting(text, longest, count) {
  if (text.trimEnd().length < 2 || count(text) <= longest) return [text];
  const at = cut(text);
  return [text.slice(0, at), text.slice(at)].flatMap((part) => fitting(part, longest, count));
}

// The position of the cut, in the middle half: after a clause, else after a space, else within a word.
function cut(text) {
  const { length } = text;
  const [middle, low] = [Math.floor(length / 2), Math.floor(length / 4)];
  const high = length - low;
  for (const pattern of [CLAUSE, / /g]) {
    const ends = [...text.slice(low, high).matchAll(pattern)].map((match) => low + match.index + match[0].length);
    const possible = ends.filter((end) => end > 0 && end < length && text[end] !== " ");
    const nearest = (a, b) => (Math.abs(b - middle) < Math.abs(a - middle) ? b : a);
    if (possible.length) return possible.reduce(nearest);
  }
  for (let end = middle; end < Math.min(middle + CLUSTER, length); end++) {
    if (text[end] !== " " && !/^[\p{M}\u200c\u200d\udc00-\udfff]/u.test(text.slice(end)) && text[end - 1] !== "\u200d") return end;
  }
  return middle;
}
