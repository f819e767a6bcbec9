"""Matches responses with examples and gives every row and example one status.

Every prediction row is `unreadable`, `unknown`, `duplicate`, `invalid` or `scored`;
every example is `scored`, `invalid` or `missing`. So
`predictions = scored + invalid + duplicate + unknown + unreadable` and
`examples = scored + invalid + missing` always hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import polars as pl

from evalkit.blocks import Block
from evalkit.columns import join_parts
from evalkit.errors import EvalkitError
from evalkit.ids import RESPONSE_ID_KEYS, read_id
from evalkit.problems import Problem, Problems
from evalkit.responses import Outcome, ResponseReader
from evalkit.rows import Row
from evalkit.violations import Violation
from evalkit.wording import count_of

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


class Alignment(NamedTuple):
    """The outcome for every example, in the data's order."""

    statuses: pl.Series
    """`scored`, `invalid` or `missing`."""
    predictions: pl.Series
    """Null where there is none: not scored, or no answer could be extracted."""
    fields: dict[str, pl.Series]
    """The task's scored fields."""
    problems: Problems
    counts: dict[str, int]
    undeclared: Counter[str]
    """How many rows had a value under each key that the task does not declare."""

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


def align(
    ids: pl.Series,
    blocks: Iterable[Block],
    reader: ResponseReader,
    on_duplicate: OnDuplicate,
    selected: pl.Series | None = None,
) -> Alignment:
    """Give every prediction row and every example its status.

    Args:
        ids: The examples' ids, in the data's order.
        blocks: The prediction rows, in file order but within a block.
        reader: Checks and converts responses.
        on_duplicate: Which row of several with one id is kept (`error` keeps the
            first, for the counts).
        selected: Which examples are evaluated; all by default. Rows that name another
            one are counted apart, as `unselected`.

    Returns:
        The outcome, for the selected examples.
    """
    collected = _Collected(ids, reader)
    for block in blocks:
        collected.add(block)
    return _settle(collected, on_duplicate, selected)


class _Collected:
    """The rows of a file, judged one by one or as columns, not yet matched."""

    def __init__(self, ids: pl.Series, reader: ResponseReader) -> None:
        self.ids = ids
        self.reader = reader
        self.problems = Problems()
        self.undeclared: Counter[str] = Counter()
        self.unreadable = 0
        self.columns: list[pl.DataFrame] = []
        """Valid rows: `line`, `id`, `prediction`, and the scored fields."""
        self.lines: list[int] = []
        """Lines of the rows that were judged one by one and name an id."""
        self.row_ids: list[str] = []
        self.is_valid: list[bool] = []
        self.predictions: list[Any] = []
        self.fields: dict[str, list[Any]] = {name: [] for name in reader.scored_fields}

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {uid: position for position, uid in enumerate(self.ids)}

    def add(self, block: Block) -> None:
        self.undeclared.update(block.undeclared)
        if block.frame.height:
            accepted = self.reader.accept(block.frame)
            named = block.frame["id"].str.len_bytes() > 0
            self._add_columns(block, (accepted & named).fill_null(False))
        for row in block.rows:
            self._add_row(row, counts_keys=True)

    def _add_columns(self, block: Block, accepted: pl.Series) -> None:
        frame = block.frame if accepted.all() else block.frame.filter(accepted)
        lines = block.lines[accepted.to_numpy()]
        valid = self.reader.convert(frame)
        self.columns.append(
            valid.insert_column(0, pl.Series("line", lines)).insert_column(
                1, frame["id"]
            )
        )
        for index in (~accepted).arg_true():
            self._add_row(block.row_at(index), counts_keys=False)

    def _add_row(self, row: Row, counts_keys: bool) -> None:
        response, refused = self.reader.adapt(row.values or {})
        if counts_keys:
            declared = self.reader.declared_keys
            self.undeclared.update(
                key
                for key, value in response.items()
                if key not in declared and value is not None
            )
        uid = row.problem or read_id(response, RESPONSE_ID_KEYS)
        if isinstance(uid, Violation):
            self.unreadable += 1
            self.problems.add(Problem("unreadable", row.line, None, (uid,)))
            return
        self._judge(row.line, uid, response, refused)

    def _judge(
        self,
        line: int,
        uid: str,
        response: Mapping[str, Any],
        refused: Violation | None,
    ) -> None:
        position = self._positions.get(uid)
        outcome: Outcome = (None, {}, (refused,) if refused else ())
        if position is not None and not refused:
            outcome = self.reader.read(response, uid, position)
        prediction, fields, violations = outcome
        if violations:
            self.problems.add(Problem("invalid", line, uid, violations))
        self.lines.append(line)
        self.row_ids.append(uid)
        self.is_valid.append(not violations)
        self.predictions.append(prediction)
        for name, values in self.fields.items():
            values.append(fields.get(name))

    def rows(self) -> pl.DataFrame:
        """Give all rows that name an id, in file order.

        Returns:
            `line`, `id`, `is_valid`, and `source`: where its prediction is found.
        """
        schema = {"line": pl.Int64, "id": pl.String}
        parts = [part.select("line", "id") for part in self.columns]
        valid = pl.concat(parts) if parts else pl.DataFrame(schema=schema)
        judged = pl.DataFrame({"line": self.lines, "id": self.row_ids}, schema=schema)
        judged = judged.with_columns(
            is_valid=pl.Series(self.is_valid, dtype=pl.Boolean)
        )
        rows = pl.concat([valid.with_columns(is_valid=pl.lit(True)), judged])
        rows = rows.with_row_index("source")
        return rows if rows["line"].is_sorted() else rows.sort("line")

    def column(self, name: str, values: list[Any]) -> pl.Series:
        """Give the predictions or a scored field of all rows, by source."""
        return join_parts(name, [part[name] for part in self.columns], values)


def _settle(
    collected: _Collected, on_duplicate: OnDuplicate, selected: pl.Series | None
) -> Alignment:
    ids = collected.ids
    known = ids.alias("id").to_frame()
    if selected is not None:
        known = known.with_columns(selected=selected)
        ids = ids.filter(selected)
    positions = ids.alias("id").to_frame().with_row_index("position")
    rows = collected.rows().join(
        positions, on="id", how="left", maintain_order="left", coalesce=True
    )
    named = rows.filter(pl.col("position").is_not_null())
    strangers = rows.filter(pl.col("position").is_null())
    unselected = 0
    if selected is not None:
        outside = strangers["id"].is_in(known["id"].implode())
        unselected, strangers = int(outside.sum()), strangers.filter(~outside)
    position = named["position"]
    is_kept = (
        position.is_last_distinct()
        if on_duplicate == "last"
        else position.is_first_distinct()
    )
    kept, dropped = named.filter(is_kept), named.filter(~is_kept)
    invalid = kept.filter(~pl.col("is_valid"))
    problems = collected.problems.only_lines("invalid", invalid["line"].to_numpy())
    _report_strangers(problems, strangers)
    _report_duplicates(problems, dropped, kept)
    statuses = _statuses(ids, kept)
    _report_missing(problems, ids.filter(statuses == "missing"))
    sources = _sources(ids, kept)
    predictions = collected.column("prediction", collected.predictions).gather(sources)
    tally = Counter(statuses)
    named_count = tally["scored"] + tally["invalid"] + dropped.height
    counts = {
        "examples": len(ids),
        "predictions": named_count + strangers.height + collected.unreadable,
        "scored": tally["scored"],
        "invalid": tally["invalid"],
        "missing": tally["missing"],
        "duplicate": dropped.height,
        "unknown": strangers.height,
        "unreadable": collected.unreadable,
        "unparsed": int((predictions.is_null() & (statuses == "scored")).sum()),
    }
    if selected is not None:
        counts["unselected"] = unselected
    fields = {
        name: collected.column(f"field {name}", values).gather(sources).alias(name)
        for name, values in collected.fields.items()
    }
    return Alignment(
        statuses, predictions, fields, problems, counts, collected.undeclared
    )


def _report_strangers(problems: Problems, rows: pl.DataFrame) -> None:
    rule = "must be the id of an example"
    for line, uid in rows.select("line", "id").iter_rows():
        violation = Violation("id", rule, uid)
        problems.add(Problem("unknown", line, uid, (violation,)))


def _report_duplicates(
    problems: Problems, dropped: pl.DataFrame, kept: pl.DataFrame
) -> None:
    used = kept.select("position", used="line")
    joined = dropped.join(used, on="position", how="left", maintain_order="left")
    for line, uid, kept_line in joined.select("line", "id", "used").iter_rows():
        rule = f"must be given once; line {kept_line} is used"
        problems.add(Problem("duplicate", line, uid, (Violation("id", rule, uid),)))


def _report_missing(problems: Problems, ids: pl.Series) -> None:
    violation = Violation("id", "no prediction names this example", None)
    for uid in ids:
        problems.add(Problem("missing", None, uid, (violation,)))


def _statuses(ids: pl.Series, kept: pl.DataFrame) -> pl.Series:
    codes = np.zeros(len(ids), dtype=np.int8)
    codes[kept["position"].to_numpy()] = np.where(kept["is_valid"].to_numpy(), 2, 1)
    names = pl.Series("status", ["missing", "invalid", "scored"])
    return names.gather(pl.Series(codes, dtype=pl.UInt32))


def _sources(ids: pl.Series, kept: pl.DataFrame) -> pl.Series:
    """Give for each example the source of its prediction; null without a valid one."""
    valid = kept.filter("is_valid")
    sources = np.zeros(len(ids), dtype=np.uint32)
    has_one = np.zeros(len(ids), dtype=bool)
    positions = valid["position"].to_numpy()
    sources[positions] = valid["source"].to_numpy()
    has_one[positions] = True
    return (
        pl.DataFrame({"source": sources, "has_one": has_one})
        .select(pl.when("has_one").then("source"))
        .to_series()
    )
