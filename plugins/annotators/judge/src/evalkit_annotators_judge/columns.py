"""The columns of a judge, from the verdicts that it was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalkit_annotators_judge.combining import of_criteria, of_judges
from evalkit_annotators_judge.declaration import Criterion, Declaration
from evalkit_annotators_judge.parsing import Verdict
from evalkit_annotators_judge.people import COLUMN, COUNT, FOUND, WHY

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
