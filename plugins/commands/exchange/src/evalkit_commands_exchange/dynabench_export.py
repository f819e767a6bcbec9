"""Scores of Dynabench, rounded as Dynabench rounds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Any

from evalkit import DataError, Result, Score
from evalkit import score as score_lists
from evalkit_analysis_robustness import Effects, find_effects
from evalkit_commands_exchange.exported import dump, file_name, label

_LIMITS = (
    "dynabench: scores have no place for confidence intervals, numbers of examples and "
    "further metrics, which are left out"
)
_METRICS = {
    name: name.replace("-", "_")
    for name in (
        *("accuracy", "bleu", "dataperf-f1", "macro-f1", "sp-bleu", "squad-f1"),
        "vqa-accuracy",
    )
}
_UNROUNDED = ("bleu", "sp-bleu")
_INNER = {"macro-f1": "macro-f1:labels=seen"}
"""The metric of agreement, where Dynabench's differs from the one of the scores."""
_JOB = {
    "examples-per-second": "examples_per_second",
    "peak-memory": "memory_utilization",
}
_FAMILIES = ("fairness", "robustness")


def dynabench_files(
    runs: Sequence[Result], notices: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield the score of each run."""
    notices.append(_LIMITS)
    for run in runs:
        path = f"{file_name(str(run.dataset))}/{file_name(str(run.model))}.json"
        yield path, dump(_row(run, notices))


def _row(run: Result, notices: list[str]) -> dict[str, Any]:
    main = run.headline
    name = "" if main is None else main.metric.partition(":")[0]
    if main is None or main.value is None or name not in _METRICS:
        raise DataError(
            f"{label(run)}: the main score must be one of {', '.join(_METRICS)}, got "
            f"{main and main.metric}. Evaluate with one of these as the first metric"
        )
    metric, effects = _METRICS[name], find_effects(run)
    metadata: dict[str, Any] = {metric: _perf(main)}
    metadata["perf_by_tag"] = _by_tag(run.scores, main.metric, notices)
    deltas: dict[str, float] = {}
    for family in _FAMILIES:
        view = f"family:{family}"
        scores = [
            score
            for score in effects.scores
            if (score.perturbation, score.computed_on) == (view, "perturbed")
        ]
        whole = next(
            (x for x in scores if x.metric == main.metric and x.is_whole), None
        )
        if whole is None or whole.value is None:
            continue
        metadata[f"{family}-{metric}"] = _perf(whole)
        metadata[f"{family}-perf_by_tag"] = _by_tag(scores, main.metric, notices)
        delta = _unperturbed_percent(run, effects, view)
        if delta is not None:
            deltas[family] = metadata[family] = delta
    job = {
        column: round(score.value, 2)
        for name, column in _JOB.items()
        if name in run and (score := run[name]).value is not None
    }
    return {
        "model": run.model,
        "dataset": run.dataset,
        "perf": _perf(main),
        "perf_std": None,
        "pretty_perf": f"{_perf(main)} %",
        **deltas,
        **job,
        "metadata_json": dump(metadata | job, indent=None),
    }


def _perf(score: Score) -> float:
    assert score.value is not None
    value = score.value * score.scale
    return value if score.metric.partition(":")[0] in _UNROUNDED else round(value, 2)


def _by_tag(
    scores: Iterable[Score], metric: str, notices: list[str]
) -> list[dict[str, Any]]:
    tags = []
    for score in scores:
        if score.metric != metric or score.tag is None or score.aggregate is not None:
            continue
        if score.value is None:
            notices.append(
                f"{metric} of the tag {score.tag} is missing: {score.reason}"
            )
            continue
        perf = _perf(score)
        tags.append(
            {
                "tag": score.tag,
                "pretty_perf": f"{perf} %",
                "perf": perf,
                "perf_std": None,
                "perf_dict": {_METRICS[metric.partition(":")[0]]: perf},
            }
        )
    return tags


def _unperturbed_percent(run: Result, effects: Effects, family: str) -> float | None:
    """Return the mean over originals of the agreement of their perturbed examples.

    The agreement is that of the predictions with the prediction for the original; both
    it and the mean are rounded.
    """
    if run.examples is None or not run.record.includes_examples:
        return None
    predicted = dict(run.examples.select("id", "pred").iter_rows())
    pairs: list[tuple[str, Any]] = []
    for perturbed in effects.runs:
        known, frame = perturbed.record.perturbation, perturbed.examples
        if known is None or frame is None or known.label_effect != "invariant":
            continue
        if known.name in effects.members(family):
            pairs += frame.select("input_id", "pred").iter_rows()
    known_pairs = [
        (original, prediction)
        for original, prediction in pairs
        if predicted.get(original) is not None
    ]
    if not known_pairs:
        return None
    assert run.headline is not None
    name = run.headline.metric.partition(":")[0]
    found = score_lists(
        _INNER.get(name, name),
        [prediction for _, prediction in known_pairs],
        [predicted[original] for original, _ in known_pairs],
        tags=[[original] for original, _ in known_pairs],
    )
    agreements = [score for score in found.scores if score.tag is not None]
    return round(fmean(_perf(score) for score in agreements), 2)
