"""The translation memory of the service: one file, of which each served pair of languages has its part.

Input: a `.db` of `dragoman memory`, to which clients may add, or a file of another format, which is only read. All who
may use the service share it: it is its operator's.
"""

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from dragoman.errors import ConfigError, DataError
from dragoman.memory import Contents, Memory, MemoryMatch, MemoryUnit, contents, existing_memory
from dragoman.serve.models.models import ServedPair
from dragoman.serve.store.glossaries import Languages
from dragoman.text.words.language import primary_language
from dragoman.translator import Translator
from dragoman.workflows.documents.memory import DATABASE, open_memory


class Memories:
    """The memory in a file. Threads may share it.

    Raises ConfigError for a missing file, DataError for one that cannot be read or has nothing for any of the `pairs`.
    """

    def __init__(self, path: Path, pairs: Iterable[ServedPair]) -> None:
        self.path = existing_memory(path)
        self.grows = self.path.name.endswith(DATABASE)
        """Whether units can be added."""
        self._lock, self._open = threading.Lock(), dict[Languages, Memory | None]()
        if self.grows:
            contents(self.path)
        elif all(self.of(pair.source, pair.target) is None for pair in pairs):
            raise DataError(f"{self.path}: nothing in the languages of the models; give another --memory")

    def close(self) -> None:
        with self._lock:
            for memory in self._open.values():
                if memory is not None:
                    memory.close()
            self._open.clear()

    def of(self, source: str, target: str) -> Memory | None:
        """The part for a pair of languages; None if it has nothing in them and cannot have. Raises DragomanError."""
        languages = primary_language(source), primary_language(target)
        with self._lock:
            if languages not in self._open:
                self._open[languages] = self._opened(*languages)
            return self._open[languages]

    def joined(self, translator: Translator) -> Translator:
        """The translator of a pair, which asks its part of the memory first."""
        pair = translator.pair
        return translator.with_memory(self.of(pair.source, pair.target)) if pair and pair.target else translator

    def search(self, source: str, target: str, text: str, threshold: int, count: int) -> list[MemoryMatch]:
        """Up to `count` units for a text: an equal one, or one with other numbers, then similar ones, best first."""
        memory = self.of(source, target)
        if memory is None:
            return []
        exact = memory.find(text)
        first = [exact] if exact else []
        similar = memory.similar(text, threshold, count)
        return [*first, *(match for match in similar if exact is None or match.source != exact.source)][:count]

    def add(self, source: str, target: str, units: Sequence[MemoryUnit]) -> int:
        """Add units; the number of new ones. Raises ConfigError for a file that is only read."""
        memory = self.of(source, target)
        if not self.grows or memory is None:
            raise ConfigError(f"the memory of this service is {self.path.name}, which is only read; serve a .db")
        return memory.add(units)

    def stats(self) -> list[Contents]:
        """What the memory holds, by pairs of languages, the largest first."""
        if self.grows:
            return contents(self.path)
        with self._lock:
            held = [(languages, len(memory)) for languages, memory in self._open.items() if memory is not None]
        return [
            Contents(*languages, units, "", "") for languages, units in sorted(held, key=lambda counted: -counted[1])
        ]

    def _opened(self, source: str, target: str) -> Memory | None:
        if self.grows:
            return Memory.open(self.path, source, target)
        try:
            return open_memory(self.path, source, target)
        except DataError:
            return None
