#!/usr/bin/env bash
# From the RNN with attention of comparison.sh multi30k (rate 4e-3): 400 further updates by likelihood, by expected risk and by
# REINFORCE, then paired tests on both test sets. Last line: JSON.
#   reproduce/risk.sh [UPDATES]
set -euo pipefail
cd "$(dirname "$0")/.."
UPDATES="${1:-400}" DRAGOMAN="${DRAGOMAN:-.venv/bin/dragoman}" FROM="$PWD/runs/comparison-multi30k"
START="$FROM/rate-0.004/RNN-attention" RUNS="$PWD/runs/risk"
[ -d "$START/model" ] || { echo "$START/model: not found; run reproduce/comparison.sh multi30k first" >&2; exit 2; }
export OMP_NUM_THREADS=1
mkdir -p "$RUNS"
cp "$START/config.toml" "$RUNS/run.toml"
# train NAME key=value ...
train() {
    local name="$1"; shift
    [ -e "$RUNS/$name/model" ] || "$DRAGOMAN" train "$RUNS/run.toml" "train.start_from=$START/model" "train.output=$RUNS/$name" \
        "train.max_steps=$UPDATES" "train.validate_every=$((UPDATES / 4))" train.learning_rate=2e-4 train.warmup=30 \
        train.schedule=linear train.translate_lines=200 train.watch=bleu "$@"
}
train likelihood
risk=(train.objective=risk train.label_smoothing=0.0)
train risk "${risk[@]}" train.risk.samples=10 train.risk.reward=bleu
train reinforce "${risk[@]}" train.risk.form=reinforce train.risk.samples=2 train.risk.reward=gleu
evaluate() {
    "$DRAGOMAN" evaluate "$FROM/text/$1.en" "$FROM/text/$1.de" --compare --engine torch -m "$RUNS/likelihood/model" -m "$START/model" \
        -m "$RUNS/risk/model" -m "$RUNS/reinforce/model" "${@:2}"
}
for test in test_2016_flickr test_2017_flickr; do evaluate "$test" --json | tr -d '\n'; echo; done
