"""Text → text: split, encode, search, decode, check. Each line has one translation; the order is kept.

The path of a line, down and back:

    Translator.translate       lines → sentences (`text.segment`) → ids
    translate_with_retries     sentences at fault are translated again (`control.search.retry`)
    translate_sentences        engine, minimum Bayes risk, glossary; `Hypothesis` → `Candidate`
    (`control.search.sentences`) Engine.translate           batches of ids (`engine.torch`, `engine.ctranslate2`)
    beam_search, sample        one step at a time → `Hypothesis` (`decode.search`, `decode.sampling`)
    Transformer                logits (`model.transformer`)
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any, Self, Unpack, overload

from dragoman.bundle import Bundle
from dragoman.config import DecodeConfig
from dragoman.config.sections.decode import DecodeOptions, Precision
from dragoman.control.alignment import add_alignment
from dragoman.control.confidence.confidence import NAME as CONFIDENCE
from dragoman.control.confidence.confidence import Confidence, add_confidence, check_learned
from dragoman.control.faults.final_check import checked, reported
from dragoman.control.faults.kept import Keeping
from dragoman.control.inline.inline_calls import InlineCalls, load_with_memory
from dragoman.control.languages.directed import load_pair
from dragoman.control.languages.pairs import LanguagePair, Pairs
from dragoman.control.placeholders.placeholders import Repair
from dragoman.control.placeholders.symbols import encode_prefixes, mask_lines, restore_translation
from dragoman.control.search.alternatives import alternatives
from dragoman.control.search.request import check_engine_request, check_options_type, checked_request, merge_glossaries
from dragoman.control.search.retry import translate_with_retries
from dragoman.control.search.sentences import Sentence, join_line, translate_sentences
from dragoman.control.search.splitting import encode_lines, halve
from dragoman.engine import Engine
from dragoman.engine.load import load_engine
from dragoman.errors import ConfigError, check_count
from dragoman.installed.opening import ModelPath, open_models
from dragoman.shortlist.file import Shortlist
from dragoman.text.terms.glossary import Glossary, GlossaryLike
from dragoman.text.terms.symbols import NO_SYMBOLS, Symbols, Table
from dragoman.text.tokens.tokenizer import Tokenizer
from dragoman.text.words.lines import WINDOW, checked_pairs, chunks_of, lines_of, one_line
from dragoman.translation import Candidate, Translation

# The file of a bundle that holds its glossary.
GLOSSARY = "glossary.tsv"


class Translator(InlineCalls):
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
        super().__init__(tokenizer, engine, pairs or Pairs((LanguagePair(language, target_language),)))
        self.options, self.max_source_tokens, self.symbols = options, max_source_tokens, symbols
        self.glossary = merge_glossaries(glossary, None)
        self.bundle: Bundle | None = None
        """The (first) bundle it was made from, if any."""
        self.confidence: Confidence | None = None
        """What that bundle has learned about its translations, if anything."""
        self._load: Callable[[], Translator] | None = None

    def __reduce__(self) -> tuple[Callable[[], "Translator"], tuple[()]]:
        """Pickled as the folders of its bundles and the file of its memory: another process opens them again."""
        if self._load is None:
            raise ConfigError("a translator that was not loaded from folders: it cannot be pickled, make it there")
        load = partial(load_pair, self._load, self.pair if len(self.pairs.pairs) > 1 else None)
        return (load, ()) if self.memory is None else (partial(load_with_memory, load, self.memory), ())

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
        `precision` and `threads` are those of `of_bundle`. The glossary has priority over that of the bundle.
        `base` is the base model of an adapter, if it is no longer where it was. Raises
        ModelError, ConfigError, ResourceError.
        """
        models = list(model) if isinstance(model, Sequence) and not isinstance(model, str | bytes) else [model]
        bundles = open_models(models, base)
        if not bundles:
            raise ConfigError("model: an empty list; give a model folder, or the name of a bundled model")
        return cls.of_bundle(
            *bundles,
            engine=engine,
            device=device,
            precision=precision,
            threads=threads,
            options=options,
            glossary=glossary,
        )

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
        folders = [one.folder.absolute() for one in (bundle, *others)]
        again = partial(cls.load, folders, engine=engine, device=device, precision=precision, threads=threads)
        base = next((one.base.folder.absolute() for one in (bundle, *others) if one.base), None)
        again = partial(again, options=options, glossary=glossary, base=base)
        options = options or bundle.config.decode
        shortlist = Shortlist.of_bundle(bundle)
        own = Glossary.read(bundle.folder / GLOSSARY) if GLOSSARY in bundle.manifest["files"] else None
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
            glossary=merge_glossaries(glossary, own),
            pairs=Pairs.of(bundle.config.project, bundle.tokenizer),
            symbols=Symbols.of(bundle.config, bundle.tokenizer.symbols),
        )
        translator.bundle, translator._load = bundle, again
        if CONFIDENCE in bundle.manifest["files"]:
            translator.confidence = Confidence.read(bundle.folder / CONFIDENCE)
        return translator

    @overload
    def translate(  # type: ignore[overload-overlap]  # a str is an iterable of str too
        self,
        text: str,
        *,
        target: str | None = None,
        source: str | None = None,
        glossary: GlossaryLike | None = None,
        target_prefix: str = "",
        options: DecodeConfig | None = None,
        **changes: Unpack[DecodeOptions],
    ) -> Translation: ...
    @overload
    def translate(
        self,
        text: Iterable[str],
        *,
        target: str | None = None,
        source: str | None = None,
        glossary: GlossaryLike | None = None,
        target_prefix: str = "",
        options: DecodeConfig | None = None,
        **changes: Unpack[DecodeOptions],
    ) -> list[Translation]: ...
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
        `n_best=5`, `method="sample"`, … (see `DecodeConfig`). The translation follows the glossary where possible;
        `Translation.terms` reports it. Every translation begins with `target_prefix`, which excludes a glossary.

        Raises ConfigError for a wrong option, DataError for a wrong text, ResourceError for a search beyond memory.
        """
        options, terms = self._request(glossary, target_prefix, options, changes)
        lines = list(lines_of(text))
        translations = self.to(target, source, lines)._recalled(lines, target_prefix, options, terms)
        return translations[0] if isinstance(text, str) else translations

    def stream(
        self,
        lines: str | Iterable[str],
        window: int = WINDOW,
        *,
        target: str | None = None,
        source: str | None = None,
        glossary: GlossaryLike | None = None,
        target_prefix: str = "",
        options: DecodeConfig | None = None,
        **changes: Unpack[DecodeOptions],
    ) -> Iterator[Translation]:
        """The translations of any number of lines, in order, at most `window` of them in memory; see `translate`.

        The first window decides about a pair of languages that is not given.
        """
        options, terms = self._request(glossary, target_prefix, options, changes)
        check_count("window", window)

        def translations() -> Iterator[Translation]:
            chosen: Translator | None = None
            for chunk in chunks_of(lines_of(lines), window):
                chosen = chosen or self.to(target, source, chunk)
                yield from chosen._recalled(chunk, target_prefix, options, terms)

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

        The best comes first. All keep the placeholders of the line. Raises ConfigError for a wrong `count`.
        """
        options, _ = self._request(None, target_prefix, options, changes)
        check_count("count", count)
        line = one_line(text)
        chosen = self.to(target, source, [line])
        masked, tables = mask_lines([line], self.symbols)
        engine, [parts] = chosen.marked_engine, chosen._encode(masked, target_prefix, tables)
        search = partial(translate_sentences, engine, self.tokenizer)
        found = Translation(masked[0], alternatives(engine, search, masked[0], parts, count, options))
        found = restore_translation(found, line, tables[0], self.symbols)
        return reported(found, options, partial(chosen._translate, [line], target_prefix, glossary=None))

    def score(
        self, pairs: Iterable[tuple[str, str]], *, target: str | None = None, source: str | None = None
    ) -> list[list[float]]:
        """log P in nats of each token of each target and of EOS, given its source; nothing is split or retried."""
        pairs = checked_pairs(pairs)
        masked = self.symbols.mask_pairs(pairs)
        sources = self.tokenizer.encode([source for source, _ in masked], "source")
        targets = self.tokenizer.encode([target for _, target in masked], "target")
        return self.to(target, source, [text for text, _ in pairs]).marked_engine.score(sources, targets)

    def _request(
        self,
        glossary: GlossaryLike | None,
        target_prefix: str,
        options: DecodeConfig | None,
        changes: Mapping[str, Any],
    ) -> tuple[DecodeConfig, Glossary | None]:
        """The options and the glossary of one call. Raises ConfigError."""
        merged = merge_glossaries(glossary, self.glossary)
        options = checked_request(options, self.options, changes, target_prefix, merged)
        check_learned(self.confidence, options)
        return options, merged

    def _translate(
        self, lines: Sequence[str], prefix: str, options: DecodeConfig, glossary: Glossary | None, kept: Keeping = ()
    ) -> list[Translation]:
        masked, tables = mask_lines(lines, self.symbols)
        sentences = self._encode(masked, prefix, tables)
        search = partial(translate_sentences, self.marked_engine, self.tokenizer, glossary=glossary)
        flat = [sentence for line in sentences for sentence in line]
        halves = partial(halve, self.tokenizer, language=self.language) if self.max_source_tokens else None
        found = translate_with_retries(search, flat, options, halves)
        repair = Repair(search, self.marked_engine, self.tokenizer, options, glossary)
        each = repair.by_line(sentences, found, tables, kept)
        translations = list(map(join_line, masked, sentences, each, repeat(self.language_check)))
        parts = [list(zip(line, own, strict=True)) for line, own in zip(sentences, each, strict=True)]
        translations = add_alignment(self.marked_engine, self.tokenizer, translations, parts, options)
        restored = map(restore_translation, translations, lines, tables, repeat(self.symbols))
        again = partial(self._translate, lines, prefix, glossary=None, kept=kept)
        return add_confidence(checked(restored, options, kept), self.confidence, options, again)

    def _encode(self, masked: Sequence[str], target_prefix: str, tables: Sequence[Table]) -> list[list[Sentence]]:
        """The sentences of each line, none for a blank one; the first has the target prefix, masked as its line is."""
        prefixes = encode_prefixes(self.tokenizer, target_prefix, tables, self.symbols, self.max_source_tokens)
        return encode_lines(self.tokenizer, masked, self.language, self.max_source_tokens, prefixes)
