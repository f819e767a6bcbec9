"""Compares two models by the scores of single examples."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from evalkit.statistics.clusters import Floats, Integers
from evalkit_analysis_compare.differences import (
    Difference,
    count_as_wrong,
    count_clusters,
    members_of,
    without_difference,
)
from evalkit_analysis_compare.paired_tests import TestedMean, compare_mean
from evalkit_analysis_compare.pairing import PairedRuns
from evalkit_analysis_compare.power import detectable_difference


def compare_scores(
    pair: PairedRuns,
    first: Floats,
    second: Floats,
    higher_is_better: bool | None,
) -> list[Difference]:
    """Compare the means of two models' scores of the same examples, for every group.

    `paired_tests` says which test and interval they get.
    """
    in_first, in_second = np.isfinite(first), np.isfinite(second)
    both = in_first & in_second
    values = np.concatenate([first[both], second[both]])
    is_binary = bool(np.isin(values, (0.0, 1.0)).all())
    better = -1.0 if higher_is_better is False else 1.0
    found = []
    for members in members_of(pair):
        examples = members[both[members]]
        lacking = (
            int((in_second & ~in_first)[members].sum()),
            int((in_first & ~in_second)[members].sum()),
        )
        if not len(examples):
            reason = "no example was scored in both runs"
            none = without_difference(reason, 0, sum(lacking), None)
            found.append(none._replace(lacking=lacking))
            continue
        scores = first[examples], second[examples]
        compared = _compare(pair, examples, scores, binary=is_binary)
        differences = better * (first[examples] - second[examples])
        found.append(
            compared._replace(
                left_out=sum(lacking),
                lacking=lacking,
                as_wrong=count_as_wrong(pair, examples),
                wins=int((differences > 0).sum()),
                losses=int((differences < 0).sum()),
                ties=int((differences == 0).sum()),
            )
        )
    return found


def _compare(
    pair: PairedRuns, examples: Integers, scores: tuple[Floats, Floats], *, binary: bool
) -> Difference:
    first, second = scores
    clusters = None if pair.clusters is None else pair.clusters[examples]
    mean = compare_mean(first - second, clusters, binary=binary)
    return Difference(
        math.fsum(first) / len(first),
        math.fsum(second) / len(second),
        len(examples),
        0,
        count_clusters(pair, examples),
        mean.error,
        mean.intervals,
        partial(_detects, mean),
        mean.tested,
    )


def _detects(mean: TestedMean, level: float) -> float | None:
    if not mean.error or mean.tested.least >= level:
        return None
    return detectable_difference(mean.error, level, mean.degrees)
