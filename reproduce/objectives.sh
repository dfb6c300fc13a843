#!/usr/bin/env bash
# An RNN of simple-nmt's kind on koen_open, one model of both directions: likelihood, then from there the same number of
# further updates by likelihood, dual learning and risk in both forms; paired tests against likelihood.
#   reproduce/objectives.sh [FIRST [MORE [key=value ...]]]     updates before and after; DRAGOMAN_DATA has koen_open/
# DOMAINS="tldr libreoffice_help" takes these lines of it only: an afternoon's processor learns something from them.
set -euo pipefail
cd "$(dirname "$0")/.."
FIRST="${1:-6000}" MORE="${2:-1000}"; shift "$(($# < 2 ? $# : 2))"
DRAGOMAN="${DRAGOMAN:-.venv/bin/dragoman}" PYTHON="${PYTHON:-.venv/bin/python}" RUNS="${RUNS:-runs/objectives}"
TEXT="${DRAGOMAN_DATA:?folder of the corpora}/koen_open"
mkdir -p "$RUNS/data"
# lines PART SIDE: those of the domains in DOMAINS, or all
lines() {
    paste <(zcat "$TEXT/$1.domain.gz") <(zcat "$TEXT/$1.$2.gz") |
        awk -F '\t' -v domains=" ${DOMAINS:-} " 'domains == "  " || index(domains, " " $1 " ") {print substr($0, length($1) + 2)}'
}
for part in train:${TRAIN_LINES:-250000} valid:${VALID_LINES:-400} test:${TEST_LINES:-1000}; do
    for side in ko en; do lines "${part%:*}" "$side" | head -n "${part#*:}" >"$RUNS/data/${part%:*}.$side" || true; done
done
corpus() { echo "{source = \"data/$1.ko\", target = \"data/$1.en\", both_directions = true}"; }
cat >"$RUNS/run.toml" <<TOML
[project]
name = "rnn"
pairs = ["ko-en", "en-ko"]
license = "mixed free licences"
[data]
train = [$(corpus train)]
valid = [$(corpus valid)]
test = [$(corpus test)]
max_length = 100
[tokenizer]
vocab_size = ${PIECES:-8000}
[model]
architecture = "rnn"
attention = "general"
layers = ${LAYERS:-2}
d_model = ${WIDTH:-256}
dropout = 0.2
[train]
label_smoothing = 0.0
clip_norm = 5.0
batch_tokens = ${BATCH:-2048}
learning_rate = 1e-3
warmup = 400
translate_lines = 100
card_lines = 0
TOML
# train NAME UPDATES key=value ...
train() {
    local name="$1" steps="$2"; shift 2
    [ -e "$RUNS/$name/model/bundle.json" ] && return
    local resume=(); ls "$RUNS/$name"/checkpoints/0* >/dev/null 2>&1 && resume=(--resume)
    "$DRAGOMAN" train "$RUNS/run.toml" "train.output=$name" "train.max_steps=$steps" \
        "train.validate_every=$((steps / 6 + 1))" "$@" "${resume[@]}"
}
for language in ko en; do
    [ -e "$RUNS/lm-$language/model/bundle.json" ] || "$DRAGOMAN" train --language-model "$RUNS/run.toml" \
        "model.language=$language" model.layer=lstm model.layers=1 "model.d_model=${WIDTH:-256}" \
        "train.output=lm-$language" "train.max_steps=$((FIRST / 3))" "train.validate_every=$((FIRST / 18 + 1))"
done
train first "$FIRST" "$@"
# The same updates, rate and start for all; risk in updates of fewer sources, because each has many samples.
more=(train.start_from=first/model train.learning_rate="${RATE:-1e-4}" train.warmup=50 "$@")
train likelihood "$MORE" "${more[@]}"
train dual "$MORE" "${more[@]}" train.objective=dual train.dual.weight=0.01 'train.dual.language_models=["lm-ko/model","lm-en/model"]'
risk=(train.objective=risk train.batch_tokens="${RISK_BATCH:-512}" train.watch=bleu)
train risk "$MORE" "${more[@]}" "${risk[@]}" train.risk.samples="${SAMPLES:-10}" train.risk.reward=bleu
train reinforce "$MORE" "${more[@]}" "${risk[@]}" train.risk.form=reinforce train.risk.samples=2 train.risk.reward=gleu
systems=("$RUNS"/{likelihood,first,dual,risk,reinforce}/model)
for pair in ko:en en:ko; do
    "$DRAGOMAN" evaluate "$RUNS/data/test.${pair%:*}" "$RUNS/data/test.${pair#*:}" --compare --to "${pair#*:}" --engine torch \
        $(printf -- '-m %s ' "${systems[@]}") --json >"$RUNS/scores-${pair/:/-}.json"
done
"$PYTHON" - "$RUNS" "$FIRST" "$MORE" <<'PYTHON'
import json, pathlib, sys
runs, first, more = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
scores = {pair: json.loads((runs / f"scores-{pair}.json").read_text()) for pair in ("ko-en", "en-ko")}
print(json.dumps({"benchmark": "objectives", "first": first, "more": more, "scores": scores}, ensure_ascii=False))
PYTHON
