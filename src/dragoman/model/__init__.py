"""Model: tensors → logits. The Transformer of "Attention Is All You Need" (Vaswani et al. 2017), in its words.

The other architectures, behind the same functions (`parts.network`), are `others.recurrent`, `others.convs2s` and
`others.bytenet`; `parts.moe` is a feed-forward network for the Transformer, `others.language_model` the decoder alone.

Where to find the paper's equations and sections:

    Eq. (1)   scaled dot-product attention        model.parts.attention.attention_weights, ScaledDotProduct
    Eq. (2)   feed-forward network                model.layers.FeedForward
    Eq. (3)   learning rate                       training.update.schedule.noam
    3.1       encoder and decoder layers          model.layers.EncoderLayer, DecoderLayer
    3.1       residual connection and norm        model.layers.AddNorm
    3.2.2     multi-head attention                model.parts.attention.MultiHeadAttention
    3.2.3     padding and look-ahead masks        model.parts.attention.padding_mask, look_ahead_mask
    3.4       scaled and tied embeddings          model.parts.embedding.Embedding
    3.4       projection onto the vocabulary      model.parts.network.EncoderDecoder.project
    3.5       sinusoidal positions                model.parts.embedding.positional_encoding
    5.3       Adam                                training.update.optimizer.build_optimizer
    5.4       dropout                             model.parts.dropout.Dropout
    5.4       label smoothing                     training.objective.loss.smoothed_cross_entropy
    6.1       beam search                         decode.search.beam_search
    6.1       averaging of checkpoints            training.resume.averaging.average_weights

Axes, in the signatures of this and of every other package; a 2 after an axis is its size afterwards:

    B   sentences                               T   target positions; query positions in attention
    S   source positions; key positions         V   vocabulary
    H   heads (h)                               D   d_model
    K   d_k, width of a head's queries, keys    W   d_v, width of a head's values
    HK  h · d_k, the heads side by side         HW  h · d_v, the same for values
    P   pairs of rotary positions, d_k / 2      F   d_ff
    R   hypotheses of all sentences             M   hypotheses of a sentence, R / B
    N   nodes of a sentence's past              Q   new nodes of a sentence, M · T
    C   capacity of a buffer, in nodes          E   best extensions of hypotheses in a search
    U   candidate tokens, a subset of V         L   target tokens of a batch without padding
    I   width of a recurrent layer's input      Z   width of its state
    G   its gates, side by side                 J   positions of all sentences, B · T
    X   experts of a layer, n                   A   experts that compute a token, k
"""
