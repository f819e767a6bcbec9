#!/bin/sh
# Own JSON lines with `id`, `text` and `label`, three perturbations, and a model that
# is a program of one's own. Five commands, of which two run the model.
# Usage: perturbed.sh reviews.jsonl 'python rules.py'
set -eu

data=$1
model=$2
own="--data $data --task sentiment --map statement=text"

evalkit inputs $own -o inputs.jsonl
evalkit perturb $own --perturbation gender-swap --perturbation lowercase \
    --perturbation keyboard-typos:preset=hard -o copies.jsonl

$model < inputs.jsonl > answers.jsonl
$model < copies.jsonl > answers-to-copies.jsonl

evalkit eval $own --predictions rules=answers.jsonl \
    --perturbed copies.jsonl --perturbed-predictions answers-to-copies.jsonl
