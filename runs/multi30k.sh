#!/usr/bin/env bash
# Transformer-Tiny on Multi30k en→TARGET: trains (or resumes), then scores three test sets. Last line: JSON.
#
#   DRAGOMAN_DATA=/path/to/data runs/multi30k.sh de|fr [key=value ...]
#
# DRAGOMAN_DATA is the folder that holds multi30k/. The run is written to runs/multi30k-en-TARGET.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:?de or fr}; shift
data=${DRAGOMAN_DATA:?set DRAGOMAN_DATA to the folder that holds multi30k/}/multi30k
run=$PWD/runs/multi30k-en-$target
dragoman=${DRAGOMAN:-.venv/bin/dragoman}
python=${PYTHON:-.venv/bin/python}

corpus() { echo "{source = '$data/$1.en.gz', target = '$data/$1.$target.gz'}"; }

resume=()
[ -d "$run/checkpoints" ] && resume=(--resume)
"$dragoman" train configs/multi30k_tiny.toml "${resume[@]}" "$@" "train.output=$run" \
    "project.name=multi30k-en-$target" "project.target=$target" \
    "data.train=[$(corpus train)]" "data.valid=$(corpus val)" "data.test=$(corpus test_2016_flickr)"
"$python" runs/multi30k_score.py "$run" "$data" en "$target"
