#!/usr/bin/env bash
# `small` on a corpus of train/valid/test files: trains (or resumes), scores the test set. Last line: JSON.
#
#   DRAGOMAN_DATA=/path/to/data reproduce/small.sh CORPUS SOURCE TARGET LICENCE [key=value ...]
#
# DRAGOMAN_DATA is the folder that contains CORPUS/{train,valid,test}.{SOURCE,TARGET}.gz. The run is written to
# runs/CORPUS-SOURCE-TARGET.
set -euo pipefail
cd "$(dirname "$0")/.."
corpus=${1:?corpus} source=${2:?source} target=${3:?target} licence=${4:?licence}; shift 4
data=${DRAGOMAN_DATA:?set DRAGOMAN_DATA to the folder that contains $corpus/}/$corpus
name=${corpus//_/-}-$source-$target
run=$PWD/runs/$name
dragoman=${DRAGOMAN:-.venv/bin/dragoman}

pair() { echo "{source = '$data/$1.$source.gz', target = '$data/$1.$target.gz'}"; }

resume=()
[ -d "$run/checkpoints" ] && resume=(--resume)
"$dragoman" train configs/small.toml "${resume[@]}" "$@" "train.output=$run" "project.name=$name" \
    "project.source=$source" "project.target=$target" "project.license='$licence'" \
    "data.train=[$(pair train)]" "data.valid=$(pair valid)" "data.test=$(pair test)"
"$dragoman" model show -m "$run/model" --json
