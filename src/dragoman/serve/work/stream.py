"""A text → its sentences, translated one after the other, for a client that shows them as they come.

Together they are the translation of the text: a line is divided where `Translator.translate` divides it. A line with
placeholders, a digit or an unusual sign is not divided, because what is copied is placed with a view of the whole line.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from dragoman.control.placeholders.copied import everyday
from dragoman.control.search.sentences import Sentence, split_texts
from dragoman.serve.models.models import Models
from dragoman.serve.work.text import TextLines, TextRequest, choose, unchanged
from dragoman.text.segment import Segment, separator
from dragoman.text.terms.protect import find_placeholders
from dragoman.text.words.normalise import normalise
from dragoman.text.words.script import scripts_of_language
from dragoman.translation import Flag
from dragoman.translator import Translator

# Sentences translated together: one at first, then twice as many each time.
LARGEST_WINDOW = 32


@dataclass(frozen=True, slots=True)
class StreamedSentence:
    """A sentence and its translation; `before` is what separates it from the translation before."""

    source: str
    text: str
    before: str
    model: str
    pair: tuple[str, str]
    detected: float | None
    warnings: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True)
class _StreamPiece:
    segment: Segment
    before: str
    last: bool = True
    """Whether it ends a line, after which there is no separator."""


def stream(
    request: TextRequest, models: Models, prepare: Callable[[Translator], Translator]
) -> Iterator[list[StreamedSentence]]:
    """The sentences of the one text of a request, in growing windows; what follows the last one is a last, empty one.

    Raises what `translate` of `serve.work.text` raises.
    """
    (chosen,), (text,) = choose(request, models), request.texts
    if chosen is None:
        answer = unchanged(text, request)
        pair = (answer.source, answer.target)
        yield [StreamedSentence(text, text, "", "", pair, answer.detected, answer.warnings)]
        yield [StreamedSentence("", "", "", "", pair, answer.detected)]
        return
    translator = request.asking(prepare(models.translator(chosen.model, chosen.pair)))
    lines = TextLines.of(text)
    terms = request.glossary_for(chosen.pair)
    pieces = [
        piece
        for before, line in zip(lines.around, lines.texts, strict=False)
        for piece in _pieces(translator, before, line)
    ]
    pair = (chosen.pair.source, chosen.pair.target)
    streamed = partial(StreamedSentence, model=chosen.model.name, pair=pair, detected=chosen.detected)
    begin, size, between, keep = 0, 1, "", request.keep or None
    while begin < len(pieces):
        window = pieces[begin : begin + size]
        translations = translator.translate([piece.segment.text for piece in window], glossary=terms, keep=keep)
        sentences = []
        for piece, translation in zip(window, translations, strict=True):
            before = between + piece.before
            sentences.append(streamed(piece.segment.text, translation.text, before, warnings=translation.warnings))
            between = "" if piece.last else separator(piece.segment, translation.text)
        yield sentences
        begin, size = begin + size, min(2 * size, LARGEST_WINDOW)
    yield [streamed("", "", lines.around[-1])]


def _pieces(translator: Translator, before: str, line: str) -> list[_StreamPiece]:
    """The sentences of a line; the line itself where a part alone might be read or translated differently."""
    whole = [_StreamPiece(Segment(line, ""), before)]
    scripts = scripts_of_language(translator.language)
    is_prepared = line != line.strip() or (scripts & {"Latn", "Hang"} and not everyday(scripts).fullmatch(line))
    if not translator.max_source_tokens or is_prepared or find_placeholders(normalise(line)):
        return whole
    (sentences,) = _split(translator, [line])
    texts = [sentence.text for sentence in sentences]
    if len(texts) < 2 or any(len(parts) != 1 for parts in _split(translator, texts)):
        return whole
    return [
        _StreamPiece(sentence.segment, before if n == 1 else "", n == len(sentences))
        for n, sentence in enumerate(sentences, 1)
    ]


def _split(translator: Translator, texts: Sequence[str]) -> list[list[Sentence]]:
    return split_texts(translator.tokenizer, texts, translator.language, translator.max_source_tokens)
