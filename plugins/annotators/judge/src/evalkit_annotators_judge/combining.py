"""Makes one verdict of several: of two orders, of several judges, of criteria."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from evalkit_annotators_judge.parsing import TIE, WORTH, Verdict

INCONSISTENT = "inconsistent: the verdict depends on the order"
NO_MAJORITY = "no majority: judges disagree"
NO_POINTS = "no criterion has points above 0"
SAME, FIRST_BETTER, SECOND_BETTER = "same", "first", "second"
"""How verdicts on both orders of a pair differ: not at all, or in favour of the answer
that stands first, or second."""


def of_both_orders(
    verdicts: Sequence[Verdict], ties: bool, is_scaled: bool = False
) -> Verdict:
    """Return what verdicts on a pair in both orders say together."""
    for each in verdicts:
        if each.value is None:  # one that is lacking says nothing of the other
            return each
    if len({each.label for each in verdicts}) == 1:
        return verdicts[0]
    if is_scaled:
        values = [each.value for each in verdicts if each.value is not None]
        return Verdict(sum(values) / len(values))
    return Verdict(WORTH[TIE], TIE) if ties else Verdict(reason=INCONSISTENT)


def order_of(verdicts: Sequence[Verdict]) -> str | None:
    """Say whether the verdict on a pair changed with the order, and in whose favour."""
    values = [each.value for each in verdicts if each.value is not None]
    if len(values) < 2:
        return None
    if len({(each.label, each.value) for each in verdicts}) == 1:
        return SAME
    return FIRST_BETTER if values[0] > values[1] else SECOND_BETTER


def of_judges(
    verdicts: Sequence[Verdict],
    names: Sequence[str],
    combine: Literal["majority", "mean"] | None,
) -> Verdict:
    """Return what several judges say together."""
    if len(verdicts) == 1:
        return verdicts[0]
    if combine == "mean":
        for name, each in zip(names, verdicts, strict=True):
            if each.value is None:
                return Verdict(reason=f"{name}: {each.reason}")
        values = [each.value for each in verdicts if each.value is not None]
        return Verdict(sum(values) / len(values))
    counts = Counter((v.label, v.value) for v in verdicts if v.value is not None)
    for (label, value), count in counts.items():
        if 2 * count > len(verdicts):
            return Verdict(value, label)
    for name, each in zip(names, verdicts, strict=True):
        if each.value is None:
            return Verdict(reason=f"{name}: {each.reason}")
    return Verdict(reason=NO_MAJORITY)


def of_criteria(
    verdicts: Sequence[Verdict], names: Sequence[str], points: Sequence[float]
) -> Verdict:
    """Return what verdicts on several criteria say together.

    It is the sum of what each is worth, times its points, over the sum of the points
    above 0; and at least 0 where there are points below.
    """
    for name, each in zip(names, verdicts, strict=True):
        if each.value is None:
            return Verdict(reason=f"{name}: {each.reason}")
    most = sum(each for each in points if each > 0)
    if not most:
        return Verdict(reason=NO_POINTS)
    reached = sum((v.value or 0.0) * p for v, p in zip(verdicts, points, strict=True))
    if min(points) < 0:
        reached = max(0.0, reached)
    return Verdict(reached / most)
