#!/usr/bin/env bash
# Transformer-Tiny on Multi30k en→TARGET: trains as the paper did, then on with a learning rate that falls to nothing;
# resumes what was begun. Scores three test sets after each. Last line: JSON, of the second.
#
#   DRAGOMAN_DATA=/path/to/data runs/multi30k.sh de|fr [key=value ...]
#
# DRAGOMAN_DATA is the folder that holds multi30k/. The runs are written to runs/multi30k-en-TARGET and
# runs/multi30k-en-TARGET-cooled; keys are those of the first.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:?de or fr}; shift
data=${DRAGOMAN_DATA:?set DRAGOMAN_DATA to the folder that holds multi30k/}/multi30k
run=$PWD/runs/multi30k-en-$target
dragoman=${DRAGOMAN:-.venv/bin/dragoman}
python=${PYTHON:-.venv/bin/python}

corpus() { echo "{source = '$data/$1.en.gz', target = '$data/$1.$target.gz'}"; }

# train RUN CONFIG [key=value ...]
train() {
    local run=$1 config=$2 resume=(); shift 2
    [ -d "$run/checkpoints" ] && resume=(--resume)
    "$dragoman" train "$config" "${resume[@]}" "$@" "train.output=$run" \
        "project.name=$(basename "$run")" "project.target=$target" \
        "data.train=[$(corpus train)]" "data.valid=$(corpus val)" "data.test=$(corpus test_2016_flickr)"
    "$python" runs/multi30k_score.py "$run" "$data" en "$target"
}

train "$run" configs/multi30k_tiny.toml "$@"
train "$run-cooled" configs/multi30k_cooled.toml "train.start_from=$run/model"
