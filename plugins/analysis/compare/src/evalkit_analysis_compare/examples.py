"""Compares two models by the scores of single examples."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from evalkit.inference.cluster_sizes import (
    cluster_sums,
    effective_number,
    variance_components,
)
from evalkit.inference.intervals import Floats, Integers
from evalkit.scoring.grouping import WHOLE
from evalkit_analysis_compare.binomial_tests import mcnemar
from evalkit_analysis_compare.cluster_power import (
    FEWEST_SETS,
    MOST_SETS,
    UnitModel,
    detectable_with,
)
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
from evalkit_analysis_compare.power import (
    detectable_difference,
    detectable_share_difference,
)
from evalkit_analysis_compare.randomised_tests import Significance
from evalkit_analysis_compare.sample_sizes import Goal
from evalkit_analysis_compare.sign_flips import flip_test
from evalkit_analysis_compare.spreads import FIRST_CONFIDENCE, Spread, spread_of

_FEWEST_NEAR_A_BOUND = 30
"""Effective number of clusters from which they say what they find of shares near 0 or
1."""

_MANY_CLUSTERS = 200
"""Effective number of clusters from which a formula says what they find."""

_AIM = 0.83
"""Power that drawn clusters are to have: somewhat less is left of it, as the variance
is only estimated, and from few clusters."""

_MOST_DRAWN = 2_000
"""Clusters beyond which fewer effective ones are not drawn."""


class _Kind(NamedTuple):
    """What the scores of a comparison are."""

    binary: bool
    """All are zeros and ones, of independent examples."""
    shares: bool
    """All are between 0 and 1, and are meant as shares."""
    of_tag: bool = False
    """Whether they are those of a tag, of which there may be many."""


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
    standard error, and both hold Hall's too where differences are skewed.

    Args:
        pair: The two runs.
        first: Score of each example by the first; NaN where it has none.
        second: The same by the second.
        levels: Levels that the tests must decide at.
        higher_is_better: Which of two scores wins; the higher where it is unknown.
        shares: Whether scores are shares, which lie between 0 and 1.

    Returns:
        The difference of each group, by number.
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
        kind = kind._replace(of_tag=group != WHOLE)
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
    detects: Callable[[float], float | None]
    p_mid, is_skewed, warning = None, False, ""
    if kind.binary:
        wins = int((differences > 0).sum())
        losses = int((differences < 0).sum())
        tested, p_mid = _right_or_wrong(wins, losses)
        intervals: Intervals = partial(tango_interval, wins, losses, len(differences))
        error = intervals(FIRST_CONFIDENCE).standard_error
        detects = partial(detectable_share_difference, wins + losses, len(differences))
    else:
        spread = spread_of(differences, clusters, shares=kind.shares)
        intervals, error, is_skewed = spread.intervals, spread.error, spread.is_skewed
        warning = spread.warning
        flipped = flip_test(*pair.units.sums_of(examples, differences), level)
        tested = spread.agreeing_test(flipped)
        if is_skewed:
            detects = _detects_nothing
        else:
            detects = partial(_detects, error, spread.degrees, tested)
            if clusters is not None and error:
                detects = _detects_in_clusters(differences, clusters, kind, detects)
                if kind.shares and _few_near_a_bound(first, second, clusters):
                    detects = _detects_nothing
            detects = partial(_detects_beyond_unseen, spread, detects)
    return Difference(
        math.fsum(first) / len(first),
        math.fsum(second) / len(second),
        len(examples),
        0,
        count_clusters(pair, examples),
        error,
        intervals,
        detects,
        tested,
        p_mid,
        is_skewed=is_skewed,
        unseen=warning,
    )


def _right_or_wrong(wins: int, losses: int) -> tuple[Significance, float]:
    test = mcnemar(wins, losses)
    least = mcnemar(wins + losses, 0).exact
    return Significance(test.exact, "mcnemar-exact", least=least), test.mid


def _detects_nothing(_level: float) -> float | None:
    """Skewed differences are found the more easily in one of two directions."""
    return None


def _detects(
    error: float | None, degrees: float, tested: Significance, level: float
) -> float | None:
    if not error or tested.least >= level:
        return None
    return detectable_difference(error, level, degrees)


def _detects_beyond_unseen(
    spread: Spread, detects: Callable[[float], float | None], level: float
) -> float | None:
    return spread.detectable(detects(level), level)


def _few_near_a_bound(first: Floats, second: Floats, clusters: Integers) -> bool:
    """Tell whether shares are near 0 or 1 and clusters are few, by their sizes.

    What drawn clusters find of such shares is found in half to two thirds of samples
    only, instead of four fifths.
    """
    share = (math.fsum(first) + math.fsum(second)) / (2 * len(first))
    _, sizes = cluster_sums(first, clusters)
    return not 0.15 < share < 0.85 and effective_number(sizes) < _FEWEST_NEAR_A_BOUND


def _detects_in_clusters(
    differences: Floats,
    clusters: Integers,
    kind: _Kind,
    formula: Callable[[float], float | None],
) -> Callable[[float], float | None]:
    """Return what clusters like these find, by drawing them where they are few."""
    totals, sizes = cluster_sums(differences, clusters)
    squares, _ = cluster_sums(differences**2, clusters)
    n = len(differences)
    if effective_number(sizes) >= _MANY_CLUSTERS:
        return formula
    if len(sizes) > _MOST_DRAWN:
        return _detects_nothing
    components = variance_components(totals, squares, sizes)
    between, within = (float(part) for part in components)
    between += _missed(sizes, bounded=kind.shares) * (between + within * len(sizes) / n)
    is_whole = kind.shares and bool(np.isin(differences, (-1.0, 0.0, 1.0)).all())
    variance = between + within
    model = UnitModel(sizes, between / variance, None, None if is_whole else variance)
    mean, unequal = math.fsum(differences) / n, math.fsum(np.abs(differences)) / n

    def model_of(difference: float) -> UnitModel:
        if not kind.shares:
            return model
        # the variance stays what it is
        share = unequal + difference**2 - mean**2
        return model._replace(disagreement=min(1.0, max(share, difference)))

    def detects(level: float) -> float | None:
        about = formula(level)
        if about is None:
            return None
        most = 1.0 if kind.shares else math.inf
        sets = FEWEST_SETS if kind.of_tag else MOST_SETS
        goal = Goal(about, level, _AIM)
        return detectable_with(model_of, goal, None, about, most, sets)

    return detects


def _missed(sizes: Floats, *, bounded: bool) -> float:
    """Return what most samples of few clusters lack of the variance between them.

    It is distributed about as chi-squared is, whose median is less than its mean
    (Wilson and Hilferty 1931).
    """
    degrees = max(1.0, effective_number(sizes) - 1)
    if bounded:
        degrees = max(degrees, (len(sizes) - 1) / 2)
    return float((1 - 2 / (9 * degrees)) ** -3 - 1)
