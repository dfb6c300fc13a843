#!/usr/bin/env bash
# The memory of one `dragoman translate` over a million lines, every 100,000 lines. Last line: JSON.
#
#   reproduce/million_lines.sh MODEL [LINES] [translate's options ...]
#
# The lines are the numbers from 1 to LINES: the question is whether memory grows, not quality.
set -euo pipefail
cd "$(dirname "$0")/.."
model=${1:?folder of a model} lines=${2:-1000000}; shift; shift || true
dragoman=${DRAGOMAN:-.venv/bin/dragoman}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

start=$(date +%s)
count=$(seq "$lines" | "$dragoman" translate -m "$model" -O beam=1 -O max_length=8 "$@" 2>"$log" | wc -l)
seconds=$(($(date +%s) - start))
# "100,000 lines, peak memory 123 MB"
grep ' lines, peak' "$log" || echo "(fewer than 100,000 lines)"
megabytes=$(sed -n 's/.* lines, peak memory \([0-9,]*\) MB.*/\1/p' "$log" | tr -d , | paste -sd, -)
echo "{\"lines\": $count, \"seconds\": $seconds, \"peak_mb_every_100000\": [$megabytes]}"
