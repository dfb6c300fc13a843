// gettext PO: the messages without a translation, and their translations put into the file, whose other lines stay.
"use strict";

const PO_LINE = /^\s*(?:(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d{1,2})\])?\s*)?"((?:[^"\\]|\\.)*)"\s*$/;
const ESCAPES = { n: "\n", t: "\t", r: "\r" };
// The mark of the key of a menu or a button: _File, E&xit. Longer texts are sentences.
const ACCELERATOR = /(?:(?<=^|[\s("'[])([_&~])(?=\p{L})|(?<=\p{Lu}\p{Ll}{0,30})([_&~])(?=\p{Ll}))(?!\w{1,32};)/gu;
const LONGEST_LABEL = 80;
// Two words that a sign joins, or a name in a program: Drag&drop, User_id, _id.
const JOINED = new RegExp(
  String.raw`(?<=[\p{L}]{3})&(?:answers|bass|breakfast|butter|click|close|conditions|continue|development|drinks?|drop|edit` +
    String.raw`|exit|forth|go|learn|match|open|paste|pepper|place|print|quit|replace|roll|run|save|send|share|trace|white|win)` +
    String.raw`(?!\w)|(?<=\p{L}{3})_(?:code|count|data|date|file|ids?|index|info|keys?|length|level|list|mode|name|number` +
    String.raw`|page|path|size|state|status|str|string|table|text|time|type|uid|url|user|values?)(?!\w)` +
    String.raw`|(?<!\w)_u{0,2}ids?(?!\w)|(?<=\p{Lu}{2})_`,
  "u",
);

// As `documentOf`; with `everything` also the messages that have a translation. Messages with plural forms stay as they
// are. Raises an Error for what is no PO file.
function poDocument(name, lines, newline, language, everything) {
  const messages = poMessages(name, lines);
  const current = messages.filter(({ obsolete, fields }) => !obsolete && fields.msgid?.text.trim());
  const plural = current.filter(({ fields }) => fields.msgid_plural);
  const single = current.filter((message) => !plural.includes(message) && message.fields.msgstr);
  const chosen = single.filter(({ fields }) => everything || !fields.msgstr.text);
  const units = chosen.map((message) => poUnit(message));
  const notes = [units.length ? ["po_messages", { count: units.length, total: current.length }] : ["po_nothing", {}]];
  if (plural.length) notes.push(["po_plurals", { lines: listed(plural) }]);
  return {
    lines: units.flatMap(({ cores }) => cores),
    notes,
    repeats: single.length > 0,
    filled(translations) {
      const changed = new Map();
      let at = 0;
      for (const unit of units) {
        const texts = translations.slice(at, (at += unit.cores.length));
        const translated = poText(unit, texts);
        changed.set(unit.message, { translated, fuzzy: differs(unit.source, poText({ ...unit, mark: null }, texts)) });
      }
      return poLines(messages, lines, changed, language).join(newline);
    },
  };
}

// The messages of the lines: {fields, comments, obsolete}; a field has its text, its first line and the one behind it.
function poMessages(name, lines) {
  const messages = [];
  let message = null;
  let field = null;
  const begin = () => messages.push((message = { fields: {}, comments: [], obsolete: false }));
  lines.forEach((line, at) => {
    const match = PO_LINE.exec(line);
    if (line.trim().startsWith("#")) {
      const obsolete = line.trim().startsWith("#~");
      if (!message || message.fields.msgstr || (message.obsolete && !obsolete)) begin();
      if (obsolete) message.obsolete = true;
      else message.comments.push(at);
      field = null;
    } else if (match?.[1]) {
      const key = match[2] ? `msgstr ${match[2]}` : match[1];
      if (!message || (message.fields.msgstr && /^msg(ctxt|id)$/.test(key)) || message.obsolete) begin();
      message.fields[key] = field = { text: unescaped(match[3]), start: at, end: at + 1 };
      if (match[2]) message.fields.msgstr = field;
    } else if (match && field) {
      field.text += unescaped(match[3]);
      field.end = at + 1;
    } else if (line.trim()) throw new Error(text("po_line", { name, line: at + 1 }));
  });
  return messages;
}

function unescaped(raw) {
  return raw.replace(/\\(.)/g, (_, sign) => ESCAPES[sign] ?? sign);
}

function escaped(line) {
  return line.replace(/[\\"]/g, "\\$&").replace(/\t/g, "\\t").replace(/\r/g, "\\r");
}

// What of a message is translated: its lines without the white space around them and the mark of a key.
function poUnit(message) {
  const source = message.fields.msgid.text;
  const marks = marksOf(source);
  const mark = marks.length === 1 ? { sign: marks[0][0], key: source[marks[0].index + 1] } : null;
  const plain = mark ? source.slice(0, marks[0].index) + source.slice(marks[0].index + 1) : source;
  const rows = plain.split("\n").map((row) => {
    const core = row.trim();
    const at = row.indexOf(core);
    return [row.slice(0, at), core, row.slice(at + core.length)];
  });
  return { message, source: plain, mark, rows, cores: rows.map(([, core]) => core).filter(Boolean) };
}

// The signs that may be the mark of a key: none inside a placeholder, in a name or between two words.
function marksOf(source) {
  if (source.length > LONGEST_LABEL || /^[_&~][\p{Ll}_]+$/u.test(source) || JOINED.test(source)) return [];
  const shown = source.replace(PLACEHOLDER, (name) => "\0".repeat(name.length));
  return [...shown.matchAll(ACCELERATOR)].filter(({ index, 0: sign }) => sign !== "_" || !isInSentence(shown, index));
}

// Whether a mark is inside a word, with small words around it: where a label has capitals it has them in all words.
function isInSentence(label, at) {
  const words = label.trim().split(/\s+/u);
  return /\p{L}/u.test(label[at - 1] ?? "") && words.length > 2 && words.some((word) => /^\p{Ll}/u.test(word) && word.length > 3);
}

function poText({ rows, mark }, translations) {
  const rest = [...translations];
  const whole = rows.map(([before, core, behind]) => before + (core && rest.shift()) + behind).join("\n");
  return mark ? withMark(whole, mark) : whole;
}

// The mark before a letter of a script with capitals: the key, best at the beginning of a word, or the first letter of
// a word; else behind the label: 파일(_F). It is never inside a placeholder.
function withMark(label, { sign, key }) {
  const placeholders = [...label.matchAll(PLACEHOLDER)];
  const letters = label.replace(PLACEHOLDER, " ").match(/\p{L}/gu) ?? [];
  if (!letters.length) return label;
  if (letters.some((letter) => letter.toLowerCase() === letter.toUpperCase())) {
    return label.replace(/[\s.…:：]*$/u, (end) => `(${sign}${key.toUpperCase()})${end}`);
  }
  const isFree = (at) => !placeholders.some(({ index, 0: name }) => index <= at && at < index + name.length);
  for (const pattern of [`(?<![\\p{L}\\p{N}])${key}`, key, "(?<![\\p{L}\\p{N}])\\p{L}"]) {
    const place = [...label.matchAll(new RegExp(pattern, "giu"))].find(({ index }) => isFree(index));
    if (place) return label.slice(0, place.index) + sign + label.slice(place.index);
  }
  return label;
}

function differs(source, translated) {
  return faultsOf(source, translated).placeholders.length > 0;
}

// The lines of the file; a translation with other placeholders than its source is fuzzy, so that no program uses it.
function poLines(messages, lines, changed, language) {
  const result = lines.map((line) => [line]);
  const header = messages.find(({ fields, obsolete }) => fields.msgid?.text === "" && !fields.msgctxt && !obsolete);
  if (header?.fields.msgstr && changed.size) {
    const { start, end } = header.fields.msgstr;
    for (let at = start; at < end; at++) {
      result[at] = [lines[at].replace(/charset=[\w.:-]+/, "charset=UTF-8").replace(/"Language:\s*\\n"/, `"Language: ${language}\\n"`)];
    }
    withoutFuzzy(header.comments, lines, result); // as a template has it
  }
  for (const [{ fields, comments }, { translated, fuzzy }] of changed) {
    const { start, end } = fields.msgstr;
    result[start] = translated.includes("\n") ? ['msgstr ""', ...rowsOf(translated)] : [`msgstr "${escaped(translated)}"`];
    for (let at = start + 1; at < end; at++) result[at] = [];
    const flags = comments.filter((at) => lines[at].trim().startsWith("#,"));
    const doubted = flags.some((at) => /\bfuzzy\b/.test(lines[at]));
    if (!fuzzy && doubted) withoutFuzzy(comments, lines, result);
    if (!fuzzy || doubted) continue;
    if (flags.length) result[flags[0]] = [lines[flags[0]].replace("#,", "#, fuzzy,")];
    else result[(fields.msgctxt ?? fields.msgid).start].unshift("#, fuzzy");
  }
  return result.flat();
}

// A message that somebody doubted is no longer fuzzy, and what it was guessed from is no use.
function withoutFuzzy(comments, lines, result) {
  for (const at of comments) {
    const line = lines[at].trim();
    if (line.startsWith("#|")) result[at] = [];
    if (!line.startsWith("#,")) continue;
    const flags = line.slice(2).split(",").map((flag) => flag.trim());
    const others = flags.filter((flag) => flag && flag !== "fuzzy");
    if (others.length < flags.length) result[at] = others.length ? [`#, ${others.join(", ")}`] : [];
  }
}

function rowsOf(translated) {
  return translated.split(/(?<=\n)/).map((row) => `"${escaped(row.replace(/\n$/, ""))}${row.endsWith("\n") ? "\\n" : ""}"`);
}

// The numbers of lines, the first few.
function listed(messages) {
  const numbers = messages.map(({ fields }) => fields.msgid.start + 1);
  return numbers.slice(0, 8).join(", ") + (numbers.length > 8 ? " …" : "");
}
