"""Decoding once more in plain Python, everything computed anew at every step: what the tests compare with."""

import math

import torch

from dragoman.decode.hypothesis import length_penalty
from dragoman.model.parts.attention import attention_weights, padding_mask
from dragoman.model.transformer import Transformer
from dragoman.text.tokens.tokenizer import BOS, EOS, PAD, UNK
from shapes import unchecked

FORBIDDEN_IDS = (PAD, UNK, BOS)


def log_probs(model: Transformer, source: list[int], said: list[int], words: set[int] | None = None) -> list[float]:
    """Of each token after `said`, over what may be said: no mark but the end; of words, `words` alone if given."""
    src = torch.tensor([[*source, EOS]])
    with unchecked(), torch.inference_mode():
        scores = model(src, padding_mask(src, PAD), torch.tensor([[BOS, *said]]))[0, -1].tolist()
    sayable = {
        token for token in range(len(scores)) if token == EOS or (token > EOS and (words is None or token in words))
    }
    heard = [score if token in sayable else -math.inf for token, score in enumerate(scores)]
    top = max(heard)
    total = top + math.log(sum(math.exp(score - top) for score in heard))
    return [score - total for score in heard]


def mean(models: list[Transformer], source: list[int], said: list[int], words: set[int] | None = None) -> list[float]:
    """log of the mean of the models' probabilities."""
    each = [log_probs(model, source, said, words) for model in models]
    return [
        math.log(p) if (p := sum(map(math.exp, column)) / len(each)) > 0 else -math.inf
        for column in zip(*each, strict=True)
    ]


def allowed(said: list[int], *, prefix: list[int], least: int, most: int, n: int, vocab: int) -> set[int]:
    """What may follow `said` by the rules, each as it is told to users."""
    if len(said) < len(prefix):
        return {prefix[len(said)]}
    if len(said) >= most:
        return {EOS}
    tokens = {token for token in range(vocab) if token not in FORBIDDEN_IDS}
    if len(said) < least:
        tokens.discard(EOS)
    if n:
        grams = {tuple(said[place : place + n]) for place in range(len(said) - n + 1)}
        tokens = {token for token in tokens if token == EOS or (*said[len(said) - n + 1 :], token) not in grams}
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
        for total, said in alive:
            following = mean(models, source, said, None if words is None else words | set(prefix))
            may = allowed(said, prefix=prefix, least=least, most=most, n=n, vocab=len(following))
            longer += [(total + following[token], [*said, token]) for token in may if following[token] > -math.inf]
        longer.sort(key=lambda entry: -entry[0])
        for total, said in longer[:beam]:
            if said[-1] == EOS:
                done.append((total / length_penalty(len(said), alpha), total, said[:-1]))
        alive = [entry for entry in longer if entry[1][-1] != EOS][:beam]
    return sorted(sorted(done, key=lambda entry: -entry[1])[:beam], key=lambda entry: -entry[0])


def attention(model: Transformer, source: list[int], said: list[int]) -> torch.Tensor:
    """p_ij, (T, S), of the last decoder layer, everything computed at once."""
    seen = []
    src = torch.tensor([[*source, EOS]])
    attend = model.decoder[-1].cross_attention.attend
    with attend.register_forward_hook(lambda _, args, out: seen.append(args)), torch.inference_mode():
        model(src, padding_mask(src, PAD), torch.tensor([[BOS, *said]]))
    q, k, _, mask = seen[0]
    return attention_weights(q, k, mask)[0].mean(0)
