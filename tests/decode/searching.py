"""Decoding once more in plain Python, everything computed again at every step: the reference of the tests."""

import math

import torch

from dragoman.decode.hypothesis import length_penalty
from dragoman.model.parts.attention import attention_weights, padding_mask
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, UNK
from shapes import unchecked

FORBIDDEN_IDS = (PAD, UNK, BOS)


def log_probs(
    model: Transformer, source: list[int], generated: list[int], words: set[int] | None = None
) -> list[float]:
    """log P of each token after `generated`, over EOS and the words, or over EOS and `words`; the others have -inf."""
    src = torch.tensor([[*source, EOS]])
    with unchecked(), torch.inference_mode():
        scores = model(src, padding_mask(src, PAD), torch.tensor([[BOS, *generated]]))[0, -1].tolist()
    sayable = {
        token for token in range(len(scores)) if token == EOS or (token > EOS and (words is None or token in words))
    }
    allowed_scores = [score if token in sayable else -math.inf for token, score in enumerate(scores)]
    top = max(allowed_scores)
    total = top + math.log(sum(math.exp(score - top) for score in allowed_scores))
    return [score - total for score in allowed_scores]


def mean(
    models: list[Transformer], source: list[int], generated: list[int], words: set[int] | None = None
) -> list[float]:
    """log of the mean of the models' probabilities."""
    each = [log_probs(model, source, generated, words) for model in models]
    return [
        math.log(p) if (p := sum(map(math.exp, column)) / len(each)) > 0 else -math.inf
        for column in zip(*each, strict=True)
    ]


def allowed(generated: list[int], *, prefix: list[int], least: int, most: int, n: int, vocab: int) -> set[int]:
    """The tokens that may follow `generated` by the rules, each as the documentation states it."""
    if len(generated) < len(prefix):
        return {prefix[len(generated)]}
    if len(generated) >= most:
        return {EOS}
    tokens = {token for token in range(vocab) if token not in FORBIDDEN_IDS}
    if len(generated) < least:
        tokens.discard(EOS)
    if n:
        grams = {tuple(generated[place : place + n]) for place in range(len(generated) - n + 1)}
        tokens = {
            token for token in tokens if token == EOS or (*generated[len(generated) - n + 1 :], token) not in grams
        }
    return tokens or {EOS}


def beam_search(
    models: list[Transformer],
    source: list[int],
    *,
    beam: int,
    most: int,
    alpha: float = 0.6,
    prefix: list[int] | None = None,
    least: int = 0,
    n: int = 0,
    words: set[int] | None = None,
) -> list[tuple[float, float, list[int]]]:
    """(score, log P, tokens) of the finished hypotheses, best first, by lists and sorting."""
    prefix = prefix or []
    alive: list[tuple[float, list[int]]] = [(0.0, [])]
    done: list[tuple[float, float, list[int]]] = []
    while alive and len(done) < beam:
        longer = []
        for total, generated in alive:
            following = mean(models, source, generated, None if words is None else words | set(prefix))
            may = allowed(generated, prefix=prefix, least=least, most=most, n=n, vocab=len(following))
            longer += [(total + following[token], [*generated, token]) for token in may if following[token] > -math.inf]
        longer.sort(key=lambda entry: -entry[0])
        for total, generated in longer[:beam]:
            if generated[-1] == EOS:
                done.append((total / length_penalty(len(generated), alpha), total, generated[:-1]))
        alive = [entry for entry in longer if entry[1][-1] != EOS][:beam]
    return sorted(sorted(done, key=lambda entry: -entry[1])[:beam], key=lambda entry: -entry[0])


def attention(model: Transformer, source: list[int], generated: list[int]) -> torch.Tensor:
    """p_ij, (T, S), of the last decoder layer, everything computed at once."""
    seen = []
    src = torch.tensor([[*source, EOS]])
    attend = model.decoder[-1].cross_attention.attend
    with attend.register_forward_hook(lambda _, args, out: seen.append(args)), torch.inference_mode():
        model(src, padding_mask(src, PAD), torch.tensor([[BOS, *generated]]))
    q, k, _, mask = seen[0]
    return attention_weights(q, k, mask)[0].mean(0)
