"""Text → text. Each line has one translation; the order is kept.

The way of a line, which `Translator._translate` is (`Line` in `control.search.sentences` is what goes along it):

    recall     a translation of the memory                                        control.search.recall
    prepare    what is copied, what the model does not see; unless it is everyday control.placeholders.copied
    split      line → sentences → ids; placeholders as symbols                    control.search.sentences
    search     ids → hypotheses → candidates; glossary, faults, retries           control.search.search
        Engine.translate        batches of queries                                engine.torch, engine.ctranslate2
        beam_search, sample     one step at a time                                decode.search, decode.sampling
        Transformer             logits                                            model.transformer
    repair     sentences that lost placeholders or numbers                        control.placeholders.repair
    join       sentences → line; warnings about its languages                     control.search.sentences
    align      which words come from which, if requested                          control.alignment
    check      what the final text lacks is warned of                             control.placeholders.repair
    confidence the probability that a person would accept it, if requested        control.confidence.confidence

A text with inline codes is divided into lines that go the same way; `control.inline.inline` places its codes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from functools import partial
from typing import Any, Literal, Self, Unpack, overload

from dragoman.bundle import Bundle
from dragoman.config import DecodeConfig
from dragoman.config.sections.decode import DecodeOptions, Precision
from dragoman.control.alignment import align
from dragoman.control.confidence.confidence import NAME as CONFIDENCE
from dragoman.control.confidence.confidence import Confidence, add_confidence, check_learned
from dragoman.control.faults.faults import reported
from dragoman.control.inline.evidence import by_attention
from dragoman.control.inline.inline import InlineItem, InlineTranslation, translate_inline, zip_inline
from dragoman.control.languages import LanguageCheck, LanguagePair, Pairs
from dragoman.control.placeholders.copied import Reader, write
from dragoman.control.placeholders.repair import check, repair
from dragoman.control.placeholders.symbols import mask, restore_translation
from dragoman.control.search.alternatives import alternatives
from dragoman.control.search.recall import check_memory, recall, recall_text, suits
from dragoman.control.search.request import (
    Request,
    change_options,
    check_engine_request,
    check_options_type,
    checked_request,
    merge_glossaries,
)
from dragoman.control.search.reverse import ReverseEngine, plain_engine, reverse_marks
from dragoman.control.search.search import search, translate_sentences
from dragoman.control.search.sentences import Line, join, split, split_texts
from dragoman.engine import Closed, Engine, queries
from dragoman.engine.load import load_engine
from dragoman.engine.resources import window_size
from dragoman.errors import ConfigError, check_count, check_type
from dragoman.installed.opening import ModelPath, open_models
from dragoman.memory import Memory
from dragoman.shortlist.file import Shortlist
from dragoman.system.pipe import may_wait, read_ahead
from dragoman.text.terms.glossary import Glossary, GlossaryLike
from dragoman.text.terms.symbols import NO_SYMBOLS, Symbols
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.text.words.inline import InlineText
from dragoman.text.words.language import primary_language
from dragoman.text.words.lines import chunks_of
from dragoman.text.words.normalise import checked_pairs, lines_of, one_line
from dragoman.translation import Candidate, Translation

GLOSSARY = "glossary.tsv"  # of a bundle


class Translator(AbstractContextManager["Translator"]):
    """A tokenizer and an engine, with the options of the search.

    `max_source_tokens` is the longest sentence of training and `language` that of the source (BCP-47): with them, long
    lines are translated in parts and faulty translations are retried; without them, each line is translated once, as a
    whole. With a `target_language`, lines and translations in other languages are warned of. `pairs` of a model replace
    both languages. The `glossary` applies to every line. `symbols` has the symbols that the model knows for
    placeholders.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        engine: Engine,
        options: DecodeConfig,
        *,
        max_source_tokens: int | None = None,
        language: str = "en",
        target_language: str | None = None,
        glossary: GlossaryLike | None = None,
        pairs: Pairs | None = None,
        symbols: Symbols = NO_SYMBOLS,
    ) -> None:
        self.tokenizer, self.engine = tokenizer, engine
        self.options, self.max_source_tokens, self.symbols = options, max_source_tokens, symbols
        self.pairs = pairs or Pairs((LanguagePair(language, target_language),))
        self._set_pair(self.pairs.pairs[0])
        self.pair: LanguagePair | None = self.pairs.pairs[0] if len(self.pairs.pairs) == 1 else None
        """The pair that calls are for unless they name another; None: the text of each call decides."""
        self.memory: Memory | None = None
        """What it looks lines up in before it asks its engine, if anything."""
        self.reverse: Translator | None = None
        """The one of the other direction that helps to choose, if any."""
        self.glossary = merge_glossaries(glossary, None)
        self.bundle: Bundle | None = None
        """The (first) bundle it was made from, if any."""
        self.confidence: Confidence | None = None
        """What that bundle has learned about its translations, if anything."""
        self._load: Callable[[], Translator] | None = None

    def _set_pair(self, pair: LanguagePair) -> None:
        self.pair, self.language, self.marks = pair, pair.source, pair.marks
        self._reader = Reader.of(self.tokenizer, pair.source, pair.target, bool(self.max_source_tokens))
        self.language_check = LanguageCheck(self.tokenizer, pair.source, pair.target) if pair.target else None
        self.languages = (primary_language(pair.source), primary_language(pair.target)) if pair.target else None

    def __repr__(self) -> str:
        name = f"{self.bundle.folder.name}: " if self.bundle else ""
        return f"<{type(self).__name__} {name}{self.pairs.names}, {type(self.engine).__name__}>"

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let its engine go, and with it the memory of the network; a call after that raises ConfigError."""
        self.engine, self.reverse = Closed(), None

    def __copy__(self) -> Self:
        """Another translator with the same engine; `copy.copy` would open the bundles again as `pickle` does."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __reduce__(self) -> tuple[Callable[[], "Translator"], tuple[()]]:
        """Pickled as the folders of its bundles and the file of its memory: another process opens them again."""
        if self._load is None:
            raise ConfigError("a translator that was not loaded from folders: it cannot be pickled, make it there")
        pair = self.pair if len(self.pairs.pairs) > 1 else None
        return partial(_load_again, self._load, pair, self.memory, self.reverse), ()

    @classmethod
    def load(
        cls,
        model: ModelPath | Sequence[ModelPath],
        *,
        engine: str | Engine = "auto",
        device: str = "auto",
        precision: Precision = "auto",
        threads: int | None = None,
        options: DecodeConfig | None = None,
        glossary: GlossaryLike | None = None,
        base: ModelPath | None = None,
    ) -> Self:
        """The translator of the bundle in folder `model`, or of an ensemble of several with the same vocabulary.

        A name may be that of a bundled model. `options` replace those that the (first) model was trained with;
        `precision` and `threads` are those of `of_bundle`. The glossary has priority over that of the bundle. `base` is
        the base model of an adapter, if it is no longer where it was. Raises ModelError, ConfigError, ResourceError.
        """
        models = list(model) if isinstance(model, Sequence) and not isinstance(model, str | bytes) else [model]
        bundles = open_models(models, base)
        if not bundles:
            raise ConfigError("model: an empty list; give a model folder, or the name of a bundled model")
        request: dict[str, Any] = {"engine": engine, "device": device, "precision": precision, "threads": threads}
        return cls.of_bundle(*bundles, **request, options=options, glossary=glossary)

    @classmethod
    def of_bundle(
        cls,
        bundle: Bundle,
        *others: Bundle,
        engine: str | Engine = "auto",
        device: str = "auto",
        precision: Precision = "auto",
        threads: int | None = None,
        options: DecodeConfig | None = None,
        glossary: GlossaryLike | None = None,
    ) -> Self:
        """The translator of opened bundles.

        A `precision` other than `auto` selects the torch engine, which has that of `options` otherwise. `threads` are
        CPU threads of the engine; None: torch's own number, all processors with CTranslate2. An `engine` is used as is.
        """
        check_options_type(options)
        engine = check_engine_request(engine, device, precision, threads)
        folders = [member.folder.absolute() for member in (bundle, *others)]
        again = partial(cls.load, folders, engine=engine, device=device, precision=precision, threads=threads)
        base = next((member.base.folder.absolute() for member in (bundle, *others) if member.base), None)
        again = partial(again, options=options, glossary=glossary, base=base)
        options = options or bundle.config.decode
        shortlist = Shortlist.of_bundle(bundle)
        bundled = Glossary.read(bundle.folder / GLOSSARY) if GLOSSARY in bundle.manifest["files"] else None
        translator = cls(
            bundle.tokenizer,
            load_engine(
                bundle,
                *others,
                engine=engine,
                device=device,
                precision=options.precision if precision == "auto" else precision,
                threads=threads,
                shortlist=shortlist.candidates if shortlist else None,
                language_model=options.language_model,
            ),
            options,
            max_source_tokens=bundle.config.data.max_length,
            glossary=merge_glossaries(glossary, bundled),
            pairs=Pairs.of(bundle.config.project, bundle.tokenizer),
            symbols=Symbols.of(bundle.config, bundle.tokenizer.symbols),
        )
        translator.bundle, translator._load = bundle, again
        if CONFIDENCE in bundle.manifest["files"]:
            translator.confidence = Confidence.read(bundle.folder / CONFIDENCE)
        return translator

    def to(self, target: str | None = None, source: str | None = None, texts: Iterable[str] = ()) -> Self:
        """This translator for one pair of languages of its model, to which its calls keep.

        `target` and `source` are BCP-47 tags; without both, and without `texts`, it is this translator. What is left
        open the letters of `texts` decide. Raises ConfigError unless one pair is left.
        """
        if target is None and source is None and self.pair:
            return self
        texts = list(texts)
        if target is None and source is None and not texts:
            return self
        pair = self.pairs.choose(target, source, texts)
        if pair == self.pair:
            return self
        other = copy(self)
        other._set_pair(pair)
        return other

    def with_memory(self, memory: Memory | None) -> Self:
        """This translator, which takes what it finds in the `memory` from there; `Translation.match` says so.

        Raises ConfigError for a memory of languages that the model does not translate.
        """
        if memory is not None:
            check_memory(memory, self.pairs)
        other = copy(self)
        other.memory = memory
        return other

    def with_reverse(self, reverse: "Translator | None") -> Self:
        """This translator, which chooses with the help of one of the other direction: `control.search.reverse`.

        It takes about twice as long; `reverse_weight` of [decode] says how much the other one counts. A model of both
        directions may be its own. Raises ConfigError for one of other languages.
        """
        check_type("reverse", reverse, Translator | None, "a translator, Translator.load(MODEL)")
        other = self.with_engine(plain_engine(self.engine))
        other.reverse = reverse
        if reverse is not None:
            marks, there = reverse_marks(self.pairs, reverse.pairs), plain_engine(reverse.engine)
            other.engine = ReverseEngine(other.engine, self.tokenizer, there, reverse.tokenizer, marks)
        return other

    def with_engine(self, engine: Engine) -> Self:
        """This translator with another engine for the same network."""
        other = copy(self)
        other.engine = engine
        return other

    # A str is an iterable of str too: its overload comes first.
    @overload
    def translate(self, text: str, **request: Unpack[Request]) -> Translation: ...  # type: ignore[overload-overlap]
    @overload
    def translate(self, text: Iterable[str], **request: Unpack[Request]) -> list[Translation]: ...
    def translate(
        self,
        text: str | Iterable[str],
        *,
        target: str | None = None,
        source: str | None = None,
        glossary: GlossaryLike | None = None,
        target_prefix: str = "",
        options: DecodeConfig | None = None,
        **changes: Unpack[DecodeOptions],
    ) -> Translation | list[Translation]:
        """The translation of one line, a str, or of each line of an iterable; an empty line stays an empty line.

        `target` and `source` choose one of the pairs of a model of several, see `to`.
        `options` replace the translator's own for this call, and `changes` change single keys of them: `beam=8`,
        `n_best=5`, `keep=["Contoso"]`, … (see `DecodeConfig`). The translation follows the glossary where possible;
        `Translation.terms` reports it. Every translation begins with `target_prefix`, which excludes a glossary.

        Raises ConfigError for a wrong option, DataError for a wrong text, ResourceError for a search beyond memory.
        """
        options, terms = self._request(glossary, target_prefix, options, changes)
        texts = list(lines_of(text))
        translations = self.to(target, source, texts)._translate_texts(texts, target_prefix, options, terms)
        return translations[0] if isinstance(text, str) else translations

    def stream(
        self,
        lines: str | Iterable[str],
        window: int | Literal["auto"] = "auto",
        *,
        target: str | None = None,
        source: str | None = None,
        glossary: GlossaryLike | None = None,
        target_prefix: str = "",
        options: DecodeConfig | None = None,
        **changes: Unpack[DecodeOptions],
    ) -> Iterator[Translation]:
        """The translations of lines, in order, at most `window` in memory (auto: by the device); see `translate`.

        What has come is translated before more is awaited: an iterator is read in a thread of its own, or, with a
        `window` of 1, in this one, a line at a time. Who stops early has read the rest of a window and at most one line
        more; a generator is closed then. The first window decides about a pair of languages that is not given.
        """
        options, terms = self._request(glossary, target_prefix, options, changes)
        size = window_size(self.engine, options, lines=window)

        def translations() -> Iterator[Translation]:
            chosen: Translator | None = None
            with read_ahead(lines_of(lines), lines, size.lines > 1 and may_wait(lines)) as (items, waits):
                for chunk in chunks_of(items, size, waits=waits):
                    chosen = chosen or self.to(target, source, chunk)
                    yield from chosen._translate_texts(chunk, target_prefix, options, terms)

        return translations()

    def alternatives(
        self,
        text: str,
        target_prefix: str = "",
        count: int = 5,
        *,
        target: str | None = None,
        source: str | None = None,
        options: DecodeConfig | None = None,
        **changes: Unpack[DecodeOptions],
    ) -> tuple[Candidate, ...]:
        """Up to `count` translations of a line, with different texts and different tokens after `target_prefix`.

        The best comes first. All keep the placeholders; no glossary is applied. Raises ConfigError for a wrong `count`.
        """
        options = checked_request(options, self.options, changes, target_prefix, None)
        if options.confidence:
            check_learned(self.confidence, options)
        check_count("count", count)
        line = Line(one_line(text), target_prefix)
        chosen = self.to(target, source, [line.source])
        chosen._split([line], options)
        translate = partial(translate_sentences, chosen.engine, self.tokenizer)
        masked = Translation(line.text, alternatives(line, chosen.engine, translate, count, options))
        restored = write(line, restore_translation(masked, line.source, line.table, self.symbols))
        again = lambda changed: chosen._translate([line.again()], changed, None)[0]  # noqa: E731
        return reported(restored, options, again, chosen.languages)

    def score(
        self, pairs: Iterable[tuple[str, str]], *, target: str | None = None, source: str | None = None
    ) -> list[list[float]]:
        """log P in nats of each token of each target and of EOS, given its source; nothing is split or retried."""
        pairs = checked_pairs(pairs)
        masked = self.symbols.mask_pairs(pairs)
        sources = self.tokenizer.encode([source for source, _ in masked], "source")
        targets = self.tokenizer.encode([target for _, target in masked], "target")
        chosen = self.to(target, source, [text for text, _ in pairs])
        return chosen.engine.score(queries(sources, chosen.marks), targets)

    def translate_inline(
        self,
        texts: Iterable[InlineText],
        *,
        patterns: Iterable[tuple[str, ...] | None] | None = None,
        max_lengths: Iterable[int | None] | None = None,
        target: str | None = None,
        source: str | None = None,
        glossary: GlossaryLike | None = None,
        options: DecodeConfig | None = None,
        **changes: Unpack[DecodeOptions],
    ) -> list[InlineTranslation]:
        """The translation of each text with inline codes: with every code exactly once, validly nested.

        Line breaks are those of the source; protected spans and placeholders are copied. For each text, `patterns` are
        the names of the patterns that find its placeholders (None: the usual ones), and `max_lengths` is the number of
        characters that its translation may have. What could not be kept is in the `warnings`. The other arguments and
        errors are those of `Translator.translate`; each text has one translation.
        """
        request = self._request(glossary, "", options, {**changes, "n_best": 1})
        items = list(zip_inline(texts, patterns, max_lengths))
        chosen = self.to(target, source, [item.text.text for item in items])
        return chosen._inline(items, *request)

    def stream_inline(
        self,
        texts: Iterable[InlineText],
        window: int | Literal["auto"] = "auto",
        *,
        patterns: Iterable[tuple[str, ...] | None] | None = None,
        max_lengths: Iterable[int | None] | None = None,
        target: str | None = None,
        source: str | None = None,
        glossary: GlossaryLike | None = None,
        options: DecodeConfig | None = None,
        **changes: Unpack[DecodeOptions],
    ) -> Iterator[InlineTranslation]:
        """The translations of texts, in order and in windows as those of `stream`; see `translate_inline`."""
        request = self._request(glossary, "", options, {**changes, "n_best": 1})
        size = window_size(self.engine, request[0], lines=window)
        items = zip_inline(texts, patterns, max_lengths)

        def translations() -> Iterator[InlineTranslation]:
            chosen: Translator | None = None
            for chunk in chunks_of(items, size, text=lambda item: item.text.text):
                chosen = chosen or self.to(target, source, [item.text.text for item in chunk])
                yield from chosen._inline(chunk, *request)

        return translations()

    def _request(
        self,
        glossary: GlossaryLike | None,
        target_prefix: str,
        options: DecodeConfig | None,
        changes: Mapping[str, Any],
    ) -> tuple[DecodeConfig, Glossary | None]:
        """The options and the glossary of one call. Raises ConfigError."""
        usual = options is None and glossary is None and not changes and target_prefix == ""
        if usual and self.glossary is None and not self.options.confidence:
            return self.options, None
        merged = merge_glossaries(glossary, self.glossary)
        options = checked_request(options, self.options, changes, target_prefix, merged)
        if options.confidence:
            check_learned(self.confidence, options)
        return options, merged

    def _translate_texts(
        self, texts: Iterable[str], target_prefix: str, options: DecodeConfig, glossary: Glossary | None
    ) -> list[Translation]:
        lines = [Line(text, target_prefix) for text in texts]
        return self._translate(lines, options, glossary, None if target_prefix else self._memory_of_pair)

    def _translate(
        self, lines: Sequence[Line], options: DecodeConfig, glossary: Glossary | None, memory: Memory | None = None
    ) -> list[Translation]:
        """The way of lines from beginning to end; a stage that a call does not need is left out."""
        for line in lines:
            line.languages = self.languages
        rest = lines if memory is None else recall(lines, memory, options)
        self._split(rest, options)
        retried = self.language if self.max_source_tokens else None
        search(rest, self.engine, self.tokenizer, options, glossary, retried)
        repair(rest, self.engine, self.tokenizer, options, glossary)
        join(rest, self.language_check)
        if options.alignment:
            align(rest, self.engine, self.tokenizer, self.marks)
        check(rest, self.symbols, options)
        if options.confidence or (options.doubtful and self.confidence and self.confidence.doubtful):
            self._add_confidence(rest, options)
        return [line.translation for line in lines]

    def _split(self, lines: Sequence[Line], options: DecodeConfig) -> None:
        if self.symbols.names:
            mask(lines, self.symbols)
        for line in (n for n in lines if options.keep or not self._reader.everyday.fullmatch(n.source)):
            self._reader.prepare(line, options)
        split(lines, self.tokenizer, self.language, self.marks, self.max_source_tokens)

    def _add_confidence(self, lines: Sequence[Line], options: DecodeConfig) -> None:
        again = lambda changed: self._translate([line.again() for line in lines], changed, None)  # noqa: E731
        sure = add_confidence([line.translation for line in lines], self.confidence, options, again)
        for line, translation in zip(lines, sure, strict=True):
            line.translation = translation

    def _inline(
        self, items: Sequence[InlineItem], options: DecodeConfig, glossary: Glossary | None
    ) -> list[InlineTranslation]:
        """The way of texts with inline codes: from the memory whole, otherwise through lines."""
        recalled = None
        if (memory := self._memory_of_pair) is not None:
            recalled = [recall_text(memory, x.text, self.language, x.patterns, x.max_length, options) for x in items]
        return translate_inline(
            items,
            lambda lines, changes: self._translate(lines, change_options(options, changes), glossary),
            lambda texts: split_texts(self.tokenizer, texts, self.language, self.max_source_tokens),
            lambda pairs: by_attention(self.engine, self.tokenizer, pairs, self.marks),
            options,
            recalled,
        )

    @property
    def _memory_of_pair(self) -> Memory | None:
        """The memory, if it is one of the pair that calls are for."""
        return self.memory if self.memory is not None and suits(self.memory, self.pair) else None


def _load_again(
    load: Callable[[], Translator], pair: LanguagePair | None, memory: Memory | None, reverse: Translator | None
) -> Translator:
    """A translator in another process, for the pair of languages and with what helped it here."""
    loaded = load().to(pair.target, pair.source) if pair else load()
    return loaded.with_memory(memory).with_reverse(reverse)
