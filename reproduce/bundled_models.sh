#!/usr/bin/env bash
# A bundled model: text by domain, training (or resuming), int8 export, scores, card. Last line: JSON.
#
#   DRAGOMAN_DATA=/path/to/data reproduce/bundled_models.sh en-ko|ko-en [key=value ...]
#
# DRAGOMAN_DATA is the folder that contains koen_open/ and korean_news/. The run is written to runs/bundled-PAIR and stops
# after train.max_minutes of training in total; the same command with more minutes continues it. The bundle is written to
# runs/bundled-PAIR/bundle, and replaces src/dragoman/bundled/PAIR if its scores are better.
set -euo pipefail
cd "$(dirname "$0")/.."
pair=${1:?en-ko or ko-en}; shift
source=${pair%-*} target=${pair#*-}
: "${DRAGOMAN_DATA:?set DRAGOMAN_DATA to the folder that contains koen_open/ and korean_news/}"
run=$PWD/runs/bundled-$pair text=$PWD/runs/bundled-text
dragoman=${DRAGOMAN:-.venv/bin/dragoman}
python=${PYTHON:-.venv/bin/python}

# Sampling weights of the domains: everyday sentences more often than their number, the old Bible less often.
weights="libreoffice_help=1.5 tldr=1 webdocs=1 python_docs=0.7 tatoeba=4 bible=0.25"

"$python" reproduce/bundled_models.py text "$text"
corpora=
for weight in $weights; do
    file=$text/${weight%=*}.train
    corpora+="{source = '$file.$source', target = '$file.$target', weight = ${weight#*=}}, "
done
resume=()
[ -d "$run/checkpoints" ] && resume=(--resume)
# shellcheck disable=SC2086  # DRAGOMAN may be "python -m dragoman"
$dragoman train configs/bundled.toml "${resume[@]}" "$@" "train.output=$run" \
    "project.name=$pair" "project.source=$source" "project.target=$target" "data.train=[$corpora]" \
    "data.valid={source = '$text/valid.$source', target = '$text/valid.$target'}" \
    "data.test={source = '$text/test.$source', target = '$text/test.$target'}"
$dragoman export -m "$run/model" "$text/valid.$source" "$text/valid.$target" -q int8 --lines 300 -o "$run/bundle" --force
"$python" reproduce/bundled_models.py finish "$run" "$text" "$source" "$target"
