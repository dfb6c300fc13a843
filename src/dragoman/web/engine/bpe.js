// Byte-pair encoding (Sennrich et al. 2016), as SentencePiece merges: of all neighbours the pair with the highest score,
// and of equal ones the first.
"use strict";

function bpe(text, pieces) {
  const nodes = symbolsOf(text, pieces);
  const unusedParts = new Map();
  const queue = new Queue();
  const propose = (left, right) => {
    if (left < 0 || right < 0 || nodes[left].fixed || nodes[right].fixed) return;
    const merged = nodes[left].text + nodes[right].text;
    const id = pieces.ids.get(merged);
    if (id === undefined) return;
    queue.push({ left, right, merged, score: pieces.score(id) });
    if (pieces.type(id) === UNUSED) unusedParts.set(merged, [nodes[left].text, nodes[right].text]);
  };
  for (let at = 1; at < nodes.length; at++) propose(at - 1, at);
  for (let top = queue.pop(); top; top = queue.pop()) {
    const { left, right, merged } = top;
    // Either may have been merged with another since.
    if (!nodes[left].text || !nodes[right].text || nodes[left].text + nodes[right].text !== merged) continue;
    if (nodes[left].next !== right) continue;
    nodes[left].text = merged;
    nodes[left].next = nodes[right].next;
    if (nodes[right].next >= 0) nodes[nodes[right].next].previous = left;
    nodes[right].text = "";
    propose(nodes[left].previous, left);
    propose(left, nodes[left].next);
  }
  const segments = [];
  const emit = (segment) => {
    const id = pieces.ids.get(segment);
    if (id === undefined || pieces.type(id) !== UNUSED || !unusedParts.has(segment)) segments.push([segment, id]);
    else unusedParts.get(segment).forEach(emit);
  };
  for (let at = 0; at >= 0; at = nodes[at].next) emit(nodes[at].text);
  return segments;
}

// The characters of a text, and user-defined symbols whole, as a linked list.
function symbolsOf(text, pieces) {
  const nodes = [];
  for (let at = 0; at < text.length; ) {
    const symbol = pieces.symbols.find((name) => text.startsWith(name, at));
    const piece = symbol ?? String.fromCodePoint(text.codePointAt(at));
    nodes.push({ text: piece, fixed: symbol !== undefined, previous: nodes.length - 1, next: nodes.length + 1 });
    at += piece.length;
  }
  nodes.at(-1).next = -1;
  return nodes;
}

// A heap of proposed merges, the best on top.
class Queue {
  constructor() {
    this.items = [];
  }

  push(item) {
    let at = this.items.push(item) - 1;
    while (at) {
      const parent = (at - 1) >> 1;
      if (!before(this.items[at], this.items[parent])) return;
      this._swap(at, parent);
      at = parent;
    }
  }

  pop() {
    if (this.items.length < 2) return this.items.pop();
    const top = this.items[0];
    this.items[0] = this.items.pop();
    for (let at = 0; ; ) {
      let first = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.items.length && before(this.items[child], this.items[first])) first = child;
      }
      if (first === at) return top;
      this._swap(at, first);
      at = first;
    }
  }

  _swap(a, b) {
    [this.items[a], this.items[b]] = [this.items[b], this.items[a]];
  }
}

function before(a, b) {
  return a.score > b.score || (a.score === b.score && a.left < b.left);
}
