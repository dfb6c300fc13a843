#!/usr/bin/env bash
# Our best tiny Transformer on Multi30k en→de, on the paper's text; see multi30k.sh.
exec "$(dirname "$0")/multi30k.sh" de prenorm moses "$@"
