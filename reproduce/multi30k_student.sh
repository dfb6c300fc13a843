#!/usr/bin/env bash
# A student of a Multi30k model by sequence-level distillation: trains (or resumes). Last line: JSON.
#
#   DRAGOMAN_DATA=/path/to/data reproduce/multi30k_student.sh TEACHER [key=value ...]
#
# DRAGOMAN_DATA is the folder that contains multi30k/. The run is written to runs/multi30k-student.
set -euo pipefail
cd "$(dirname "$0")/.."
teacher=${1:?folder of the teacher}; shift
data=${DRAGOMAN_DATA:?set DRAGOMAN_DATA to the folder that contains multi30k/}/multi30k
run=$PWD/runs/multi30k-student
dragoman=${DRAGOMAN:-.venv/bin/dragoman}

corpus() { echo "{source = '$data/$1.en.gz', target = '$data/$1.de.gz'}"; }

resume=()
[ -e "$run/distilled.json" ] && resume=(--resume)
"$dragoman" distill -m "$teacher" configs/multi30k_student.toml "${resume[@]}" "$@" "train.output=$run" \
    "data.train=[$(corpus train)]" "data.valid=$(corpus val)" "data.test=$(corpus test_2016_flickr)"
"$dragoman" model show -m "$run/model" --json
