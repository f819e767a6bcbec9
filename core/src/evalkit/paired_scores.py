"""Compares two models by the scores of single examples."""

from __future__ import annotations

import math

import numpy as np

from evalkit.binomial_tests import mcnemar
from evalkit.differences import (
    Difference,
    count_clusters,
    members_of,
    narrower,
    sums_by_unit,
    without_difference,
)
from evalkit.intervals import Floats, Integers, Interval, mean_interval
from evalkit.pairing import PairedRuns
from evalkit.sign_flips import flip_test
from evalkit.student_t import normal_quantile


def compare_scores(
    pair: PairedRuns,
    first: Floats,
    second: Floats,
    confidence: float,
    higher_is_better: bool | None,
) -> list[Difference]:
    """Compare the means of two models' scores of the same examples, for every group.

    Where all scores are zeros and ones and examples are independent, the test is
    McNemar's and the interval has the normal quantile, as that of a proportion. Else
    signs of whole units' differences are flipped, and the interval is Student's, with
    the cluster-robust standard error.

    Args:
        pair: The two runs.
        first: Score of each example by the first; NaN where it has none.
        second: The same by the second.
        confidence: Probability of the interval.
        higher_is_better: Which of two scores wins; the higher where it is unknown.

    Returns:
        The difference of each group, by number.
    """
    in_first, in_second = np.isfinite(first), np.isfinite(second)
    both = in_first & in_second
    values = np.concatenate([first[both], second[both]])
    binary = pair.clusters is None and bool(np.isin(values, (0.0, 1.0)).all())
    better = -1.0 if higher_is_better is False else 1.0
    found = []
    for members in members_of(pair):
        examples = members[both[members]]
        left_out = int((in_first ^ in_second)[members].sum())
        if not len(examples):
            reason = "no example was scored in both runs"
            found.append(without_difference(reason, 0, left_out, None))
            continue
        compared = _compare(
            pair, examples, first[examples], second[examples], confidence, binary
        )
        differences = better * (first[examples] - second[examples])
        found.append(
            compared._replace(
                left_out=left_out,
                wins=int((differences > 0).sum()),
                losses=int((differences < 0).sum()),
                ties=int((differences == 0).sum()),
            )
        )
    return found


def _compare(
    pair: PairedRuns,
    examples: Integers,
    first: Floats,
    second: Floats,
    confidence: float,
    binary: bool,
) -> Difference:
    differences = first - second
    clusters = None if pair.clusters is None else pair.clusters[examples]
    p_mid = None
    if binary:
        test = mcnemar(int((differences > 0).sum()), int((differences < 0).sum()))
        p_value, p_mid, method = test.exact, test.mid, "mcnemar-exact"
    else:
        sums, keys = sums_by_unit(pair, examples, differences)
        p_value, method = flip_test(sums, keys)
    interval, narrow = (
        _interval(differences, clusters, level, binary)
        for level in (confidence, narrower(confidence))
    )
    return Difference(
        math.fsum(first) / len(first),
        math.fsum(second) / len(second),
        len(examples),
        0,
        count_clusters(pair, examples),
        interval,
        narrow,
        p_value,
        method,
        p_mid,
    )


def _interval(
    differences: Floats, clusters: Integers | None, level: float, binary: bool
) -> Interval:
    interval = mean_interval(differences, clusters, level)
    if interval.low is None:
        if len(differences) > 1 and (differences == differences[0]).all():
            same = "zero" if differences[0] == 0 else "equal"
            return interval._replace(reason=f"all differences are {same}")
        return interval
    if not binary:
        return interval
    assert interval.standard_error is not None
    mean = math.fsum(differences) / len(differences)
    half = normal_quantile(level) * interval.standard_error
    return interval._replace(low=mean - half, high=mean + half, method="normal")
