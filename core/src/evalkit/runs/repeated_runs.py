"""Compares a result with the run of its id that is there already."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.errors import StorageError

if TYPE_CHECKING:
    from evalkit.runs.contents import RunContents

COUNTS = "the counts of examples"
"""Stands for the counts where they differ."""

OF_DROPS = ("ci_low_adjusted", "ci_high_adjusted", "family_size")
"""Those computed numbers that only drops under perturbation have."""

COMPUTED = (
    *("value", "se", "ci_low", "ci_high", "n", "n_clusters", "coverage"),
    *("p_value", "p_adjusted", "shrunk", "rank_best", "rank_worst"),
    *("bound_low", "bound_high", "mean", "stddev", "min", "max"),
    *("stddev_within", "stddev_replications", "largest_cluster", "effective_clusters"),
    *OF_DROPS,
)
"""The fields of a score that are computed numbers."""

_MOST_NAMES = 5
_RELATIVE = 1e-9
_ABSOLUTE = 1e-12
_DIGITS = ".9g"

Numbers = Mapping[str, Any]


def what_differs(path: Path, result: RunContents) -> list[str]:
    """Name the metrics of which a run has other numbers than a result.

    Args:
        path: The `run.json` of a run whose id is made of the same inputs.
        result: The result.

    Returns:
        Names of scores, and `COUNTS`; empty where all is the same within 1e-9.

    Raises:
        StorageError: It is no record of a run.
    """
    stored, counts = _stored(path)
    computed = _computed(result)
    names = dict.fromkeys(
        str(key[0])
        for key in (*computed, *stored)
        if not _are_equal(stored.get(key), computed.get(key))
    )
    differs = list(names)
    if counts != result.to_dict().get("counts"):
        differs.append(COUNTS)
    return differs


def own_run_id(result: RunContents) -> str:
    """Give the id of a result that differs from the run of its id.

    Args:
        result: The result.

    Returns:
        16 hex digits over its id and its numbers, so that a further repeat with the
        same numbers has the same one.
    """
    from evalkit.plugins.provenance import run_id_of

    rows = [
        [*key, {name: _rounded(number) for name, number in numbers.items()}]
        for key, numbers in _computed(result).items()
    ]
    counts = result.to_dict().get("counts")
    return run_id_of({"repeat_of": result.run_id, "counts": counts, "numbers": rows})


def repeat_notice(run_id: str, differs: Sequence[str]) -> str:
    """Say of a repeat that it gave other numbers.

    Args:
        run_id: The id of the run that it repeats.
        differs: What `what_differs` gave.

    Returns:
        The text.
    """
    shown = ", ".join(differs[:_MOST_NAMES])
    more = len(differs) - _MOST_NAMES
    shown += f" and {more} more" if more > 0 else ""
    return (
        f"{shown}: not as in the run {run_id}, although all that its id is made of is "
        "the same; so this is a run of its own. A plugin depends on something else: a "
        "random number, a file, the version of a library, or the state of an object "
        "that is no parameter"
    )


def _computed(result: RunContents) -> dict[tuple[Any, ...], Numbers]:
    rows = (score._asdict() for score in result.scores)
    return {_key(row): dict(_numbers(row)) for row in rows}


def _stored(path: Path) -> tuple[dict[tuple[Any, ...], Numbers], Any]:
    """Read the numbers of a run; a broken run is not passed off either."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        scores: dict[tuple[Any, ...], Numbers] = {
            _key(row): dict(_numbers(row)) for row in record["scores"]
        }
        return scores, record.get("counts")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StorageError(
            f"{path}: is no record of a run ({error!r}), so that this run cannot be "
            "kept in its place; move the folder away"
        ) from error


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    aggregate = row.get("aggregate")
    # the worst tag may be another one: then it is the same score with other numbers
    tag = None if aggregate else row["tag"]
    return row["metric"], tag, aggregate, row["perturbation"], row["computed_on"]


def _numbers(row: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    yield "value", row["value"]
    yield from ((name, row[name]) for name in COMPUTED[1:] if name in row)


def _are_equal(first: Numbers | None, second: Numbers | None) -> bool:
    if first is None or second is None:
        return False
    return all(
        _is_close(first[name], second[name]) for name in first.keys() & second.keys()
    )


def _is_close(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return math.isclose(first, second, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)


def _rounded(number: float | None) -> str | None:
    return None if number is None else format(number, _DIGITS)
