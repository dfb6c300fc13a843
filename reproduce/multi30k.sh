#!/usr/bin/env bash
# Tiny Transformers on Multi30k en→TARGET: trains (or resumes), then scores three test sets. Last line: JSON.
#
#   DRAGOMAN_DATA=/path/to/data reproduce/multi30k.sh de|fr tiny|prenorm moses|raw [key=value ...]
#
# The recipe is configs/multi30k_RECIPE.toml. The text is lower-cased and tokenised by Moses, as in the paper, or raw.
# DRAGOMAN_DATA is the folder that contains multi30k/. The run is written to runs/multi30k-en-TARGET-RECIPE-TEXT-SEED.
# SEEDS="1 2" trains one model per seed at the same time, one thread each, with output in RUN.log, and scores each model
# and their ensemble.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:?de or fr} recipe=${2:?tiny or prenorm} text=${3:?moses or raw}; shift 3
data=${DRAGOMAN_DATA:?set DRAGOMAN_DATA to the folder that contains multi30k/}/multi30k
seeds=(${SEEDS:-1})
dragoman=${DRAGOMAN:-.venv/bin/dragoman}
python=${PYTHON:-.venv/bin/python}

[ -e "$data/train.$target.gz" ] || { echo "$data/train.$target.gz: not found; set DRAGOMAN_DATA" >&2; exit 2; }
[[ $text = moses || $text = raw ]] || { echo "$text: unknown text; give moses or raw" >&2; exit 2; }

words=()
if [ "$text" = moses ]; then
    words=("$PWD/runs/multi30k-moses-$target")
    if [ ! -d "$words" ]; then
        "$python" reproduce/multi30k_text.py "$data" "$words.partial" en "$target"
        mv "$words.partial" "$words"
    fi
fi
corpus() { echo "{source = '${words:-$data}/$1.en.gz', target = '${words:-$data}/$1.$target.gz'}"; }

train() { # SEED RUN [key=value ...]
    local seed=$1 run=$2 resume=(); shift 2
    [ -d "$run/checkpoints" ] && resume=(--resume)
    exec "$dragoman" train "configs/multi30k_$recipe.toml" "${resume[@]}" "$@" "train.seed=$seed" "train.output=$run" \
        "project.name=multi30k-en-$target" "project.target=$target" \
        "data.train=[$(corpus train)]" "data.valid=$(corpus val)" "data.test=$(corpus test_2016_flickr)"
}

runs=() processes=()
for seed in "${seeds[@]}"; do runs+=("$PWD/runs/multi30k-en-$target-$recipe-$text-$seed"); done
if [ ${#seeds[@]} = 1 ]; then
    (train "${seeds[0]}" "${runs[0]}" "$@")
else
    trap 'kill "${processes[@]}" 2>/dev/null || true; wait' EXIT # each saves where it is
    trap 'exit 143' INT TERM
    for number in "${!seeds[@]}"; do
        OMP_NUM_THREADS=1 train "${seeds[number]}" "${runs[number]}" "$@" > "${runs[number]}.log" 2>&1 &
        processes+=($!)
    done
    for number in "${!seeds[@]}"; do
        wait "${processes[number]}" || { code=$?; tail -n 1 "${runs[number]}.log" >&2; exit $code; }
    done
fi
"$python" reproduce/multi30k_score.py ${words:+--moses "$words"} "$data" en "$target" "${runs[@]}"
