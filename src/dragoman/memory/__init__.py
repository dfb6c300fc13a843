"""Translation memories: sentences that a person has translated, found again by their source.

Input: units of a source and a target text. Output: for a new source the translation of an equal one, of one that
differs in its numbers alone, or the most similar ones.

    keys         a text → what must be equal, its numbers, the tokens that similarity counts
    store        units in a database of SQLite; `Memory` is one pair of languages of it
"""

from dragoman.memory.store import Contents, Memory, MemoryMatch, MemoryUnit, contents, existing_memory

__all__ = ["Contents", "Memory", "MemoryMatch", "MemoryUnit", "contents", "existing_memory"]
