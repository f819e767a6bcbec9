"""Matches responses with examples and gives every row and example one status.

Every prediction row is `unreadable`, `unknown`, `duplicate`, `invalid` or `scored`;
every example is `scored`, `invalid` or `missing`. So
`predictions = scored + invalid + duplicate + unknown + unreadable` and
`examples = scored + invalid + missing` always hold.

Rows are placed in cells, one for each example and replication; without replications
each example is one cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.ids import REPLICATION_KEY
from evalkit.base.violations import Violation
from evalkit.base.wording import count_of
from evalkit.plugins.bound import Bound
from evalkit.predictions.judging import JudgedRows
from evalkit.predictions.matching import NOWHERE, Cells, Places, place
from evalkit.predictions.policies import OnDuplicate as OnDuplicate
from evalkit.predictions.policies import OnProblem as OnProblem
from evalkit.predictions.policies import Policies as Policies
from evalkit.predictions.problems import Problem, Problems
from evalkit.predictions.responses import ResponseReader
from evalkit.reading.rows import Block


class Alignment(NamedTuple):
    """The outcome for every example, in the data's order.

    Where responses name replications, there is one outcome for every cell: each example
    as often as there are replications, one after the other.
    """

    statuses: pl.Series
    """`scored`, `invalid` or `missing`."""
    predictions: pl.Series
    """Null where there is none: not scored, or no answer could be extracted."""
    fields: dict[str, pl.Series]
    """Scored fields, `responses` (predictions of all alternatives), computed ones."""
    problems: Problems
    counts: dict[str, int]
    undeclared: Counter[str]
    """How many rows had a value under each key that the task does not declare."""
    replications: tuple[str, ...] = ()
    """The replications that rows name, numbers by value before other texts; empty where
    no row names one."""
    notices: tuple[str, ...] = ()
    """What a user should know of the responses beside the counts."""
    unparsed: Mapping[str, int] = {}
    """How many answers could not be extracted for each reason that somebody gave."""
    computed: tuple[ComputedColumns, ...] = ()
    lacking: Mapping[str, pl.DataFrame] = {}
    """Columns that a stage computed, and as of `ScoringTable` rows without a value."""
    absent: tuple[str, ...] = ()
    """The required fields that no row has."""
    extracted: pl.DataFrame | None = None
    """What an answer reader looked at and made of it (`answer_readers.TYPES`), null for
    what is not scored; None where there was none."""
    place: str = "line"
    """What the numbers of problems count: lines, or elements of a JSON array."""

    def refusal(self, policies: Policies) -> list[str]:
        """Say why the policies refuse this alignment; empty if they do not."""
        reasons = []
        if self.counts["missing"] and policies.on_missing == "error":
            reasons.append(f"{self._missing()} (--on-missing wrong|skip)")
        if self.counts["invalid"] and policies.on_invalid == "error":
            invalid = count_of(self.counts["invalid"], "invalid prediction")
            reasons.append(f"{invalid} (--on-invalid wrong|skip)")
        if self.counts["duplicate"] and policies.on_duplicate == "error":
            repeated = count_of(self.counts["duplicate"], "prediction")
            how = (
                f"--on-duplicate first|last; {REPLICATION_KEY} tells replications apart"
            )
            reasons.append(f"{repeated} with a repeated id ({how})")
        if reasons and not self.counts["predictions"]:
            reasons.insert(0, "there are no predictions")
        elif reasons and self.counts["unknown"] == self.counts["predictions"]:
            reasons.insert(0, "none of their ids is in the data")
        elif reasons and self.absent:
            reasons.insert(0, f"no row has {' or '.join(map(repr, self.absent))}")
        return reasons

    def _missing(self) -> str:
        """Say how many examples, or how many of several answers, are missing."""
        if not self.replications:
            examples = count_of(self.counts["missing"], "example")
            return f"{examples} without a prediction"
        return (
            f"{self.counts['missing']} of {self.counts['examples']} answers missing, "
            f"{len(self.replications)} for each example"
        )


def align(
    ids: pl.Series,
    blocks: Iterable[Block],
    reader: ResponseReader,
    on_duplicate: OnDuplicate,
    selected: pl.Series | None = None,
    is_part: bool = False,
    replications: tuple[str, ...] | None = None,
) -> Alignment:
    """Give every prediction row and every example its status."""
    collected = JudgedRows(ids, reader)
    for block in blocks:
        collected.add(block)
    return settle(collected, on_duplicate, selected, is_part, replications)


def settle(
    collected: JudgedRows,
    on_duplicate: OnDuplicate,
    selected: pl.Series | None,
    is_part: bool,
    known: tuple[str, ...] | None = None,
) -> Alignment:
    """Give rows that were collected, and examples, their status."""
    ids = collected.ids if selected is None else collected.ids.filter(selected)
    matched = _match(collected, on_duplicate, selected, is_part, known)
    return _settled(collected, matched, ids, has_selection=selected is not None)


class _Matched(NamedTuple):
    """Rows and the cells that they are placed in."""

    rows: pl.DataFrame
    cells: Cells
    is_stranger: NDArray[np.bool_]
    is_kept: NDArray[np.bool_]
    is_dropped: NDArray[np.bool_]
    is_valid: NDArray[np.bool_]
    unselected: int


def _match(
    collected: JudgedRows,
    on_duplicate: OnDuplicate,
    selected: pl.Series | None,
    is_part: bool,
    known: tuple[str, ...] | None,
) -> _Matched:
    rows = collected.rows()
    examples = rows["example"].to_numpy()
    is_stranger = examples == NOWHERE
    count = len(collected.ids)
    if selected is not None:
        count = int(selected.sum())
        chosen = selected.to_numpy()
        numbers = np.where(chosen, np.cumsum(chosen) - 1, NOWHERE)
        examples = np.where(is_stranger, NOWHERE, numbers[examples])
    is_stranger &= not is_part
    is_named = examples != NOWHERE
    replications = rows["replication"] if "replication" in rows.columns else None
    cells = place(examples, replications, count, on_duplicate == "last", known)
    is_kept = _first_of_each(cells.of_rows, on_duplicate == "last")
    return _Matched(
        rows,
        cells,
        is_stranger,
        is_kept,
        is_named & ~is_kept,
        rows["is_valid"].to_numpy() & ~cells.is_lacking,
        int((~is_named & ~is_stranger).sum()),
    )


def _first_of_each(cells: Places, is_last: bool) -> NDArray[np.bool_]:
    """Tell which row is the first or last of its cell; none without a cell is."""
    is_placed: NDArray[np.bool_] = cells != NOWHERE
    counts = np.bincount(cells[is_placed])
    if not (counts > 1).any():
        return is_placed
    series = pl.Series(cells)
    distinct = series.is_last_distinct() if is_last else series.is_first_distinct()
    is_placed &= distinct.to_numpy()
    return is_placed


def _settled(
    collected: JudgedRows, matched: _Matched, ids: pl.Series, has_selection: bool
) -> Alignment:
    """Give rows that were collected, and examples, their status."""
    cells = matched.cells
    codes = np.zeros(len(ids) * cells.width, dtype=np.uint32)
    kept = cells.of_rows[matched.is_kept]
    codes[kept] = np.where(matched.is_valid[matched.is_kept], _SCORED, _INVALID)
    sources = _sources(matched, codes)
    predictions = collected.predictions(sources)
    missing, invalid, scored = (int((codes == code).sum()) for code in range(3))
    duplicate = int(matched.is_dropped.sum())
    unknown = int(matched.is_stranger.sum())
    counts = {
        "examples": len(codes),
        "predictions": (scored + invalid + duplicate + unknown + collected.unreadable),
        "scored": scored,
        "invalid": invalid,
        "missing": missing,
        "duplicate": duplicate,
        "unknown": unknown,
        "unreadable": collected.unreadable,
        "unparsed": predictions.null_count() - missing - invalid,
    }
    if has_selection:
        counts["unselected"] = matched.unselected
    if cells.replications:
        counts["replications"] = len(cells.replications)
    problems = _problems(collected, matched, ids, codes)
    extracted = collected.extracted(sources)
    return Alignment(
        _STATUSES.gather(codes),
        predictions,
        collected.fields(sources),
        problems,
        counts,
        collected.undeclared,
        cells.replications,
        collected.notices(),
        collected.unparsed(sources, extracted),
        absent=collected.absent(counts["predictions"] + matched.unselected),
        extracted=extracted,
    )


_STATUSES = pl.Series("status", ["missing", "invalid", "scored"])
_MISSING, _INVALID, _SCORED = range(3)


def _sources(matched: _Matched, codes: NDArray[np.uint32]) -> pl.Series:
    """Return for each cell the source of its prediction; null without a valid one."""
    is_used = matched.is_kept & matched.is_valid
    sources = np.zeros(len(codes), dtype=np.uint32)
    sources[matched.cells.of_rows[is_used]] = matched.rows["source"].to_numpy()[is_used]
    found = pl.Series("source", sources)
    if (codes == _SCORED).all():
        return found
    table = pl.DataFrame({"source": found, "is_scored": codes == _SCORED})
    return table.select(pl.when("is_scored").then("source")).to_series()


def _problems(
    collected: JudgedRows, matched: _Matched, ids: pl.Series, codes: NDArray[np.uint32]
) -> Problems:
    """Return the problems of all rows and examples, now that they are settled."""
    rows = matched.rows
    if "replication" not in rows.columns:
        rows = rows.with_columns(replication=pl.lit(None, dtype=pl.String))
    invalid = rows.filter(matched.is_kept & ~matched.is_valid)
    problems = collected.problems.only_lines("invalid", invalid["line"].to_numpy())
    _report_lacking(problems, rows.filter(matched.is_kept & matched.cells.is_lacking))
    _report_strangers(problems, rows.filter(matched.is_stranger))
    _report_duplicates(problems, rows, matched)
    _report_missing(problems, ids, matched.cells, np.flatnonzero(codes == _MISSING))
    return problems


def _report_lacking(problems: Problems, rows: pl.DataFrame) -> None:
    for line, uid in rows.filter("is_valid").select("line", "id").iter_rows():
        problems.add(Problem("invalid", line, uid, (_LACKING,)))


_LACKING = Violation(REPLICATION_KEY, "must be given, as other rows have it")


def _report_strangers(problems: Problems, rows: pl.DataFrame) -> None:
    rule = "must be the id of an example"
    for line, uid, replication in rows.select("line", "id", "replication").iter_rows():
        violation = Violation("id", rule, uid)
        problems.add(Problem("unknown", line, uid, (violation,), replication))


def _report_duplicates(
    problems: Problems, rows: pl.DataFrame, matched: _Matched
) -> None:
    placed = rows.with_columns(pl.Series("cell", matched.cells.of_rows))
    used = placed.filter(matched.is_kept).select("cell", used="line")
    joined = placed.filter(matched.is_dropped).join(
        used, on="cell", how="left", maintain_order="left"
    )
    columns = joined.select("line", "id", "replication", "used")
    for line, uid, replication, kept_line in columns.iter_rows():
        violation = _LACKING
        if kept_line is not None:
            rule = f"must be given once; line {kept_line} is used"
            violation = Violation("id", rule, uid)
        problems.add(Problem("duplicate", line, uid, (violation,), replication))


def _report_missing(
    problems: Problems, ids: pl.Series, cells: Cells, missing: Places
) -> None:
    violation = Violation("id", "no prediction names this example", None)
    for uid, cell in zip(ids.gather(missing // cells.width), missing, strict=True):
        replication = None
        if cells.replications:
            replication = cells.replications[cell % cells.width]
        problems.add(Problem("missing", None, uid, (violation,), replication))


class ComputedColumns(Protocol):
    """Columns that one component computed."""

    @property
    def component(self) -> Bound:
        """The component, which the run records."""

    @property
    def columns(self) -> Mapping[str, pl.Series]:
        """The columns by name, null where there is no value."""

    @property
    def details(self) -> pl.DataFrame:
        """`position`, `reason` (null where there is a value), `failed`, and more."""

    @property
    def warnings(self) -> Sequence[str]:
        """What went wrong without changing a score."""

    def record(self, details: pl.DataFrame) -> Mapping[str, Any]:
        """Return a JSON object for `run.json`."""
