#!/bin/sh
# What lm-evaluation-harness logged (`--log_samples`), scored by a column of the
# documents, in one command: the file is the data and the predictions.
# Usage: from_lm_eval.sh samples_word_problems.jsonl operation [OPTION]...
set -eu

samples=$1
column=$2
shift 2

evalkit eval --task math-qa \
    --data "$samples" --adapter data=lm-eval-docs:filter=none \
    --predictions harness="$samples" --adapter predictions=lm-eval:filter=first-number \
    --by "$column" "$@"
