"""An inspection in short, as JSON: each piece with what could have been there instead, the search, the attention."""

from typing import Any

from dragoman.inspection.inspection import Inspection


def summary(inspection: Inspection, alternatives: int) -> dict[str, Any]:
    """What `dragoman look --json` prints; each step has up to `alternatives` other pieces."""
    hypotheses = inspection.tree.hypotheses if inspection.tree else ()
    texts = inspection.texts(hypotheses)
    return {
        "schema": "dragoman.look/1",
        "source": inspection.source,
        "translation": inspection.text,
        "log_prob": float(inspection.log_probs.sum()),
        "pieces": inspection.pieces,
        "steps": [
            {"piece": step.piece, "probability": step.probability, "instead": step.alternatives}
            for step in inspection.predictions(alternatives)
        ],
        "hypotheses": [
            {"text": text, "score": hypothesis.score, "log_prob": hypothesis.log_prob}
            for text, hypothesis in zip(texts, hypotheses, strict=True)
        ],
    }


def cross_attention(inspection: Inspection) -> list[list[list[float]]]:
    """For each layer of the decoder, from each piece of its output to those of the source: the mean of its heads."""
    layers = inspection.model.config.decoder_layers
    weights = (inspection[f"decoder.{layer}.cross_attention.weights"].values for layer in range(layers))
    return [[[round(float(weight), 4) for weight in row] for row in values.mean(axis=0)] for values in weights]
