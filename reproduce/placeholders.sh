#!/usr/bin/env bash
# Two `tiny` models of koen_open, both directions in one, that differ only in `data.protect`: with symbols for
# placeholders, and without. For benchmarks/control/placeholders.py. Trains, or resumes what was interrupted. Last line: JSON.
#
#   DRAGOMAN_DATA=/path/to/data reproduce/placeholders.sh [with|without] [key=value ...]
#
# DRAGOMAN_DATA is the folder that contains koen_open/{train,valid,test}.{ko,en}.gz. The runs are written to
# runs/placeholders-with and runs/placeholders-without.
set -euo pipefail
cd "$(dirname "$0")/.."
data=${DRAGOMAN_DATA:?set DRAGOMAN_DATA to the folder that contains koen_open/}/koen_open
dragoman=${DRAGOMAN:-.venv/bin/dragoman} runs=${RUNS:-$PWD/runs}
kinds=(with without)
case "${1:-}" in with | without) kinds=("$1"); shift ;; esac

text() { echo "{source = '$data/$1.ko.gz', target = '$data/$1.en.gz', both_directions = true}"; }

for kind in "${kinds[@]}"; do
    run=$runs/placeholders-$kind resume=() protect=false
    [ "$kind" = with ] && protect=true
    [ -d "$run/checkpoints" ] && resume=(--resume)
    $dragoman train configs/small.toml "${resume[@]}" "train.output=$run" "project.name=placeholders-$kind" \
        "project.pairs=['ko-en', 'en-ko']" "project.license='mixed free licences, by domain'" \
        "data.train=[$(text train)]" "data.valid=$(text valid)" "data.test=$(text test)" "data.protect=$protect" \
        model.preset=tiny tokenizer.vocab_size=8000 train.batch_tokens=2048 train.max_steps=4000 train.max_minutes=600 \
        train.warmup=500 train.validate_every=1000 train.translate_lines=100 "$@"
done
printf '{"with": "%s", "without": "%s"}\n' "$runs/placeholders-with/model" "$runs/placeholders-without/model"
