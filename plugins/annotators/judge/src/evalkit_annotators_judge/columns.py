"""The columns of a judge, from the verdicts that it was given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from evalkit_annotators_judge.declaration import Criterion, Declaration
from evalkit_annotators_judge.labels import COLUMN, COUNT, FOUND, WHY
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


JUDGED = "judged"
"""The status of a response with a verdict."""

PARTS = ("value", "label", "status")

ORDER = "order"
"""The column that says whether the verdict on a pair changed with the order."""


def names_of(said: Declaration) -> list[str]:
    """Return the names of the columns."""
    names = [each.name for each in said.judges] if len(said.judges) > 1 else []
    names += [each.name for each in said.criteria]
    found = [*PARTS, *(f"{name}-{part}" for name in names for part in PARTS)]
    found += orders_of(said)
    return (
        [*found, COLUMN, WHY, COUNT, FOUND] if said.human or said.human_file else found
    )


def orders_of(said: Declaration) -> list[str]:
    """Return the columns that say whether verdicts on pairs changed with the order."""
    if said.pair is None or not said.pair.swap:
        return []
    if len(said.judges) > 1:
        return [f"{each.name}-{ORDER}" for each in said.judges]
    return [ORDER]


def columns_of(
    said: Declaration,
    criteria: Sequence[Criterion],
    verdicts: Sequence[Sequence[Verdict]],
) -> dict[str, Any]:
    """Return what the columns hold for a response, but for what people say."""
    judges = [each.name for each in said.panel]
    combined = [
        of_judges(several, judges, said.combine)
        for several in zip(*verdicts, strict=True)
    ]
    found = _parts("", _together(said, criteria, combined))
    if len(said.judges) > 1:
        for name, several in zip(judges, verdicts, strict=True):
            found |= _parts(f"{name}-", _together(said, criteria, several))
    if said.criteria:
        for criterion, verdict in zip(criteria, combined, strict=True):
            found |= _parts(f"{criterion.name}-", verdict)
    return found


def without(said: Declaration, why: str) -> dict[str, Any]:
    """Return what the columns hold for a response that was not asked about."""
    names = names_of(said)
    return {
        name: why if name.endswith("status") and name != WHY else None for name in names
    }


def _together(
    said: Declaration, criteria: Sequence[Criterion], verdicts: Sequence[Verdict]
) -> Verdict:
    if said.criteria_field is None and len(criteria) == 1:
        return verdicts[0]
    points = [each.points for each in criteria]
    return of_criteria(verdicts, [each.name for each in criteria], points)


def _parts(prefix: str, verdict: Verdict) -> dict[str, Any]:
    status = JUDGED if verdict.value is not None else verdict.reason or "no verdict"
    values = (verdict.value, verdict.label, status)
    return {f"{prefix}{part}": each for part, each in zip(PARTS, values, strict=True)}
