// One direction of translation: a network, its vocabularies and the rules of its search.
"use strict";

// The directions of a model, which share its network. `facts`: what the page says of the model; `bytes`: its weights.
function directionsOf(facts, bytes, kernels) {
  const network = new Network(facts.shape, tensorsOf(facts.index, bytes, kernels), kernels);
  const [source, target = source] = facts.vocabularies.map((model) => new Pieces(model));
  return facts.pairs.map((pair) => new Direction({ ...facts, ...pair }, network, source, target));
}

class Direction {
  constructor(facts, network, source, target) {
    Object.assign(this, { facts, network, source, target });
    // Translations of sentences: while one types, only the sentence that changes is translated again.
    this.known = new Map();
  }

  // The sentences of a text by lines: [{text, separator}], the last of a line without a separator.
  sentences(text) {
    const count = (part) => this.source.encode(part).length;
    return text.split(/\r\n|[\n\r\v\f\x85\u2028\u2029]/).map((line) => {
      const clean = normalise(line);
      const { longest } = this.facts;
      if (!clean || count(clean) <= longest * WHOLE_SHARE) return clean ? [{ text: clean, separator: "" }] : [];
      return divide(clean, longest, count);
    });
  }

  // The translation of one sentence; `glossary` terms are [source, target]. Steps of a generator, as in `beamSearch`.
  *translate(sentence, changes = {}, prefix = "") {
    const options = { ...this.facts.decode, ...changes };
    const key = JSON.stringify([sentence, options.beam, prefix]);
    if (!this.known.has(key)) {
      const ids = this.source.encode(sentence);
      const forced = prefix ? this.target.encode(prefix) : [];
      const hypotheses = ids.length ? yield* this.search(ids, options, forced) : [];
      if (this.known.size > 5000) this.known.clear();
      this.known.set(key, { text: this.textOf(hypotheses[0]), unknown: this.unknown(ids), tokens: ids.length });
    }
    return this.known.get(key);
  }

  *search(ids, options, prefix) {
    return yield* beamSearch(this.network, ids, options, this.facts.marks, prefix);
  }

  textOf(hypothesis) {
    return hypothesis ? normalise(this.target.decode(hypothesis.tokens)) : "";
  }

  // The share of bytes and unknown pieces in the ids of a source: of a script that the model has not seen, most.
  unknown(ids) {
    const strange = ids.filter((id) => id === UNK || this.source.type(id) === BYTE).length;
    return ids.length ? strange / ids.length : 0;
  }

  // Other continuations of `before`, the beginning of a translation: the next words, each with the rest.
  *alternatives(sentence, before, count) {
    const ids = this.source.encode(sentence);
    const prefix = before ? this.target.encode(before) : [];
    const options = { ...this.facts.decode, beam: 1, min_length: 0 };
    const firsts = highest(this._next(ids, prefix), 3 * count).filter((token) => token !== EOS);
    yield;
    const texts = [];
    for (const token of firsts) {
      const [hypothesis] = yield* this.search(ids, options, [...prefix, token]);
      const text = this.textOf(hypothesis);
      if (text && !texts.includes(text)) texts.push(text);
      if (texts.length === count) break;
    }
    return texts;
  }

  // log P of each token after `prefix`.
  _next(ids, prefix) {
    const { network } = this;
    const { marks } = this.facts;
    const state = network.encode([...marks.source, ...ids, EOS]);
    const path = [];
    let features;
    for (const token of [BOS, ...marks.target, ...prefix]) features = network.decode([token], [path], state);
    return logSoftmax(network.logits(features, 1));
  }
}
