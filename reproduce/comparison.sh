#!/usr/bin/env bash
# The paper's comparison on Multi30k en→de or koen_open ko→en: networks with equal operations. Last line: JSON.
#
#   DRAGOMAN_DATA=/path/to/data reproduce/comparison.sh multi30k|koen_open [--steps N] [--seeds N] [--systems NAME ...] [--jobs N]
#
# DRAGOMAN_DATA is the folder that contains multi30k/ and koen_open/. Runs and compare.html are written to
# runs/comparison-CORPUS; started again, it goes on where it was. Each system trains in one thread; see comparison.py.
set -euo pipefail
cd "$(dirname "$0")/.."
corpus=${1:?multi30k or koen_open}; shift
data=${DRAGOMAN_DATA:?set DRAGOMAN_DATA to the folder that contains $corpus/}
[ -d "$data/$corpus" ] || { echo "$data/$corpus: not found; set DRAGOMAN_DATA" >&2; exit 2; }
OMP_NUM_THREADS=1 exec "${PYTHON:-.venv/bin/python}" reproduce/comparison.py "$corpus" "$data" "runs/comparison-$corpus" "$@"
