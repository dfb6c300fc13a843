#!/usr/bin/env bash
# Transformer-Tiny on Multi30k en→de: trains (or resumes), then scores three test sets. Last line: JSON.
#
#   DRAGOMAN_DATA=/path/to/data runs/multi30k_en_de.sh [key=value ...]
#
# DRAGOMAN_DATA is the folder that holds multi30k/. The run is written to runs/multi30k-en-de.
set -euo pipefail
cd "$(dirname "$0")/.."
data=${DRAGOMAN_DATA:?set DRAGOMAN_DATA to the folder that holds multi30k/}/multi30k
run=$PWD/runs/multi30k-en-de
dragoman=${DRAGOMAN:-.venv/bin/dragoman}
python=${PYTHON:-.venv/bin/python}

corpus() { echo "{source = '$data/$1.en.gz', target = '$data/$1.de.gz'}"; }

resume=()
[ -d "$run/checkpoints" ] && resume=(--resume)
"$dragoman" train configs/multi30k_tiny.toml "${resume[@]}" "$@" "train.output=$run" \
    "data.train=[$(corpus train)]" "data.valid=$(corpus val)" "data.test=$(corpus test_2016_flickr)"
"$python" runs/multi30k_score.py "$run" "$data" en de
