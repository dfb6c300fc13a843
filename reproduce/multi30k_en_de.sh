#!/usr/bin/env bash
# Our best tiny Transformers on Multi30k en→de, on the paper's text: two seeds, which learn both directions first, and
# their ensemble; see multi30k.sh.
SEEDS=${SEEDS:-1 2} exec "$(dirname "$0")/multi30k.sh" de both moses "$@"
