// The character map of a SentencePiece model that an import brought along: sequences of bytes and what is written in their
// place, the longest first. Symbols of the vocabulary are never changed.
//
// The map is a double-array trie of UTF-8 bytes, whose leaves are places in a list of texts that end with NUL.
"use strict";

class CharacterMap {
  constructor(base64) {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const size = new DataView(bytes.buffer).getUint32(0, true);
    this.units = new Uint32Array(bytes.buffer.slice(4, 4 + size));
    this.texts = bytes.subarray(4 + size);
  }

  // The text with everything replaced that the map has.
  apply(text, symbols) {
    let result = "";
    for (let at = 0; at < text.length; ) {
      const symbol = symbols.find((name) => text.startsWith(name, at));
      // No sequence in such a map is longer.
      const [size, written] = symbol ? [symbol.length, symbol] : this._longest(text.slice(at, at + 32));
      result += written;
      at += size;
    }
    return result;
  }

  // The length of the longest sequence at the beginning of `text`, and its replacement; else the first character.
  _longest(text) {
    let node = offsetOf(this.units[0]);
    let best = [text.codePointAt(0) > 0xffff ? 2 : 1, undefined];
    let length = 0;
    for (const character of text) {
      length += character.length;
      for (const byte of utf8(character)) {
        node ^= byte;
        const unit = this.units[node];
        if ((unit & 0x800000ff) !== byte) return this._replacement(text, best);
        node ^= offsetOf(unit);
        if ((unit >>> 8) & 1) best = [length, this.units[node] & 0x7fffffff];
      }
    }
    return this._replacement(text, best);
  }

  _replacement(text, [length, place]) {
    if (place === undefined) return [length, text.slice(0, length)];
    return [length, new TextDecoder().decode(this.texts.subarray(place, this.texts.indexOf(0, place)))];
  }
}

function offsetOf(unit) {
  return (unit >>> 10) << ((unit & 512) >>> 6);
}
