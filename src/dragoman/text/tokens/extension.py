"""More pieces for a finished vocabulary, learned from new text: what the base cuts into many pieces becomes one.

Input: the SentencePiece models of a base and the text of a fine-tuning. Output: the models with pieces appended, and
for each new piece the ids of the base that it replaces. Characters that the base writes in bytes come first; then the
most frequent adjacent pieces inside a word are merged, again and again (Sennrich et al. 2016, algorithm 1, continued
from the base's own segmentation). Old pieces keep their ids and scores. The score of a new piece is such that it is
preferred to what it replaces: its log frequency in a unigram model, a rank after all old merges in a BPE model.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import inf, log

from dragoman.text.terms.symbols import symbol
from dragoman.text.tokens.model_file import (
    BPE,
    MODEL_TYPE,
    NORMAL,
    PIECES,
    SPACE,
    TRAINER_SPEC,
    USER_DEFINED,
    Piece,
    field,
    model_pieces,
)
from dragoman.text.tokens.model_file import section as fields_of
from dragoman.text.tokens.tokenizer import UNK, Tokenizer, Vocabulary
from dragoman.text.words.normalise import normalise
from dragoman.text.words.script import script_of

Ids = tuple[int, ...]
Pair = tuple[str, str]
Places = dict[Pair, set[int]]
# A piece must occur this often, and has at most as many characters as SentencePiece's own.
FEWEST, LONGEST = 5, 16
# How much more likely than its parts a new piece of a unigram model is at least, in nats.
PREFERENCE = 0.1


@dataclass(frozen=True)
class Extension:
    """An extended tokenizer."""

    tokenizer: Tokenizer
    replaced: tuple[Sequence[Ids], Sequence[Ids]]
    """For source and target, in the order of the new pieces: the ids of the base that each replaces."""
    tokens_before: int
    tokens_after: int
    """Tokens of the text on both sides."""


def extend(tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]], count: int) -> Extension:
    """The tokenizer with up to `count` more pieces, on each side if the vocabularies are separate."""
    vocabularies = tokenizer.source, tokenizer.target
    words = [_words(vocabulary, (pair[side] for pair in pairs)) for side, vocabulary in enumerate(vocabularies)]
    taken = [{piece.text for piece in model_pieces(vocabulary.serialized)} for vocabulary in vocabularies]
    if tokenizer.same_ids:
        learners = [_Merges(words[0] + words[1], taken[0] | taken[1])]
    else:
        learners = list(map(_Merges, words, taken))
    added = [merges.learn(count, _is_bpe(side)) for merges, side in zip(learners, vocabularies, strict=False)]
    source = _appended(tokenizer.source, added[0], learners[0])
    target = source if tokenizer.joint else _appended(tokenizer.target, added[-1], learners[-1])
    replaced = [piece.ids for piece in added[0]], [piece.ids for piece in added[-1]]
    before, after = sum(merges.before for merges in learners), sum(merges.tokens for merges in learners)
    return Extension(Tokenizer(source, target), replaced, before, after)


def with_symbols(tokenizer: Tokenizer, count: int) -> Extension:
    """The tokenizer with `count` symbols for placeholders (`text.terms.symbols`), each in the place of `{0}`, `{1}`, …

    A base model has seen such braces, or pieces of them: what it knows of them is where the symbols begin.
    """
    names = [symbol(number) for number in range(count)]
    examples = [f"{{{number}}}" for number in range(count)]
    added = b"".join(field(PIECES, Piece(name, type=USER_DEFINED).message()) for name in names)
    source = _with_pieces(tokenizer.source, added)
    target = source if tokenizer.joint else _with_pieces(tokenizer.target, added)
    ours, theirs = ([tuple(ids) for ids in tokenizer.encode(examples, side)] for side in ("source", "target"))
    return Extension(Tokenizer(source, target), (ours, theirs), 0, 0)


@dataclass(frozen=True)
class _New:
    """A new piece, the two it is merged from (none for a character), how often it occurs, and what it replaces."""

    text: str
    parts: tuple[str, ...]
    count: int
    ids: Ids


Word = tuple[tuple[str, Ids], ...]
"""The pieces of a word with their ids; a character that is no piece has several, or the one of UNK."""


def _words(vocabulary: Vocabulary, lines: Iterable[str]) -> Counter[Word]:
    """How often each word occurs, as the base segments it; what cannot be merged divides words."""
    kinds = [piece.type for piece in model_pieces(vocabulary.serialized)]
    counts: Counter[Word] = Counter()
    for line in lines:
        word: list[tuple[str, Ids]] = []
        for text, ids in _symbols(vocabulary, line):
            mergeable = len(ids) > 1 or ids[0] == UNK or kinds[ids[0]] == NORMAL
            if word and (text.startswith(SPACE) or not mergeable):
                counts[tuple(word)] += 1
                word = []
            if mergeable:
                word.append((text, ids))
        if word:
            counts[tuple(word)] += 1
    return counts


def _symbols(vocabulary: Vocabulary, line: str) -> Iterator[tuple[str, Ids]]:
    """The pieces of a line; bytes are put together to the characters that they write."""
    processor = vocabulary.processor
    pending: list[int] = []
    text = normalise(line)
    for piece, id_ in zip(processor.EncodeAsPieces(text), processor.EncodeAsIds(text), strict=True):
        if processor.IsByte(id_):
            pending.append(id_)
            raw = bytes(int(processor.IdToPiece(byte)[3:-1], 16) for byte in pending)
            try:
                yield raw.decode(), tuple(pending)
                pending = []
            except UnicodeDecodeError:
                continue
        elif id_ == UNK:  # the piece is the text itself
            yield from ((character, (UNK,)) for character in piece)
        else:
            yield piece, (id_,)


class _Merges:
    """Learns new pieces from counted words; `tokens` is the number of tokens of the text."""

    def __init__(self, words: Counter[Word], taken: set[str]) -> None:
        self.taken = taken
        self.ids = {text: ids for word in words for text, ids in word}
        self.counts = list(words.values())
        self.words = [[text for text, _ in word] for word in words]
        self.before = self.tokens = sum(len(ids) * count for word, count in words.items() for _, ids in word)

    def learn(self, most: int, bpe: bool) -> list[_New]:
        """Up to `most` new pieces, in the order in which they were found.

        A BPE model writes a piece only by way of those that it was merged from. A unigram model does not need them:
        of twice as many pieces those are kept that save the most tokens in the end.
        """
        characters = self._characters(most)
        known = {text for text, ids in self.ids.items() if len(ids) == 1 and ids[0] != UNK}
        known |= {piece.text for piece in characters}
        self.words = [[text if text in known else "" for text in word] for word in self.words]
        merged = self._merged((most - len(characters)) * (1 if bpe else 2))
        return characters + (merged if bpe else self._most_useful(merged, most - len(characters)))

    def _most_useful(self, merged: Sequence[_New], most: int) -> list[_New]:
        left: Counter[str] = Counter()
        for word, count in zip(self.words, self.counts, strict=True):
            for text in word:
                left[text] += count
        saved = {piece.text: left[piece.text] * (len(piece.ids) - 1) for piece in merged}
        useful = {
            piece.text for piece in sorted(merged, key=lambda piece: -saved[piece.text])[:most] if saved[piece.text]
        }
        self.tokens += sum(saved[piece.text] for piece in merged if piece.text not in useful)
        return [replace(piece, count=left[piece.text]) for piece in merged if piece.text in useful]

    def _characters(self, most: int) -> list[_New]:
        """Characters that the base has no piece for."""
        seen: Counter[str] = Counter()
        for word, count in zip(self.words, self.counts, strict=True):
            for text in word:
                if len(self.ids[text]) > 1 or self.ids[text][0] == UNK:
                    seen[text] += count
        often = sorted((text for text, count in seen.items() if count >= FEWEST), key=lambda text: (-seen[text], text))
        characters = [_New(text, (), seen[text], self.ids[text]) for text in often[:most]]
        self.tokens -= sum(piece.count * (len(piece.ids) - 1) for piece in characters)
        return characters

    def _merged(self, most: int) -> list[_New]:
        pairs: Counter[Pair] = Counter()
        where: Places = defaultdict(set)
        for index, word in enumerate(self.words):
            self._count(index, word, pairs, where)
        heap = [(-count, pair) for pair, count in pairs.items() if count >= FEWEST]
        heapify(heap)
        merged: list[_New] = []
        while heap and len(merged) < most:
            count, pair = heappop(heap)
            if -count != pairs[pair]:  # it has changed since it was pushed
                if pairs[pair] >= FEWEST:
                    heappush(heap, (-pairs[pair], pair))
                continue
            if not self._allowed(pair):
                continue
            text = "".join(pair)
            self.taken.add(text)
            self.ids[text] = self.ids[pair[0]] + self.ids[pair[1]]
            merged.append(_New(text, pair, -count, self.ids[text]))
            self.tokens += count
            changed = self._replace(pair, text, pairs, where)
            for other in changed:
                if pairs[other] >= FEWEST:
                    heappush(heap, (-pairs[other], other))
        return merged

    def _count(self, index: int, word: list[str], pairs: Counter[Pair], where: Places, sign: int = 1) -> None:
        for pair in pairwise(word):
            if all(pair):
                pairs[pair] += sign * self.counts[index]
                if sign > 0:
                    where[pair].add(index)

    def _replace(self, pair: Pair, text: str, pairs: Counter[Pair], where: Places) -> set[Pair]:
        """Merge the pair in every word that has it; the pairs whose counts have grown."""
        grown = set[Pair]()
        for index in sorted(where.pop(pair)):
            word = self.words[index]
            self._count(index, word, pairs, where, -1)
            at, merged = 0, list[str]()
            while at < len(word):
                together = tuple(word[at : at + 2]) == pair
                merged.append(text if together else word[at])
                at += 2 if together else 1
            self.words[index] = merged
            self._count(index, merged, pairs, where)
            grown |= {other for other in pairwise(merged) if text in other}
        return grown

    def _allowed(self, pair: Pair) -> bool:
        left, right = pair
        text = left + right
        if text in self.taken or len(text) > LONGEST or SPACE in text[1:]:
            return False
        return left == SPACE or _kind(left[-1]) == _kind(right[0]) != "digit"


def _kind(character: str) -> str:
    """Pieces of one kind may be merged: letters of one script, with their marks, or other signs."""
    if character.isalpha():
        return script_of(character)
    category = unicodedata.category(character)
    return "mark" if category[0] == "M" else "digit" if category[0] == "N" else "sign"


def _is_bpe(vocabulary: Vocabulary) -> bool:
    return fields_of(vocabulary.serialized, TRAINER_SPEC).get(MODEL_TYPE) == BPE


def _appended(vocabulary: Vocabulary, pieces: Sequence[_New], merges: _Merges) -> Vocabulary:
    """The model with the pieces that were found at its end."""
    if not pieces:
        return vocabulary
    scores = {piece.text: piece.score for piece in model_pieces(vocabulary.serialized) if piece.type == NORMAL}
    lowest, highest = min(scores.values()), max(scores.values())
    bpe, added = _is_bpe(vocabulary), b""
    for rank, piece in enumerate(pieces, 1):
        if bpe:
            score = lowest - rank
        else:  # within the bounds of the old scores, from which SentencePiece computes those of other kinds of pieces
            likely = log(piece.count / merges.tokens)
            least = _segmented(piece.text, scores) + PREFERENCE
            score = min(max(likely, least, lowest), highest)
        scores[piece.text] = score
        added += field(PIECES, Piece(piece.text, score).message())
    return _with_pieces(vocabulary, added)


def _with_pieces(vocabulary: Vocabulary, added: bytes) -> Vocabulary:
    return Vocabulary.load(vocabulary.serialized + added, "the extended tokenizer")


def _segmented(text: str, scores: Mapping[str, float]) -> float:
    """The highest sum of the scores of pieces that make up the text; −∞ if none do."""
    best = [0.0, *[-inf] * len(text)]
    for end in range(1, len(text) + 1):
        for start in range(end):
            score = best[start] + scores.get(text[start:end], -inf)
            best[end] = max(best[end], score)
    return best[-1]
