"""Says how the intervals of a report were made, and what repeated answers tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalkit_cli.printing.printed_results import PrintedResult, labelled
from evalkit_cli.printing.score_cells import score_label, show_number

if TYPE_CHECKING:
    from evalkit import Score

_CLUSTERED_MEANS = ("wilson-clustered", "t-clustered")
"""Methods of scores that are the mean of the per-example scores."""

_ROUNDING = 1e-9
"""Share by which two equal errors may differ."""


def interval_lines(results: Sequence[PrintedResult], *, verbose: bool) -> list[str]:
    """Say which methods were used, over which clusters, and what they cost."""
    methods = [line for each in results if verbose and (line := _methods(each))]
    alike = len(set(methods)) == 1
    lines = methods[:1] if alike else []
    for place, result in enumerate(results):
        label = labelled(results, place)
        own = [_methods(result)] if verbose and not alike else []
        own += [_design_effect(result)] if verbose else []
        own += [_replications(result)]
        lines += [f"{label}{line}" for line in own if line]
    return lines


def _methods(result: PrintedResult) -> str:
    """Name the methods of the scores at the top of the report."""
    by_method: dict[str, list[str]] = {}
    scores = [score for score in result.summary if score.value is not None]
    for score in scores:
        method = f"none, {score.reason}" if score.ci is None else score.ci_method
        by_method.setdefault(method, []).append(score_label(score))
    scores = [score for score in scores if score.ci is not None]
    if not by_method:
        return ""
    named = [f"{method} ({', '.join(who)})" for method, who in by_method.items()]
    shown = ", ".join(named if len(by_method) > 1 else by_method)
    return f"{result.confidence} CI: {shown}{_clusters(result, scores)}"


def _clusters(result: PrintedResult, scores: Sequence[Score]) -> str:
    counts = {score.n_clusters for score in scores} - {None}
    if not counts:
        return ""
    columns = ", ".join(result.record.cluster)
    by = f" by {columns}" if columns else ""
    shown = " or ".join(map(str, sorted(filter(None, counts))))
    return f"; {shown} clusters{by}{_sizes(scores)}"


def _sizes(scores: Sequence[Score]) -> str:
    """Say how unequal the clusters of the first score that has any are."""
    known = [score for score in scores if score.effective_clusters is not None]
    if not known:
        return ""
    count, largest, effective = (
        known[0].n_clusters or 0,
        known[0].largest_cluster or 0.0,
        known[0].effective_clusters or 0.0,
    )
    if effective > count - 0.05:
        return ""
    return (
        f" (the largest has {100 * largest:.2g} % of the examples; together they tell "
        f"as much as {effective:.1f} clusters of equal size)"
    )


def _design_effect(result: PrintedResult) -> str:
    """Compare the main score's standard error with that of independent examples."""
    headline = result.headline
    score = headline and result.groups.get((headline.metric, None))
    if score is None or score.se is None or score.ci_method not in _CLUSTERED_MEANS:
        return ""
    plain = _plain_error(score)
    if not plain:
        return ""
    ratio = score.se / plain
    if score.ci_method.startswith("wilson") and ratio <= 1 + _ROUNDING:
        return (
            f"{score.metric}: design effect 1, the least that is used: examples of a "
            "cluster seem no more alike than others"
        )
    return (
        f"{score.metric}: design effect {ratio**2:.2f}; its standard error is "
        f"{ratio:.2f} times that of independent examples"
    )


def _plain_error(score: Score) -> float | None:
    """Return the standard error of a mean of independent examples."""
    if score.stddev is None or score.n < 2 or score.replications is not None:
        return None
    n = score.n if score.ci_method == "wilson-clustered" else score.n - 1
    return score.stddev / math.sqrt(n)


def _replications(result: PrintedResult) -> str:
    headline = result.headline
    score = headline and result.groups.get((headline.metric, None))
    if score is None or score.replications is None:
        return ""
    deviations = {
        "of the examples' means": score.stddev,
        "of the answers to one example": score.stddev_within,
        "of the score from replication to replication": score.stddev_replications,
    }
    shown = [
        f"{what} {show_number(score._replace(unit=''), value)}"
        for what, value in deviations.items()
        if value is not None
    ]
    of_score = f"; {score.metric}: SD {', '.join(shown)}" if shown else ""
    return f"{_how_often_answered(result, score.replications)}{of_score}"


def _how_often_answered(result: PrintedResult, times: int) -> str:
    from evalkit.reporting import count_incomplete

    counts = result.result.counts
    if counts["scored"] == counts["examples"]:
        return f"each example was answered {times} times"
    n_examples = counts["examples"] // times
    if result.result.examples is None:
        return f"examples were answered at most {times} times"
    incomplete = count_incomplete(result.result.examples, times)
    return (
        f"{n_examples - incomplete} of {n_examples} examples were answered {times} "
        f"times, the other {incomplete} less often"
    )
