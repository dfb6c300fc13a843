#!/usr/bin/env bash
# `dragoman demo`, which ends with a page of its own model, runs/demo/look.html. The last line is its scores as JSON.
#
#   reproduce/demo.sh [--minutes 4]
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf runs/demo
"${DRAGOMAN:-.venv/bin/dragoman}" demo --output runs/demo "$@"
"${DRAGOMAN:-.venv/bin/dragoman}" model show -m runs/demo/runs/demo/model --json
