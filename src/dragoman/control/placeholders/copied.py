"""Before the model: what of a line is copied, what is read otherwise, what the model sees in its place.

Input: lines as they were given. Output: for each line its frame (what is copied around the texts that are translated),
these texts as the model sees them, and what it does not see. `write` is the way back.

A line without a word is copied. Of others the model does not see

- white space around the text; tabs, which divide a line into columns, each translated by itself;
- the mark of a list, the dash of a speaker, and pictures that it has no token for, before and behind the text;
- names that would cost it many tokens, signs without a token with the number that they belong to, lists of numbers,
  words in other scripts than those of its language, and what the user keeps: it sees `X1`, `X2`, … in their place.
  Models copy these, and one that is lost is searched for again as any placeholder is
  (`control.placeholders.repair`).

A text in capitals is shown in small letters, except for words that the vocabulary knows better in capitals. Everyday
lines, which one expression recognises, have nothing of this.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from dragoman.config import DecodeConfig
from dragoman.control.search.sentences import LINE_BREAK, Frame, Line
from dragoman.text.terms.keep import KEEP, find_kept
from dragoman.text.terms.protect import Placeholder, apart, blanked, find_placeholders
from dragoman.text.terms.symbols import find_symbols
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.text.words.language import primary_language
from dragoman.text.words.normalise import normalise
from dragoman.text.words.number_words import AFTER_MONTH, BEHIND_NUMBER, LONGEST_MONTH
from dragoman.text.words.particles import with_particles_of
from dragoman.text.words.reading import TERMINAL, read, with_usual_quotes
from dragoman.text.words.script import foreign_words, has_word, is_cased, scripts_of_language
from dragoman.translation import Link, Span, Translation

_BREAKS = "\n\r\v\f\x85\u2028\u2029"
# A run of spaces is tried once: otherwise a long one would be tried from each of its spaces.
_TAB = re.compile(r"((?<![ \xa0\u3000])[ \xa0\u3000]*(?:\t[ \xa0\u3000]*)+)")
_GAP = re.compile(r"((?<![ \xa0\u3000])[ \xa0\u3000]*(?:(?:\t[ \xa0\u3000]*)+|[\n\r\v\f\x85\u2028\u2029]\s*))")
_MARK = re.compile(
    r"(?:[-*+•‣▪◦●○■□▶►※➤→–—―⁃∙·・ㆍ‧>]+(?:\s+\[[ xX✓✔]?\])?|\#{1,6}|[①-⑳❶-❿]"
    r"|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{2,4}|[가-하])\))"
    r"\s+(?=\S)|[·・ㆍ‧•∙](?=[^\W_]|[\"'(\[「『《〈“])"
)
# In other languages a number with a full stop is an ordinal: "5. März".
_NUMBER_MARK = re.compile(r"\d{1,3}\.\s+(?=\S)")
# A letter with a full stop, where no initial of a name, no abbreviation (`e. g.`) and no version is meant: `a.` and
# `iv.`, in Korean also `A.`, and before what is no sentence `가.`, which is also a word.
_LETTER_MARK = re.compile(r"(?:[a-z]|[ivx]{2,4})\.\s+(?=[^\W\d])(?!\w{1,3}\.)")
_LETTER_MARK_IN_KOREAN = re.compile(
    r"(?:[A-Za-z]|[ivxIVX]{2,4}|[가나다라마바사](?=\.[^.!?…。]{1,200}$))\.\s+(?=[^\W\d])(?!\w{1,3}\.)"
)
_NUMBERED = frozenset(["en", "es", "fr", "it", "ja", "ko", "pt", "ru", "zh"])
_PLAIN_LETTERS = frozenset(["en", "ko"])
# Scripts that have capitals.
_CASED = frozenset(("Latn", "Cyrl", "Grek", "Armn"))
# Tokens: what is shorter is shown, because the model may know it.
_NAME, _ADDRESS = 5, 12
_HIDDEN = {
    "identifier": _NAME, "phone": _NAME, "time": _NAME, "path": _ADDRESS, "url": _ADDRESS, "email": _ADDRESS,
    "marker": 0, KEEP: 0, "sign": 0, "foreign": 0, "list": 0,
}  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SENTENCE = re.compile(r"[^.!?:;]+[.!?:;]*\s*")
# Words in capitals that make a sentence; fewer may be names.
_FEW_WORDS = 3
_CAPITALS = re.compile("[A-Z]{2}[A-Z']{0,30}[ ,]{1,9}[A-Z]{2}")
_OTHER_SHAPE = r"\([을를이가은는과와으]\)"
# A list of this many names with commas is one name.
LEAST_LISTED = 5
# Numbers in digits with one sign between them, of which a model loses some.
_NUMBERS = re.compile(r"(?<![\w.,:/$€£¥₩+-])\d{1,9}(?P<between>, |; | / | )\d{1,9}(?:(?P=between)\d{1,9})+")
# What belongs to the last number of a list: `7, 8, 9월`, `5, 6, 7 May`, `100, 200, 300만`. It is looked for behind a
# whole list: as a part of the pattern above it would be tried behind each shorter list too, in quadratic time.
_BELONGS = re.compile(rf"\d|,|\s?[%‰℃°]|[.:/-]\d|[^\W\d_]|\s[가-힣]|\s(?i:{BEHIND_NUMBER})\b")
# Names of a line, at most: each is looked for in the line.
MOST_NAMES = 400
# Letters of an abbreviation.
SHORT = 3
_LETTER, _DIGIT = re.compile("[A-Za-z0-9]"), re.compile(r"\d")
# What belongs to a sign: `€5`, `5 €`, `§ 5`, `20℃`, `H₂O`, `km²`.
_AMOUNT_BEFORE, _LETTERS_BEFORE = re.compile(r"\d[\d.,]*\s?$"), re.compile(r"[A-Za-z0-9]+(?:[.,]\d+)*$")
_AMOUNT_BEHIND, _LETTERS_BEHIND = re.compile(r"\s?\d+(?:[.,]\d+)*"), re.compile(r"[A-Za-z0-9]+(?:[.,]\d+)*")
_OF_NUMBERS = "§¶№"
# What colours a line in a terminal, before and behind its text.
_COLOURS = re.compile(rf"\s*(?P<before>(?:{TERMINAL.pattern})*+)[^\x1b]*(?P<behind>(?:{TERMINAL.pattern}){{0,9}})\s*")
_LATIN = "A-Za-z\u00c0-\u024f"
# A variable or a picture by its name, the option of a command, the double colon of a name, `file(s)`.
_NO_VARIABLE = "(?!.*?(?:(?<![^ '\"“‘(]):[a-z]| -[A-Za-z]|::[A-Za-z]|[a-z]\\(e?s\\)))"
_PLAIN = r" ,.!?;:'\"“”‘’–—…()-"


@lru_cache
def everyday(scripts: frozenset[str], is_plain: bool = False) -> re.Pattern[str]:
    """What matches a text in these scripts that has nothing to be copied and nothing to be read otherwise.

    `is_plain`: no Latin letter with a mark either.
    """
    if scripts == {"Latn"}:
        capitals = rf"(?=.*?[a-z]{{2}})(?!.*?[A-Z]{{2}}[A-Z']{{0,30}}[ ,]{{1,9}}[A-Z]{{2}}){_NO_VARIABLE}"
        letters = "A-Za-z" if is_plain else _LATIN
        return re.compile(
            rf"{capitals}['\"“‘]?(?![A-Za-z]{{1,4}}\)|[a-z]{{1,4}}\.)[{letters}][{letters}{_PLAIN}]*(?<! )"
        )
    if "Hang" in scripts:
        return re.compile(
            rf"(?=.*?[가-힣]){_NO_VARIABLE}['\"“‘]?(?![A-Za-z]{{1,4}}[.)]|.[.)])"
            rf"[A-Za-z가-힣][A-Za-z가-힣{_PLAIN}]*(?<! )"
        )
    return re.compile(r"(?!)")


@dataclass(frozen=True)
class Reader:
    """How the lines of one model are read: its tokenizer, the scripts of its languages, whether it divides lines."""

    tokenizer: Tokenizer
    scripts: frozenset[str]
    target_scripts: frozenset[str]
    divides: bool
    numbered: bool
    """Whether a number with a full stop begins an entry of a list."""
    is_plain: bool
    """Whether Latin letters with marks are only in names of other languages, as in English and Korean."""
    everyday: re.Pattern[str]
    """What a line matches that has nothing to be prepared; most do, and this module is not asked."""

    @classmethod
    def of(cls, tokenizer: Tokenizer, source: str, target: str | None, divides: bool) -> "Reader":
        """The reader for two languages (BCP-47)."""
        scripts = scripts_of_language(source)
        of_target = scripts_of_language(target) if target else frozenset[str]()
        numbered = primary_language(source) in _NUMBERED
        is_plain = primary_language(source) in _PLAIN_LETTERS
        return cls(tokenizer, scripts, of_target, divides, numbered, is_plain, everyday(scripts, is_plain))

    def prepare(self, line: Line, options: DecodeConfig) -> None:
        """Give a line its frame, its text for the model, and what is hidden from that."""
        scripts = self.scripts
        keeps_entities = line.keeps_entities or "entity" in (options.placeholders or ())
        if not line.prefix and not normalise(line.source):  # a blank line stays without anything
            return
        as_given = line.text if line.table else line.source
        colours = _COLOURS.fullmatch(line.text) if "\x1b" in line.text and not line.prefix else None
        line.read = read(line.text, scripts, not keeps_entities, lambda: self.tokenizer.characters)
        line.text = with_usual_quotes(line.read, lambda: self.tokenizer.characters)
        if line.prefix:  # it is the beginning of the whole translation: nothing is hidden, and names have to come back
            line.literals = (*line.literals, *(span.text for span in find_kept(line.text, options.keep)))
            return
        copies = (options.placeholders if line.patterns is None else line.patterns) != ()  # with () nothing is copied
        names = _Names(line.source + line.text)
        before, columns, in_capitals = "", list[tuple[str, str]](), list[bool]()
        for part in self._parts(line.text):
            core = part.strip()
            spans = self._spans(core, line, options, scripts) if core else []
            outside = blanked(core, spans)
            if not core or (copies and (not has_word(outside, scripts) or self._is_unknown_acronym(outside))):
                before, columns = _extended(before, columns, _on_one_line(part))
                continue
            begin, end = _inside(core, spans, self._marks()) if copies else (0, len(core))
            left = part.index(core) + begin
            before, columns = _extended(before, columns, part[:left])
            inner = [_moved(span, -begin) for span in spans if begin <= span.begin < end]
            shown = self._recased(core[begin:end], inner) if copies else core
            text = names.in_place(shown, [s for s in inner if self._is_hidden(s)])
            columns.append((text, part[left + end - begin :]))
            in_capitals.append(self._has_capitals and outside.isupper())
        if colours and columns:
            indent = before[: len(before) - len(before.lstrip())]
            before, columns = _extended(indent + colours["before"] + before[len(indent) :], columns, colours["behind"])
        line.frame = Frame(before, tuple(columns)) if columns else Frame(_as_it_is(as_given))
        line.text = line.frame.text
        line.in_capitals = bool(columns) and all(in_capitals) and self._writes_capitals()
        line.hidden = {name: text for text, name in names.names.items()}
        line.literals = (*line.literals, *names.names, *names.shown)

    def _parts(self, text: str) -> list[str]:
        """The columns of a line and its lines, if they are divided, and the gaps between them."""
        text = text.strip(_BREAKS)
        if self.divides:
            return _GAP.split(text)
        return _TAB.split(text)

    def _spans(self, text: str, line: Line, options: DecodeConfig, scripts: frozenset[str]) -> list[Placeholder]:
        """What of a text is copied, in order: symbols and what the user keeps before all, then placeholders."""
        certain = [Placeholder(begin, end, "symbol", name) for name, begin, end in find_symbols(text)]
        certain += find_kept(text, options.keep) if options.keep else []
        patterns = options.placeholders if line.patterns is None else line.patterns
        spans = find_placeholders(text, patterns, line.literals)
        if patterns != ():
            lists = list(_lists_of_numbers(text)) if _DIGIT.search(text) else []
            others = () if text.isascii() else (*self._signs(text, spans), *self._foreign(text))
            spans = apart([*spans, *lists, *others]) if lists or others else spans
        if not certain:
            return spans
        certain = apart(certain)
        taken = _covered(certain, len(text))
        return sorted([*certain, *(span for span in spans if not any(taken[span.begin : span.end]))])

    def _signs(self, text: str, placeholders: Sequence[Placeholder]) -> Iterator[Placeholder]:
        """Signs that the vocabulary cannot write, with what belongs to them; pictures are placeholders already."""
        unknown = {sign for sign in set(text) - self.tokenizer.characters if _is_sign(sign)}
        if not unknown:
            return
        pictures = _covered([span for span in placeholders if span.pattern == "emoji"], len(text))
        for match in re.finditer(f"[{re.escape(''.join(sorted(unknown)))}]+\ufe0f?", text):
            begin, end = match.span()
            if pictures[begin]:
                continue
            before, kind = text[max(begin - 24, 0) : begin], unicodedata.category(text[begin])
            if kind == "Sc" or text[begin] in _OF_NUMBERS:
                number = _AMOUNT_BEHIND.match(text, end)
                end = number.end() if number else end
                amount = _AMOUNT_BEFORE.search(before) if not number else None
            else:
                letters = _LETTERS_BEHIND.match(text, end)
                end = letters.end() if letters else end
                amount = _LETTERS_BEFORE.search(before) or _AMOUNT_BEFORE.search(before)
            begin -= len(amount[0]) if amount else 0
            yield Placeholder(begin, end, "sign", text[begin:end])

    def _foreign(self, text: str) -> Iterator[Placeholder]:
        """Words in letters that are not those of the language, or that its vocabulary cannot write."""
        for begin, end in foreign_words(text, self.scripts, self.tokenizer.source.characters, self.is_plain):
            yield Placeholder(begin, end, "foreign", text[begin:end])

    def _is_hidden(self, span: Placeholder) -> bool:
        """Whether the model is shown a name in place of this."""
        if span.pattern == "emoji":
            return not self.tokenizer.characters.issuperset(span.text)
        least = _HIDDEN.get(span.pattern)
        return least is not None and (not least or " " in span.text or self._size(span.text) > least)

    def _size(self, text: str) -> int:
        return len(self.tokenizer.encode([text], "source")[0])

    def _is_unknown_acronym(self, text: str) -> bool:
        """Whether a text is one word in capitals that the vocabulary has in no form."""
        words = _WORD.findall(text)
        if len(words) != 1 or len(words[0]) < 2 or not is_cased(words[0]) or not words[0].isupper():
            return False
        return self._best_form(words[0], alone=True) == words[0] and self._size(words[0]) > 1

    def _best_form(self, word: str, alone: bool = False) -> str:
        """A word as the vocabulary knows it best: with fewest pieces; of equally many capitals, if it may be a name."""
        processor = self.tokenizer.source.processor
        # A word of one piece is known: the more frequent form counts.
        prefers_capitals = (alone or len(word) <= SHORT) and self._size(word) > 1

        def rank(form: str) -> tuple[int, bool, float]:
            ids = self.tokenizer.encode([form], "source")[0]
            return len(ids), prefers_capitals and form != word, -sum(processor.GetScore(token) for token in ids)

        forms = (word.lower(), word.capitalize(), word)
        return min((form for form in forms if len(form) == len(word)), key=rank)  # `İ` in small letters is two

    def _recased(self, text: str, spans: Sequence[Placeholder]) -> str:
        """A text in capitals, or its sentences of several words in capitals, in small letters; spans stay."""
        outside = blanked(text, spans, "\0")
        if not self._has_capitals:
            return text
        everything = outside.isupper()
        if not everything and not _CAPITALS.search(outside):
            return text
        written, at = list[str](), 0
        for sentence in _SENTENCE.finditer(outside):
            words = list(_WORD.finditer(outside, *sentence.span()))
            if not words or not sentence[0].isupper() or not (everything or len(words) >= _FEW_WORDS):
                continue
            for number, word in enumerate(words):
                form = self._best_form(word[0]) if is_cased(word[0]) else word[0]
                form = form[0].upper() + form[1:] if number == 0 else form
                written += [text[at : word.start()], form]
                at = word.end()
        return "".join([*written, text[at:]])

    def _marks(self) -> tuple[re.Pattern[str], ...]:
        """What may begin an entry of a list."""
        letters = _LETTER_MARK_IN_KOREAN if "Hang" in self.scripts else _LETTER_MARK
        return (_MARK, letters, _NUMBER_MARK) if self.numbered else (_MARK,)

    @property
    def _has_capitals(self) -> bool:
        """Whether the source has capitals: in Korean, `EU` is a name and no text in capitals."""
        return not self.scripts or bool(self.scripts & _CASED)

    def _writes_capitals(self) -> bool:
        """Whether the target has capitals."""
        return bool(self.target_scripts) and self.target_scripts <= _CASED


@dataclass(slots=True)
class _Names:
    """Names in place of what is hidden, none of which `text` has; the same one wherever the same is hidden."""

    text: str
    names: dict[str, str] = field(default_factory=dict)
    """By what they replace."""
    shown: list[str] = field(default_factory=list)
    """What the user keeps and the model sees, because there are too many names."""
    number: int = 0
    """Of the last name."""

    def in_place(self, text: str, spans: Sequence[Placeholder]) -> str:
        """The text with names in place of the spans, as long as there are any."""
        written, at = list[str](), 0
        for span in _joined(text, spans):
            is_inside = _LETTER.match(text, span.begin - 1) if span.begin else None
            is_inside = is_inside or _LETTER.match(text, span.end)
            if not is_inside and (name := self.names.get(span.text) or self._next()):
                self.names[span.text] = name
                written += [text[at : span.begin], name]
                at = span.end
            elif span.pattern == KEEP:
                self.shown.append(span.text)
        return "".join([*written, text[at:]])

    def _next(self) -> str | None:
        while self.number < MOST_NAMES:
            self.number += 1
            if (name := f"X{self.number}") not in self.text:
                return name
        return None


def _joined(text: str, spans: Sequence[Placeholder]) -> Iterator[Placeholder]:
    """Spans with those right behind them, as two names side by side would be one word; a long list of them as one."""
    runs = _runs(text, spans, "")
    for run in _runs(text, [_span_of(text, run) for run in runs], ", "):
        if len(run) >= LEAST_LISTED:
            yield _span_of(text, run)
        else:
            yield from run


def _runs(text: str, spans: Iterable[Placeholder], between: str) -> Iterator[list[Placeholder]]:
    """Spans that have this between them."""
    run: list[Placeholder] = []
    for span in spans:
        if run and (span.begin < run[-1].end or text[run[-1].end : span.begin] != between):
            yield run
            run = []
        run.append(span)
    if run:
        yield run


def _span_of(text: str, run: Sequence[Placeholder]) -> Placeholder:
    begin, end = run[0].begin, run[-1].end
    return run[0] if len(run) == 1 else Placeholder(begin, end, KEEP, text[begin:end])


def _extended(before: str, columns: list[tuple[str, str]], literal: str) -> tuple[str, list[tuple[str, str]]]:
    """A frame with a literal after what it has."""
    if not columns:
        return before + literal, columns
    text, behind = columns[-1]
    return before, [*columns[:-1], (text, behind + literal)]


def _as_it_is(source: str) -> str:
    """What is copied, on one line and with letters composed as all text is."""
    return unicodedata.normalize("NFC", _on_one_line(source.strip(_BREAKS)))


def _on_one_line(text: str) -> str:
    if not LINE_BREAK.search(text):
        return text
    return LINE_BREAK.sub(" ", text) if text.strip() or "\t" in text else " "


def _inside(text: str, spans: Sequence[Placeholder], marks: Sequence[re.Pattern[str]]) -> tuple[int, int]:
    """Where a text begins behind the mark of a list and pictures, and ends before pictures."""
    begin, end = 0, len(text)
    pictures = {span.begin: span.end for span in spans if _is_picture(span)}
    for _ in range(4):
        if mark := next((hit for pattern in marks if (hit := pattern.match(text, begin))), None):
            if any(span.begin < mark.end() < span.end for span in spans):
                break
            begin = mark.end()
        elif begin in pictures:
            after = pictures[begin]
            begin = after + len(text[after:]) - len(text[after:].lstrip())
        else:
            break
    ends = {span.end: span.begin for span in spans if _is_picture(span) and span.begin > begin}
    while end in ends:
        end = len(text[: ends[end]].rstrip())
    return begin, end


def _is_picture(span: Placeholder) -> bool:
    """Whether a span is of signs that stand for no word: a tick, an arrow, an emoji."""
    return span.pattern == "emoji" or (
        span.pattern == "sign" and all(unicodedata.category(c) == "So" for c in span.text)
    )


def _is_sign(character: str) -> bool:
    """Whether a character is a sign that means something: neither a letter nor punctuation."""
    return unicodedata.category(character) in ("Sc", "Sm", "So", "No", "Nl", "Sk") or character in "§¶†‡№‰‱※"


def _lists_of_numbers(text: str) -> Iterator[Placeholder]:
    """Three numbers or more with the same sign between them; not the day and the year of a date."""
    for match in _NUMBERS.finditer(text):
        begin, end = match.span()
        if not (_BELONGS.match(text, end) or AFTER_MONTH.search(text, max(begin - LONGEST_MONTH, 0), begin)):
            yield Placeholder(begin, end, "list", match[0])


def _covered(spans: Iterable[Placeholder], length: int) -> bytearray:
    """For each character of a text of this length, 1 if a span has it."""
    covered = bytearray(length)
    for span in spans:
        covered[span.begin : span.end] = b"\1" * (span.end - span.begin)
    return covered


def _moved(span: Placeholder, by: int) -> Placeholder:
    return span._replace(begin=span.begin + by, end=span.end + by)


def write(line: Line, translation: Translation) -> Translation:
    """The translation of a line as it was given, from that of what the model saw."""
    if line.read is None or not translation.candidates:
        return translation
    names = _named(line.hidden)
    candidates = tuple(
        replace(candidate, text=_restored(_in_capitals(candidate.text, names, line), line.hidden, names))
        for candidate in translation.candidates
    )
    terms = tuple(
        replace(
            term, source=_restored(term.source, line.hidden, names), target=_restored(term.target, line.hidden, names)
        )
        for term in translation.terms
    )
    alignment = tuple(_links(line, translation, candidates[0].text, names))
    return replace(translation, source=line.source, candidates=candidates, terms=terms, alignment=alignment)


def _named(hidden: Mapping[str, str]) -> re.Pattern[str]:
    alternatives = "|".join(map(re.escape, sorted(hidden, key=len, reverse=True))) or "(?!)"
    return re.compile(rf"(?<![A-Za-z0-9])(?P<name>{alternatives})(?![A-Za-z0-9])(?P<rest>(?:[가-힣]|{_OTHER_SHAPE})*)")


def _restored(text: str, hidden: Mapping[str, str], names: re.Pattern[str]) -> str:
    """A text with what the names replace, and the particles that agree with that."""

    def original(match: re.Match[str]) -> str:
        copied = hidden[match["name"]]
        sounds = unicodedata.normalize("NFC", copied)
        # A model that has learned from `%s을(를)` writes both shapes; one agrees.
        rest = re.sub(_OTHER_SHAPE, "", match["rest"])
        return copied + with_particles_of(sounds, rest)

    return names.sub(original, text) if hidden else text


def _in_capitals(text: str, names: re.Pattern[str], line: Line) -> str:
    if not line.in_capitals:
        return text
    copied = find_placeholders(text, line.patterns, line.literals)
    spans = apart([*copied, *(Placeholder(*match.span(), KEEP, match[0]) for match in names.finditer(text))])
    written, at = list[str](), 0
    for span in spans:
        written += [text[at : span.begin].upper(), span.text]
        at = span.end
    return "".join([*written, text[at:].upper()])


def _links(line: Line, translation: Translation, written: str, names: re.Pattern[str]) -> Iterator[Link]:
    """The alignment with characters of the source as it was given; none where that has other words."""
    if not translation.alignment:
        return
    shown = normalise(translation.source)
    source = _places(shown, names, line.hidden)
    target = _places(translation.text, names, line.hidden)
    if len(_restored(shown, line.hidden, names)) != len(normalise(line.source)) or target(len(translation.text)) != len(
        written
    ):
        return
    for link in translation.alignment:
        yield Link(Span(*map(source, link.source)), Span(*map(target, link.target)))


def _places(text: str, names: re.Pattern[str], hidden: Mapping[str, str]) -> Callable[[int], int]:
    """Where a position of a text is once its names are replaced."""
    ends, shifts = [0], [0]
    for match in names.finditer(text) if hidden else ():
        ends.append(match.end())
        shifts.append(shifts[-1] + len(_restored(match[0], hidden, names)) - len(match[0]))
    return lambda at: at + shifts[bisect_right(ends, at) - 1]
