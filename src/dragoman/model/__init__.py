"""Model: tensors → logits. The Transformer of "Attention Is All You Need" (Vaswani et al. 2017), in its words.

Axes, in every signature of this package:

    B  sentences                          T  target positions (those that ask, in attention)
    R  hypotheses, R = B × beam           S  source positions (those that are asked, in attention)
    H  heads (h)                          P  positions that were decoded before
    D  d_model                            K  d_k, width of a head's queries and keys
    V  vocabulary                         W  d_v, width of a head's values
    U  candidate ids, V or a shortlist    E  extensions of hypotheses that a search step considers
    B2, R2  sentences and hypotheses after a selection
"""
