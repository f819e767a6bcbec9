"""Judges the rows of predictions, as columns where that can be, else one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.columns import all_named, frame_of, join_parts, unstorable_place
from evalkit.base.ids import (
    REPLICATION_KEY,
    RESPONSE_ID_KEYS,
    RESPONSES_KEY,
    read_id,
    read_replication,
)
from evalkit.base.terms import Unparsed
from evalkit.base.violations import REQUIRED, Violation, shorten
from evalkit.errors import SchemaError
from evalkit.examples.scored_values import value_column
from evalkit.predictions.adapting import Adapted
from evalkit.predictions.alternatives import (
    OF_ALTERNATIVES,
    Outcome,
    alternatives_column,
)
from evalkit.predictions.answer_readers import (
    AT_ONCE,
    REASON,
    RESPONSES,
    STATUS,
    TYPES,
    UNPARSED,
    FrameExtracted,
)
from evalkit.predictions.matching import NOWHERE, IdIndex, Places
from evalkit.predictions.problems import Problem, Problems
from evalkit.predictions.responses import ResponseReader
from evalkit.reading.field_types import holds_more_than_plain
from evalkit.reading.rows import Block, Row
from evalkit.reading.threads import in_background
from evalkit.reading.typed_values import MisfitError, typed_series

_MOST_REASONS = 20
"""Reasons why answers could not be extracted that are told apart."""

_KEYS = {"line": pl.Int64, "id": pl.String, "example": pl.Int64}


class _Read(NamedTuple):
    """A row that can be read and names an id."""

    line: int
    id: str
    replication: str | Violation | None
    adapted: Adapted


class _Judged(NamedTuple):
    """A row that was judged by itself."""

    line: int
    id: str
    example: int
    replication: str | None
    is_valid: bool
    prediction: Any
    reason: str | None
    """Why no answer could be extracted, where somebody says so."""
    fields: tuple[Any, ...]
    """Values of the scored fields."""
    ranked: Sequence[Any] | None
    """Predictions of the alternatives; None for a row without any."""
    kept: Mapping[str, Any]
    """What extractors made of it."""


class JudgedRows:
    """The rows of a file, judged one by one or as columns, not yet matched.

    Attributes:
        ids: As given.
        problems: What is wrong with rows that were judged one by one.
        undeclared: How many rows had a value under each key that nobody declared.
        lacking: How many rows lack each field that is required.
        unreadable: How many rows cannot be read, or have no usable id.
    """

    def __init__(self, ids: pl.Series, reader: ResponseReader) -> None:
        self.ids = ids
        self._reader = reader
        self._index = in_background(IdIndex, ids)
        self.problems = Problems()
        self.undeclared: Counter[str] = Counter()
        self.lacking: Counter[str] = Counter()
        self.unreadable = 0
        self._columns: list[pl.DataFrame] = []
        """Valid rows: `line`, `id`, `example` (its position), `replication`,
        `prediction`, and the scored fields."""
        self._judged: list[_Judged] = []

    def notices(self) -> tuple[str, ...]:
        """Say what was refused."""
        return self._reader.adapters.notices()

    def add(self, block: Block) -> None:
        """Judge the rows of a block."""
        self.undeclared.update(block.undeclared)
        if block.frame.height:
            examples = self._index.result().find(block.frame["id"])
            extractor = self._reader.answers
            extracted = None
            if extractor is not None:
                extracted = extractor.of_frame(block.frame, examples)
            frame = block.frame if extracted is None else extracted.frame
            accepted = self._reader.accept(frame)
            for name in ("id", REPLICATION_KEY):
                if name in frame.columns:
                    given = frame[name]
                    accepted &= (given.str.len_bytes() > 0).fill_null(name != "id")
            block = block._replace(frame=frame)
            self._add_columns(block, accepted, examples, extracted)
            others = (block.row_at(index) for index in (~accepted).arg_true())
            self._add_rows(others, counts_keys=False)
        self._add_rows(block.rows, counts_keys=True)

    def _add_columns(
        self,
        block: Block,
        accepted: pl.Series,
        examples: Places,
        extracted: FrameExtracted | None,
    ) -> None:
        everything = bool(accepted.all())
        frame = block.frame if everything else block.frame.filter(accepted)
        lines = block.lines
        if not everything:
            is_accepted = accepted.to_numpy()
            lines, examples = lines[is_accepted], examples[is_accepted]
        valid = self._reader.convert(frame)
        keys = [pl.Series("line", lines), frame["id"], pl.Series("example", examples)]
        if REPLICATION_KEY in frame.columns:
            keys.append(frame[REPLICATION_KEY].alias("replication"))
        if extracted is not None:
            kept = extracted.filter(accepted)
            lacking = pl.when(~kept.is_lacking).then("prediction")
            valid = valid.with_columns(lacking.alias("prediction"))
            keys += kept.kept.get_columns()
        self._columns.append(frame_of([*keys, *valid.get_columns()]))

    def _add_rows(self, rows: Iterable[Row], counts_keys: bool) -> None:
        """Judge rows one by one; extractors and ids are looked at together."""
        extractor = self._reader.answers
        waiting = iter(rows)
        while chunk := list(islice(waiting, AT_ONCE)):
            read = [self._read_row(row, counts_keys) for row in chunk]
            known = [row for row in read if row is not None]
            ids = pl.Series("id", [row.id for row in known], dtype=pl.String)
            positions = self._index.result().find(ids).tolist()
            if extractor is None:
                for row, position in zip(known, positions, strict=True):
                    self._judge(row, position)
                continue
            made = extractor.of_rows([row.adapted.response for row in known], positions)
            for row, position, each in zip(known, positions, made, strict=True):
                adapted = row.adapted._replace(response=each.response)
                self._judge(row._replace(adapted=adapted), position, each.kept)

    def _read_row(self, row: Row, counts_keys: bool) -> _Read | None:
        """Adapt a row; None for one that cannot be read or names no example."""
        given = row.values or {}
        adapted = self._reader.adapters.adapt(given)
        response = adapted.response
        # an adapter that knows nothing of replications may leave the key out
        replication = read_replication(given if REPLICATION_KEY in given else response)
        if REPLICATION_KEY in response:
            response = {k: v for k, v in response.items() if k != REPLICATION_KEY}
        # what an adapter made nothing of was never held against the task
        is_whole = adapted.refused is None and adapted.unparsed is None
        if counts_keys and is_whole:
            self.undeclared.update(self._reader.undeclared(response))
        uid = row.problem or read_id(response, RESPONSE_ID_KEYS)
        if isinstance(uid, Violation):
            self.unreadable += 1
            self.lacking[uid.field] += uid.rule == REQUIRED
            if uid.rule == REQUIRED:
                self.lacking.update(self._reader.absent_fields(response))
            self.problems.add(Problem("unreadable", row.line, None, (uid,)))
            return None
        return _Read(row.line, uid, replication, adapted._replace(response=response))

    def _judge(
        self, row: _Read, position: int, kept: Mapping[str, Any] | None = None
    ) -> None:
        line, uid, replication, adapted = row
        refused, unparsed = adapted.refused, adapted.unparsed
        outcome: Outcome = (unparsed, {}, (refused,) if refused else ())
        is_whole = not refused and unparsed is None
        if is_whole and position != NOWHERE:
            outcome = self._reader.read(adapted.response, uid, position)
        elif is_whole:
            self.lacking.update(self._reader.absent_fields(adapted.response))
        prediction, fields, violations = outcome
        reason = None
        if isinstance(prediction, Unparsed):
            reason, prediction = prediction.reason, None
        if isinstance(replication, Violation):
            violations = (replication, *violations)
            replication = None
        if violations:
            self.lacking.update(v.field for v in violations if v.rule == REQUIRED)
            self.problems.add(Problem("invalid", line, uid, violations, replication))
        names = self._reader.scored_fields
        judged = _Judged(
            line,
            uid,
            position,
            replication,
            not violations,
            prediction,
            reason,
            tuple(fields.get(name) for name in names),
            None if RESPONSES_KEY in names else fields.get(RESPONSES_KEY),
            {**(kept or {}), **({STATUS: UNPARSED} if unparsed else {})},
        )
        self._judged.append(judged)

    def absent(self, rows: int) -> tuple[str, ...]:
        """Return the required fields that no row has."""
        return tuple(key for key, count in self.lacking.items() if count == rows > 1)

    def rows(self) -> pl.DataFrame:
        """Return all rows that name an id, in file order."""
        schema = {**_KEYS, "replication": pl.String, "is_valid": pl.Boolean}
        valid = [_some(part, (*_KEYS, "replication")) for part in self._columns]
        own = [judged[: len(schema)] for judged in self._judged]
        judged = pl.DataFrame(own, schema, orient="row")
        if not judged["replication"].count():
            judged = judged.drop("replication")
        rows = pl.concat([*valid, judged], how="diagonal").rechunk()
        rows = rows.with_columns(pl.col("is_valid").fill_null(True))
        rows = rows.with_row_index("source")
        return rows if rows["line"].is_sorted() else rows.sort("line")

    def predictions(self, sources: pl.Series) -> pl.Series:
        """Return the predictions of all cells."""
        values = [row.prediction for row in self._judged]
        return self._gather("prediction", values, sources, self._reader.prediction_type)

    def unparsed(
        self, sources: pl.Series, extracted: pl.DataFrame | None
    ) -> dict[str, int]:
        """Count the cells without an answer that could be extracted, by the reason."""
        if extracted is not None:
            reasons = extracted[REASON].drop_nulls().to_list()
        else:
            first = sum(part.height for part in self._columns)
            used = sources.filter(sources >= first) - first
            said = (self._judged[place].reason for place in used)
            reasons = [reason for reason in said if reason]
        counts = sorted(Counter(reasons).items(), key=lambda item: (-item[1], item[0]))
        rare = sum(count for _, count in counts[_MOST_REASONS:])
        return dict(counts[:_MOST_REASONS]) | ({"other reasons": rare} if rare else {})

    def extracted(self, sources: pl.Series) -> pl.DataFrame | None:
        """Return the columns of `answer_readers.TYPES`, for `predictions`."""
        if self._reader.answers is None:
            return None
        rows = [row.kept for row in self._judged]
        parts = [_some(part, TYPES) for part in self._columns]
        kept = pl.concat([*parts, pl.DataFrame(rows, TYPES)], how="diagonal")
        names = [n for n in TYPES if n != RESPONSES or kept[RESPONSES].count()]
        columns = _some(kept.rechunk(), names).get_columns()
        return pl.DataFrame([column.gather(sources) for column in columns])

    def fields(self, sources: pl.Series) -> dict[str, pl.Series]:
        """Return the scored fields of all cells."""
        found = {}
        types = self._reader.field_types
        for place, name in enumerate(self._reader.scored_fields):
            values = [row.fields[place] for row in self._judged]
            if name.startswith(OF_ALTERNATIVES) and name not in types:
                column = alternatives_column(values).gather(sources)
            else:
                column = self._gather(f"field {name}", values, sources, types.get(name))
            found[name] = column.alias(name)
        has_alternatives = any(row.ranked is not None for row in self._judged)
        for name in self._reader.optional_fields & found.keys():
            is_own = name.startswith(OF_ALTERNATIVES)
            if not found[name].count() or (is_own and not has_alternatives):
                del found[name]
        if has_alternatives:
            found[RESPONSES_KEY] = self._ranked().gather(sources)
        return found

    def _gather(
        self,
        name: str,
        values: list[Any],
        sources: pl.Series,
        dtype: pl.DataType | None,
    ) -> pl.Series:
        parts = [part[name] for part in self._columns]
        try:
            joined = _typed_column(name, parts, values, dtype)
            if joined is None:
                joined = join_parts(name, parts, values, value_column)
        except ValueError as error:
            place = unstorable_place(values)
            raise SchemaError(
                f"{self._reader.origin}: line {self._judged[place].line}, id "
                f"{self._judged[place].id!r}: {name} cannot be stored ({error}), found "
                f"{shorten(values[place])}"
            ) from error
        if not joined.count():
            return joined.clear().extend_constant(None, len(sources))
        # gathering from many chunks takes ten times as long
        return joined.rechunk().gather(sources)

    def _ranked(self) -> pl.Series:
        """Return the predictions of all alternatives; a plain row has the one."""
        plain = [value for part in self._columns for value in part["prediction"]]
        values: list[Any] = [[] if value is None else [value] for value in plain]
        for row in self._judged:
            own = [] if row.prediction is None else [row.prediction]
            values.append(own if row.ranked is None else row.ranked)
        dtype, typed = self._reader.prediction_type, None
        if dtype is not None and holds_more_than_plain(dtype):
            typed = _typed_column(RESPONSES_KEY, [], values, pl.List(dtype))
        return alternatives_column(values) if typed is None else typed


def _some(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return those of some columns that a frame has."""
    return frame.select(all_named(name for name in names if name in frame.columns))


def _typed_column(
    name: str, parts: Sequence[pl.Series], values: list[Any], dtype: pl.DataType | None
) -> pl.Series | None:
    """Join columns and values of the type that a field has; None where some have not.

    Answers of several parts are lists of values of that type.
    """
    are_lists = any(isinstance(value, list) for value in values)
    if dtype is not None and are_lists and not isinstance(dtype, pl.List):
        dtype = pl.List(dtype)
    if dtype is None or any(part.dtype != dtype for part in parts):
        return None
    try:
        return pl.concat([*parts, typed_series(name, values, dtype)])
    except MisfitError:
        return None
