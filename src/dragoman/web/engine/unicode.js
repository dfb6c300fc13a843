// Unicode and spaces, as `dragoman.text.words.normalise`: NFC, no invisible characters, single spaces between words.
"use strict";

// eslint-disable-next-line no-control-regex
const INVISIBLE = /[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060\ufeff]/g;
// What Python calls a space, once invisible characters are gone.
const SPACES = /[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

function normalise(text) {
  const valid = text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
  return valid.replace(INVISIBLE, "").normalize("NFC").split(SPACES).filter(Boolean).join(" ");
}

// The UTF-8 bytes of a text, and the text of bytes, in which each byte that is not valid is U+FFFD, as SentencePiece
// writes them.
function utf8(text) {
  return new TextEncoder().encode(text);
}

function textOf(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const size = [1, 2, 3, 4].find((length) => isCharacter(bytes.slice(at, at + length), length)) ?? 0;
    text += size ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes.slice(at, at + size))) : "\ufffd";
    at += size || 1;
  }
  return text;
}

function isCharacter(bytes, length) {
  if (bytes.length < length) return false;
  try {
    return [...new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes))].length === 1;
  } catch {
    return false;
  }
}
