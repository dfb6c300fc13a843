"""Import a model, fine-tune it, export it, look inside: `python finetune_imported.py THEIRS PAIRS.tsv FOLDER`.

THEIRS is a folder of another toolkit's model, such as one of OPUS-MT; PAIRS.tsv has a source and its translation per
line. Keys of the configuration follow, as train.max_steps=2000. `trial=False` lets an untrained model pass: for a real
one, leave it out.
"""

import pathlib
import sys

import dragoman

theirs, pairs, folder, *keys = sys.argv[1:]
home = pathlib.Path(folder)
base = dragoman.import_model(theirs, home / "base", pairs, trial=False)
print(f"imported {base.origin.name}, licence {base.origin.license}")
project = dragoman.init_project(home / "mine", pairs, start_from=base.model_path)
tuned = dragoman.train(dragoman.load_config(project.config, keys))
print(f"fine-tuned {tuned.outcome.step} steps:", *(f"{score.name} {score.value:.1f}" for score in tuned.scores))
exported = dragoman.export(tuned.model_path, pairs, quantization="float32")
print(f"exported {exported.name}, log P within {exported.float32.log_prob_difference:.1g}")
page = home / "look.html"
source = pathlib.Path(pairs).read_text(encoding="utf-8").split("\t")[0]
dragoman.inspect(tuned.model_path, source).to_html(page)
print(f"{source} → {dragoman.Translator.load(tuned.model_path).translate(source).text}; {page}")
