"""The one internal request of all dialects: texts → languages and model → lines → `Translator` → answers.

A text is translated line by line: line breaks, and the white space around a line, stay as they are, and the text of a
line is what `Translator.translate` returns for it. HTML, XML and Markdown are translated as documents are.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from dragoman.control.search.request import merge_glossaries
from dragoman.documents.markup.markup import ANY_TAGS, Tags
from dragoman.errors import ConfigError, DataError
from dragoman.serve.models.detect import UNSURE, detect
from dragoman.serve.models.models import Models, ServedModel, ServedPair
from dragoman.serve.work.markup import Markup, check_xml, texts_within, translate_markup
from dragoman.text.terms.glossary import Glossary, GlossaryLike
from dragoman.text.words.language import primary_language
from dragoman.text.words.normalise import is_text, normalise
from dragoman.translation import Flag, Link, Term, Translation
from dragoman.translator import Translator

Format = Literal["text"] | Markup
_BREAK = re.compile(r"(\r\n|[\n\r\v\f\x85\u2028\u2029])")


@dataclass(frozen=True, slots=True)
class TextRequest:
    """What a client asks for; `source` None: to be detected, `target` None: the only one that there is."""

    texts: Sequence[str]
    source: str | None = None
    target: str | None = None
    model: str | None = None
    format: Format = "text"
    glossary: GlossaryLike | None = None
    alternatives: int = 0
    alignment: bool = False
    memory: bool = True
    """Whether the memory of the service is asked first, if it has one."""
    dictionaries: Mapping[tuple[str, str], Glossary] | None = None
    """Of a glossary that is kept here, by primary subtags; `glossary` comes before it."""
    tags: Tags = ANY_TAGS
    """Of XML."""
    keep: tuple[str, ...] = ()
    """What is copied, as in `decode.keep`; none: what the model's options say."""
    allowed: tuple[str, ...] = ()
    """Models that the key of the sender may use; none: any."""

    @property
    def names(self) -> tuple[str, ...]:
        """The models of which one translates it, as the languages decide; none: any."""
        return (self.model,) if self.model else self.allowed

    def words_of(self, text: str) -> str:
        """What is translated of one of the texts: without its markup, and what that says is code. Raises DataError."""
        return text if self.format == "text" else texts_within(text, self.format, self.tags)

    def asking(self, translator: Translator) -> Translator:
        """The translator, without its memory if that is not to be asked."""
        return translator if self.memory else translator.with_memory(None)

    def glossary_for(self, pair: ServedPair) -> GlossaryLike | None:
        """The terms for a pair of languages. Raises ConfigError if the glossary that is kept has none for it."""
        if self.dictionaries is None:
            return self.glossary
        terms = self.dictionaries.get((primary_language(pair.source), primary_language(pair.target)))
        if terms is None:
            known = ", ".join(" → ".join(languages) for languages in self.dictionaries) or "none"
            raise ConfigError(f"the glossary has no terms from {pair.source} into {pair.target}; it has {known}")
        return merge_glossaries(self.glossary, terms)


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """The translation of one text."""

    text: str
    source: str
    target: str
    model: str
    detected: float | None = None
    """The probability of the source language, if it was detected; 0 for text without letters."""
    alternatives: tuple[str, ...] = ()
    warnings: tuple[Flag, ...] = ()
    terms: tuple[Term, ...] = ()
    alignment: tuple[Link, ...] = ()
    """Characters of `normalised` and of `text`."""
    normalised: str | None = None
    """The source as the alignment counts its characters."""
    match: int | None = None
    """If all of its lines are from the memory: the percentage of the least equal one, 99 or 100."""


class Choice(NamedTuple):
    """Who translates a text, and how sure its language is, if that was detected."""

    model: ServedModel
    pair: ServedPair
    detected: float | None


def choose(request: TextRequest, models: Models) -> list[Choice | None]:
    """The model and the pair of each text; None for one that is found to be in the target language.

    Raises UnknownLanguage, UnknownModel, DataError.
    """
    for number, text in enumerate(request.texts, 1):
        if not is_text(text):
            raise DataError(f"text {number}: contains an unpaired surrogate (invalid Unicode); fix the encoding")
        if request.format == "xml":
            check_xml(text, f"text {number}")
    if request.source:
        chosen = models.choose(request.source, request.target, request.names)
        return [Choice(*chosen, None)] * len(request.texts)
    sources = models.sources_to(request.target, request.names)
    words = map(request.words_of, request.texts)
    return [choice_by_text(text, sources, models, request.target, request.names) for text in words]


def choice_by_text(
    text: str, sources: Sequence[str], models: Models, target: str | None, names: Sequence[str]
) -> Choice | None:
    """The model and the pair for the one of the `sources` that is detected; None if that is the target language."""
    source, sure = next(iter(detect(text, [*sources, *([target] if target else [])])), (sources[0], 0.0))
    return Choice(*models.choose(source, target, names), sure) if source in sources else None


Prepare = Callable[[Translator], Translator]


def translate(request: TextRequest, models: Models, prepare: Prepare) -> list[TextAnswer]:
    """An answer for each text, in order; blocks. `prepare` gives a translator the engine of this request.

    Raises what `choose` and `Translator.translate` raise.
    """
    choices = choose(request, models)
    answers: dict[int, TextAnswer] = {}
    for n, choice in enumerate(choices):
        if choice is None:
            answers[n] = unchanged(request.texts[n], request)
    for model, pair in dict.fromkeys((choice.model, choice.pair) for choice in choices if choice):
        members = [n for n, choice in enumerate(choices) if choice and (choice.model, choice.pair) == (model, pair)]
        translator = request.asking(prepare(models.translator(model, pair)))
        blank = TextAnswer("", pair.source, pair.target, model.name)
        terms = replace(request, glossary=request.glossary_for(pair), dictionaries=None)
        translated = _translate([request.texts[n] for n in members], terms, translator, blank)
        for n, answer in zip(members, translated, strict=True):
            chosen = choices[n]
            answers[n] = replace(answer, detected=chosen.detected if chosen else None)
    return [answers[n] for n in range(len(request.texts))]


def unchanged(text: str, request: TextRequest) -> TextAnswer:
    """The answer for a text that is in the target language already, or in none that is served."""
    target = str(request.target)
    sure = next((probability for _, probability in detect(request.words_of(text), [target])), 0.0)
    what = f"is in {target} already" if sure > UNSURE else "does not seem to be in a language that is served"
    flag = Flag("language", f"the text {what}; it is left as it is")
    return TextAnswer(text, target, target, "", sure, warnings=(flag,))


def _translate(
    texts: Sequence[str], request: TextRequest, translator: Translator, blank: TextAnswer
) -> Iterator[TextAnswer]:
    if request.format != "text":
        for markup in translate_markup(texts, request.format, translator, request.glossary, request.tags, request.keep):
            yield replace(blank, text=markup.text, warnings=markup.warnings, terms=markup.terms)
        return
    lines = [TextLines.of(text) for text in texts]
    flat = [line for text_lines in lines for line in text_lines.texts]
    links, keep = request.alignment or None, request.keep or None
    translations = iter(translator.translate(flat, glossary=request.glossary, alignment=links, keep=keep))
    others = iter(_others(flat, request, translator))
    for text_lines in lines:
        of_text = [next(translations) for _ in text_lines.texts]
        best = text_lines.joined([translation.text for translation in of_text])
        answer = replace(
            blank,
            text=best,
            warnings=tuple(dict.fromkeys(flag for translation in of_text for flag in translation.warnings)),
            terms=tuple(t for translation in of_text for t in translation.terms),
        )
        if of_text and all(translation.match for translation in of_text):
            answer = replace(answer, match=min(translation.match for translation in of_text if translation.match))
        if request.alignment:
            answer = replace(
                answer,
                alignment=text_lines.links(of_text),
                normalised=text_lines.joined(map(normalise, text_lines.texts)),
            )
        alternatives = [next(others) for _ in text_lines.texts] if request.alternatives else []
        yield replace(answer, alternatives=_ranked(text_lines, best, alternatives, request.alternatives))


def _others(lines: Sequence[str], request: TextRequest, translator: Translator) -> list[list[str]]:
    """The best texts of each line, for alternatives: a search of its own, so that the best stays what it is without."""
    if not request.alternatives:
        return []
    count, keep = request.alternatives + 1, request.keep or None
    translations = translator.translate(lines, glossary=request.glossary, n_best=count, keep=keep)
    return [[candidate.text for candidate in translation.candidates] for translation in translations]


def _ranked(lines: "TextLines", best: str, candidates: Sequence[Sequence[str]], count: int) -> tuple[str, ...]:
    """Up to `count` texts other than the best: the k-th of all lines together; a line with fewer repeats its last."""
    ranks = range(max(map(len, candidates), default=0))
    texts = [
        lines.joined([texts_of_line[min(rank, len(texts_of_line) - 1)] for texts_of_line in candidates])
        for rank in ranks
    ]
    return tuple(dict.fromkeys(text for text in texts if text != best))[:count]


@dataclass(frozen=True, slots=True)
class TextLines:
    """A text as the texts of its lines that are not blank, and what is around them."""

    texts: list[str]
    around: list[str]
    """What is before each text, and after the last."""

    @classmethod
    def of(cls, text: str) -> "TextLines":
        """The lines of a text."""
        texts, around, before = list[str](), list[str](), ""
        for number, part in enumerate(_BREAK.split(text)):
            core = part.strip() if number % 2 == 0 else ""
            if not core:
                before += part
                continue
            begin = len(part) - len(part.lstrip())
            around.append(before + part[:begin])
            texts.append(core)
            before = part[begin + len(core) :]
        return cls(texts, [*around, before])

    def joined(self, translations: Iterable[str]) -> str:
        """The text with a translation in place of each line."""
        inside = [*translations, ""]
        return "".join(before + text for before, text in zip(self.around, inside, strict=True))

    def links(self, translations: Sequence[Translation]) -> tuple[Link, ...]:
        """The alignments of the lines as one of the whole text."""
        source = target = 0
        links = list[Link]()
        for before, line, translation in zip(self.around, self.texts, translations, strict=False):
            source, target = source + len(before), target + len(before)
            links += [Link(link.source.moved(source), link.target.moved(target)) for link in translation.alignment]
            source, target = source + len(normalise(line)), target + len(translation.text)
        return tuple(links)
