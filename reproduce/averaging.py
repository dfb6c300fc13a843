"""Which weights of a finished run are best: single checkpoints or their means?

    python reproduce/averaging.py RUN

RUN is the folder of a run that still has its checkpoints. Prints validation loss, and BLEU and chrF of the test set (of
the validation set if there is none), for each checkpoint and for the means of the last 3 and 5. The last line is one
JSON object.
"""

import json
import sys
import tomllib
from pathlib import Path

import torch

from dragoman.bundle import open_bundle
from dragoman.config.file import build_config
from dragoman.data.batches.stream import validation_batches
from dragoman.data.corpus.corpus import read_pairs
from dragoman.data.corpus.directions import directions
from dragoman.engine.torch import TorchEngine
from dragoman.evaluation import bleu, chrf
from dragoman.training.resume.averaging import average_weights
from dragoman.training.resume.checkpoint import checkpoint_steps
from dragoman.training.resume.validation import validation_loss
from dragoman.translator import Translator


def main(run: Path) -> None:
    """Measure and print."""
    config = build_config(tomllib.loads((run / "config.toml").read_text(encoding="utf-8")), str(run), run)
    bundle, data = open_bundle(run / "model"), config.data
    model, device = bundle.load_model(), torch.device("cpu")
    valid, _ = validation_batches(
        directions(config, data.valid_corpora),
        bundle.tokenizer,
        max_length=data.max_length,
        batch_tokens=config.train.batch_tokens,
    )
    pairs = [pair for corpus in data.test_corpora or data.valid_corpora for pair in read_pairs(corpus)]
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    kept = checkpoint_steps(run / "checkpoints")
    result = {}
    for steps in [*([step] for step in kept), kept[-3:], kept[-5:]]:
        weights = average_weights(run / "checkpoints", steps)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(weights[name])
        translator = Translator(bundle.tokenizer, TorchEngine(model, device), config.decode)
        texts = [translation.text for translation in translator.translate(sources)]
        loss = validation_loss(model, valid, device)
        row = {"loss": round(loss, 3), "bleu": bleu(texts, references).value, "chrf": chrf(texts, references).value}
        print(f"{steps}: valid loss {loss:.3f}, BLEU {row['bleu']:.1f}, chrF {row['chrf']:.1f}")
        result[" ".join(map(str, steps))] = {key: round(value, 3) for key, value in row.items()}
    print(json.dumps({"run": run.name, **result}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
