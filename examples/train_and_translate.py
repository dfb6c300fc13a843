"""Train a small model on the text of a project, score it, translate with it: `python train_and_translate.py run.toml`.

`dragoman init mine --pair ko-en` writes a configuration; the text goes into the folder next to it.
"""

import sys

import dragoman

config = dragoman.load_config(sys.argv[1], sys.argv[2:])  # as train.max_steps=1000
result = dragoman.train(config)
print(result.model_path, *(f"{score.name} {score.value:.1f}" for score in result.scores))
translator = dragoman.Translator.load(result.model_path)
for line in sys.stdin:
    print(translator.translate(line.rstrip("\n")).text)
