"""Scores of Dynabench, rounded as Dynabench rounds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from evalkit import DataError, Result, Score
from evalkit import score as score_lists
from evalkit_commands_exchange.exported import (
    dump,
    effects_of,
    file_name,
    label,
    shown,
    whole_scores,
)

_LIMITS = (
    "dynabench: scores have no place for confidence intervals, numbers of examples and "
    "further metrics, which are left out"
)
_METRICS = (
    *("accuracy", "bleu", "dataperf-f1", "macro-f1", "sp-bleu", "squad-f1"),
    "vqa-accuracy",
)
_UNROUNDED = ("bleu", "sp-bleu")
_INNER = {"macro-f1": "macro-f1:labels=seen"}
"""The metric of agreement, where Dynabench's differs from the one of the scores."""
_FAMILIES = ("fairness", "robustness")


def write(runs: Sequence[Result], notices: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the score of each run."""
    notices.append(_LIMITS)
    for run in runs:
        path = f"{file_name(str(run.dataset))}/{file_name(str(run.model))}.json"
        yield path, dump(_row(run, notices))


def _main_score(run: Result, notices: list[str]) -> Score:
    """Return the first score that Dynabench knows, the main one if it does."""
    known = whole_scores(run, notices)
    scores = [
        score
        for score in known.values()
        if score.is_whole and score.metric.partition(":")[0] in _METRICS
    ]
    if not scores:
        raise DataError(
            f"{label(run)}: Dynabench needs one of the metrics {', '.join(_METRICS)}, "
            f"got {', '.join(known) or 'none'}. Add one with `evalkit rescore`"
        )
    if scores[0] != next(iter(known.values())):
        notices.append(f"{label(run)}: perf is {scores[0].metric}")
    return scores[0]


def _row(run: Result, notices: list[str]) -> dict[str, Any]:
    main = _main_score(run, notices)
    metadata = _metadata(run.scores, main.metric, "", notices)
    deltas: dict[str, float] = {}
    effects = effects_of(run, notices)
    predictions = {row["id"]: row["pred"] for row in _counted(run)}
    for family in _FAMILIES:
        perturbed = [
            each
            for each, known in zip(effects.runs, effects.perturbations, strict=True)
            if known.label_effect == "invariant" and family in known.families
        ]
        rows = [row for each in perturbed for row in _counted(each)]
        pairs = [x for x in rows if predictions.get(x["input_id"]) is not None]
        if perturbed and not pairs:
            why = "no perturbed example has an original with a prediction"
            notices.append(f"{label(run)}: no {family}, as {why}")
        elif perturbed:
            found = score_lists(
                main.metric,
                [row["pred"] for row in rows],
                [row["answer"] for row in rows],
                labels=run.record.labels,
                tags=[row["tags"] for row in rows],
                answer_kind=run.record.answer_kind,
            )
            metadata |= _metadata(found.scores, main.metric, f"{family}-", notices)
            deltas[family] = _unperturbed_percent(main.metric, pairs, predictions)
    return {
        "model": run.model,
        "dataset": run.dataset,
        "perf": _perf(main),
        "perf_std": None,
        "pretty_perf": f"{_perf(main)} %",
        **deltas,
        "metadata_json": dump(metadata | deltas, indent=None),
    }


def _counted(run: Result) -> list[dict[str, Any]]:
    """Return the examples that scores are about, as far as the run holds examples."""
    if run.examples is None or not run.record.includes_examples:
        return []
    counted = run.record.policies.counted
    return [x for x in run.examples.iter_rows(named=True) if x["status"] in counted]


def _unperturbed_percent(
    metric: str, pairs: Sequence[Mapping[str, Any]], predictions: Mapping[str, Any]
) -> float:
    """Return the mean agreement of perturbed examples with the original's prediction.

    The agreement of each original and the mean are rounded, as in Dynabench.
    """
    agreements = score_lists(
        _INNER.get(metric, metric),
        [row["pred"] for row in pairs],
        [predictions[row["input_id"]] for row in pairs],
        tags=[[row["input_id"]] for row in pairs],
    ).scores
    of_originals = [x for x in agreements if x.tag is not None and x.aggregate is None]
    return round(fmean(map(_perf, of_originals)), 2)


def _perf(score: Score) -> float:
    value = shown(score)
    return value if score.metric.partition(":")[0] in _UNROUNDED else round(value, 2)


def _metadata(
    scores: Iterable[Score], metric: str, prefix: str, notices: list[str]
) -> dict[str, Any]:
    """Return the score of the whole set and those of tags."""
    name, tags = metric.partition(":")[0].replace("-", "_"), []
    metadata: dict[str, Any] = {}
    for score in scores:
        if score.metric != metric or score.aggregate is not None:
            continue
        if score.value is None:
            where = score.tag or "the dataset"
            notices.append(f"{prefix}{name} of {where} is missing: {score.reason}")
            continue
        perf = _perf(score)
        if score.tag is None:
            metadata[f"{prefix}{name}"] = perf
            continue
        shown_perf = {"pretty_perf": f"{perf} %", "perf": perf, "perf_std": None}
        tags.append({"tag": score.tag, **shown_perf, "perf_dict": {name: perf}})
    return metadata | {f"{prefix}perf_by_tag": tags}
