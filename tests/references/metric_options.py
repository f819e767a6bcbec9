"""What an author gives to `check_metric` for a metric of ours, where it needs some."""

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from pydantic import BaseModel

from evalkit import TaskIO
from evalkit.base.jobs import Job, JobFigures

LABELS = ("no", "yes", "per'haps")

alternatives = st.lists(st.sampled_from(LABELS), max_size=4)
ranked = st.tuples(alternatives, st.sampled_from(LABELS)).map(
    lambda drawn: (next(iter(drawn[0]), None), drawn[1], {"responses": drawn[0]})
)


def _probable(weights: list[int], prediction: str, target: str) -> Any:
    shares = [weight / sum(weights) for weight in weights]
    return prediction, target, {"prob": dict(zip(LABELS, shares, strict=True))}


label = st.sampled_from(LABELS)
labelled = st.tuples(alternatives, alternatives)
probable = st.builds(
    _probable,
    st.lists(st.integers(1, 9), min_size=len(LABELS), max_size=len(LABELS)),
    label,
    label,
)

likely = st.tuples(st.permutations(LABELS), label, st.floats(-9, -1)).map(
    lambda drawn: (
        drawn[0][0],
        drawn[1],
        {"responses": drawn[0], "responses.logprob": [drawn[2], drawn[2] - 2, None]},
    )
)
rated = st.tuples(
    st.lists(st.sampled_from(LABELS), min_size=1, max_size=4), st.sampled_from(LABELS)
).map(lambda drawn: (drawn[0][0], drawn[1], {"responses": drawn[0]}))
measured = st.tuples(
    st.lists(st.sampled_from((0.0, 1.0, 2.5, 4.0)), min_size=1, max_size=4),
    st.sampled_from(LABELS),
).map(lambda drawn: (drawn[0][0], 1.0, {"responses": drawn[0]}))
found = st.tuples(
    st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from((0.1, 0.5)))),
    st.lists(st.sampled_from(LABELS), min_size=1, max_size=3),
).map(
    lambda drawn: (
        [item for item, _ in drawn[0]],
        drawn[1],
        {"scores": [score for _, score in drawn[0]]},
    )
)
written = st.tuples(
    st.floats(-50, 0).map(lambda x: round(x, 6)), st.integers(0, 40)
).map(
    lambda drawn: (
        "a",
        "b",
        {
            "logprob": drawn[0],
            **dict.fromkeys(("num_tokens", "num_bytes", "num_characters"), drawn[1]),
        },
    )
)
of_tokens = st.lists(
    st.floats(-50, 0).map(lambda x: round(x, 6)), min_size=1, max_size=4
).map(
    lambda tokens: (
        "a",
        "b",
        {
            "logprob": sum(tokens),
            "token_logprobs": [None, *tokens],
            **dict.fromkeys(("num_tokens", "num_bytes", "num_characters"), len(tokens)),
        },
    )
)
judged = st.sampled_from((0.0, 0.25, 0.5, 1.0)).map(
    lambda worth: ("a", "b", {"j.status": "judged", "j.value": worth, "j.label": "x"})
)
weighed = st.tuples(label, label, st.sampled_from((0.5, 1.0, 7.0))).map(
    lambda drawn: (*drawn[:2], {"w": drawn[2]})
)
verdicts = st.tuples(*[st.sampled_from(("fine", "rude"))] * 2).map(
    lambda drawn: ("a", "b", {"one": drawn[0], "other": drawn[1]})
)
swapped = st.sampled_from(("same", "first", "second")).map(
    lambda order: ("a", "b", {"j.status": "judged", "j.order": order})
)
SWAPPED: Mapping[str, Any] = {"examples": swapped, "perfect": None}
JUDGED: Mapping[str, Any] = {"examples": judged, "perfect": None}
WEIGHED: Mapping[str, Any] = {"examples": weighed}
VERDICTS: Mapping[str, Any] = {"examples": verdicts, "perfect": None}
numbers = st.sampled_from(["3", "-3", "3.0 eggs", "1,000", "no"])
with_number = st.sampled_from(["3", "-3", "4 or 1000"])
WITH_NUMBERS: Mapping[str, Any] = {"examples": st.tuples(numbers, with_number)}

objects = st.dictionaries(st.sampled_from("ab"), st.sampled_from([1, "x", None]))
texts_of_objects = objects.map(json.dumps)
JSON: Mapping[str, Any] = {
    "examples": st.tuples(texts_of_objects | st.just("{"), texts_of_objects)
}


class _Text(BaseModel):
    uid: str


class _Span(BaseModel):
    start: int
    end: int
    label: str | None = None


class _Spans(BaseModel):
    id: str
    spans: list[_Span]


class _SpanTask(TaskIO):
    Input = _Text
    Output = _Spans
    answer_field = "spans"
    answer_kind = "spans"
    perf_metric = "span-f1"
    example: Mapping[str, Any] = {"uid": "1"}


places = st.integers(0, 3)
spans = st.lists(
    st.builds(
        lambda start, length, label: dict(start=start, end=start + length, label=label),
        places,
        places,
        st.sampled_from(["x", "y", None]),
    ),
    max_size=3,
)
SPANS: Mapping[str, Any] = {"task": _SpanTask, "examples": st.tuples(spans, spans)}
chosen = st.tuples(label, label, st.integers(2, 4)).map(
    lambda drawn: (*drawn[:2], {"choices": [*LABELS, "maybe"][: drawn[2]]})
)
# of four words and more: a shorter text has no score of its longest n-grams
sentences = st.lists(
    st.sampled_from(("the", "Cat", "sat", "on", "mat.", "3.5")), min_size=4, max_size=8
).map(" ".join)
TEXTS: Mapping[str, Any] = {"examples": st.tuples(sentences, sentences)}

# with declared labels a class that does not occur counts 0, whatever is predicted
ABSENT_COUNTS: Mapping[str, Any] = {"labels": LABELS, "perfect": None}
OF_CLASS: Mapping[str, Any] = {"labels": LABELS}
RANKED: Mapping[str, Any] = {"examples": ranked}
# the prediction is not looked at, so that a right one is not the best score
PROBABLE: Mapping[str, Any] = {"examples": probable, "perfect": None}
SETS: Mapping[str, Any] = {
    "examples": st.tuples(*[st.lists(st.sampled_from(LABELS), max_size=3)] * 2),
    "answer_kind": "all-of",
    "labels": LABELS,
}
# a right prediction is a list here, which the law of it does not make
LABELLED: Mapping[str, Any] = {"examples": labelled, "perfect": None}
CHOSEN: Mapping[str, Any] = {"examples": chosen}
# an empty text, or one of few words, is wrong even where it is the answer
IMPERFECT: Mapping[str, Any] = {"perfect": None}
NUMBERS: Mapping[str, Any] = {"answer_kind": "number"}
RATED: Mapping[str, Any] = {"examples": rated}
MEASURED: Mapping[str, Any] = {"examples": measured}
FOUND: Mapping[str, Any] = {"examples": found, "answer_kind": "ranked"}
WRITTEN: Mapping[str, Any] = {"examples": written | of_tokens}
TOOK: Mapping[str, Any] = {
    **{"examples": 4, "seconds": 8.0, "peak_memory_gib": 1.5, "input_tokens": 40},
    **{"output_tokens": 6, "cost": 0.5, "currency": "USD"},
}
# of the job alone: a right prediction changes nothing
OF_JOB: Mapping[str, Any] = {
    "job": Job("a.job.json", JobFigures.model_validate(TOOK)),
    "perfect": None,
}
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "squad-em": IMPERFECT,
    "squad-f1": IMPERFECT,
    "above-chance": OF_CLASS,
    "auroc": PROBABLE,
    "average-precision": PROBABLE,
    "bits-per-byte": WRITTEN,
    "bits-per-character": WRITTEN,
    "bleu": TEXTS,
    "brier": PROBABLE,
    "chrf": TEXTS,
    "chrf-plus-plus": TEXTS,
    "cost-per-example": OF_JOB,
    "coverage-accuracy-area": PROBABLE,
    "dataperf-f1": LABELLED,
    "ece": PROBABLE,
    "examples-per-second": OF_JOB,
    "exact-set-match": SETS,
    "final-number-match": WITH_NUMBERS,
    "fleiss-kappa": RATED,
    "hamming": SETS,
    "helm-bleu-1": IMPERFECT,
    "helm-bleu-4": IMPERFECT,
    "helm-cleva-math-result-match": IMPERFECT,
    "helm-exact-match": IMPERFECT,
    "helm-exact-match-indicator": IMPERFECT,
    "helm-f1": IMPERFECT,
    "helm-set-match": IMPERFECT,
    "json-match": JSON,
    "kendall": NUMBERS,
    "krippendorff-alpha": RATED,
    "log-loss": PROBABLE,
    "mae": NUMBERS,
    "map": RANKED,
    "mce": PROBABLE,
    "mrr": RANKED,
    "multilabel-f1": SETS,
    "ndcg": RANKED,
    "pass-at-k": RANKED,
    "pass-hat-k": RANKED,
    "peak-memory": OF_JOB,
    "pearson": NUMBERS,
    "perplexity": WRITTEN,
    "r2": NUMBERS,
    "recall-at-k": RANKED,
    "rmse": NUMBERS,
    "rouge": TEXTS,
    "lm-eval-accuracy": {"examples": likely, "perfect": None},
    "seahelm-logprob": {**WRITTEN, "perfect": None},
    "selective-accuracy": PROBABLE,
    "span-f1": SPANS,
    "spearman": NUMBERS,
    "ter": TEXTS,
    "tokens-per-example": OF_JOB,
    "top-k-accuracy": RANKED,
    "vote-accuracy": RANKED,
    # two or three people cannot make an answer right
    "vqa-accuracy": {"perfect": None},
}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "macro-f1:labels=seen": {},
    "macro-f1:labels=declared": ABSENT_COUNTS,
    "macro-f1:labels=no/yes": ABSENT_COUNTS,
    "macro-recall:labels=seen": {},
    "macro-recall:labels=declared": ABSENT_COUNTS,
    "micro-f1:labels=gold": {},
    "micro-f1:labels=no/yes": OF_CLASS,
    "weighted-f1:labels=no/yes": OF_CLASS,
    "auroc:label=yes": PROBABLE,
    "average-precision:label=yes": PROBABLE,
    "ece:bins=3,binning=mass": PROBABLE,
    "selective-accuracy:coverage=0.3": PROBABLE,
    "cohen-kappa:weights=quadratic": OF_CLASS,
    "multilabel-f1:labels=seen": SETS,
    "f1:label=yes": OF_CLASS,
    "precision:label=yes": OF_CLASS,
    "recall:label=yes": OF_CLASS,
    "krippendorff-alpha:level=interval": MEASURED,
    "krippendorff-alpha:level=ordinal": MEASURED,
    "krippendorff-alpha:level=ratio": MEASURED,
    "map:k=2": FOUND,
    "mrr:k=2": FOUND,
    "ndcg:gain=exponential": FOUND,
    "recall-at-k:k=2": FOUND,
    "judge-agreement:of=one/other": VERDICTS,
    "judge-mean:of=j": JUDGED,
    "judge-order:of=j": SWAPPED,
    "judge-rate:of=j": JUDGED,
    "column-mean:of=j.value": JUDGED,
    "column-rate:of=j.value": JUDGED,
    "exact-match:ignore_case=true": {},
    "weighted:by=w": WEIGHED,
    "weighted:by=w,metric=token-f1": WEIGHED,
    "above-chance:chance=0.6,metric=squad-f1": IMPERFECT,
    "above-chance:chance=0.25,metric=accuracy": {},
    "above-chance:chance=choices,metric=accuracy": CHOSEN,
    "above-chance:chance=0.5,metric=helm-set-match#iou": IMPERFECT,
    "helm-bleu-1:tokenize=characters": IMPERFECT,
    "helm-exact-match-indicator:indicator=a": IMPERFECT,
    "seahelm-macro-f1": OF_CLASS,
    "seahelm-null-weighted-f1": OF_CLASS,
    "pass-at-k:k=2": RANKED,
    "edit-similarity:tokens=blanks": {},
    "iou-set-match:separator=comma": {},
    "json-match:fields=a": JSON,
    "quasi-exact-match:articles=keep": {},
    "token-f1:tokens=characters,lowercase=false": {},
    "wer:lowercase=true,punctuation=false": {},
    "top-k-accuracy:k=2": RANKED,
    "bleu:lowercase=true,smoothing=add-k": TEXTS,
    "rouge:measure=recall,stemmer=true": TEXTS,
}
