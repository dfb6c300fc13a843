#!/usr/bin/env bash
# Tiny Transformers on Multi30k en→TARGET: trains (or resumes), then scores three test sets. Last line: JSON.
#
#   DRAGOMAN_DATA=/path/to/data reproduce/multi30k.sh de|fr tiny|prenorm|both moses|raw [key=value ...]
#
# The recipe is configs/multi30k_RECIPE.toml. `both` is `prenorm` that learns both directions first, for JOINT steps
# (3,000), without a token that names the language, and then en→TARGET for STEPS (6,000) (Ding et al. 2021, "Improving
# Neural Machine Translation by Bidirectional Training"); arguments count for the second part alone. The text is
# lower-cased and tokenised by Moses, as in the paper, or raw. DRAGOMAN_DATA is the folder that contains multi30k/. The
# run is written to runs/multi30k-en-TARGET-RECIPE-TEXT-SEED.
# SEEDS="1 2" trains one model per seed at the same time, one thread each, with output in RUN.log, and scores each model
# and their ensemble.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:?de or fr} recipe=${2:?tiny, prenorm or both} text=${3:?moses or raw}; shift 3
data=${DRAGOMAN_DATA:?set DRAGOMAN_DATA to the folder that contains multi30k/}/multi30k
seeds=(${SEEDS:-1})
dragoman=${DRAGOMAN:-.venv/bin/dragoman}
python=${PYTHON:-.venv/bin/python}
config=configs/multi30k_${recipe/both/prenorm}.toml

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
reversed() { echo "{source = '${words:-$data}/$1.$target.gz', target = '${words:-$data}/$1.en.gz'}"; }

both() { # SEED RUN: a model of both directions, in RUN-start
    local seed=$1 run=$2-start resume=()
    [ -d "$run/model" ] && return
    [ -d "$run/checkpoints" ] && resume=(--resume)
    exec "$dragoman" train "$config" "${resume[@]}" "train.seed=$seed" "train.output=$run" "train.schedule=inverse_sqrt" \
        "train.max_steps=${JOINT:-3000}" "train.max_minutes=600" "train.translate_lines=0" "train.average_count=3" \
        "project.name=multi30k-both" "project.source=source" "project.target=target" \
        "data.train=[$(corpus train), $(reversed train)]" "data.valid=$(corpus val)" "data.test=$(corpus val)"
}

direction() { # SEED RUN [key=value ...]
    local seed=$1 run=$2 keys=(); shift 2
    [ -d "$run/checkpoints" ] && keys=(--resume)
    [ "$recipe" = both ] && keys+=("train.start_from=$run-start/model" "train.learning_rate=2.5e-3" "train.warmup=200"
        "train.max_steps=${STEPS:-6000}" "train.max_minutes=600")
    exec "$dragoman" train "$config" "${keys[@]}" "$@" "train.seed=$seed" "train.output=$run" \
        "project.name=multi30k-en-$target" "project.target=$target" \
        "data.train=[$(corpus train)]" "data.valid=$(corpus val)" "data.test=$(corpus test_2016_flickr)"
}

train() { # both|direction [key=value ...]: each seed
    local part=$1; shift
    if [ ${#seeds[@]} = 1 ]; then
        ("$part" "${seeds[0]}" "${runs[0]}" "$@")
        return
    fi
    processes=()
    for number in "${!seeds[@]}"; do
        OMP_NUM_THREADS=1 "$part" "${seeds[number]}" "${runs[number]}" "$@" >> "${runs[number]}.log" 2>&1 &
        processes+=($!)
    done
    for number in "${!seeds[@]}"; do
        wait "${processes[number]}" || { code=$?; tail -n 1 "${runs[number]}.log" >&2; exit $code; }
    done
}

runs=() processes=()
for seed in "${seeds[@]}"; do runs+=("$PWD/runs/multi30k-en-$target-$recipe-$text-$seed"); done
trap 'kill "${processes[@]}" 2>/dev/null || true; wait' EXIT # each saves where it is
trap 'exit 143' INT TERM
[ "$recipe" = both ] && train both
train direction "$@"
"$python" reproduce/multi30k_score.py ${words:+--moses "$words"} "$data" en "$target" "${runs[@]}"
