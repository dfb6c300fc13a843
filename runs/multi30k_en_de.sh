#!/usr/bin/env bash
# Transformer-Tiny on Multi30k en→de; see multi30k.sh.
exec "$(dirname "$0")/multi30k.sh" de "$@"
