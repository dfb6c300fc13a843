"""Text → text: segment, encode, search, decode, judge. As many translations come out as lines went in, in order.

Long lines are translated in parts (`text.segment`). A part whose translation shows a fault (`decode.degenerate`) is
searched for again, then in smaller parts; a fault that stays is told with the translation, never hidden.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self, overload

from dragoman.bundle import Bundle, open_bundle
from dragoman.bundled import resolve_model
from dragoman.config import DecodeConfig
from dragoman.control.faults import fault
from dragoman.control.texts import Found, find
from dragoman.engine import Engine
from dragoman.engine.load import load_engine
from dragoman.errors import ConfigError
from dragoman.shortlist.file import Shortlist
from dragoman.text.glossary import Glossary
from dragoman.text.normalise import normalise
from dragoman.text.segment import WHOLE_SHARE, Segment, segments
from dragoman.text.tokenizer import UNK, Tokenizer
from dragoman.translation import Answer, Candidate, Part, Translation, joined, translation

# Lines searched together by `stream`: enough to fill batches of equal length, few enough to appear soon; and of long
# lines no more than hold so many characters.
WINDOW, WINDOW_CHARACTERS = 1024, 1 << 20
# Second searches may say no n-gram of so many tokens twice: a phrase may come again, a sentence may not.
CAREFUL_N_GRAM = 4
# The glossary of a model, in its bundle.
GLOSSARY = "glossary.tsv"
# Parts of fewer tokens are not made smaller: what is left would be no clause.
SMALLEST = 8


class Translator:
    """A tokenizer and an engine, with the options of the search.

    `longest` is the most tokens of a sentence in training, and `language` that of the source (BCP-47): with them long
    lines are translated in parts and faulty translations searched for again; without, each line once and whole. The
    `glossary` holds for every line.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        engine: Engine,
        options: DecodeConfig,
        *,
        longest: int | None = None,
        language: str = "en",
        glossary: Glossary | None = None,
    ) -> None:
        self.tokenizer, self.engine, self.options = tokenizer, engine, options
        self.longest, self.language, self.glossary = longest, language, glossary

    @classmethod
    def load(
        cls,
        model: Path | str | Sequence[Path | str],
        *,
        engine: str = "auto",
        device: str = "auto",
        options: DecodeConfig | None = None,
        glossary: Glossary | None = None,
    ) -> Self:
        """The translator of the bundle in folder `model`, or of several that share their pieces, by their mean.

        A name may be that of a model in the box. The glossary holds for every line; a request's own comes before it.
        Raises ModelError.
        """
        models = [model] if isinstance(model, str | Path) else model
        bundles = [open_bundle(resolve_model(one)) for one in models]
        return cls.of_bundle(*bundles, engine=engine, device=device, options=options, glossary=glossary)

    @classmethod
    def of_bundle(
        cls,
        bundle: Bundle,
        *others: Bundle,
        engine: str = "auto",
        device: str = "auto",
        options: DecodeConfig | None = None,
        glossary: Glossary | None = None,
    ) -> Self:
        """The translator of opened bundles; `options` replace those the first was trained with.

        The glossary comes before that of the bundle.
        """
        config = bundle.config
        shortlist = Shortlist.of_bundle(bundle)
        own = Glossary.read(bundle.folder / GLOSSARY) if GLOSSARY in bundle.manifest["files"] else None
        return cls(
            bundle.tokenizer,
            load_engine(
                bundle,
                *others,
                engine=engine,
                device=device,
                shortlist=shortlist.candidates if shortlist else None,
            ),
            options or config.decode,
            longest=config.data.max_length,
            language=config.project.source,
            glossary=_over(glossary, own),
        )

    @overload
    def translate(  # type: ignore[overload-overlap]  # a str is a Sequence too
        self, text: str, *, glossary: Glossary | None = None, target_prefix: str = ""
    ) -> Translation: ...
    @overload
    def translate(
        self, text: Sequence[str], *, glossary: Glossary | None = None, target_prefix: str = ""
    ) -> list[Translation]: ...
    def translate(
        self, text: str | Sequence[str], *, glossary: Glossary | None = None, target_prefix: str = ""
    ) -> Translation | list[Translation]:
        """The translation of one line, or of each of several; an empty line translates to an empty line.

        The glossary is honoured where the model can be made to, and `Translation.terms` tells where. Every translation
        begins with `target_prefix`, which goes without a glossary.
        """
        if isinstance(text, str):
            return self.translate([text], glossary=glossary, target_prefix=target_prefix)[0]
        terms = _over(glossary, self.glossary)
        if terms and target_prefix:
            raise ConfigError("target_prefix and a glossary cannot be combined; leave one of them out")
        lines = self._encode(text, target_prefix)
        answers = iter(self._answers([part for parts in lines for part in parts], terms))
        each = [[next(answers) for _ in parts] for parts in lines]
        return [translation(line, parts, own) for line, parts, own in zip(text, lines, each, strict=True)]

    def alternatives(self, text: str, target_prefix: str = "", count: int = 5) -> tuple[Candidate, ...]:
        """Translations of a line that go on with different pieces after `target_prefix`, best first."""
        parts = self._encode([text], target_prefix)[0]
        if not parts:
            return ()
        first, *rest = parts
        place = len(first.prefix) + 1
        options = self.options.model_copy(update={"method": "beam", "n_best": 1})
        fork = {"beam": count, "n_best": count, "min_length": place, "max_length": place}
        ways = self.engine.translate([first.tokens], options.model_copy(update=fork), [first.prefix])[0]
        forked = [replace(first, prefix=way.tokens) for way in ways]
        others = self._search(rest, options, None)
        found = [joined(parts, [answer, *others]).candidates[0] for answer in self._search(forked, options, None)]
        return tuple(sorted(found, key=lambda candidate: -candidate.score))

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[list[float]]:
        """log P in nats of each token of each target and of its end mark, given its source, each pair as it stands."""
        sources = self.tokenizer.encode([source for source, _ in pairs], "source")
        targets = self.tokenizer.encode([target for _, target in pairs], "target")
        return self.engine.score(sources, targets)

    def stream(
        self, lines: Iterable[str], window: int = WINDOW, *, glossary: Glossary | None = None, target_prefix: str = ""
    ) -> Iterator[Translation]:
        """The translations of endless lines, in order, up to `window` lines in memory at once; see `translate`."""
        for chunk in _chunks(lines, window):
            yield from self.translate(chunk, glossary=glossary, target_prefix=target_prefix)

    def _encode(self, lines: Sequence[str], target_prefix: str) -> list[list[Part]]:
        """The parts of each line, none for a blank one; the first carries the target prefix."""
        prefix = tuple(self.tokenizer.encode([target_prefix], "target")[0])
        if UNK in prefix:
            raise ConfigError(
                f"target_prefix {target_prefix!r}: contains a character that the model has no piece for; change it"
            )
        whole = self.tokenizer.encode(lines, "source")
        parts = (Part(Segment(normalise(line), ""), tokens, prefix) for line, tokens in zip(lines, whole, strict=True))
        return [self._divided(part, self.longest) if part.tokens else [] for part in parts]

    def _divided(self, part: Part, longest: int | None) -> list[Part]:
        """The sentences of a part, none of more than `longest` tokens; itself where it is short or one of them."""
        if not longest or len(part.tokens) <= longest * WHOLE_SHARE:
            return [part]
        known = {part.segment.text: len(part.tokens)}  # most lines are one sentence: they are not encoded again
        found = segments(
            part.segment.text,
            self.language,
            longest,
            lambda text: known.get(text) or len(self.tokenizer.encode([text], "source")[0]),
        )
        if len(found) == 1:
            return [part]
        tokens = self.tokenizer.encode([segment.text for segment in found], "source")
        first, *rest = map(Part, found, tokens)
        return [replace(first, prefix=part.prefix), *rest]

    def _answers(self, parts: Sequence[Part], glossary: Glossary | None) -> list[Answer]:
        """The translations of parts: those at fault are searched for again, and then in smaller parts."""
        answers = self._search(parts, self.options, glossary)
        if not self.longest:
            return answers
        n_gram = min(self.options.no_repeat_ngram or CAREFUL_N_GRAM, CAREFUL_N_GRAM)
        careful = self.options.model_copy(update={"no_repeat_ngram": n_gram})
        for mend in (self._search, self._search_smaller):
            doubtful = [index for index, answer in enumerate(answers) if answer.flag]
            mended = mend([parts[index] for index in doubtful], careful, glossary)
            for index, answer in zip(doubtful, mended, strict=True):
                if not answer.flag:
                    answers[index] = answer
        return answers

    def _search_smaller(self, parts: Sequence[Part], options: DecodeConfig, glossary: Glossary | None) -> list[Answer]:
        """Translations of parts by translating their sentences or halves."""
        halves = [self._divided(part, max(len(part.tokens) // 2, SMALLEST)) for part in parts]
        answers = iter(self._search([half for pair in halves for half in pair], options, glossary))
        return [joined(pair, [next(answers) for _ in pair]) for pair in halves]

    def _search(self, parts: Sequence[Part], options: DecodeConfig, glossary: Glossary | None) -> list[Answer]:
        found = find(self.engine, self.tokenizer, [part.source for part in parts], options, glossary)
        return [_answer(part, one) for part, one in zip(parts, found, strict=True)]


def _over(one: Glossary | None, other: Glossary | None) -> Glossary | None:
    """Both glossaries, the first before the second."""
    return one.over(other) if one and other else one or other


def _answer(part: Part, found: Found) -> Answer:
    candidates = tuple(
        Candidate(text, hypothesis.score, hypothesis.log_prob, hypothesis.tokens, log_probs)
        for hypothesis, text, log_probs in zip(found.hypotheses, found.texts, found.log_probs, strict=True)
    )
    return Answer(candidates, fault(part.tokens, part.segment.text, candidates[0].tokens), found.terms)


def _chunks(lines: Iterable[str], window: int) -> Iterator[list[str]]:
    chunk: list[str] = []
    characters = 0
    for line in lines:
        chunk.append(line)
        characters += len(line)
        if len(chunk) == window or characters >= WINDOW_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk
