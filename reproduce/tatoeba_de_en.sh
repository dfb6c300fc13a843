#!/usr/bin/env bash
# `small` on tatoeba_deen, de→en; see small.sh.
exec "$(dirname "$0")/small.sh" tatoeba_deen de en "CC-BY-2.0-FR" "$@"
