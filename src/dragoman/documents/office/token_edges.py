"""The edges of a paragraph: what is before its first word and after its last one is no part of the text."""

from dataclasses import replace

from dragoman.documents.office.tokens import Alone, Break, Close, Copied, Open, Token, Words


def peel(tokens: list[Token]) -> tuple[list[Token], list[Token], list[Token]]:
    """What comes before the text, the text, what comes after it."""
    partner = _partners(tokens)
    first, last = 0, len(tokens) - 1
    before, after = list[Token](), list[Token]()  # `after` is backwards
    while first <= last:
        if partner.get(first) == last:
            before.append(tokens[first])
            after.append(tokens[last])
            first, last = first + 1, last - 1
        elif (end := _empty(tokens, partner, first)) is not None:
            before += tokens[first : end + 1]
            first = end + 1
        elif (end := _empty(tokens, partner, last)) is not None:
            after += reversed(tokens[end : last + 1])
            last = end - 1
        else:
            break
    core = tokens[first : last + 1]
    lead, trail = _outer_space(core, 1), _outer_space(core, -1)
    return [*before, *lead], core, [*trail, *reversed(after)]


def _partners(tokens: list[Token]) -> dict[int, int]:
    partner, opened = dict[int, int](), list[int]()
    for index, token in enumerate(tokens):
        if isinstance(token, Open):
            opened.append(index)
        elif isinstance(token, Close):
            partner[index] = opened.pop()
            partner[partner[index]] = index
    return partner


def _empty(tokens: list[Token], partner: dict[int, int], index: int) -> int | None:
    """The last index of what begins at `index` and has no text; None if it has."""
    token = tokens[index]
    if isinstance(token, Open | Close):
        other = partner[index]
        inner = tokens[min(index, other) : max(index, other)]
        seen = (isinstance(token, Copied) or (isinstance(token, Words) and token.text.strip()) for token in inner)
        return None if any(seen) else other
    if isinstance(token, Alone | Break) or (isinstance(token, Words) and not token.text.strip()):
        return index
    return None


def _outer_space(core: list[Token], step: int) -> list[Token]:
    """Take the white space off the first (1) or last (-1) text of `core`, where only codes are outside of it."""
    for index in range(len(core))[::step]:
        token = core[index]
        if isinstance(token, Words):
            stripped = token.text.lstrip() if step == 1 else token.text.rstrip()
            if stripped == token.text:
                return []
            core[index] = replace(token, text=stripped)
            space = token.text[: -len(stripped) or None] if step == 1 else token.text[len(stripped) :]
            return [replace(token, text=space)]
        if not isinstance(token, Open | Close):
            return []
    return []
