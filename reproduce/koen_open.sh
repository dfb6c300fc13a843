#!/usr/bin/env bash
# `small` on koen_open, ko→en or en→ko; see small.sh.   reproduce/koen_open.sh ko en | en ko [key=value ...]
exec "$(dirname "$0")/small.sh" koen_open "${1:?source}" "${2:?target}" "mixed free licences, by domain" "${@:3}"
