#!/usr/bin/env bash
# All of the embedded English-Korean text for twenty minutes. The last line is the scores as JSON.
#
#   reproduce/embedded_en_ko.sh [key=value ...]
set -euo pipefail
cd "$(dirname "$0")/.."
run=$PWD/runs/embedded-en-ko
resume=()
[ -d "$run/checkpoints" ] && resume=(--resume)
"${DRAGOMAN:-.venv/bin/dragoman}" train configs/embedded_en_ko.toml "${resume[@]}" "$@" "train.output=$run"
"${DRAGOMAN:-.venv/bin/dragoman}" model show -m "$run/model" --json
