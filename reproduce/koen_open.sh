#!/usr/bin/env bash
# `tiny` on koen_open in 65 minutes of a core, ko→en or en→ko; see small.sh. With train.max_minutes=105 it learns more.
#
#   DRAGOMAN_DATA=/path/to/data reproduce/koen_open.sh ko en | en ko [key=value ...]
#
# In so little time a small model with small updates learns most; see results.md.
exec "$(dirname "$0")/small.sh" koen_open "${1:?source}" "${2:?target}" "mixed free licences, by domain" model.preset=tiny \
    model.dropout=0.05 train.batch_tokens=1024 train.learning_rate=2e-3 train.schedule=linear train.warmup=400 \
    train.ema_decay=0.998 train.validate_every=1000 train.max_minutes=65 "${@:3}"
