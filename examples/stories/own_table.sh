#!/bin/sh
# A table of one's own with the columns `text`, `label` and `source`, and a file for each
# of several models, in which the number of the row is the id. Five commands.
# Usage: own_table.sh reviews.csv small.csv base.jsonl large.csv
set -eu

data=$1
shift
predictions=
models=
for file; do
    name=$(basename "$file")
    predictions="$predictions --predictions $file"
    models="$models ${name%.*}"
done

# scores by source; what is missing counts as wrong, of a repeated id the last row counts
evalkit eval --data "$data" --task sentiment --normalise labels \
    --map id=#row --map statement=text --map facet:source=source \
    --on-missing wrong --on-duplicate last $predictions

# is one better than another?
evalkit compare $models --all-pairs

# a table for a paper, a picture, and a page to send
evalkit leaderboard --format latex > table.tex
evalkit report $models --format svg --plot tags -o sources.svg
evalkit report $models -o report.html
