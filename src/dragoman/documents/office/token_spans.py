"""The styles of text as spans: around text that is not in the style of most text of its paragraph or wrapper."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

from dragoman.documents.office.tokens import Close, Open, Token, Words


def with_spans(tokens: Sequence[Token]) -> tuple[list[Token], Hashable]:
    """The tokens with spans around text of other styles than most text of its wrapper; the paragraph's style."""
    tokens = _with_spaces(tokens)
    bases = _bases(tokens)
    out, waiting = list[Token](), list[Token]()
    stack, current = [bases[-1]], list[Hashable]()  # `current`: the style of the span that is open, if any

    def end_span() -> None:
        if current:
            out.append(Close())
            current.clear()
        out.extend(waiting)
        waiting.clear()

    for index, token in enumerate(tokens):
        if isinstance(token, Words):
            if not current or token.style != current[0]:
                end_span()
                if token.style != stack[-1]:
                    out.append(Open(style=token.style, label="style"))
                    current.append(token.style)
            out.extend(waiting)
            waiting.clear()
            out.append(token)
        elif isinstance(token, Open | Close):
            end_span()
            if isinstance(token, Open):
                stack.append(bases[index])
                token = replace(token, style=bases[index])
            else:
                stack.pop()
            out.append(token)
        else:
            (waiting if current else out).append(token)  # inside the span only if more of its text follows
    end_span()
    return out, bases[-1]


def _with_spaces(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with each single space in the style of the text before it: no code encloses nothing but a space."""
    out, last = list[Token](), None
    for token in tokens:
        if isinstance(token, Open | Close):
            last = None
        elif isinstance(token, Words):
            token = replace(token, style=last.style) if last is not None and token.text == " " else token
            last = token
        out.append(token)
    return out


def _bases(tokens: Sequence[Token]) -> dict[int, Hashable]:
    """The style of most text in each wrapper, by the index where it opens; -1: outside of all."""
    weights: dict[int, Counter[Hashable]] = {-1: Counter()}
    opened = [-1]
    for index, token in enumerate(tokens):
        if isinstance(token, Open):
            opened.append(index)
            weights[index] = Counter()
        elif isinstance(token, Close):
            opened.pop()
        elif isinstance(token, Words):
            weights[opened[-1]][token.style] += len(token.text.strip())
    return {index: max(styles, key=styles.__getitem__, default=None) for index, styles in weights.items()}
