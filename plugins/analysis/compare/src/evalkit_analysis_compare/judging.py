"""Makes the rows of a comparison, adjusted for all that are read together.

A family is what a reader looks at together: for the whole set one metric's comparisons
of all pairs of models that are shown, for tags one metric's comparisons of all pairs on
all tags. Within a family p-values are multiplied by its size m and intervals have the
level 1 - alpha / m (Bonferroni), so that p-values, intervals and equivalence hold for
all of the family at once, and agree with each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evalkit.runs.score_columns import plain_number
from evalkit.scoring import Interval
from evalkit.statistics.intervals import without_interval
from evalkit_analysis_compare.conclusions import Judged, Reading, conclude
from evalkit_analysis_compare.differences import Difference, narrower
from evalkit_analysis_compare.pairs import ComparedPair
from evalkit_analysis_compare.records import ComparedScore


class Member(NamedTuple):
    """One comparison of a family."""

    compared: ComparedPair
    metric: str
    tag: str | None
    found: Difference

    @property
    def counts(self) -> bool:
        """Whether there is anything to conclude from it."""
        return self.found.tested is not None or self.found.error is not None


def rows_of_family(
    members: Sequence[Member], confidence: float, margin: float | None
) -> Iterator[ComparedScore]:
    """Make the rows of a family."""
    size = max(1, sum(member.counts for member in members))
    for member in members:
        yield _row(member, size, confidence, margin)


def _row(
    member: Member, size: int, confidence: float, margin: float | None
) -> ComparedScore:
    found, tested = member.found, member.found.tested
    score = member.compared.pair.first[member.metric]
    judged = judge(found, size, confidence, margin)
    plain = judged.interval if size == 1 else _interval_of(found, 1, confidence)
    is_adjusted = size > 1 or member.tag is not None
    reading = Reading(
        score.unit,
        score.scale,
        score.higher_is_better,
        confidence,
        margin,
        member.compared.pair.first.record.widest_difference(member.metric),
    )
    return ComparedScore(
        metric=member.metric,
        tag=member.tag,
        model_a=member.compared.names.first,
        model_b=member.compared.names.second,
        value_a=found.value_a,
        value_b=found.value_b,
        difference=found.value,
        se=found.error,
        ci_low=plain_number(plain.low),
        ci_high=plain_number(plain.high),
        ci_method=plain.method,
        n=found.n,
        n_clusters=found.n_clusters,
        left_out=found.left_out,
        wins=found.wins,
        losses=found.losses,
        ties=found.ties,
        p_value=None if tested is None else tested.p_value,
        p_method="none" if tested is None else tested.method,
        p_adjusted=judged.p_value if is_adjusted else None,
        smallest_detectable=judged.detectable,
        equivalent=judged.equivalent,
        unit=score.unit,
        scale=score.scale,
        higher_is_better=score.higher_is_better,
        conclusion="; ".join(
            (conclude(member.compared.names, found, judged, reading), *plain.flags)
        ),
        reason=found.reason or plain.reason,
        ci_low_adjusted=plain_number(judged.interval.low) if is_adjusted else None,
        ci_high_adjusted=plain_number(judged.interval.high) if is_adjusted else None,
        p_at_most=None if tested is None else tested.at_most,
        different=judged.different if found.value is not None else None,
        family_size=size,
        left_out_a=found.lacking[0],
        left_out_b=found.lacking[1],
        as_wrong_a=found.as_wrong[0],
        as_wrong_b=found.as_wrong[1],
    )


def judge(
    found: Difference, size: int, confidence: float, margin: float | None
) -> Judged:
    """Judge a difference as one of a family.

    A difference is shown where the adjusted p-value is below the level and there is an
    adjusted interval, which does not hold zero.
    """
    alpha = 1 - confidence
    tested = found.tested
    p_value = _adjusted(found, size)
    interval = _interval_of(found, size, confidence)
    low, high = interval.low, interval.high
    # without any interval nothing is concluded
    has_no_zero = low is not None and high is not None and not low <= 0 <= high
    narrow = without_interval("there is no margin")
    if margin is not None:
        narrow = _narrow(found, size, confidence)
    return Judged(
        p_value=p_value,
        at_most=tested is not None and tested.at_most,
        interval=interval,
        narrow=narrow,
        different=p_value is not None and p_value < alpha and has_no_zero,
        equivalent=None if margin is None else _is_within(narrow, margin),
        detectable=found.detects(alpha / size),
        reachable=tested is None or min(1.0, size * tested.least) < alpha,
        size=size,
    )


def _adjusted(found: Difference, size: int) -> float | None:
    return None if found.tested is None else min(1.0, size * found.tested.p_value)


def _interval_of(found: Difference, size: int, confidence: float) -> Interval:
    """Return the interval of a difference as one of a family.

    Where the test shows none, it is widened to hold zero, so that it says the same.
    """
    alpha = 1 - confidence
    interval = found.intervals(1 - alpha / size)
    p_value = _adjusted(found, size)
    if interval.low is None or interval.high is None:
        return interval
    if p_value is None or p_value < alpha:
        return interval
    return interval._replace(low=min(interval.low, 0.0), high=max(interval.high, 0.0))


def _narrow(found: Difference, size: int, confidence: float) -> Interval:
    """Return the interval of two one-sided tests; none below a confidence of a half."""
    level = narrower(1 - (1 - confidence) / size)
    return found.intervals(level) if level > 0 else without_interval("too low a level")


def _is_within(narrow: Interval, margin: float) -> bool | None:
    """Tell whether a difference is smaller than a margin, by two one-sided tests."""
    if narrow.low is None or narrow.high is None:
        return None
    return -margin < narrow.low and narrow.high < margin
