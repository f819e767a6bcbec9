"""Compares two models by the scores of single examples."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from evalkit.inference.intervals import Floats, Integers
from evalkit_analysis_compare.binomial_tests import mcnemar
from evalkit_analysis_compare.differences import (
    Difference,
    Intervals,
    Levels,
    count_as_wrong,
    count_clusters,
    members_of,
    without_difference,
)
from evalkit_analysis_compare.paired_shares import tango_interval
from evalkit_analysis_compare.pairing import PairedRuns
from evalkit_analysis_compare.power import detectable_difference
from evalkit_analysis_compare.randomised_tests import Significance
from evalkit_analysis_compare.sign_flips import flip_test
from evalkit_analysis_compare.spreads import FIRST_CONFIDENCE, spread_of


class _Kind(NamedTuple):
    """What the scores of a comparison are."""

    binary: bool
    """All are zeros and ones, of independent examples."""
    shares: bool
    """All are between 0 and 1, and are meant as shares."""


def compare_scores(
    pair: PairedRuns,
    first: Floats,
    second: Floats,
    levels: Levels,
    higher_is_better: bool | None,
    *,
    shares: bool = False,
) -> list[Difference]:
    """Compare the means of two models' scores of the same examples, for every group.

    Where all scores are zeros and ones and examples are independent, the test is
    McNemar's and the interval Tango's. Else signs of whole units' differences are
    flipped, and the interval is Tango's with an effective number of examples where
    scores are shares, and Student's where they are not; both with the cluster-robust
    standard error.
    """
    in_first, in_second = np.isfinite(first), np.isfinite(second)
    both = in_first & in_second
    values = np.concatenate([first[both], second[both]])
    kind = _Kind(
        pair.clusters is None and bool(np.isin(values, (0.0, 1.0)).all()),
        shares and bool(((values >= 0) & (values <= 1)).all()),
    )
    better = -1.0 if higher_is_better is False else 1.0
    found = []
    for group, members in enumerate(members_of(pair)):
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
        compared = _compare(
            pair, examples, first[examples], second[examples], kind, levels.of(group)
        )
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
    pair: PairedRuns,
    examples: Integers,
    first: Floats,
    second: Floats,
    kind: _Kind,
    level: float,
) -> Difference:
    differences = first - second
    clusters = None if pair.clusters is None else pair.clusters[examples]
    p_mid, degrees = None, len(differences) - 1.0
    if kind.binary:
        wins = int((differences > 0).sum())
        losses = int((differences < 0).sum())
        tested, p_mid = _right_or_wrong(wins, losses)
        intervals: Intervals = partial(tango_interval, wins, losses, len(differences))
        error = intervals(FIRST_CONFIDENCE).standard_error
    else:
        intervals, error, degrees = spread_of(differences, clusters, shares=kind.shares)
        tested = flip_test(*pair.units.sums_of(examples, differences), level)
    return Difference(
        math.fsum(first) / len(first),
        math.fsum(second) / len(second),
        len(examples),
        0,
        count_clusters(pair, examples),
        error,
        intervals,
        partial(_detects, error, degrees, tested),
        tested,
        p_mid,
    )


def _right_or_wrong(wins: int, losses: int) -> tuple[Significance, float]:
    test = mcnemar(wins, losses)
    least = mcnemar(wins + losses, 0).exact
    return Significance(test.exact, "mcnemar-exact", least=least), test.mid


def _detects(
    error: float | None, degrees: float, tested: Significance, level: float
) -> float | None:
    if not error or tested.least >= level:
        return None
    return detectable_difference(error, level, degrees)
