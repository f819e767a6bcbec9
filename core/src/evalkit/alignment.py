"""Matches responses with examples and gives every row and example one status.

Every prediction row is `unreadable`, `unknown`, `duplicate`, `invalid` or `scored`;
every example is `scored`, `invalid` or `missing`. So
`predictions = scored + invalid + duplicate + unknown + unreadable` and
`examples = scored + invalid + missing` always hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from evalkit.errors import EvalkitError
from evalkit.ids import RESPONSE_ID_KEYS, read_id
from evalkit.prediction_files import Row
from evalkit.responses import ResponseReader
from evalkit.violations import Violation
from evalkit.wording import count_of

Status = Literal["scored", "invalid", "missing"]
OnProblem = Literal["error", "wrong", "skip"]
OnDuplicate = Literal["error", "first", "last"]


class Policies(NamedTuple):
    """What happens to examples without a valid response, and to repeated ids."""

    on_missing: OnProblem = "error"
    on_invalid: OnProblem = "error"
    on_duplicate: OnDuplicate = "error"

    def check(self) -> None:
        """Refuse a policy that does not exist.

        Raises:
            EvalkitError: One of them is none of its choices.
        """
        for (name, value), choices in zip(
            self._asdict().items(), (OnProblem, OnProblem, OnDuplicate), strict=True
        ):
            if value not in get_args(choices):
                known = ", ".join(get_args(choices))
                raise EvalkitError(f"{name} must be one of {known}, is {value!r}")


class Problem(NamedTuple):
    """A row or example that was not scored, and why."""

    status: str
    line: int | None
    id: str | None
    violations: tuple[Violation, ...]


class Alignment(NamedTuple):
    """The outcome for every example, in the data's order."""

    statuses: list[Status]
    predictions: list[Any]
    """None where there is none: not scored, or no answer could be extracted."""
    fields: dict[str, list[Any]]
    """The task's scored fields."""
    problems: list[Problem]
    """In the order of the file, examples without a row last."""
    counts: dict[str, int]
    undeclared: Counter[str]
    """How many rows had each key that the task does not declare."""

    def refusal(self, policies: Policies) -> list[str]:
        """Say why the policies refuse this alignment; empty if they do not."""
        reasons = []
        if self.counts["missing"] and policies.on_missing == "error":
            examples = count_of(self.counts["missing"], "example")
            reasons.append(f"{examples} without a prediction (--on-missing wrong|skip)")
        if self.counts["invalid"] and policies.on_invalid == "error":
            invalid = count_of(self.counts["invalid"], "invalid prediction")
            reasons.append(f"{invalid} (--on-invalid wrong|skip)")
        if self.counts["duplicate"] and policies.on_duplicate == "error":
            repeated = count_of(self.counts["duplicate"], "prediction")
            reasons.append(f"{repeated} with a repeated id (--on-duplicate first|last)")
        if reasons and not self.counts["predictions"]:
            reasons.insert(0, "there are no predictions")
        elif reasons and self.counts["unknown"] == self.counts["predictions"]:
            reasons.insert(0, "none of their ids is in the data")
        return reasons


class _Kept(NamedTuple):
    """The row that counts, of those that name one example."""

    line: int
    prediction: Any
    fields: Mapping[str, Any]
    violations: tuple[Violation, ...]


def align(
    ids: Sequence[str],
    rows: Iterable[Row],
    reader: ResponseReader,
    on_duplicate: OnDuplicate,
) -> Alignment:
    """Give every prediction row and every example its status.

    Args:
        ids: The examples' ids, in the data's order.
        rows: The prediction rows, in file order.
        reader: Checks and converts one response.
        on_duplicate: Which row of several with one id is kept (`error` keeps the
            first, for the counts).

    Returns:
        The outcome.
    """
    positions = {uid: position for position, uid in enumerate(ids)}
    kept: list[_Kept | None] = [None] * len(ids)
    dropped: list[tuple[int, int]] = []
    problems: list[Problem] = []
    undeclared: Counter[str] = Counter()
    counts = dict.fromkeys(("predictions", "duplicate", "unknown", "unreadable"), 0)
    for row in rows:
        counts["predictions"] += 1
        response, refused = reader.adapt(row.values or {})
        uid = row.problem or read_id(response, RESPONSE_ID_KEYS)
        if isinstance(uid, Violation):
            counts["unreadable"] += 1
            problems.append(Problem("unreadable", row.line, None, (uid,)))
            continue
        undeclared.update(key for key in response if key not in reader.declared_keys)
        position = positions.get(uid)
        if position is None:
            counts["unknown"] += 1
            rule = "must be the id of an example"
            violation = Violation("id", rule, uid)
            problems.append(Problem("unknown", row.line, uid, (violation,)))
            continue
        earlier = kept[position]
        if earlier is not None:
            counts["duplicate"] += 1
            if on_duplicate != "last":
                dropped.append((row.line, position))
                continue
            dropped.append((earlier.line, position))
        outcome = (
            (None, {}, (refused,)) if refused else reader.read(response, uid, position)
        )
        kept[position] = _Kept(row.line, *outcome)
    problems += _duplicates(ids, kept, dropped)
    return _settle(ids, kept, problems, counts, undeclared, reader)


def _duplicates(
    ids: Sequence[str],
    kept: Sequence[_Kept | None],
    dropped: Iterable[tuple[int, int]],
) -> Iterator[Problem]:
    for line, position in dropped:
        used = kept[position]
        rule = f"must be given once; line {used.line if used else None} is used"
        violation = Violation("id", rule, ids[position])
        yield Problem("duplicate", line, ids[position], (violation,))


def _settle(
    ids: Sequence[str],
    kept: Sequence[_Kept | None],
    problems: list[Problem],
    counts: dict[str, int],
    undeclared: Counter[str],
    reader: ResponseReader,
) -> Alignment:
    statuses: list[Status] = []
    missing: list[Problem] = []
    for uid, row in zip(ids, kept, strict=True):
        if row is None:
            statuses.append("missing")
            violation = Violation("id", "no prediction names this example", None)
            missing.append(Problem("missing", None, uid, (violation,)))
        elif row.violations:
            statuses.append("invalid")
            problems.append(Problem("invalid", row.line, uid, row.violations))
        else:
            statuses.append("scored")
    problems.sort(key=lambda problem: problem.line or 0)
    usable = [row if row is not None and not row.violations else None for row in kept]
    tally = Counter(statuses)
    unparsed = sum(row is not None and row.prediction is None for row in usable)
    return Alignment(
        statuses,
        [row.prediction if row else None for row in usable],
        {
            name: [row.fields.get(name) if row else None for row in usable]
            for name in reader.scored_fields
        },
        problems + missing,
        {
            "examples": len(ids),
            "predictions": counts["predictions"],
            "scored": tally["scored"],
            "invalid": tally["invalid"],
            "missing": tally["missing"],
            "duplicate": counts["duplicate"],
            "unknown": counts["unknown"],
            "unreadable": counts["unreadable"],
            "unparsed": unparsed,
        },
        undeclared,
    )
