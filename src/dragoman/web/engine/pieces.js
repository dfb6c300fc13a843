// SentencePiece (Kudo and Richardson 2018): text ↔ ids of pieces, unigram models and byte-pair encoding.
"use strict";

const SPACE = "\u2581";
// Types of pieces.
const [NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE] = [1, 2, 3, 4, 5, 6];
// By how much an unknown character scores less than the worst piece of a unigram model.
const UNKNOWN_PENALTY = 10;

class Pieces {
  // `model`: kind, texts, scores and types of the pieces, and what the model does with spaces.
  constructor(model) {
    this.model = model;
    this.map = model.map && new CharacterMap(model.map);
    this.ids = new Map();
    this.bytes = new Map();
    this.symbols = [];
    this.longest = 1;
    let [least, most] = [Infinity, -Infinity];
    model.texts.forEach((text, id) => {
      const type = model.types[id] ?? NORMAL;
      if (type === BYTE) this.bytes.set(parseInt(text.slice(3, 5), 16), id);
      if (type === UNKNOWN) this.unknown = id;
      if (type === UNKNOWN || type === CONTROL || type === BYTE) return;
      this.ids.set(text, id);
      this.longest = Math.max(this.longest, [...text].length);
      if (type === USER_DEFINED) this.symbols.push(text);
      if (type === NORMAL) [least, most] = [Math.min(least, this.score(id)), Math.max(most, this.score(id))];
    });
    this.symbols.sort((a, b) => b.length - a.length);
    this.unknownScore = Math.fround(Math.fround(least) - UNKNOWN_PENALTY);
    this.highestScore = Math.fround(most);
  }

  score(id) {
    return Math.fround(this.model.scores[id]);
  }

  type(id) {
    return this.model.types[id] ?? NORMAL;
  }

  // The ids of a text, which is normalised first.
  encode(raw) {
    const text = this._prepared(normalise(raw));
    if (!text) return [];
    const segments = this.model.kind === "bpe" ? bpe(text, this) : unigram(text, this);
    const ids = [];
    let afterUnknown = false;
    for (const [segment, id] of segments) {
      const isUnknown = id === undefined;
      if (!isUnknown) ids.push(id);
      else if (this.model.bytes) ids.push(...Array.from(utf8(segment), (byte) => this.bytes.get(byte) ?? this.unknown));
      else if (!afterUnknown) ids.push(this.unknown);
      afterUnknown = isUnknown && !this.model.bytes;
    }
    return ids;
  }

  // The text with U+2581 for its spaces, and one before it.
  _prepared(text) {
    const { map, prefix, trim, suffix } = this.model;
    let spaced = map ? this.map.apply(text, this.symbols) : text;
    if (trim) spaced = spaced.replace(/^ +/, "").replace(/ +/g, " ");
    if (!spaced) return "";
    spaced = spaced.replaceAll(" ", SPACE);
    let end = spaced.length;
    while (trim && spaced[end - 1] === SPACE) end--;
    spaced = spaced.slice(0, end);
    if (!prefix) return spaced;
    return suffix ? spaced + SPACE : SPACE + spaced;
  }

  // The text of ids; special tokens have none.
  decode(ids) {
    let text = "";
    let bytes = [];
    const flush = () => {
      text += textOf(bytes);
      bytes = [];
    };
    for (const id of ids) {
      const piece = this.model.texts[id];
      if (this.type(id) === BYTE) {
        bytes.push(parseInt(piece.slice(3, 5), 16));
        continue;
      }
      flush();
      if (this.type(id) === CONTROL) continue;
      if (this.type(id) === UNKNOWN) text += " \u2047 ";
      else text += this.surface(id, !text);
    }
    flush();
    return this.model.suffix ? text.replace(/ $/, "") : text;
  }

  // The text of one piece; at the beginning of a line without the space before it.
  surface(id, first) {
    const piece = this.model.texts[id];
    const bare = first && (this.model.prefix || this.model.trim) && piece.startsWith(SPACE) ? piece.slice(1) : piece;
    return bare.replaceAll(SPACE, " ");
  }
}

// The most probable segmentation, by Viterbi's algorithm over characters; sums are float32, as SentencePiece's.
function unigram(text, pieces) {
  const characters = [...text];
  const { length } = characters;
  const best = new Float32Array(length + 1);
  const from = new Int32Array(length + 1).fill(-1);
  const chosen = new Array(length + 1);
  const offer = (start, end, id, sum) => {
    const total = Math.fround(sum);
    if (from[end] >= 0 && !(total > best[end])) return;
    best[end] = total;
    from[end] = start;
    chosen[end] = id;
  };
  for (let start = 0; start < length; start++) {
    let candidate = "";
    let single = false;
    for (let end = start + 1; end <= Math.min(length, start + pieces.longest); end++) {
      candidate += characters[end - 1];
      const id = pieces.ids.get(candidate);
      if (id === undefined || pieces.type(id) === UNUSED) continue;
      const symbol = pieces.type(id) === USER_DEFINED;
      const bonus = symbol && Math.fround(utf8(candidate).length * pieces.highestScore) - 0.1;
      offer(start, end, id, best[start] + (symbol ? bonus : pieces.score(id)));
      single ||= end === start + 1;
    }
    if (!single) offer(start, start + 1, undefined, best[start] + pieces.unknownScore);
  }
  const segments = [];
  for (let end = length; end > 0; end = from[end]) {
    segments.push([characters.slice(from[end], end).join(""), chosen[end]]);
  }
  return segments.reverse();
}
