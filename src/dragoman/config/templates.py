"""The configurations that `dragoman init` writes, for `str.format`."""

FROM_SCRATCH = """\
# A Dragoman run. Check the text with `dragoman data check {file}`, train with `dragoman train {file}`.
# Any key can be overridden on the command line: `dragoman train {file} train.max_steps=1000`.
version = 1

[project]
name = "{name}"
source = "{source}"          # language translated from (BCP-47)
target = "{target}"          # language translated into
{pairs}license = "private"    # of the trained model, for its card

[data]
# Two files of lines, or one .tsv (two columns) or .jsonl file; .gz and .zst are read directly.
# Several corpora: repeat [[data.train]]; with `weight = 3` an epoch has its pairs three times.
valid = {{source = "data/valid.{source}", target = "data/valid.{target}"{held_out}}}   # validated on during training
test = {{source = "data/test.{source}", target = "data/test.{target}"{held_out}}}      # scored once; optional
max_length = 200       # longer pairs (in tokens) are counted and skipped
protect = true         # placeholders ({{name}}, %s, <b>, …) become symbols that the model learns to place

[[data.train]]
source = "data/train.{source}"
target = "data/train.{target}"
{train}
[tokenizer]
kind = "unigram"       # or "bpe"
# vocab_size = 8000    # default: 2000 for up to 10 thousand pairs … 32000 for a million and more
joint = true           # one vocabulary for both languages

[model]
preset = "auto"        # by the text; or tiny | small | base | big; exactly 2017: paper-base | paper-big
# dropout = 0.3        # higher if there is little text

[train]
batch_tokens = 4096    # per micro-batch; raise it on a GPU
accumulate = 1         # micro-batches per update
max_steps = "auto"     # by the text; `dragoman data check {file} --estimate` shows the time it takes
# max_minutes = 120    # a limit of time
warmup = "auto"
validate_every = "auto"
patience = 10          # validations without a better `watch` before it stops
watch = "loss"         # or "bleu", "chrf" of real translations

[decode]
beam = 4
length_penalty = 0.6
"""

FINE_TUNING = """\
# Fine-tuning of the model {base}, for 1,000 to 100,000 pairs.
# Check the text with `dragoman data check {file}`, train with `dragoman train {file}`. Any key can be overridden on the
# command line: `dragoman train {file} train.max_steps=1000`. Shape and tokenizer come with the model.
version = 1

[project]
name = "{name}"
source = "{source}"          # language translated from (BCP-47)
target = "{target}"          # language translated into
{pairs}license = {license}    # of the fine-tuned model; that of its base applies to it too

[data]
# Two files of lines, or one .tsv (two columns) or .jsonl file; .gz and .zst are read directly.
valid = {{source = "data/valid.{source}", target = "data/valid.{target}"{held_out}}}   # validated on during training
test = {{source = "data/test.{source}", target = "data/test.{target}"{held_out}}}   # before and after; optional
# General text, held out, which the base translates well: the report shows what was forgotten.
# general_test = {{source = "data/general.test.{source}", target = "data/general.test.{target}"}}
# General text against forgetting, mixed in. Without any, let the base translate lines of its own domain:
# `dragoman translate -m {base} --to {target} -i general.{source} -o general.{target}`.
# replay = [{{source = "data/general.{source}", target = "data/general.{target}"}}]
# replay_share = 0.5     # of the pairs of an epoch
max_length = {max_length}       # longer pairs (in tokens) are counted and skipped

[[data.train]]
source = "data/train.{source}"
target = "data/train.{target}"
{train}
# [tokenizer]
# extend = 500           # pieces learned from the new text, if it has many words that the base cuts into small pieces

[model]
dropout = {dropout}          # higher if there is little text

[train]
start_from = {start_from}
learning_rate = {learning_rate}   # the peak: lower than that of a run from scratch
schedule = "linear"
warmup = "auto"          # a tenth of the steps
batch_tokens = {batch_tokens}      # per micro-batch
max_steps = "auto"       # 20 epochs of 1,000 pairs, 5 of 100,000; usually `patience` ends it before
validate_every = "auto"  # a tenth of the steps
watch = "chrf"           # of real translations of the validation text
patience = 4             # validations without a better `watch` before it stops
average = "best"
average_count = 3
label_smoothing = 0.1
# pull = 10              # toward the weights of the base, against forgetting without general text
# freeze = ["encoder"]   # parts that keep the weights of the base
# lora_rank = 8          # a small adapter of the base instead of a whole model; with learning_rate = {lora_rate}

[decode]
beam = {beam}
length_penalty = {length_penalty}
"""
