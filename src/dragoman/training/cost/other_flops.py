"""The forward pass of other architectures than the Transformer in floating-point operations, logits left out.

Counted as in `dragoman.training.cost.flops`: matrix products, one sentence of S source and T target positions. With N
the width of a state, I that of an input, C that of the encoder's output and A that of additive attention:

    LSTM                     8 N (I + N) per position, of each direction
    GRU                      6 N (I + N)
    attention                2 (K + C) per pair of positions, where keys are K wide; additive scores cost 2 A, not 2 K
    its linear maps          general 2 N C, additive, concat 2 C A per source position; these 2 N A per target position
    h~ = tanh(W_c [c; s])    2 D (N + C) per target position; maxout 4 D (N + D + C)

A gated convolution of ConvS2S over k positions costs 4 k N² per position, its attention 4 D N per target position and
4 D per pair, the maps between the widths 2 D N each; a block of ByteNet, whose inner width is D / 2, (4 + k) D² / 2.
"""

from dragoman.config import ByteNetConfig, ConvS2SConfig, LanguageModelConfig, RnnConfig


def other_flops(
    model: RnnConfig | ConvS2SConfig | ByteNetConfig | LanguageModelConfig, source: int, target: int
) -> int:
    """One sentence, by the architecture."""
    if isinstance(model, LanguageModelConfig):
        return language_model_flops(model, target)
    if isinstance(model, RnnConfig):
        return rnn_flops(model, source, target)
    return (
        convs2s_flops(model, source, target)
        if isinstance(model, ConvS2SConfig)
        else bytenet_flops(model, source, target)
    )


def convs2s_flops(model: ConvS2SConfig, source: int, target: int) -> int:
    """ConvS2S, one sentence."""
    d, f = model.hidden, model.d_model
    convolution, ends = 4 * model.kernel * d * d, 4 * f * d
    encoder = source * (model.encoder_layers * convolution + ends)
    attention = target * 4 * f * d + source * target * 4 * f
    return encoder + target * (model.decoder_layers * convolution + ends) + model.decoder_layers * attention


def bytenet_flops(model: ByteNetConfig, source: int, target: int) -> int:
    """ByteNet, one sentence; its source network runs over the extended source."""
    block = (4 + model.kernel) * model.d_model * model.d_model // 2
    extended = (source * round(1000 * model.stretch) + 999) // 1000 + model.extra
    return block * (extended * model.encoder_layers + target * model.decoder_layers) + 2 * target * model.d_model**2


def language_model_flops(model: LanguageModelConfig, target: int) -> int:
    """A language model, one sentence: attention 8 D² + 4 T D per position, its feed-forward network 4 D F."""
    d_model = model.d_model
    per_token = 8 * d_model * d_model + 4 * target * d_model + 4 * d_model * model.d_ff
    if model.layer != "transformer":
        per_token = (8 if model.layer == "lstm" else 6) * d_model * 2 * d_model
    return model.layers * target * per_token


def rnn_flops(model: RnnConfig, source: int, target: int) -> int:
    """A recurrent network, one sentence."""
    memory, d_model = model.encoder_hidden, model.d_model
    encoder = 0
    for number in range(model.encoder_layers):
        both = model.directions == "both" or (model.directions == "first" and number == 0)
        inputs, width = (memory if number else d_model), (memory // 2 if both else memory)
        encoder += (2 if both else 1) * source * recurrence_flops(model, inputs, width)
    context = memory if model.attention == "additive" else 0
    first = d_model + context + (d_model if model.input_feeding else 0)
    widths = [first] + [model.hidden + context] * (model.decoder_layers - 1)
    decoder = target * sum(recurrence_flops(model, inputs, model.hidden) for inputs in widths)
    attention, readout = _attention_flops(model, source, target), target * _readout_flops(model)
    return encoder + _start_flops(model) + decoder + attention + readout


def _start_flops(model: RnnConfig) -> int:
    """Of a sentence: one matrix for each layer of the decoder, from the encoder's last state."""
    if model.start == "copy":
        return 0
    both = model.directions == "both" or (model.directions == "first" and model.encoder_layers == 1)
    last = model.encoder_hidden // 2 if both and model.attention != "none" else model.encoder_hidden
    return 2 * model.decoder_layers * model.hidden * last


def recurrence_flops(model: RnnConfig, inputs: int, width: int) -> int:
    """One position of a layer of one direction."""
    return (8 if model.cell == "lstm" else 6) * width * (inputs + width)


def _attention_flops(model: RnnConfig, source: int, target: int) -> int:
    hidden, memory, width = model.hidden, model.encoder_hidden, model.attention_width
    if model.attention == "none":
        return 0
    if model.attention in ("additive", "concat"):
        return 2 * (source * memory * width + target * hidden * width + source * target * (width + memory))
    keys = 2 * source * hidden * memory if model.attention == "general" else 0
    return keys + 2 * source * target * (hidden + memory)


def _readout_flops(model: RnnConfig) -> int:
    hidden, memory, d_model = model.hidden, model.encoder_hidden, model.d_model
    if model.attention == "additive":
        return 4 * d_model * (hidden + d_model + memory)
    if model.attention == "none":
        return 2 * hidden * d_model if hidden != d_model else 0
    return 2 * d_model * (hidden + memory)
