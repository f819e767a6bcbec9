"""What the scores of a facet's groups amount to: their mean, the worst, the gap.

The group that looks worst was picked for it, and so was the largest difference: with 12
equal groups of 40 a plain interval of the gap excludes 0 every time. So the worst group
has an interval at Šidák's level (1967), which holds for all groups at once, and the gap
one from the largest of all standardised differences (max-T, Westfall and Young 1993),
which may contain 0. Where several facets are tested, the p-values are adjusted (Holm
1979), and each gap has an interval at the level that its test is held to. Ranks hold at
once over all facets (Bonferroni), and exclude something only where a gap is shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from evalkit.inference.intervals import Interval, without_interval
from evalkit.inference.largest_differences import PairDifferences, pair_differences
from evalkit.inference.multiplicity import holm
from evalkit.inference.seeds import generator
from evalkit.inference.shrunken_scores import shrink
from evalkit.inference.student_t import t_quantile
from evalkit.scoring.evidence import Evidence, interval_kind
from evalkit.scoring.facet_groups import FacetGroups, facet_groups, plain_tags
from evalkit.scoring.facet_means import FEWEST_OF_CLASS, TOO_NARROW, facet_mean_interval
from evalkit.scoring.group_covariance import group_covariance
from evalkit.scoring.group_estimates import GroupEstimates, estimate_groups
from evalkit.scoring.group_intervals import NO_INTERVAL, GroupIntervals
from evalkit.scoring.pooled_replicates import (
    hardly_have_rare_class,
    with_pooled_replicates,
)
from evalkit.scoring.pooled_skewness import (
    PooledSkewness,
    halfway_variances,
    with_skewness_of_all,
)
from evalkit.scoring.records import AggregateScore, GroupScore
from evalkit.scoring.rescaled_intervals import METHOD

RARE_CLASS = (
    "its interval may be too narrow: groups have fewer than 2 examples of a rare class "
    "on average"
)

MOST_GROUPS = 200
"""Groups of a facet beyond which no gap is computed."""


class FacetScores(NamedTuple):
    """What the groups of all facets amount to."""

    aggregates: list[AggregateScore]
    scores: list[GroupScore]
    """The scores of the groups, with what follows from those beside them."""


class _Facet(NamedTuple):
    """The groups of a facet, and those of them that are large enough to compare."""

    everyone: FacetGroups
    estimates: GroupEstimates
    compared: FacetGroups
    compared_estimates: GroupEstimates
    differences: PairDifferences | str
    """All differences between them, or why there are none."""


def aggregate_scores(
    evidence: Evidence, intervals: GroupIntervals, scores: Sequence[GroupScore]
) -> FacetScores:
    """Aggregate the main score over the groups of every facet and crossing.

    Args:
        evidence: What the scores were computed from.
        intervals: Their intervals.
        scores: The scores of all groups.

    Returns:
        Mean, worst group and gap of every facet with two groups or more, and the scores
        with their shrunken value and rank among the groups of their facet, or among all
        tags without one, where these are three or more.
    """
    main = {found.group: found for found in scores if found.score == ""}
    facets = [
        facet
        for name, numbers in evidence.groups.facets.items()
        if (facet := _facet(evidence, intervals, name, numbers, main))
    ]
    others = _facet(evidence, intervals, "", plain_tags(evidence), main)
    tested = [facet for facet in facets if _is_tested(facet)]
    p_values = [_p_value(facet) for facet in tested]
    is_family = evidence.settings.one_family
    adjusted = holm(p_values) if is_family else p_values
    decided = dict(
        zip((facet.everyone.name for facet in tested), adjusted, strict=True)
    )
    placed = dict(_placed(evidence, [*facets, *([others] if others else [])], decided))
    placed_scores = {
        group: main[group]._replace(shrunk=place.shrunk, ranks=place.ranks)
        for group, place in placed.items()
    }
    found = []
    for facet in facets:
        found.append(_macro(evidence, intervals, facet))
        if len(facet.compared.groups) < 2:
            continue
        worst = _worst(evidence, intervals, facet, placed_scores)
        found += [worst] if worst else []
        p_adjusted = decided.get(facet.everyone.name)
        count = len(tested) if is_family else 1
        found.append(_gap(evidence, intervals, facet, p_adjusted, count))
    with_ranks = [
        placed_scores.get(score.group, score) if score.score == "" else score
        for score in scores
    ]
    pools = [
        facet.everyone.groups for facet in [*facets, *([others] if others else [])]
    ]
    return FacetScores(found, with_skewness_of_all(evidence, pools, with_ranks))


def _facet(
    evidence: Evidence,
    intervals: GroupIntervals,
    name: str,
    numbers: Sequence[int],
    main: Mapping[int, GroupScore],
) -> _Facet | None:
    everyone = facet_groups(evidence, name, numbers, main)
    if len(everyone.groups) < 2:
        return None
    values = [float(main[group].value or 0.0) for group in everyone.groups]
    estimates = estimate_groups(evidence, intervals, everyone, values)
    fewest = evidence.settings.fewest
    compared = facet_groups(evidence, name, numbers, main, fewest)
    places = [everyone.groups.index(group) for group in compared.groups]
    chosen = estimates.only(places)
    differences = _differences(evidence, compared, chosen)
    return _Facet(everyone, estimates, compared, chosen, differences)


def _differences(
    evidence: Evidence, facet: FacetGroups, estimates: GroupEstimates
) -> PairDifferences | str:
    if interval_kind(evidence.metric) == "none":
        return NO_INTERVAL
    if len(facet.groups) < 2:
        return "fewer than two groups are large enough"
    if len(facet.groups) > MOST_GROUPS:
        return f"a gap of more than {MOST_GROUPS} groups has no interval"
    if estimates.reason is not None:
        return estimates.reason
    if estimates.bounds is None:
        estimates = PooledSkewness(evidence, facet.groups).smoothed(estimates)
    covariance = group_covariance(evidence, facet, estimates)
    if isinstance(covariance, str):
        return covariance
    least = float(estimates.degrees.min())
    # groups of the same clusters differ by what each cluster says, as pairs do
    present = facet.n_clusters if evidence.clustered else facet.n
    is_apart = int(estimates.units.sum()) == present
    name = facet.name
    seed = generator(evidence.settings.seed, evidence.metric.name, "gap", name)
    found = pair_differences(
        estimates.centres, covariance, 2 * least if is_apart else least, seed
    )
    if not len(found.pairs[0]):
        return "the groups do not differ in their examples"
    return found


def _is_tested(facet: _Facet) -> bool:
    return isinstance(facet.differences, PairDifferences)


def _p_value(facet: _Facet) -> float:
    assert isinstance(facet.differences, PairDifferences)
    # smoothed scores may differ where those that are reported do not
    values = facet.compared_estimates.values
    return 1.0 if values.max() == values.min() else facet.differences.p_value


class _Place(NamedTuple):
    """Where a group stands among those beside it."""

    shrunk: float | None
    ranks: tuple[int, int] | None = None


def _placed(
    evidence: Evidence, facets: Sequence[_Facet], decided: Mapping[str, float]
) -> Iterator[tuple[int, _Place]]:
    """Return the shrunken value and the ranks of groups, by their numbers.

    Args:
        evidence: What the scores were computed from.
        facets: The facets, and last the tags without one, whose name is empty.
        decided: The adjusted p-value of each facet whose gap is tested.
    """
    settings = evidence.settings
    ranked = [facet for facet in facets if _is_ranked(evidence, facet)]
    families = max(1, len(ranked)) if settings.one_family else 1
    for facet in facets:
        shrunken = shrink(facet.estimates.values, facet.estimates.noise)
        found = {
            group: _Place(None if math.isnan(value) else value)
            for group, value in zip(
                facet.everyone.groups, shrunken.tolist(), strict=True
            )
        }
        if _is_ranked(evidence, facet):
            # as the sentence on the gap says; tags without a facet have none
            p_adjusted = decided.get(facet.everyone.name, 0.0)
            alpha = 1 - settings.confidence
            level = 1 - alpha / families if p_adjusted < alpha else None
            for group, ranks in _ranks(evidence, facet, level).items():
                found[group] = found[group]._replace(ranks=ranks)
        yield from found.items()


def _is_ranked(evidence: Evidence, facet: _Facet) -> bool:
    direction = evidence.metric.higher_is_better
    return (
        direction is not None and len(facet.compared.groups) > 2 and _is_tested(facet)
    )


def _ranks(
    evidence: Evidence, facet: _Facet, level: float | None
) -> dict[int, tuple[int, int]]:
    """Return the ranks of groups; all of them without a level."""
    groups = facet.compared.groups
    if level is None:
        return dict.fromkeys(groups, (1, len(groups)))
    assert isinstance(facet.differences, PairDifferences)
    sign = 1 if evidence.metric.higher_is_better else -1
    best, worst = facet.differences.ranks(level, sign)
    places = zip(best.tolist(), worst.tolist(), strict=True)
    return dict(zip(groups, places, strict=True))


def _macro(
    evidence: Evidence, intervals: GroupIntervals, facet: _Facet
) -> AggregateScore:
    everyone, estimates = facet.everyone, facet.estimates
    values = estimates.values
    value = math.fsum(values) / len(values)
    if interval_kind(evidence.metric) == "none":
        interval = without_interval(NO_INTERVAL)
    else:
        pairs = [intervals.label_pairs(group) for group in everyone.groups]
        drawn = [found for found in pairs if found is not None]
        if len(drawn) == len(pairs):
            estimates = with_pooled_replicates(evidence, estimates, drawn)
        interval = facet_mean_interval(evidence, everyone, estimates)
    has_interval = interval.low is not None
    is_thin = estimates.rarest < FEWEST_OF_CLASS and has_interval
    return AggregateScore(
        f"macro:{everyone.name}",
        None,
        value,
        everyone.n,
        everyone.n_clusters,
        interval,
        flag=everyone.flag(TOO_NARROW if is_thin else None, has_interval=has_interval),
    )


def _worst(
    evidence: Evidence,
    intervals: GroupIntervals,
    facet: _Facet,
    main: Mapping[int, GroupScore],
) -> AggregateScore | None:
    direction = evidence.metric.higher_is_better
    if direction is None:
        return None
    sign = 1.0 if direction else -1.0
    compared, tags = facet.compared, evidence.groups.tags
    worst = min(
        (main[group] for group in compared.groups),
        key=lambda found: (sign * float(found.value or 0.0), str(tags[found.group])),
    )
    level = evidence.settings.confidence ** (1 / len(compared.groups))
    place = compared.groups.index(worst.group)
    degrees = float(facet.compared_estimates.degrees[place])
    interval = _simultaneous(intervals, worst, level, degrees)
    if worst.interval.method.startswith("t") and worst.value is not None:
        skewness = PooledSkewness(evidence, compared.groups)
        share, quantile = 1 / math.sqrt(worst.n), t_quantile(level, degrees)
        variance = float(halfway_variances(facet.compared_estimates)[place])
        interval = skewness.with_error_of_all(
            skewness.widened(interval, worst.value, share, quantile),
            worst.value,
            share,
            quantile,
            variance,
        )
    sizes = worst.cluster_sizes
    warning = sizes.warning if sizes and interval.low is not None else None
    return AggregateScore(
        f"worst:{compared.name}",
        tags[worst.group],
        worst.value,
        worst.n,
        worst.n_clusters,
        interval,
        flag=compared.flag(warning),
        shrunk=worst.shrunk,
        ranks=worst.ranks,
    )


def _simultaneous(
    intervals: GroupIntervals, worst: GroupScore, level: float, degrees: float
) -> Interval:
    """Widen a group's interval to a level that holds for all groups at once."""
    error, method = worst.interval.standard_error, worst.interval.method
    if error is None or worst.value is None:
        return worst.interval
    widened = worst.interval
    if not method.startswith(("wilson", "bootstrap", "multinomial")):
        widened = intervals.of(worst.group, "", worst.value, level)
    is_drawn = method.startswith(("bootstrap", "multinomial"))
    if is_drawn or (method == METHOD and widened.low is None):
        # the tails of 1 000 replicates are too thin for so high a level
        half = t_quantile(level, degrees) * error
        low, high = worst.value - half, worst.value + half
        own = worst.interval
        return Interval(
            min(low, low if own.low is None else own.low),
            max(high, high if own.high is None else own.high),
            error,
            "sidak",
        )
    if method.startswith("wilson"):
        widened = intervals.of_mean(worst.group, level, exact=True)
    return widened._replace(method="sidak") if widened.low is not None else widened


def _gap(
    evidence: Evidence,
    intervals: GroupIntervals,
    facet: _Facet,
    p_adjusted: float | None,
    tested: int,
) -> AggregateScore:
    compared, values = facet.compared, facet.compared_estimates.values
    value = float(values.max() - values.min())
    tags = evidence.groups.tags
    high = tags[compared.groups[int(np.argmax(values))]]
    low = tags[compared.groups[int(np.argmin(values))]]
    text = f"from {low} to {high}" if value else "all groups have the same score"
    p_value = None
    if isinstance(facet.differences, str):
        interval = without_interval(facet.differences)
    else:
        p_value = _p_value(facet)
        level = _level(evidence.settings.confidence, p_value, p_adjusted, tested)
        interval = facet.differences.interval(value, level)
        pairs = [intervals.label_pairs(group) for group in compared.groups]
        drawn = [found for found in pairs if found is not None]
        if len(drawn) == len(pairs) and hardly_have_rare_class(drawn):
            text = f"{text}; {RARE_CLASS}"
    return AggregateScore(
        f"gap:{compared.name}",
        None,
        value,
        compared.n,
        compared.n_clusters,
        interval,
        flag=compared.flag(text, has_interval=interval.low is not None),
        p_value=p_value,
        p_adjusted=p_adjusted,
    )


def _level(
    confidence: float, p_value: float, p_adjusted: float | None, tested: int
) -> float:
    """Return the level at which an interval leaves out 0 as often as its test rejects.

    A p-value of 0 is the least of all that are tested, which Holm multiplies by their
    number.
    """
    if p_adjusted is None:
        return confidence
    if p_adjusted == 0:
        return 1 - (1 - confidence) / tested
    return 1 - (1 - confidence) * min(1.0, p_value / p_adjusted)
