// Words: the pieces of each side put together to words, and, where a reader wants it, weights and contributions merged to
// words: the sum over the pieces that are read (keys), the mean over the pieces that read (queries).

const BYTE = /^<0x([0-9A-F]{2})>$/i;
const isPunctuation = (piece) => /^▁?\p{P}+$/u.test(piece);
const isSpecial = (piece) => /^<[^>]+>$/.test(piece) && !BYTE.test(piece); // EOS, a language

// The text of pieces: bytes are put together to characters.
function spelled(pieces) {
  const encoder = new TextEncoder();
  const bytes = pieces.flatMap((piece) => (BYTE.test(piece) ? [parseInt(piece.slice(3, 5), 16)] : [...encoder.encode(piece)]));
  return new TextDecoder().decode(Uint8Array.from(bytes)).replaceAll("▁", " ");
}

// A side is the name of one, "source", "input" or "output", or a list of pieces.
const piecesOf = (side) => (typeof side === "string" ? data.pieces[side] : side);

// The indices of the pieces of each word, all of them: a piece that begins with "▁" begins a word, a special token is one.
// Punctuation around a word is a group of its own; within a word, as in "didn't", it belongs to the word.
function groupsOf(side) {
  const groups = [];
  const pieces = piecesOf(side);
  const continues = (piece) => piece !== undefined && !piece.startsWith("▁") && !isSpecial(piece);
  // From the back: whether only punctuation follows until the word ends.
  const isOutside = [];
  for (let i = pieces.length - 1; i >= 0; i--)
    isOutside[i] = isPunctuation(pieces[i]) && (pieces[i].startsWith("▁") || !continues(pieces[i + 1]) || isOutside[i + 1]);
  let isClosed = true;
  pieces.forEach((piece, i) => {
    const special = isSpecial(piece);
    const changes = i > 0 && isOutside[i] !== isOutside[i - 1];
    if (isClosed || special || changes || piece.startsWith("▁")) groups.push([]);
    groups.at(-1).push(i);
    isClosed = special;
  });
  return groups;
}

const textOfGroup = (side, group) => {
  const pieces = group.map((i) => piecesOf(side)[i]);
  return isSpecial(pieces[0]) ? pieces[0] : spelled(pieces);
};

// The words of a side without special tokens: their texts, and the indices of their pieces.
function wordsOf(side) {
  const name = side === "source" ? "source" : "output";
  return groupsOf(name)
    .filter(([first]) => !isSpecial(data.pieces[name][first]))
    .map((group) => ({ pieces: group, text: textOfGroup(name, group) }));
}

// What a list of a side shows: its pieces, or where a reader wants it its words, each with the pieces that it has.
function unitsOf(side) {
  if (!page.words) return data.pieces[side].map((piece, i) => ({ pieces: [i], text: piece }));
  return groupsOf(side).map((group) => ({ pieces: group, text: textOfGroup(side, group).trim() }));
}

// The sides of a matrix of weights; null where an axis has no pieces of the sentence.
function sidesOf(x) {
  if (x.sides) return x.sides;
  const sides = x.axes.map((axis) => x.labels[axis]);
  return sides.every((side) => typeof side === "string") ? sides : null;
}

// A matrix of weights by words, where a reader wants it: the sum over keys, the mean over queries; with `total` the sum
// over both, for contributions to log P, which add up. `groups` are the pieces of each row and each column.
function byWords(x, total = false) {
  const sides = page.words && x && x.reduced === 1 && x.shape.length === 2 && sidesOf(x);
  if (!sides) return x;
  // A row of attention between encoder and decoder computes an output.
  const shownSides = sides[0] === "input" && sides[1] === "source" ? ["output", "source"] : sides;
  const groups = shownSides.map(groupsOf);
  const [rows, columns] = groups.map((list) => list.length);
  const values = new Float32Array(rows * columns);
  groups[0].forEach((queries, i) =>
    groups[1].forEach((keys, j) => {
      let sum = 0;
      for (const query of queries) for (const key of keys) sum += x.values[query * x.shape[1] + key];
      values[i * columns + j] = total ? sum : sum / queries.length;
    }),
  );
  const texts = groups.map((list, axis) => list.map((group) => textOfGroup(shownSides[axis], group).trim()));
  if (shownSides !== sides) texts[0] = texts[0].map((text) => `→ ${text}`);
  const labels = { [x.axes[0]]: texts[0], [x.axes[1]]: texts[1] };
  return { ...x, shape: [rows, columns], values, labels, groups, sides, shownSides, pieceWise: x, total };
}

// The row of a matrix, or the column, in which a piece is.
const placeOf = (x, piece, axis = 0) => (x.groups ? x.groups[axis].findIndex((group) => group.includes(piece)) : piece);

// Where words are shown: a line for what is computed of pieces.
const byPieces = () => (page.words ? el("p.hint", {}, t("words.not")) : null);

// What a click on a cell of a merged matrix shows: the values of the pieces, adding up.
function wordInputs(x) {
  if (!x.groups) return null;
  const { pieceWise, groups, shownSides, total } = x;
  const [readers, read] = shownSides.map(piecesOf);
  return (row, column) => {
    const [queries, keys] = [groups[0][row], groups[1][column]];
    const share = total ? 1 : queries.length;
    const cells = queries.flatMap((query) =>
      keys.map((key) => {
        const value = pieceWise.values[query * pieceWise.shape[1] + key];
        const last = share > 1 ? [number(value / share)] : [];
        return [value, [bdi(readers[query]), bdi(read[key]), number(value), ...last]];
      }),
    );
    const sum = cells.reduce((all, [value]) => all + value / share, 0);
    const head = [t("axis.query"), t("axis.key"), t("words.value"), ...(share > 1 ? [`÷ ${share}`] : [])];
    return [terms(cells, head, sum)];
  };
}
