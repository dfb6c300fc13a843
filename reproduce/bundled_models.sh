#!/usr/bin/env bash
# The bundled models: text by domain, one model of both directions, then one of each direction from it; int8 export, scores,
# card. Last line: JSON.
#
#   DRAGOMAN_DATA=/path/to/data reproduce/bundled_models.sh both [key=value ...]
#   DRAGOMAN_DATA=/path/to/data reproduce/bundled_models.sh en-ko|ko-en [key=value ...]
#   DRAGOMAN_DATA=/path/to/data reproduce/bundled_models.sh more en-ko|ko-en [key=value ...]
#   DRAGOMAN_DATA=/path/to/data reproduce/bundled_models.sh chosen en-ko|ko-en [key=value ...]
#   DRAGOMAN_DATA=/path/to/data reproduce/bundled_models.sh newest en-ko|ko-en [key=value ...]
#   DRAGOMAN_DATA=/path/to/data reproduce/bundled_models.sh everyday en-ko|ko-en [key=value ...]
#   DRAGOMAN_DATA=/path/to/data reproduce/bundled_models.sh finish en-ko|ko-en RESULTS
#   reproduce/bundled_models.sh status
#
# `status` says how far each run is. `finish` takes the weights in RESULTS, which reproduce/gpu/bundled_models.py
# trained on a GPU, instead of training. `more` trains a direction that has ended, or the bundled model where there is no
# such run, for MORE steps (4,000) in which everyday sentences are more frequent, into runs/bundled-PAIR-more. `chosen`
# does so for CHOSEN steps (1,900) with what both bundled models together choose of their own translations of training
# text (bundled_chosen.py), into runs/bundled-PAIR-chosen. `newest` trains that model, or the bundled one where there is
# no such run, for NEWEST steps (3,000) on the same text in which the everyday sentences that were written last, and what
# the two models choose of their translations, are frequent, into runs/bundled-PAIR-newest. `everyday` trains that, or the
# bundled one, for LONG steps (6,000) at a high learning rate on the text alone, without translations by models, everyday
# sentences eight and four times an epoch or as OFTEN says ("2 4 libreoffice_help=0.8": twice, the newest four times, and
# the weight of a domain), into runs/bundled-PAIR-everyday.
# DRAGOMAN_DATA is the folder that contains koen_open/, koen_general/, koen_more/ and korean_news/. `both` comes first:
# what it learns of both languages is where each direction starts (Ding et al. 2021, "Improving Neural Machine
# Translation by Bidirectional Training"). Its steps are JOINT (60,000), those of a direction STEPS (2,000). Runs are in
# runs/bundled-NAME and continue when the same command is given again. A finished direction replaces
# src/dragoman/bundled/PAIR.
set -euo pipefail
pair=${1:?both, en-ko, ko-en, more, chosen, newest, everyday, finish or status}; shift
results= more=
[ "$pair" = finish ] && { pair=${1:?en-ko or ko-en} results=$(realpath "${2:?the folder of the results}"); shift 2; }
[[ $pair =~ ^(more|chosen|newest|everyday)$ ]] && { more=-$pair pair=${1:?en-ko or ko-en}; shift; }
[[ $pair =~ ^(both|en-ko|ko-en|status)$ ]] || { echo "$pair: no such model; give en-ko or ko-en" >&2; exit 2; }
cd "$(dirname "$0")/.."
runs=$PWD/runs text=$PWD/runs/bundled-text run=$PWD/runs/bundled-$pair$more
corpora=(reproduce/bundled_text.py corpora "$text" "$pair") valid=$text
dragoman=${DRAGOMAN:-.venv/bin/dragoman}
python=${PYTHON:-.venv/bin/python}
[ "$pair" = status ] && exec "$python" reproduce/bundled_models.py status "$runs"
: "${DRAGOMAN_DATA:?set DRAGOMAN_DATA to the folder of the corpora}"

[ -f "$text/test.domain" ] || "$python" reproduce/bundled_text.py write "$text"
source=${pair%-*} target=${pair#*-} resume=()
[ -d "$run/checkpoints" ] && resume=(--resume)
if [ "$pair" = both ]; then
    # The letters of a source say which way it goes: no language tokens, so that each direction can start from this model.
    source=source target=target
    paste -d '\n' "$text/valid.en" "$text/valid.ko" > "$text/valid.source"
    paste -d '\n' "$text/valid.ko" "$text/valid.en" > "$text/valid.target"
    keys=("train.max_steps=${JOINT:-60000}" "project.name=en-ko-both")
else
    keys=("train.schedule=linear" "train.warmup=100" "train.card_lines=400"
        "project.name=$pair" "project.source=$source" "project.target=$target")
    if [ -n "$more" ]; then
        start=$runs/bundled-$pair/model
        [ "$more" = -newest ] && start=$runs/bundled-$pair-chosen/model
        [ "$more" = -everyday ] && start=$runs/bundled-$pair-newest/model
        if [ ! -d "$start" ]; then
            start=$runs/bundled-$pair-start/base
            # shellcheck disable=SC2086
            [ -d "$start" ] || $dragoman init "$runs/bundled-$pair-start" --from "$pair" --pair "$pair"
        fi
        keys+=("train.start_from=$start")
        if [ "$more" = -more ]; then
            corpora+=(6)
            keys+=("train.max_steps=${MORE:-4000}" "train.learning_rate=3e-4" "train.validate_every=1000")
        elif [ "$more" = -everyday ]; then
            # shellcheck disable=SC2206  # words
            corpora+=(${OFTEN:-4 8})
            keys+=("train.max_steps=${LONG:-6000}" "train.learning_rate=1.2e-3" "train.warmup=300" "train.batch_tokens=4096"
                "train.validate_every=1500" "model.dropout=0.05")
        else
            chosen=$runs/chosen-$pair
            "$python" reproduce/bundled_chosen.py write "$text" "$pair" "$chosen"
            corpora=(reproduce/bundled_chosen.py corpora "$text" "$pair" "$chosen") valid=$chosen
            keys+=("train.batch_tokens=4096")
            if [ "$more" = -newest ]; then
                corpora+=(10)
                # One validation, at the end: the validation text has none of what is new, and would keep the first steps.
                steps=${NEWEST:-3000}
                keys+=("train.max_steps=$steps" "train.learning_rate=3e-4" "train.validate_every=$steps")
            else
                keys+=("train.max_steps=${CHOSEN:-1900}" "train.learning_rate=2e-4" "train.validate_every=200")
            fi
        fi
    else
        keys+=("train.start_from=$runs/bundled-both/model" "train.max_steps=${STEPS:-2000}" "train.learning_rate=9e-4"
            "train.validate_every=500")
    fi
fi
if [ -n "$results" ]; then
    "$python" reproduce/gpu/weights.py "$results" "$text" "$pair" "$run" "$@"
else
    # shellcheck disable=SC2086  # DRAGOMAN may be "python -m dragoman"
    $dragoman train configs/bundled.toml "${resume[@]}" "${keys[@]}" "$@" "train.output=$run" \
        "data.train=$("$python" "${corpora[@]}")" \
        "data.valid={source = '$valid/valid.$source', target = '$valid/valid.$target'}"
fi
[ "$pair" = both ] && exit
# shellcheck disable=SC2086
$dragoman export -m "$run/model" "$text/valid.$source" "$text/valid.$target" -q int8 --lines 1000 -o "$run/bundle" --force
"$python" reproduce/bundled_models.py finish "$run" "$text" "$source" "$target"
